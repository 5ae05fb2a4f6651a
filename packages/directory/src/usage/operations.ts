/** The read of the meters, and the unit's tables and methods of usage. */
import { type Page, pageOf } from '@freehold/contracts';
import type { Migration, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { covered, type MeterName, meterRecord, query, tag } from '../declarations/usage.ts';
import { defineFeature } from '../lib/feature.ts';
import { type CallOf, read } from '../lib/handlers.ts';
import { appendOpsFailures, type OpsFailure } from '../operations-log/failures-store.ts';
import { requireScope } from '../scopes/store.ts';
import { requireTenant } from '../tenants/store.ts';
import { scopeVersionOf } from '../vertical-registry/scope-version.ts';
import {
  addToMeters,
  dayOf,
  listMeters,
  listUsage,
  type Period,
  periodOf,
  setMeter,
  type UsageFold,
} from './fold-store.ts';
import { markSettled, takeLine, trimLines, type UsageEntry } from './lines-store.ts';
import type { modelUsageList } from './make-usage.ts';

/** The reads of usage, and the unit's methods behind its collection. */

export const metersList = adminOperation({
  name: 'meters.list',
  summary: 'Add the meters up per tenant',
  description:
    'Counters are added up; of a gauge, which is measured once a day, it is the mean of the days that have a figure, rounded.',
  tag,
  method: 'GET',
  path: '/meters',
  input: { query },
  output: z.object({ ...covered, ...pageOf(meterRecord).shape }),
});

const readMeters = /* @__PURE__ */ read(metersList, ({ db, now }, { query }) => {
  const period = periodOf(query, now());
  return { value: { ...period, ...listMeters(db, { ...query, ...period }) } };
});

export interface UsageScope {
  readonly tenant: string;
  readonly scope: string;
}

/** A request whose payload is not stored, and why. */
export interface RefusedUsage {
  readonly request: string;
  readonly reason: string;
}

export interface UsageBatch extends UsageScope {
  /** The version of a scope whose vertical the registry does not know. */
  readonly unregistered: string;
  readonly entries: readonly UsageEntry[];
  readonly refused: readonly RefusedUsage[];
}

/** A day's quantity of one meter. */
export interface MeterReading {
  readonly tenant: string;
  readonly meter: MeterName;
  readonly quantity: number;
}

export type UsageMethods = ReturnType<typeof usageMethods>;

const usageMethods = (context: UnitContext) => ({
  /** The vertical of a scope. @throws PlatformError `not_found`, also for another tenant's scope. */
  usageVertical: (ref: UsageScope): string => requireScope(context.db, ref).vertical,

  /** The fold at list price, without the wiring's margin. */
  modelUsage: ({ call }: { readonly call: AdminCall }): Period & Page<UsageFold> => {
    const { query } = call as unknown as CallOf<typeof modelUsageList>;
    const period = periodOf(query, context.now());
    return { ...period, ...listUsage(context.db, { ...query, ...period }) };
  },

  /** Stores a page of lines, each once. @returns how many were new. */
  takeModelUsage: (batch: UsageBatch): { readonly taken: number } => takeBatch(context, batch),

  settledModelUsage: (input: { readonly scope: string; readonly requests: readonly string[] }): null => {
    markSettled(context.db, input.scope, input.requests);
    return null;
  },

  addMeters: ({ readings }: { readonly readings: readonly MeterReading[] }): null => {
    const day = dayOf(context.now());
    for (const { tenant, meter, quantity } of readings) {
      requireTenant(context.db, tenant);
      addToMeters(context.db, { tenant, day }, [[meter, quantity]]);
    }
    return null;
  },

  setMeters: ({ readings }: { readonly readings: readonly MeterReading[] }): null => {
    const day = dayOf(context.now());
    for (const { tenant, meter, quantity } of readings) {
      requireTenant(context.db, tenant);
      setMeter(context.db, { tenant, day }, { meter, quantity });
    }
    return null;
  },
});

function takeBatch({ db, now }: UnitContext, batch: UsageBatch): { readonly taken: number } {
  const { id: scope, tenant, vertical, kind } = requireScope(db, batch);
  // The version at the moment at which the lines are stored.
  const version = scopeVersionOf(db, { id: scope, vertical }).version ?? batch.unregistered;
  const origin = { tenant, scope, vertical, version, billable: kind === 'live' };
  const taken = batch.entries.filter((entry) => takeLine(db, origin, entry)).length;
  const failures = batch.refused.map(
    ({ request, reason }): OpsFailure => ({
      operation: 'model-usage.collect',
      ...{ tenant, scope, vertical, reason, subject: request },
      detail: 'A usage line was refused: it is malformed, or attributed to another scope.',
    }),
  );
  appendOpsFailures(db, failures, now());
  trimLines(db, now());
  return { taken };
}

const usageMigration: Migration = {
  version: 1,
  name: 'usage',
  sql: `
    -- What was taken from where. The key is the scope's as well: a scope makes its own request ids up.
    CREATE TABLE model_usage_lines (
      scope TEXT NOT NULL,
      request TEXT NOT NULL,
      tenant TEXT NOT NULL,
      vertical TEXT NOT NULL,
      version TEXT NOT NULL,
      operation TEXT NOT NULL,
      at INTEGER NOT NULL,
      line TEXT NOT NULL,
      -- The scope knows that this line was taken, and will not show it again.
      settled INTEGER NOT NULL,
      PRIMARY KEY (scope, request)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX model_usage_lines_settled ON model_usage_lines (settled, at);

    -- The same lines, folded. A sum in dollars is two: whole millionths, and what is left in millionths of those, so
    -- that neither can grow out of an integer.
    CREATE TABLE model_usage_days (
      tenant TEXT NOT NULL,
      model TEXT NOT NULL,
      day TEXT NOT NULL,
      vertical TEXT NOT NULL,
      version TEXT NOT NULL,
      billable INTEGER NOT NULL,
      reported INTEGER NOT NULL,
      priced INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      cached_input_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      reasoning_tokens INTEGER NOT NULL,
      list_micro_usd INTEGER NOT NULL,
      list_pico_usd INTEGER NOT NULL,
      PRIMARY KEY (tenant, model, day, vertical, version, billable, reported, priced)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE meter_days (
      tenant TEXT NOT NULL,
      meter TEXT NOT NULL,
      day TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      PRIMARY KEY (tenant, meter, day)
    ) STRICT, WITHOUT ROWID;
  `,
};

export const usageFeature = /* @__PURE__ */ defineFeature({
  operations: [readMeters],
  migrations: [{ name: 'usage', migrations: [usageMigration] }],
  methods: usageMethods,
  queries: ['usageVertical', 'modelUsage'],
});

/** The reads of usage, and the unit's methods behind its collection. */

import type { Page } from '@freehold/contracts';
import { pageOf } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { covered, type MeterName, meterRecord, query, tag } from '../declarations/usage.ts';
import { type CallOf, read } from '../lib/handlers.ts';
import { appendOpsFailures, type OpsFailure } from '../operations-log/failures-store.ts';
import { requireScope } from '../scopes/store.ts';
import { requireTenant } from '../tenants/store.ts';
import { scopeVersionOf } from '../vertical-registry/scope-versions-store.ts';
import { listUsage, type UsageFold } from './fold-store.ts';
import { markSettled, takeLine, trimLines, type UsageEntry } from './lines-store.ts';
import type { modelUsageList } from './make-usage.ts';
import { addToMeters, listMeters, setMeter } from './meters-store.ts';
import { dayOf, type Period, periodOf } from './period.ts';

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
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const readMeters = /* @__PURE__ */ read(metersList, ({ db, now }, { query }) => {
  const period = periodOf(query, now());
  return { value: { ...period, ...listMeters(db, { ...query, ...period }) } };
});

/** Which scope of whom. */
export interface UsageScope {
  readonly tenant: string;
  readonly scope: string;
}

/** A request whose payload is not taken, and why. */
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

export const usageMethods = (context: UnitContext) => ({
  /** The vertical of a scope. @throws PlatformError `not_found`, also for another tenant's scope. */
  usageVertical: (ref: UsageScope): string => requireScope(context.db, ref).vertical,

  /** The fold at list price: the margin is the wiring's. */
  modelUsage: ({ call }: { readonly call: AdminCall }): Period & Page<UsageFold> => {
    const { query } = call as unknown as CallOf<typeof modelUsageList>;
    const period = periodOf(query, context.now());
    return { ...period, ...listUsage(context.db, { ...query, ...period }) };
  },

  /** Takes a page of lines, each once. @returns how many were new. */
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
  // What the scope runs on when its lines are written down: one of its own, or what prod serves.
  const version = scopeVersionOf(db, { id: scope, vertical }).version ?? batch.unregistered;
  const origin = { tenant, scope, vertical, version, billable: kind === 'live' };
  const taken = batch.entries.filter((entry) => takeLine(db, origin, entry)).length;
  const failures = batch.refused.map(
    ({ request, reason }): OpsFailure => ({
      operation: 'model-usage.collect',
      ...{ tenant, scope, vertical, reason, subject: request },
      detail: 'A usage line was refused: it is not one, or it is attributed to somebody else.',
    }),
  );
  appendOpsFailures(db, failures, now());
  trimLines(db, now());
  return { taken };
}

/** Migrations of the fleet inside the directory: who is at which version, and what waves have found. */

import { type ScopeId, slug, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type {} from 'zod';
import { z } from 'zod';
import { requireActing } from '../acting.ts';
import type { Actor } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { counts, tag } from '../declarations/fleet.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import { longWork } from '../long-work/handlers.ts';
import { loadScope, scopeOfRow } from '../scopes/store.ts';
import type { fleetMigrations } from './host-admin-fleet.ts';

/** How many scopes are opened side by side, at most: each runs its migrations. */
const WAVE_MAX = 100;

const WAVE_DEFAULT = 10;

export const fleetPlan = z
  .object({
    dryRun: z.literal(true),
    items: z.array(z.object(counts)),
    scopes: z.int().describe('How many scopes would be opened'),
    waves: z.int(),
  })
  .meta({ id: 'FleetMigrationPlan' });

/** Vertical → the version that serves. Only the host administration knows it for all of them. */
export type Serving = Readonly<Record<string, string>>;

export interface FleetFilter {
  readonly serving: Serving;
  readonly tenant?: string | undefined;
  readonly vertical?: string | undefined;
}

export interface MigrateWork {
  readonly vertical?: string | undefined;
  readonly waveSize: number;
  readonly failuresMax: number;
}

export interface MigrateFacts {
  readonly applied: number;
  readonly failed: number;
}

/** One scope of a wave, and the version that it is to be at. */
export interface WaveScope {
  readonly scope: ScopeRecord;
  readonly version: string;
}

export interface WaveOutcome {
  readonly scope: string;
  readonly version: string;
  readonly problem: { readonly code: string; readonly detail: string } | null;
}

type FleetCount = z.input<(typeof fleetMigrations)['output']>['items'][number];

const FAILURES_SHOWN = 10;

/** Scopes that migrate, each with the version that it is to be at and what is known of it at that version. */
const FLEET = `
  SELECT s.id, s.tenant, s.vertical, coalesce(b.version, p.value, 'unversioned') AS version, m.state, m.code, m.detail, m.at
  FROM scopes s
  LEFT JOIN scope_versions v ON v.scope = s.id
  LEFT JOIN vertical_versions b ON b.id = v.version
  LEFT JOIN json_each(?1) p ON p.key = s.vertical
  LEFT JOIN scope_migrations m ON m.scope = s.id AND m.version = coalesce(b.version, p.value, 'unversioned')
  WHERE s.status IN ('active', 'suspended') AND (?2 IS NULL OR s.tenant = ?2) AND (?3 IS NULL OR s.vertical = ?3)`;

/** From one vertical to the next in the index: the cost follows how many there are of them, not of their scopes. */
export const VERTICALS_IN_USE = `
  WITH RECURSIVE used (vertical) AS (
    SELECT min(vertical) FROM scopes
    UNION ALL
    SELECT (SELECT min(vertical) FROM scopes WHERE vertical > used.vertical) FROM used WHERE used.vertical IS NOT NULL
  )
  SELECT vertical FROM used WHERE vertical IS NOT NULL`;

interface FleetRow {
  readonly id: ScopeId;
  readonly tenant: TenantId;
  readonly vertical: string;
  readonly version: string;
  readonly state: 'applied' | 'failed' | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly at: number | null;
}

export const fleetMigrate = adminOperation({
  name: 'fleet-migrations.run',
  summary: 'Migrate scopes in waves',
  description:
    'A scope runs its migrations when it is opened, so each wave opens some scopes side by side and waits for them. It stops after the wave in which more than failuresMax have failed (reason wave_failed); the same call goes on with what is left, the failed ones with it. With dryRun, answers how much there is to do. Its result counts applied and failed.',
  tag,
  method: 'POST',
  path: '/fleet/migrations',
  input: {
    query: z.strictObject({
      dryRun: z.boolean().optional().describe('True answers the plan, and changes nothing'),
    }),
    body: z.strictObject({
      vertical: slug.optional().describe('Only scopes of this vertical'),
      waveSize: z
        .int()
        .min(1)
        .max(WAVE_MAX)
        .default(WAVE_DEFAULT)
        .describe('How many scopes are opened side by side'),
      failuresMax: z.int().min(0).max(1_000_000).default(0).describe('How many may fail before it stops'),
    }),
  },
  output: operationRecord,
  plan: fleetPlan,
  success: 202,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  problems: ['conflict', 'runtime_fault'],
});

export const migrateFleet = /* @__PURE__ */ longWork<typeof fleetMigrate, MigrateWork, MigrateFacts>(
  fleetMigrate,
  {
    begin: (_context, { body }) => ({
      intent: { target: targetOf(body.vertical), before: null, after: { ...body } },
      work: body,
      subject: 'fleet',
      unit: 'scopes',
    }),
    settle: (_context, { vertical }, facts) => ({
      result: facts,
      audit: { target: targetOf(vertical), before: null, after: { ...facts } },
    }),
  },
);

/** The methods of the unit. */
export function fleetMethods(context: UnitContext) {
  const { db } = context;
  return {
    /** Which verticals have scopes; asked for somebody, or by long work that began before. A query. */
    fleetVerticals: ({ actor }: { readonly actor: Actor | null }): string[] => {
      if (actor) requireActing(db, actor);
      return db.all<{ vertical: string }>(VERTICALS_IN_USE).map(({ vertical }) => vertical);
    },

    /** A query. */
    fleetCounts: (filter: FleetFilter): FleetCount[] => {
      const parts = partsOf(filter);
      const rows = db.all<Omit<FleetCount, 'failures'>>(
        `SELECT vertical, version, coalesce(sum(state = 'applied'), 0) AS applied,
           coalesce(sum(state IS NULL), 0) AS pending, coalesce(sum(state = 'failed'), 0) AS failed
         FROM (${FLEET}) GROUP BY vertical, version ORDER BY vertical, version`,
        ...parts,
      );
      return rows.map((row) => ({ ...row, failures: failuresOf(db, parts, row) }));
    },

    /** The next scopes that are not known to be migrated, by id. A query. */
    migrationWave: ({
      after,
      limit,
      ...filter
    }: FleetFilter & { readonly after: string; readonly limit: number }): WaveScope[] =>
      db
        .all<FleetRow>(
          `SELECT * FROM (${FLEET}) WHERE state IS NOT 'applied' AND id > ?4 ORDER BY id LIMIT ?5`,
          ...partsOf(filter),
          after,
          limit,
        )
        .flatMap(({ id, tenant, version }) => {
          const row = loadScope(db, { tenant, scope: id });
          return row ? [{ scope: scopeOfRow(row), version }] : [];
        }),

    recordMigrations: ({ outcomes }: { readonly outcomes: readonly WaveOutcome[] }): null => {
      for (const { scope, version, problem } of outcomes)
        db.run(
          `INSERT INTO scope_migrations (scope, version, state, code, detail, at)
           SELECT id, ?, ?, ?, ?, ? FROM scopes WHERE id = ?
           ON CONFLICT (scope) DO UPDATE SET version = excluded.version, state = excluded.state, code = excluded.code,
             detail = excluded.detail, at = excluded.at`,
          ...[version, problem ? 'failed' : 'applied', problem?.code ?? null, problem?.detail ?? null],
          ...[context.now(), scope],
        );
      return null;
    },
  };
}

function partsOf({ serving, tenant, vertical }: FleetFilter): [string, string | null, string | null] {
  return [JSON.stringify(serving), tenant ?? null, vertical ?? null];
}

function failuresOf(
  db: SqlDatabase,
  parts: readonly (string | null)[],
  { vertical, version }: Pick<FleetCount, 'vertical' | 'version'>,
): FleetCount['failures'] {
  return db
    .all<FleetRow>(
      `SELECT * FROM (${FLEET}) WHERE state = 'failed' AND vertical = ?4 AND version = ?5 ORDER BY id LIMIT ${FAILURES_SHOWN}`,
      ...parts,
      vertical,
      version,
    )
    .map(({ id, tenant, code, detail, at }) => ({
      tenant,
      scope: id,
      code: code ?? 'internal',
      detail: detail ?? '',
      at: toTimestamp(at ?? 0),
    }));
}

function targetOf(vertical: string | undefined): LogTarget {
  return { tenant: null, scope: null, vertical: vertical ?? null, other: null };
}

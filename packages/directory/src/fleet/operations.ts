/**
 * Migrates the fleet in waves: a scope runs its migrations when it is opened, so each wave opens some scopes and waits; a
 * scope of a deployed version is moved to it by the runtime. The directory keeps what the waves have seen.
 */
import {
  canonicalJson,
  migrationsResponse,
  PlatformError,
  publicError,
  type ScopeId,
  type SnapshotRecord,
  scopeId,
  slug,
  snapshotRecord,
  type TenantId,
  tenantId,
  timestamp,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { requireActing } from '../access/callers.ts';
import { requireReach } from '../access/reach.ts';
import { saveSnapshot } from '../copies/snapshot-store.ts';
import { adminOperation, dryRunQuery } from '../declarations/admin-operation.ts';
import { counts, tag } from '../declarations/fleet.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import { params as verticalParams, tag as verticalsTag } from '../declarations/verticals.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { defineFeature } from '../lib/feature.ts';
import { type CallOf, longWork } from '../lib/handlers.ts';
import type { LongEffect, LongRun } from '../long-work/effects.ts';
import {
  type MigrationOutcome,
  recordMigration,
  scopeMigrationsMigration,
} from '../scopes/migration-record.ts';
import { loadScope, scopeOfRow } from '../scopes/store.ts';
import type { VerticalRuntime } from '../vertical-registry/deploy.ts';
import { moveScope } from '../vertical-registry/move-scope.ts';
import { loadContent, loadVersionByNumber, type VersionRow } from '../vertical-registry/versions-store.ts';
import { requireVertical } from '../vertical-registry/verticals-store.ts';
import { askScope } from '../verticals/client.ts';

/** The most scopes that are opened side by side: each runs its migrations. */
const WAVE_MAX = 100;
const WAVE_DEFAULT = 10;
const FAILURES_SHOWN = 10;
/** The most time that a scope may take over all its migrations. */
const MIGRATE_TIMEOUT_MS = 10 * 60 * 1000;

export const fleetMigrations = adminOperation({
  name: 'fleet-migrations.get',
  summary: 'Count applied, pending and failed migrations for each version of each vertical',
  description:
    'From records; no scope is asked. A new scope is applied at the version that served when it was provisioned. After a change of version a scope migrates by itself when it is first used, and stays pending here until a wave has opened it. Archived scopes are not counted. A builder sees the scopes of its own tenant.',
  tag,
  method: 'GET',
  path: '/fleet/migrations',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only scopes of this tenant'),
      vertical: slug.optional().describe('Only scopes of this vertical'),
    }),
  },
  output: z
    .object({
      items: z.array(
        z.object({
          ...counts,
          failures: z
            .array(
              z.object({
                tenant: tenantId,
                scope: scopeId,
                code: z.string(),
                detail: z.string(),
                at: timestamp,
              }),
            )
            .describe('The first ten, by scope'),
        }),
      ),
    })
    .meta({ id: 'FleetMigrations' }),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

const fleetPlan = z
  .object({
    dryRun: z.literal(true),
    items: z.array(z.object(counts)),
    scopes: z.int().describe('How many scopes would be opened'),
    waves: z.int(),
  })
  .meta({ id: 'FleetMigrationPlan' });

const waveSize = {
  waveSize: z
    .int()
    .min(1)
    .max(WAVE_MAX)
    .default(WAVE_DEFAULT)
    .describe('How many scopes are opened side by side'),
  failuresMax: z.int().min(0).max(1_000_000).default(0).describe('How many may fail before it stops'),
};

export const fleetMigrate = adminOperation({
  name: 'fleet-migrations.run',
  summary: 'Migrate scopes in waves',
  description:
    'A scope runs its migrations when it is opened, so each wave opens some scopes side by side and waits for them. A scope of a deployed vertical is moved to its version: a snapshot is taken first where the migrations differ, and one that cannot be moved stays at the version that it ran. A version that is promoted meanwhile is taken up. It stops after the wave in which more than failuresMax have failed (reason wave_failed); the same call goes on with the scopes that are left, the failed ones included. With dryRun, answers how much there is to do. Its result counts applied and failed.',
  tag,
  method: 'POST',
  path: '/fleet/migrations',
  input: {
    query: dryRunQuery,
    body: z.strictObject({
      vertical: slug.optional().describe('Only scopes of this vertical'),
      ...waveSize,
    }),
  },
  output: operationRecord,
  plan: fleetPlan,
  success: 202,
  destructive: true,
  problems: ['conflict', 'runtime_fault'],
});

export const verticalsMove = adminOperation({
  name: 'verticals.move',
  summary: 'Move the scopes of a vertical to their version, in waves',
  description:
    'Scopes that follow prod go to the version that serves, the others to the one that they are bound to. What becomes of each is as with fleet-migrations.run; a wave of the same vertical that runs already takes a new version up (conflict, reason operation_running).',
  tag: verticalsTag,
  method: 'POST',
  path: '/verticals/:slug/move',
  input: { params: verticalParams, query: dryRunQuery, body: z.strictObject(waveSize) },
  output: operationRecord,
  plan: fleetPlan,
  success: 202,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  problems: ['conflict', 'runtime_fault'],
});

type FleetCount = z.input<(typeof fleetMigrations)['output']>['items'][number];

/** Vertical → the version that serves. Only the host administration knows it for all of them. */
type Serving = Readonly<Record<string, string>>;

export interface FleetFilter {
  readonly serving: Serving;
  readonly tenant?: string | undefined;
  readonly vertical?: string | undefined;
}

/** One scope of a wave, and the version that it is to be at. */
export interface WaveScope {
  readonly scope: ScopeRecord;
  readonly version: string;
  /** The script that the runtime keeps of it; null for a version that was never uploaded. */
  readonly script: string | null;
  /** Whether its migrations differ from those of the version that the scope was last known to run. */
  readonly migrates: boolean;
}

type MigrateWork = CallOf<typeof fleetMigrate>['body'] & {
  /** The tenant whose vertical it is, for the wave of one vertical. */
  readonly owner?: TenantId | null;
};

interface MigrateFacts {
  readonly applied: number;
  readonly failed: number;
}

const migrateFleet = /* @__PURE__ */ longWork<typeof fleetMigrate, MigrateWork, MigrateFacts>(fleetMigrate, {
  begin: (_context, { body }) => beginningOf(body),
  settle: (_context, work, facts) => endingOf(work, facts),
});

const moveVertical = /* @__PURE__ */ longWork<typeof verticalsMove, MigrateWork, MigrateFacts>(
  verticalsMove,
  {
    begin: ({ db }, { params, body, actor }) => {
      const { slug: vertical, ownerTenant } = requireVertical(db, actor, params.slug);
      return beginningOf({ ...body, vertical, owner: ownerTenant });
    },
    settle: (_context, work, facts) => endingOf(work, facts),
  },
);

/** Two waves side by side would move the same scopes twice, which does no harm: each vertical has one at a time. */
function beginningOf(work: MigrateWork) {
  const { vertical } = work;
  return {
    intent: { target: targetOf(work), before: null, after: { ...work } },
    work,
    subject: vertical === undefined ? 'fleet' : `fleet/${vertical}`,
    unit: 'scopes',
  };
}

function endingOf(work: MigrateWork, facts: MigrateFacts) {
  return { result: facts, audit: { target: targetOf(work), before: null, after: { ...facts } } };
}

/** A wave of one vertical is its owner's work too, who follows it. */
function targetOf({ vertical, owner }: MigrateWork): LogTarget {
  return { tenant: owner ?? null, scope: null, vertical: vertical ?? null, other: null };
}

interface FleetDeps {
  readonly directory: UnitStub<ReturnType<typeof fleetMethods>>;
  /** Runs deployed versions; undefined where there is none. */
  readonly runtime: VerticalRuntime | undefined;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => Promise<string>;
}

/** Performs `fleet-migrations.get`. */
export async function readFleetMigrations(deps: Omit<FleetDeps, 'runtime'>, call: AdminCall) {
  const { query } = call as unknown as CallOf<typeof fleetMigrations>;
  const serving = await servingOf(deps, call);
  return { items: await deps.directory.fleetCounts({ serving, ...query }) };
}

/** Scopes stay migrated, even when a later one fails; after a crash the work goes on with the scopes that are left. */
export const migrateFleetEffect: LongEffect<MigrateWork, MigrateFacts, EffectDeps & FleetDeps> = {
  plan: async (deps, call) => {
    const { body } = call as unknown as CallOf<typeof fleetMigrate>;
    const named = call.params.slug;
    const vertical = typeof named === 'string' ? named : body.vertical;
    if (vertical !== undefined) await deps.directory.fleetVertical({ call, vertical });
    const serving = await servingOf(deps, call);
    const counted = await deps.directory.fleetCounts({ serving, vertical });
    const items = counted.map(({ failures: _, ...counts }) => counts);
    const scopes = toMigrate(items);
    return { dryRun: true, items, scopes, waves: Math.ceil(scopes / body.waveSize) };
  },
  run: async (deps, { vertical, waveSize, failuresMax }, run) => {
    let serving = await servingOf(deps, null);
    let total = toMigrate(await deps.directory.fleetCounts({ serving, vertical }));
    const facts = { applied: 0, failed: 0 };
    for (let after = ''; ; ) {
      run.progress({ done: facts.applied + facts.failed, total, unit: 'scopes' });
      const wave = await deps.directory.migrationWave({ serving, vertical, after, limit: waveSize });
      const last = wave.at(-1);
      if (!last) {
        if (vertical === undefined) return facts;
        const now = await servingOf(deps, null);
        if (now[vertical] === serving[vertical]) return facts;
        // Another version was promoted meanwhile, and its own wave was refused because this one ran.
        serving = now;
        after = '';
        total += toMigrate(await deps.directory.fleetCounts({ serving, vertical }));
        continue;
      }
      after = last.scope.id;
      const outcomes = await Promise.all(wave.map((each) => migrate(deps, each, run)));
      await deps.directory.recordMigrations({ outcomes });
      const failures = outcomes.filter(({ problem }) => problem);
      facts.failed += failures.length;
      facts.applied += outcomes.length - failures.length;
      const [first] = failures;
      if (facts.failed > failuresMax && first)
        throw new PlatformError(
          'runtime_fault',
          `${facts.failed} of ${facts.applied + facts.failed} scopes were not migrated. The first of the last wave is ${first.scope}: ${first.problem?.detail}`,
          { reason: 'wave_failed' },
        );
    }
  },
};

function toMigrate(counts: readonly Pick<FleetCount, 'pending' | 'failed'>[]): number {
  return counts.reduce((sum, { pending, failed }) => sum + pending + failed, 0);
}

async function migrate(
  deps: EffectDeps & FleetDeps,
  { scope, version, script, migrates }: WaveScope,
  run: LongRun,
): Promise<MigrationOutcome> {
  run.signal.throwIfAborted();
  try {
    if (script !== null && deps.runtime) {
      if (migrates) await snapshotBefore(deps, scope, version);
      await moveScope(deps.runtime, { scope, script });
      return { scope: scope.id, version, problem: null };
    }
    await askScope(deps, scope, {
      path: 'migrations',
      answer: migrationsResponse,
      timeoutMs: MIGRATE_TIMEOUT_MS,
      local: async (host, ref) => ({ items: await host.appliedMigrationsLocal(ref) }),
    });
    return { scope: scope.id, version, problem: null };
  } catch (error) {
    const { code, message } = publicError(error);
    return { scope: scope.id, version, problem: { code, detail: message } };
  }
}

/** A failed migration leaves the scope as it was; a wrong one, which succeeded, is undone with this. */
async function snapshotBefore(
  deps: EffectDeps & FleetDeps,
  scope: ScopeRecord,
  version: string,
): Promise<void> {
  const body = { name: `before ${version}` };
  const snapshot = await askScope(deps, scope, {
    path: 'snapshot',
    body,
    answer: snapshotRecord,
    timeoutMs: MIGRATE_TIMEOUT_MS,
    local: (host, ref) => host.snapshotScopeLocal({ ...ref, ...body }),
  });
  await deps.directory.listSnapshot({ scope: scope.id, snapshot });
}

async function servingOf(
  { directory, servingVersion }: Omit<FleetDeps, 'runtime'>,
  call: AdminCall | null,
): Promise<Serving> {
  const verticals = await directory.fleetVerticals({ call });
  const versions = await Promise.all(verticals.map(servingVersion));
  return Object.fromEntries(verticals.map((vertical, index) => [vertical, versions[index] as string]));
}

/** Scopes that migrate, each with the version that it is to be at and the record of it at that version. */
const FLEET = `
  SELECT s.id, s.tenant, s.vertical, coalesce(b.version, p.value, 'unversioned') AS version, m.state, m.code, m.detail, m.at
  FROM scopes s
  LEFT JOIN scope_versions v ON v.scope = s.id
  LEFT JOIN vertical_versions b ON b.id = v.version
  LEFT JOIN json_each(?1) p ON p.key = s.vertical
  LEFT JOIN scope_migrations m ON m.scope = s.id AND m.version = coalesce(b.version, p.value, 'unversioned')
  WHERE s.status IN ('active', 'suspended') AND (?2 IS NULL OR s.tenant = ?2) AND (?3 IS NULL OR s.vertical = ?3)`;

/** Jumps from one vertical to the next in the index: the cost follows the number of verticals, not of their scopes. */
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

function fleetMethods(context: UnitContext) {
  const { db } = context;
  return {
    /** The verticals that have scopes. `call` is null for long work that was admitted when it began. */
    fleetVerticals: ({ call }: { readonly call: AdminCall | null }): string[] => {
      if (call) {
        requireActing(db, call.actor);
        requireReach(db, call);
      }
      return db.all<{ vertical: string }>(VERTICALS_IN_USE).map(({ vertical }) => vertical);
    },

    /** @throws PlatformError `not_found` where the actor may not work on the vertical. */
    fleetVertical: ({ call, vertical }: { readonly call: AdminCall; readonly vertical: string }): null => {
      if (call.actor.kind === 'builder') requireVertical(db, call.actor, vertical);
      return null;
    },

    fleetCounts: (filter: FleetFilter): FleetCount[] => {
      const filters = filtersOf(filter);
      const rows = db.all<Omit<FleetCount, 'failures'>>(
        `SELECT vertical, version, coalesce(sum(state = 'applied'), 0) AS applied,
           coalesce(sum(state IS NULL), 0) AS pending, coalesce(sum(state = 'failed'), 0) AS failed
         FROM (${FLEET}) GROUP BY vertical, version ORDER BY vertical, version`,
        ...filters,
      );
      return rows.map((row) => ({ ...row, failures: failuresOf(db, filters, row) }));
    },

    /** The next scopes that are not known to be migrated, by id. */
    migrationWave: ({
      after,
      limit,
      ...filter
    }: FleetFilter & { readonly after: string; readonly limit: number }): WaveScope[] =>
      db
        .all<FleetRow>(
          `SELECT * FROM (${FLEET}) WHERE state IS NOT 'applied' AND id > ?4 ORDER BY id LIMIT ?5`,
          ...[...filtersOf(filter), after, limit],
        )
        .flatMap(({ id, tenant, vertical, version }) => {
          const row = loadScope(db, { tenant, scope: id });
          if (!row) return [];
          const target = loadVersionByNumber(db, vertical, version);
          const script = target && target.uploadedAtMs !== null ? target.script : null;
          return [{ scope: scopeOfRow(row), version, script, migrates: migratesTo(db, id, target) }];
        }),

    /** Lists a snapshot that was taken before a migration. */
    listSnapshot: ({
      scope,
      snapshot,
    }: {
      readonly scope: string;
      readonly snapshot: SnapshotRecord;
    }): null => {
      saveSnapshot(db, scope, snapshot);
      return null;
    },

    recordMigrations: ({ outcomes }: { readonly outcomes: readonly MigrationOutcome[] }): null => {
      for (const outcome of outcomes) recordMigration(db, outcome, context.now());
      return null;
    },
  };
}

/**
 * Whether a scope would be migrated: by the version that it was last known to run. Unknown counts as yes, and it is unknown
 * after a failure.
 */
function migratesTo(db: SqlDatabase, scope: string, target: VersionRow | undefined): boolean {
  if (!target) return false;
  const ran = db.get<{ version: string }>(
    "SELECT version FROM scope_migrations WHERE scope = ? AND state = 'applied'",
    scope,
  );
  const before = ran && loadVersionByNumber(db, target.vertical, ran.version);
  if (!before) return true;
  const digests = ({ id }: VersionRow): string => canonicalJson([...loadContent(db, id).migrations]);
  return digests(before) !== digests(target);
}

function filtersOf({ serving, tenant, vertical }: FleetFilter): [string, string | null, string | null] {
  return [JSON.stringify(serving), tenant ?? null, vertical ?? null];
}

function failuresOf(
  db: SqlDatabase,
  filters: readonly (string | null)[],
  { vertical, version }: Pick<FleetCount, 'vertical' | 'version'>,
): FleetCount['failures'] {
  return db
    .all<FleetRow>(
      `SELECT * FROM (${FLEET}) WHERE state = 'failed' AND vertical = ?4 AND version = ?5 ORDER BY id LIMIT ${FAILURES_SHOWN}`,
      ...[...filters, vertical, version],
    )
    .map(({ id, tenant, code, detail, at }) => ({
      tenant,
      scope: id,
      code: code ?? 'internal',
      detail: detail ?? '',
      at: toTimestamp(at ?? 0),
    }));
}

export const fleetFeature = /* @__PURE__ */ defineFeature({
  operations: [migrateFleet, moveVertical],
  migrations: [{ name: 'fleet', migrations: [scopeMigrationsMigration] }],
  methods: fleetMethods,
  queries: ['fleetVertical', 'fleetVerticals', 'fleetCounts', 'migrationWave'],
});

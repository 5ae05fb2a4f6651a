/** Migrates the fleet in waves: a scope runs its migrations when it is opened, so each wave opens some and waits. */

import {
  migrationsResponse,
  PlatformError,
  publicError,
  scopeId,
  slug,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { counts, tag } from '../declarations/fleet.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongDeps, LongEffect, LongRun } from '../long-work/handlers.ts';
import type { DirectoryMethods } from '../unit.ts';
import { askScope } from '../verticals/ask-scope.ts';
import type {
  fleetMigrate,
  MigrateFacts,
  MigrateWork,
  Serving,
  WaveOutcome,
  WaveScope,
} from './operations.ts';

export const fleetMigrations = adminOperation({
  name: 'fleet-migrations.get',
  summary: 'Count applied, pending and failed migrations for each version of each vertical',
  description:
    'From what waves have written down; no scope is asked. A scope also migrates by itself when it is first used, and stays pending here until a wave has seen it. Archived scopes are not counted. A builder sees the scopes of its own tenant.',
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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

/** How long a scope may take over all its migrations. */
const MIGRATE_TIMEOUT_MS = 10 * 60 * 1000;

interface FleetDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => Promise<string>;
}

/** Performs `fleet-migrations.get`. */
export async function readFleetMigrations(deps: FleetDeps, call: AdminCall) {
  const { query } = call as unknown as CallOf<typeof fleetMigrations>;
  const serving = await servingOf(deps, call.actor);
  return { items: await deps.directory.fleetCounts({ serving, ...query }) };
}

/** What `fleet-migrations.run` would do. */
async function planFleetMigrations(deps: FleetDeps, call: AdminCall) {
  const { body } = call as unknown as CallOf<typeof fleetMigrate>;
  const counted = await deps.directory.fleetCounts({
    serving: await servingOf(deps, call.actor),
    vertical: body.vertical,
  });
  const items = counted.map(({ failures: _, ...counts }) => counts);
  const scopes = items.reduce((sum, { pending, failed }) => sum + pending + failed, 0);
  return { dryRun: true, items, scopes, waves: Math.ceil(scopes / body.waveSize) };
}

/** What was migrated stays so, whatever becomes of the rest; after a crash it goes on with what is left. */
export const migrateFleetEffect: LongEffect<MigrateWork, MigrateFacts> = {
  plan: planFleetMigrations,
  run: async (deps, { vertical, waveSize, failuresMax }, run) => {
    const serving = await servingOf(deps, null);
    const counts = await deps.directory.fleetCounts({ serving, vertical });
    const total = counts.reduce((sum, { pending, failed }) => sum + pending + failed, 0);
    const facts = { applied: 0, failed: 0 };
    for (let after = ''; ; ) {
      run.progress({ done: facts.applied + facts.failed, total, unit: 'scopes' });
      const wave = await deps.directory.migrationWave({ serving, vertical, after, limit: waveSize });
      const last = wave.at(-1);
      if (!last) return facts;
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
          `${facts.failed} of ${facts.applied + facts.failed} scopes were not migrated, the first in this wave being ${first.scope}: ${first.problem?.detail}`,
          { reason: 'wave_failed' },
        );
    }
  },
};

async function migrate(deps: LongDeps, { scope, version }: WaveScope, run: LongRun): Promise<WaveOutcome> {
  run.signal.throwIfAborted();
  try {
    await askScope(deps, scope, {
      path: 'migrations',
      answer: migrationsResponse,
      timeoutMs: MIGRATE_TIMEOUT_MS,
      local: async (host, ref) => ({ items: await host.appliedMigrationsLocal(ref) }),
    });
    return { scope: scope.id, version, problem: null };
  } catch (error) {
    // What it failed with is written down, for whoever looks into it.
    const { code, message } = publicError(error);
    return { scope: scope.id, version, problem: { code, detail: message } };
  }
}

async function servingOf(
  { directory, servingVersion }: FleetDeps,
  actor: AdminCall['actor'] | null,
): Promise<Serving> {
  const verticals = await directory.fleetVerticals({ actor });
  const versions = await Promise.all(verticals.map(servingVersion));
  return Object.fromEntries(verticals.map((vertical, index) => [vertical, versions[index] as string]));
}

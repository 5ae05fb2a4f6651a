/** The operations about all scopes at once (spec 4.3; design: control-plane-routes, "Scopes"). */
import { scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { operationRecord } from './long-work.ts';

const tag = 'Fleet';
/** How many scopes are opened side by side, at most: each runs its migrations. */
const WAVE_MAX = 100;
const WAVE_DEFAULT = 10;

const counts = {
  vertical: slug,
  version: z.string().describe('The version that the scope is bound to, else the one that serves'),
  applied: z.int().describe('Scopes that were opened at this version and said so'),
  pending: z.int().describe('Scopes that nobody has opened through a wave since this version serves'),
  failed: z.int().describe('Scopes whose last wave they did not come out of'),
};

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

export const fleetPlan = z
  .object({
    dryRun: z.literal(true),
    items: z.array(z.object(counts)),
    scopes: z.int().describe('How many scopes would be opened'),
    waves: z.int(),
  })
  .meta({ id: 'FleetMigrationPlan' });

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

/** What the platform's own work came to: failures of operation, and one row a unit swept (spec 4.3.10, 6.4). */
import { pageOf, pageQuery, scopeId, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Operations';
const word = z.string().min(1).max(128);
const filters = {
  tenant: tenantId.optional().describe('Only rows about this tenant; a builder may leave it out'),
  scope: scopeId.optional().describe('Only rows about this scope'),
};

/** What a row is about; all null for the platform itself. */
const about = {
  tenant: tenantId.nullable(),
  scope: scopeId.nullable(),
  vertical: z.string().nullable(),
};

export const opsFailureRecord = z
  .object({
    sequence: z.int().min(1),
    at: timestamp,
    operation: z.string().describe('What was being done: sweep.connection, model-usage.collect'),
    ...about,
    subject: z.string().nullable().describe('A connection, a schedule, a request'),
    reason: z.string().describe('A stable word'),
    detail: z.string().describe('A sentence for people, without payloads and secrets'),
  })
  .meta({ id: 'OpsFailure' });
export type OpsFailureRecord = z.infer<typeof opsFailureRecord>;

export const sweepKind = z
  .enum(['connection', 'schedule', 'freshness', 'roles', 'backup', 'intent'])
  .describe(
    'schedule: one that an application declares, or a job of the platform itself; intent: a row of the admin log that nobody settled',
  );
export const sweepOutcome = z
  .enum(['swept', 'skipped', 'failed', 'ran', 'fresh', 'stale'])
  .describe(
    'A connection is swept, skipped or failed, and so is a scope that is told roles, and what is backed up; a schedule ran, was skipped or failed; freshness is a verdict; an intent without an outcome failed',
  );

export const sweepRunRecord = z
  .object({
    sequence: z.int().min(1),
    run: z.string().describe('The same for all units of one sweep'),
    at: timestamp,
    kind: sweepKind,
    unit: z
      .string()
      .describe(
        'Which connection, schedule or feed: a job of the platform is platform/meters, and an intent its sequence',
      ),
    ...about,
    outcome: sweepOutcome,
    reason: z.string().nullable().describe('A stable word: refreshed, not_due, provider_unavailable'),
  })
  .meta({ id: 'SweepRun' });
export type SweepRunRecord = z.infer<typeof sweepRunRecord>;

export const opsFailuresList = adminOperation({
  name: 'ops-failures.list',
  summary: 'List what the platform could not do, newest first',
  description:
    'Work that nobody was waiting for: sweeps, schedules, collections; and calls of which nobody learned how they ended. What goes on failing for the same reason is one row an hour. Of each tenant, and of the platform itself, the newest 1000 rows of the last 90 days are kept.',
  tag,
  method: 'GET',
  path: '/ops-failures',
  input: {
    query: z.strictObject({
      ...filters,
      operation: word.optional().describe('Only failures of this work'),
      ...pageQuery,
    }),
  },
  output: pageOf(opsFailureRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const sweepRunsList = adminOperation({
  name: 'sweep-runs.list',
  summary: 'List the units swept, newest first',
  description:
    'One row for each unit of each sweep, and one for each run of a job of the platform. Only what is skipped is not repeated: for the same reason, a unit is one row a day, and a job without anything to do one row an hour. Kept are the last 30 days, and of each kind the newest 2000 rows of a tenant, and 20000 of the platform itself.',
  tag,
  method: 'GET',
  path: '/sweep-runs',
  input: {
    query: z.strictObject({
      ...filters,
      kind: sweepKind.optional().describe('Only units of this kind'),
      unit: word.optional().describe('Only this unit: platform/maintenance'),
      outcome: sweepOutcome.optional().describe('Only units with this outcome'),
      run: word.optional().describe('Only units of this sweep'),
      ...pageQuery,
    }),
  },
  output: pageOf(sweepRunRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

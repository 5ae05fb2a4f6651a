/** The log of the platform's own work: failed operations, and a row for each swept unit (spec 4.3.10, 6.4). */
import { scopeId, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

/** The subject of a row; all null for the platform itself. */
const about = {
  tenant: tenantId.nullable(),
  scope: scopeId.nullable(),
  vertical: z.string().nullable(),
};

export const opsFailureRecord = z
  .object({
    sequence: z.int().min(1),
    at: timestamp,
    operation: z.string().describe('The work: sweep.connection, model-usage.collect'),
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
    'schedule: one that an application declares, or a job of the platform itself; intent: an unsettled row of the admin log',
  );

export const sweepOutcome = z
  .enum(['swept', 'skipped', 'failed', 'ran', 'fresh', 'stale'])
  .describe(
    'A connection is swept, skipped or failed, and so is a scope that is sent roles, and a unit that is backed up; a schedule ran, was skipped or failed; freshness is a verdict; an intent without an outcome failed',
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

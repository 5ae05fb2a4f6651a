/** The scopes' operations (spec 4.3; design: control-plane-routes, "Scopes"). */
import { scopeId, slug, snapshotId, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { scopeStatus } from './records.ts';
import { versionId } from './vertical-records.ts';

export const tag = 'Scopes';

export const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const effectProblems = [
  'not_found',
  'conflict',
  'invalid_transition',
  'unsupported',
  'runtime_fault',
  'unavailable',
] as const;

export const healthCheck = z.object({
  name: z.enum(['migrations', 'dead-letters', 'platform-requests']),
  status: z.enum(['ok', 'warning', 'failing']),
  count: z.int().nullable().describe('The number; null when it is unknown'),
  more: z.boolean().describe('True when there are more than were counted'),
  problem: z
    .object({ code: z.string(), reason: z.string().nullable(), detail: z.string() })
    .nullable()
    .describe('Why it is unknown'),
});
export type HealthCheck = z.infer<typeof healthCheck>;

export const scopeHealth = z
  .object({
    status: z
      .enum(['ok', 'warning', 'failing'])
      .describe('The worst of its checks. warning: some deliveries have given up'),
    lifecycle: scopeStatus.describe('The status of the scope in the directory'),
    checks: z.array(healthCheck),
  })
  .meta({ id: 'ScopeHealth' });
export type ScopeHealth = z.infer<typeof scopeHealth>;

export const scopeVersionRecord = z
  .object({
    scope: scopeId,
    vertical: slug,
    version: z.string().nullable().describe('The version that it runs; null while none serves'),
    id: versionId.nullable(),
    bound: z.boolean().describe('True for a version of its own, false where it follows prod'),
    boundAt: timestamp.nullable(),
    snapshot: snapshotId.nullable().describe('The copy that was taken before this binding'),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ScopeVersion' });

export type ScopeVersionRecord = z.infer<typeof scopeVersionRecord>;

export const erasureReceipt = z
  .object({
    subject: z.string(),
    redacted: z.literal(true).describe('The data of the subject is removed from the scope'),
    keyDestroyedAt: timestamp.describe('Since then, data that was sealed for the subject cannot be opened'),
    keyDigest: z.string().nullable().describe('SHA-256 of the destroyed key; null where there was none'),
    receiptId: z.string().describe('The same for every repeat; the admin log names it'),
  })
  .meta({ id: 'ErasureReceipt' });

export type ErasureReceipt = z.infer<typeof erasureReceipt>;

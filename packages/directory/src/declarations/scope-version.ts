/** Which version of its vertical a scope runs on (spec 4.3; control-plane-routes, "Scopes"). */
import { scopeId, slug, snapshotId, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { versionId } from './vertical-records.ts';
import { versionChoice } from './verticals.ts';

const tag = 'Scopes';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const scopeVersionRecord = z
  .object({
    scope: scopeId,
    vertical: slug,
    version: z.string().nullable().describe('What it runs on; null while nothing serves'),
    id: versionId.nullable(),
    bound: z.boolean().describe('True for a version of its own, false where it follows prod'),
    boundAt: timestamp.nullable(),
    snapshot: snapshotId.nullable().describe('The copy that was taken before this binding'),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ScopeVersion' });
export type ScopeVersionRecord = z.infer<typeof scopeVersionRecord>;

export const scopeVersionGet = adminOperation({
  name: 'scope-version.get',
  summary: 'Get the version that a scope runs on',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/version',
  input: { params },
  output: scopeVersionRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const scopeVersionSet = adminOperation({
  name: 'scope-version.set',
  summary: 'Bind a scope to a version, or let it follow prod',
  description:
    'Exactly one of version, id and channel. A version must be admitted (reason version_not_admitted). With snapshot a copy of the scope is taken first; where that fails, nothing is bound. A vertical that is compiled into this platform runs on the one version that is (reason built_in_version).',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/scopes/:scope/version',
  input: {
    params,
    body: z.strictObject({
      ...versionChoice,
      channel: z.enum(['prod']).optional().describe('Follow this channel'),
      snapshot: z.boolean().default(false).describe('Take a snapshot first'),
    }),
  },
  output: scopeVersionRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['conflict', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

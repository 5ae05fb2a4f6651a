/** The secret that signs a tenant's sessions, replaced (spec 3.1; design: identity, "Sessions"). */
import { scopeId, sessionSecretRotation, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRunQuery, planCount } from './dry-run.ts';

export const sessionSecretPlan = z
  .object({
    dryRun: z.literal(true),
    vertical: slug.describe('Which is asked'),
    scopes: planCount.describe(
      'How many scopes of the tenant it serves: their sessions are signed with the secret',
    ),
    hostnames: planCount.describe('Under how many active names these are reached'),
    signsOut: z
      .boolean()
      .describe(
        'Whether everybody signs in again at once; otherwise what the former secret signed stays good for a while',
      ),
  })
  .meta({ id: 'SessionSecretPlan' });

export const sessionSecretRotate = adminOperation({
  name: 'session-secret.rotate',
  summary: "Replace the secret that signs a tenant's sessions",
  description:
    "The secret is the tenant's, so that this is for all of its scopes that the vertical serves; the scope says which vertical is asked. What the former one signed is good for 8 more days, and nobody is signed out. With keepFormer false, for a secret that others may have, everybody signs in again. A conflict while too many former ones still verify (reason rotated_too_often). The tenant's admin can read who did it. Nobody is ever shown a secret. With dryRun, answers how many scopes that concerns.",
  tag: 'Scopes',
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/session-secret/rotate',
  input: {
    params: z.strictObject({ tenant: tenantId, scope: scopeId }),
    query: dryRunQuery,
    body: z.strictObject({
      keepFormer: z
        .boolean()
        .default(true)
        .describe('Whether what the former one signed stays good for a while'),
    }),
  },
  output: sessionSecretRotation,
  plan: sessionSecretPlan,
  success: 200,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

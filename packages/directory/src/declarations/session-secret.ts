/** The secret that signs a tenant's sessions, replaced (spec 3.1; design: identity, "Sessions"). */
import { scopeId, sessionSecretRotation, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

export const sessionSecretRotate = adminOperation({
  name: 'session-secret.rotate',
  summary: "Replace the secret that signs a tenant's sessions",
  description:
    "The secret is the tenant's, so that this is for all of its scopes that the vertical serves; the scope says which vertical is asked. What the former one signed is good for 8 more days, and nobody is signed out. With keepFormer false, for a secret that others may have, everybody signs in again. A conflict while too many former ones still verify (reason rotated_too_often). The tenant's admin can read who did it. Nobody is ever shown a secret.",
  tag: 'Scopes',
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/session-secret/rotate',
  input: {
    params: z.strictObject({ tenant: tenantId, scope: scopeId }),
    body: z.strictObject({
      keepFormer: z
        .boolean()
        .default(true)
        .describe('Whether what the former one signed stays good for a while'),
    }),
  },
  output: sessionSecretRotation,
  success: 200,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

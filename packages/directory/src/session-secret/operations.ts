/** Replacing a tenant's session secret, as far as the directory is concerned: that it was done, and nothing of a secret. */

import {
  PlatformError,
  type SessionSecretRotation,
  scopeId,
  sessionSecretRotation,
  slug,
  tenantId,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { dryRunQuery, planCount } from '../declarations/dry-run.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { delegated, planned } from '../lib/handlers.ts';
import { loadScopeTarget, logTargetOf, type ScopeTarget } from '../scopes/target.ts';

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

/** Of a suspended scope too: whoever suspects a leak may well have suspended it first. */
const REACHED: readonly ScopeRecord['status'][] = ['active', 'suspended'];

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

export const rotateSessionSecret = /* @__PURE__ */ delegated<
  typeof sessionSecretRotate,
  ScopeTarget,
  SessionSecretRotation
>(sessionSecretRotate, {
  begin: ({ db }, { params, body }) => {
    const prepared = requireReached(db, params);
    return { intent: { target: logTargetOf(prepared.scope), before: null, after: { ...body } }, prepared };
  },
  settle: ({ db }, { params, body }, rotation) => ({
    status: 200,
    value: rotation,
    audit: {
      target: logTargetOf(loadScopeTarget(db, params).scope),
      before: null,
      after: { ...body, ...rotation },
    },
  }),
  // Whether what an earlier call meant to end has ended is known only after one that ends it.
  supersedes: ({ body }, earlier) => !body.keepFormer || earlier?.keepFormer === true,
});

export const planRotation = /* @__PURE__ */ planned<typeof sessionSecretRotate>(
  sessionSecretRotate,
  ({ db }, { params, body }) => {
    const { scope } = requireReached(db, params);
    const counted = db.get<{ scopes: number; hostnames: number }>(SIGNED, scope.tenant, scope.vertical);
    const { scopes = 0, hostnames = 0 } = counted ?? {};
    return { dryRun: true, vertical: scope.vertical, scopes, hostnames, signsOut: !body.keepFormer };
  },
);

/** What one secret signs for: every scope of the tenant that the vertical serves. */
export const SIGNED = `SELECT count(DISTINCT s.id) AS scopes, count(h.claim) AS hostnames
   FROM scopes s LEFT JOIN hostnames h ON h.scope = s.id AND h.status = 'active'
   WHERE s.tenant = ? AND s.vertical = ? AND s.status IN ('active', 'suspended')`;

function requireReached(db: SqlDatabase, ref: Parameters<typeof loadScopeTarget>[1]): ScopeTarget {
  const target = loadScopeTarget(db, ref);
  const { status } = target.scope;
  if (REACHED.includes(status)) return target;
  throw new PlatformError('invalid_transition', `This scope is ${status}.`, { reason: 'scope_not_active' });
}

/** Replacing a tenant's session secret, as far as the directory is concerned: that it was done, and nothing of a secret. */
import { PlatformError, type SessionSecretRotation } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { ScopeRecord } from '../declarations/records.ts';
import { sessionSecretRotate } from '../declarations/session-secret.ts';
import { delegated, planned } from '../lib/handlers.ts';
import { loadScopeTarget, logTargetOf, type ScopeTarget } from '../scopes/target.ts';

/** Of a suspended scope too: whoever suspects a leak may well have suspended it first. */
const REACHED: readonly ScopeRecord['status'][] = ['active', 'suspended'];

export const rotateSessionSecret = delegated<typeof sessionSecretRotate, ScopeTarget, SessionSecretRotation>(
  sessionSecretRotate,
  {
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
  },
);

export const planRotation = planned<typeof sessionSecretRotate>(
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

/** Replacing a tenant's session secret, as far as the directory is concerned: that it was done, and nothing of a secret. */
import { PlatformError, type SessionSecretRotation } from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import { sessionSecretRotate } from '../declarations/session-secret.ts';
import { delegated } from '../lib/handlers.ts';
import { loadScopeTarget, logTargetOf, type ScopeTarget } from '../scopes/target.ts';

/** Of a suspended scope too: whoever suspects a leak may well have suspended it first. */
const REACHED: readonly ScopeRecord['status'][] = ['active', 'suspended'];

export const rotateSessionSecret = delegated<typeof sessionSecretRotate, ScopeTarget, SessionSecretRotation>(
  sessionSecretRotate,
  {
    begin: ({ db }, { params, body }) => {
      const prepared = loadScopeTarget(db, params);
      const { status } = prepared.scope;
      if (!REACHED.includes(status))
        throw new PlatformError('invalid_transition', `This scope is ${status}.`, {
          reason: 'scope_not_active',
        });
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

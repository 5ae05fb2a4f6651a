/** Replacing a tenant's session secret, asked of the vertical that keeps it. */
import { sessionSecretRotation } from '@freehold/contracts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { type ScopeTarget, scopeRefOf } from '../scopes/target.ts';
import { askVertical } from '../verticals/client.ts';
import { requireBound } from '../verticals/reach.ts';
import type { sessionSecretRotate } from './operations.ts';

const NO_SECRET = 'keeps no session secret that the platform could replace';

/** Who does it goes along, because the tenant's admin is told. */
export const sessionSecretEffect: Effect<ScopeTarget> = {
  check: async ({ gateway, target }, call) => {
    const { scope } = await target(call);
    requireBound(gateway, scope.vertical, NO_SECRET);
  },
  run: async ({ gateway, deadline, originOf }, call, { scope, hostname }) => {
    const { keepFormer } = (call as unknown as CallOf<typeof sessionSecretRotate>).body;
    const facts = await askVertical(
      requireBound(gateway, scope.vertical, NO_SECRET),
      {
        ...(hostname === null ? {} : { origin: originOf(hostname) }),
        path: 'session-secret/rotate',
        scope: scopeRefOf(scope),
        body: { by: call.actor.name, keepFormer },
        forward: true,
        answer: sessionSecretRotation,
      },
      deadline,
    );
    return { facts };
  },
};

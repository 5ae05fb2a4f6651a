/** The effects of provisioning and configuring in the vertical. */
import {
  configureResponse,
  type DeliveryWarning,
  type ProvisionRequest,
  provisionResponse,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, EffectDeps, Effects } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { askVertical } from '../verticals/client.ts';
import { noVertical, requireBound } from '../verticals/reach.ts';
import type { NewScope, scopesConfigure, scopesProvision } from './operations.ts';
import { scopeRefOf } from './target.ts';

const provisionEffect: Effect<NewScope> = {
  check: async ({ gateway }, call) => {
    const { vertical, owner, config } = call.body as CallOf<typeof scopesProvision>['body'];
    // A setting that cannot be delivered is refused: without it the instance would look right and be wrong.
    if (gateway.local(vertical) && (owner !== undefined || config !== undefined))
      requireBound(gateway, vertical, 'takes neither an owner nor settings');
  },
  run: async (deps, call, { scope, config, version }) => {
    const { owner } = call.body as CallOf<typeof scopesProvision>['body'];
    const warnings = await provisionIn(deps, scope, { owner, config });
    return { facts: { scope: scope.id, version, warnings } };
  },
};

const configureEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) => {
    const { scope } = await target(call);
    requireBound(gateway, scope.vertical, 'takes no settings');
  },
  run: async ({ gateway, deadline }, call, scope) => {
    const { config } = call.body as CallOf<typeof scopesConfigure>['body'];
    const { keys, warnings = [] } = await askVertical(
      requireBound(gateway, scope.vertical, 'takes no settings'),
      { path: 'configure', scope: scopeRefOf(scope), body: { config }, answer: configureResponse },
      deadline,
    );
    return { facts: { keys, warnings } };
  },
};

/** The effects of scopes, by operation. */
export const scopeEffects: Effects = {
  'scopes.provision': provisionEffect,
  'scopes.configure': configureEffect,
};

async function provisionIn(
  { gateway, deadline }: EffectDeps,
  scope: ScopeRecord,
  { owner, config }: Pick<CallOf<typeof scopesProvision>['body'], 'owner'> & Pick<NewScope, 'config'>,
): Promise<DeliveryWarning[]> {
  const ref = scopeRefOf(scope);
  const bound = gateway.bound(scope.vertical);
  if (!bound) {
    const local = gateway.local(scope.vertical);
    if (!local) throw noVertical(scope.vertical);
    await local.provisionScopeLocal({ ...ref, name: scope.name });
    return [];
  }
  const body: Omit<ProvisionRequest, 'tenantId' | 'scopeId'> = {
    name: scope.name,
    ...(owner === undefined ? {} : { owner }),
    ...(config === undefined ? {} : { config }),
  };
  // An answer about another scope proves nothing about this one.
  const answer = provisionResponse.refine(({ scopeId }) => scopeId === scope.id);
  const { warnings } = await askVertical(bound, { path: 'provision', scope: ref, body, answer }, deadline);
  return warnings ?? [];
}

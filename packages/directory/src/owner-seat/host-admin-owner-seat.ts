/** The owner seat, asked of the scope's vertical at its bound application host name (spec 4.3.4). */

import {
  type OwnerSeat,
  ownerClaimResponse,
  ownerRecoveryResponse,
  ownerSeatResponse,
} from '@freehold/contracts';
import type { AdminCall } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { params, tag } from '../declarations/owner-seat.ts';
import type { Effect, EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { scopeRefOf } from '../scopes/target.ts';
import { askVertical } from '../verticals/client.ts';
import { requireBound } from '../verticals/reach.ts';
import type { ClaimTarget, ownerRecoveryMint } from './operations.ts';

export const ownerSeatGet = adminOperation({
  name: 'owner-seat.get',
  summary: 'Say whether the owner seat is claimed',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/owner-seat',
  input: { params },
  output: ownerSeatResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

const NO_SEAT = 'keeps no owner seat';

/** Reports the seat. Without a host name the vertical is asked all the same: a seat exists before its address. */
export async function readOwnerSeat(
  { gateway, deadline, originOf, target }: EffectDeps,
  call: AdminCall,
): Promise<OwnerSeat> {
  const { scope, hostname } = await target(call);
  return askVertical(
    requireBound(gateway, scope.vertical, NO_SEAT),
    {
      path: 'owner-seat',
      scope: scopeRefOf(scope),
      ...(hostname === null ? {} : { origin: originOf(hostname) }),
      forward: true,
      answer: ownerSeatResponse,
    },
    deadline,
  );
}

export const ownerClaimEffect: Effect<ClaimTarget> = {
  check: async ({ gateway, target }, call) => {
    const { scope } = await target(call);
    requireBound(gateway, scope.vertical, NO_SEAT);
  },
  run: async ({ gateway, deadline, originOf }, _call, { scope, hostname }) => {
    const origin = originOf(hostname);
    const claim = await askVertical(
      requireBound(gateway, scope.vertical, NO_SEAT),
      {
        origin,
        path: 'owner-claim',
        scope: scopeRefOf(scope),
        body: { origin },
        forward: true,
        answer: ownerClaimResponse,
      },
      deadline,
    );
    return { facts: { expiresAt: claim.expiresAt }, reply: claim };
  },
};

/** The way back of an owner. Who does it goes along, because the tenant's admin is told. */
export const ownerRecoveryEffect: Effect<ClaimTarget> = {
  check: async ({ gateway, target }, call) => {
    const { scope } = await target(call);
    requireBound(gateway, scope.vertical, NO_SEAT);
  },
  run: async ({ gateway, deadline, originOf }, call, { scope, hostname }) => {
    const { why, recover } = (call as unknown as CallOf<typeof ownerRecoveryMint>).body;
    const origin = originOf(hostname);
    const recovery = await askVertical(
      requireBound(gateway, scope.vertical, NO_SEAT),
      {
        origin,
        path: 'owner-recovery',
        scope: scopeRefOf(scope),
        body: { origin, by: call.actor.name, why, recover },
        forward: true,
        answer: ownerRecoveryResponse,
      },
      deadline,
    );
    return { facts: { expiresAt: recovery.expiresAt }, reply: recovery };
  },
};

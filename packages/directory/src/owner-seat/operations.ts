/**
 * The owner seat of a scope, and the links that lead to it (spec 4.3.4; design: control-plane-routes, "Owner seat"). The
 * vertical is asked at its bound application host name. The directory logs that a link was made, and never the link.
 */
import {
  type OwnerRecoveryEnd,
  type OwnerSeat,
  ownerClaimResponse,
  ownerRecoveryEndResponse,
  ownerRecoveryRequest,
  ownerRecoveryResponse,
  ownerReplacementRequest,
  ownerReplacementResponse,
  ownerSeatResponse,
  PlatformError,
  scopeId,
  tenantId,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, EffectDeps, Effects, ScopeTarget } from '../lib/effects.ts';
import { defineFeature } from '../lib/feature.ts';
import { type AuditEntry, type CallOf, delegated } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { loadScopeTarget, logTargetOf, scopeRefOf } from '../scopes/target.ts';
import { askVertical, type VerticalQuestion } from '../verticals/client.ts';
import { requireBound } from '../verticals/reach.ts';

const tag = 'Owner seat';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });

/** The scope of a link, with the host name that it leads to. */
interface ClaimTarget {
  readonly scope: ScopeRecord;
  readonly hostname: string;
}

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
  pushToken: 'read',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

/** Asks the vertical for its seat. Without a host name it is asked too: a seat exists before its address. */
export async function readOwnerSeat(deps: EffectDeps, call: AdminCall): Promise<OwnerSeat> {
  const { scope, hostname } = await deps.target(call);
  const origin = hostname === null ? {} : { origin: deps.originOf(hostname) };
  return ask(deps, scope, { path: 'owner-seat', ...origin, answer: ownerSeatResponse });
}

export const ownerClaimMint = adminOperation({
  name: 'owner-claim.mint',
  summary: 'Make a link with which the owner claims the seat',
  description:
    'The link is shown once and retires the one before it. A conflict when no host name is bound (reason no_hostname) or the seat is claimed. When it is unknown whether a link was made (reason outcome_unknown), make the call again.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-claim',
  input: { params },
  output: ownerClaimResponse,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const ownerRecoveryMint = adminOperation({
  name: 'owner-recovery.mint',
  summary: 'Make a way back for an owner who can no longer sign in',
  description:
    "A claimed seat is never claimed again. This makes an invite with the owner's role instead, which is accepted once; the present owner keeps the seat. The tenant's admin can read who made it and why. The link is shown once and retires an earlier one that was not accepted. A conflict when no host name is bound (reason no_hostname) or while the instance has no owner (reason seat_pending): then make a claim link. When it is unknown whether a link was made (reason outcome_unknown), make the call again.",
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-recovery',
  input: { params, body: ownerRecoveryRequest.pick({ why: true, recover: true }) },
  output: ownerRecoveryResponse,
  success: 201,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const ownerReplacementMint = adminOperation({
  name: 'owner-replacement.mint',
  summary: 'Make a link that replaces the owner',
  description:
    "For an owner who must go, or who left without handing the seat over. This makes an invite with the owner's role, for one person who is no member yet. When it is accepted the seat is theirs, and the membership of the former holder ends with their roles and pending invites; until then nothing changes, but the holder cannot hand the seat over. The holder is told: by mail where the application sends mail (notice), and in its log of access, with who made the link and why. The seat is claimed throughout: no window and no claim link opens. The link is shown once and retires an earlier one; owner-recovery.end ends it. A conflict when no host name is bound (reason no_hostname) or while the instance has no owner (reason seat_pending).",
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-replacement',
  input: { params, body: ownerReplacementRequest.pick({ why: true, replace: true }) },
  output: ownerReplacementResponse,
  success: 201,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const ownerRecoveryEnd = adminOperation({
  name: 'owner-recovery.end',
  summary: 'End a link that recovers or replaces the owner',
  description:
    'Ends the link of owner-recovery.mint or owner-replacement.mint that was not accepted, together with the role that was granted for it. No member of the application can end it. Ending it again succeeds, and answers ended false.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/owner-recovery/end',
  input: { params, body: ownerRecoveryRequest.pick({ why: true }) },
  output: ownerRecoveryEndResponse,
  success: 200,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

/**
 * The directory's part in either link. The reason of a recovery is the operator's text about a person: the tenant reads it,
 * this log does not hold it.
 */
const LINK = {
  begin: ({ db }: UnitContext, { params }: LinkCall) => {
    const prepared = requireReachable(db, params);
    return { intent: auditOf(prepared, null), prepared };
  },
  settle: ({ db }: UnitContext, { params }: LinkCall, { expiresAt }: { readonly expiresAt: string }) => ({
    status: 201 as const,
    value: null,
    audit: auditOf(loadScopeTarget(db, params), { expiresAt }),
    shownOnce:
      'The link was shown by an earlier call with this key and is not kept. Make another with a new key; it retires the earlier one.',
  }),
};

type LinkCall = Pick<CallOf<typeof ownerClaimMint>, 'params'>;

export const ownerSeatFeature = /* @__PURE__ */ defineFeature({
  operations: [
    /* @__PURE__ */ delegated(ownerClaimMint, LINK),
    /* @__PURE__ */ delegated(ownerRecoveryMint, LINK),
    /* @__PURE__ */ delegated(ownerReplacementMint, LINK),
    /* @__PURE__ */ delegated<typeof ownerRecoveryEnd, ScopeTarget, OwnerRecoveryEnd>(ownerRecoveryEnd, {
      begin: ({ db }, { params }) => {
        requireActiveScope(db, params);
        const prepared = loadScopeTarget(db, params);
        return { intent: auditOf(prepared, null), prepared };
      },
      settle: ({ db }, { params }, ended) => ({
        value: ended,
        audit: auditOf(loadScopeTarget(db, params), ended),
      }),
    }),
  ],
});

/** The effects of the seat, by operation. */
export const ownerSeatEffects: Effects = {
  'owner-claim.mint': /* @__PURE__ */ linkEffect((deps, scope, { origin }) =>
    ask(deps, scope, { path: 'owner-claim', origin, body: { origin }, answer: ownerClaimResponse }),
  ),
  'owner-recovery.mint': /* @__PURE__ */ linkEffect((deps, scope, { origin, call }) => {
    const { why, recover } = (call as unknown as CallOf<typeof ownerRecoveryMint>).body;
    // The vertical tells the tenant's admin who made the invite.
    const body = { origin, by: call.actor.name, why, recover };
    return ask(deps, scope, { path: 'owner-recovery', origin, body, answer: ownerRecoveryResponse });
  }),
  'owner-replacement.mint': /* @__PURE__ */ linkEffect((deps, scope, { origin, call }) => {
    const { why, replace } = (call as unknown as CallOf<typeof ownerReplacementMint>).body;
    const body = { origin, by: call.actor.name, why, replace };
    return ask(deps, scope, { path: 'owner-replacement', origin, body, answer: ownerReplacementResponse });
  }),
  'owner-recovery.end': {
    check: requireSeatKept,
    run: async (deps, call, { scope, hostname }: ScopeTarget) => {
      const { why } = (call as unknown as CallOf<typeof ownerRecoveryEnd>).body;
      const origin = hostname === null ? {} : { origin: deps.originOf(hostname) };
      const body = { by: call.actor.name, why };
      const question = { path: 'owner-recovery/end', ...origin, body, answer: ownerRecoveryEndResponse };
      return { facts: await ask(deps, scope, question) };
    },
  } satisfies Effect<ScopeTarget>,
};

function linkEffect(
  make: (
    deps: EffectDeps,
    scope: ScopeRecord,
    link: { readonly origin: string; readonly call: AdminCall },
  ) => Promise<{ readonly expiresAt: string }>,
): Effect<ClaimTarget> {
  return {
    check: requireSeatKept,
    run: async (deps, call, { scope, hostname }) => {
      const link = await make(deps, scope, { origin: deps.originOf(hostname), call });
      return { facts: { expiresAt: link.expiresAt }, reply: link };
    },
  };
}

const NO_SEAT = 'keeps no owner seat';

async function requireSeatKept({ gateway, target }: EffectDeps, call: AdminCall): Promise<void> {
  requireBound(gateway, (await target(call)).scope.vertical, NO_SEAT);
}

function ask<S extends z.ZodType>(
  { gateway, deadline }: EffectDeps,
  scope: ScopeRecord,
  question: Omit<VerticalQuestion<S>, 'scope' | 'forward'>,
): Promise<z.output<S>> {
  const bound = requireBound(gateway, scope.vertical, NO_SEAT);
  return askVertical(bound, { ...question, scope: scopeRefOf(scope), forward: true }, deadline);
}

function requireReachable(
  db: SqlDatabase,
  params: { readonly tenant: string; readonly scope: string },
): ClaimTarget {
  requireActiveScope(db, params);
  const { scope, hostname } = loadScopeTarget(db, params);
  if (hostname === null)
    throw new PlatformError(
      'conflict',
      'This scope has no active host name for its application, so there is nowhere for the link to lead. Bind one first.',
      { reason: 'no_hostname' },
    );
  return { scope, hostname };
}

function auditOf({ scope, hostname }: ScopeTarget, after: AuditEntry['after']): AuditEntry {
  return { target: logTargetOf(scope, hostname), before: null, after };
}

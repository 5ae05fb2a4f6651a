/**
 * Replacing the secret that a vertical signs a tenant's sessions with. The vertical keeps the secret and replaces it; the
 * directory knows that it was done, and nothing of the secret.
 */
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
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, ScopeTarget } from '../lib/effects.ts';
import { defineFeature } from '../lib/feature.ts';
import { type CallOf, delegated, planned } from '../lib/handlers.ts';
import { loadScopeTarget, logTargetOf, scopeRefOf } from '../scopes/target.ts';
import { askVertical } from '../verticals/client.ts';
import { requireBound } from '../verticals/reach.ts';

const sessionSecretPlan = z
  .object({
    dryRun: z.literal(true),
    vertical: slug.describe('The vertical that is asked'),
    scopes: planCount.describe(
      'How many scopes of the tenant it serves: their sessions are signed with the secret',
    ),
    hostnames: planCount.describe('How many active names lead to these scopes'),
    signsOut: z
      .boolean()
      .describe('Whether all members must sign in again; otherwise the former secret verifies for a while'),
  })
  .meta({ id: 'SessionSecretPlan' });

/** Suspended scopes too: a scope may have been suspended because its secret leaked. */
const REACHED: readonly ScopeRecord['status'][] = ['active', 'suspended'];

const NO_SECRET = 'keeps no session secret that the platform could replace';

export const sessionSecretRotate = adminOperation({
  name: 'session-secret.rotate',
  summary: "Replace the secret that signs a tenant's sessions",
  description:
    "The secret belongs to the tenant: all of its scopes that the vertical serves change at once. The scope in the path says which vertical is asked. Sessions that the former secret signed stay valid for 8 more days. With keepFormer false all members must sign in again: use it when the secret may have leaked. A conflict while too many former secrets still verify (reason rotated_too_often). The tenant's admin can read who replaced the secret; no answer ever shows it. With dryRun, answers how many scopes are concerned.",
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
        .describe('Whether sessions that the former secret signed stay valid for a while'),
    }),
  },
  output: sessionSecretRotation,
  plan: sessionSecretPlan,
  staff: 'administer',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

const rotateSessionSecret = /* @__PURE__ */ delegated<
  typeof sessionSecretRotate,
  ScopeTarget,
  SessionSecretRotation
>(sessionSecretRotate, {
  begin: ({ db }, { params, body }) => {
    const prepared = requireReached(db, params);
    return { intent: { target: logTargetOf(prepared.scope), before: null, after: { ...body } }, prepared };
  },
  settle: ({ db }, { params, body }, rotation) => ({
    value: rotation,
    audit: {
      target: logTargetOf(loadScopeTarget(db, params).scope),
      before: null,
      after: { ...body, ...rotation },
    },
  }),
  // A call that keeps former secrets does not do what an earlier call without them was meant to do.
  supersedes: ({ body }, earlier) => !body.keepFormer || earlier?.keepFormer === true,
});

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

const planRotation = /* @__PURE__ */ planned<typeof sessionSecretRotate>(
  sessionSecretRotate,
  ({ db }, { params, body }) => {
    const { scope } = requireReached(db, params);
    const counted = db.get<{ scopes: number; hostnames: number }>(SIGNED, scope.tenant, scope.vertical);
    const { scopes = 0, hostnames = 0 } = counted ?? {};
    return { dryRun: true, vertical: scope.vertical, scopes, hostnames, signsOut: !body.keepFormer };
  },
);

/** The scopes of a tenant that a vertical serves, and their names. */
export const SIGNED = `SELECT count(DISTINCT s.id) AS scopes, count(h.claim) AS hostnames
   FROM scopes s LEFT JOIN hostnames h ON h.scope = s.id AND h.status = 'active'
   WHERE s.tenant = ? AND s.vertical = ? AND s.status IN ('active', 'suspended')`;

function requireReached(db: SqlDatabase, ref: Parameters<typeof loadScopeTarget>[1]): ScopeTarget {
  const target = loadScopeTarget(db, ref);
  const { status } = target.scope;
  if (REACHED.includes(status)) return target;
  throw new PlatformError('invalid_transition', `This scope is ${status}.`, { reason: 'scope_not_active' });
}

export const sessionSecretFeature = /* @__PURE__ */ defineFeature({
  operations: [rotateSessionSecret, planRotation],
});

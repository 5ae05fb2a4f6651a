/** Making an owner-claim link, as far as the directory is concerned: that it was made, and never the link. */

import {
  ownerClaimResponse,
  ownerRecoveryRequest,
  ownerRecoveryResponse,
  PlatformError,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { adminOperation } from '../declarations/admin-operation.ts';
import { params, tag } from '../declarations/owner-seat.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { type AuditEntry, delegated } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { loadScopeTarget, logTargetOf, type ScopeTarget } from '../scopes/target.ts';

/** What the effect needs to know. */
export interface ClaimTarget {
  readonly scope: ScopeRecord;
  readonly hostname: string;
}

export const ownerClaimMint = adminOperation({
  name: 'owner-claim.mint',
  summary: 'Make a link with which the owner claims the seat',
  description:
    'The link is shown once and retires the one before it. A conflict when no host name is bound (reason no_hostname) or the seat is claimed. When nobody knows whether a link was made (reason outcome_unknown), make the call again.',
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

export const mintOwnerClaim = /* @__PURE__ */ delegated<
  typeof ownerClaimMint,
  ClaimTarget,
  { expiresAt: string }
>(ownerClaimMint, {
  begin: ({ db }, { params }) => {
    const prepared = requireReachable(db, params);
    return { intent: auditOf(prepared, null), prepared };
  },
  settle: ({ db }, { params }, { expiresAt }) => ({
    status: 201,
    value: null,
    audit: auditOf(loadScopeTarget(db, params), { expiresAt }),
    shownOnce:
      'The link was shown by an earlier call with this key and is not kept. Make another with a new key; it retires the earlier one.',
  }),
});

export const ownerRecoveryMint = adminOperation({
  name: 'owner-recovery.mint',
  summary: 'Make a way back for an owner who can no longer sign in',
  description:
    "A claimed seat is never claimed again. This makes an invite with the owner's role instead, which is accepted once; whoever holds the seat stays what they are. The tenant's admin can read who made it and why. The link is shown once and retires the one before it that nobody accepted. A conflict when no host name is bound (reason no_hostname) or while nobody owns the instance (reason seat_pending): then make a claim link. When nobody knows whether a link was made (reason outcome_unknown), make the call again.",
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

/** The same for a way back. The reason is the operator's own words about a person: the tenant reads it, this log does not. */
export const mintOwnerRecovery = /* @__PURE__ */ delegated<
  typeof ownerRecoveryMint,
  ClaimTarget,
  { expiresAt: string }
>(ownerRecoveryMint, {
  begin: ({ db }, { params }) => {
    const prepared = requireReachable(db, params);
    return { intent: auditOf(prepared, null), prepared };
  },
  settle: ({ db }, { params }, { expiresAt }) => ({
    status: 201,
    value: null,
    audit: auditOf(loadScopeTarget(db, params), { expiresAt }),
    shownOnce:
      'The link was shown by an earlier call with this key and is not kept. Make another with a new key; it retires the earlier one.',
  }),
});

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

/** Making an owner-claim link, as far as the directory is concerned: that it was made, and never the link. */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { ownerClaimMint, ownerRecoveryMint } from '../declarations/owner-seat.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { type AuditEntry, delegated } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { loadScopeTarget, logTargetOf, type ScopeTarget } from '../scopes/target.ts';

/** What the effect needs to know. */
export interface ClaimTarget {
  readonly scope: ScopeRecord;
  readonly hostname: string;
}

export const mintOwnerClaim = delegated<typeof ownerClaimMint, ClaimTarget, { expiresAt: string }>(
  ownerClaimMint,
  {
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
  },
);

/** The same for a way back. The reason is the operator's own words about a person: the tenant reads it, this log does not. */
export const mintOwnerRecovery = delegated<typeof ownerRecoveryMint, ClaimTarget, { expiresAt: string }>(
  ownerRecoveryMint,
  {
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
  },
);

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

/** Making an owner-claim link, as far as the directory is concerned: that it was made, and never the link. */
import { PlatformError } from '@freehold/contracts';
import { ownerClaimMint } from '../declarations/owner-seat.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { delegated } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { loadScopeTarget, logTargetOf } from '../scopes/target.ts';

/** What the effect needs to know. */
export interface ClaimTarget {
  readonly scope: ScopeRecord;
  readonly hostname: string;
}

export const mintOwnerClaim = delegated<typeof ownerClaimMint, ClaimTarget, { expiresAt: string }>(
  ownerClaimMint,
  {
    begin: ({ db }, { params }) => {
      requireActiveScope(db, params);
      const { scope, hostname } = loadScopeTarget(db, params);
      if (hostname === null)
        throw new PlatformError(
          'conflict',
          'This scope has no active host name for its application, so there is nowhere for the link to lead. Bind one first.',
          { reason: 'no_hostname' },
        );
      return {
        intent: { target: logTargetOf(scope, hostname), before: null, after: null },
        prepared: { scope, hostname },
      };
    },
    settle: ({ db }, { params }, { expiresAt }) => {
      const { scope, hostname } = loadScopeTarget(db, params);
      return {
        status: 201,
        value: null,
        audit: { target: logTargetOf(scope, hostname), before: null, after: { expiresAt } },
        shownOnce:
          'The link was shown by an earlier call with this key and is not kept. Make another with a new key; it retires the earlier one.',
      };
    },
  },
);

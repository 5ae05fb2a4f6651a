/** The members of a scope: found, listed and named (spec 2.6). */

import { cutPage, decodeCursor, LIMIT_MAX, type Page, type PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { requireLimit } from '../events/operations.ts';
import { invalid } from '../lib/refusals.ts';
import { loadMember, loadMembers, loadNames, type MemberRow } from './store.ts';

export interface Member {
  readonly principal: PrincipalId;
  readonly name: string | null;
  readonly email: string | null;
  readonly sinceMs: number;
  /** True for the holder of the owner seat. */
  readonly owner: boolean;
}

export interface NamedPrincipal {
  readonly principal: PrincipalId;
  readonly name: string | null;
  readonly email: string | null;
  /** `removed`: a member no more. `invited`: the invite is not accepted yet, and the person may have another name. */
  readonly state: 'member' | 'removed' | 'invited';
}

export function makePeopleOperations(unit: UnitContext) {
  return {
    /** Members in the order in which their principals were made. */
    listMembers(input: { scopeId: string; limit?: number; cursor?: string }): Page<Member> {
      const limit = requireLimit(input.limit);
      const after = input.cursor === undefined ? '' : decodeCursor(input.cursor);
      const rows = loadMembers(unit.db, { scopeId: input.scopeId, after, limit: limit + 1 });
      return cutPage(rows, limit, (row) => row.principal, toMember);
    },

    /**
     * Names present and former principals of a scope, for logs, which outlive memberships. Names are the present
     * ones; an invite that was not accepted has the inviter's. Foreign principals are left out. At most 200 at a time.
     * @throws PlatformError `validation_failed` for more.
     */
    namePrincipals(input: { scopeId: string; principals: readonly string[] }): {
      readonly items: readonly NamedPrincipal[];
    } {
      const { scopeId, principals } = input;
      if (principals.length > LIMIT_MAX)
        throw invalid(
          'principals',
          `must be at most ${LIMIT_MAX}`,
          `At most ${LIMIT_MAX} principals are named at a time.`,
        );
      const rows = loadNames(unit.db, { scopeId, principals: [...new Set(principals)] });
      return { items: rows.map((row) => ({ ...row, principal: row.principal as PrincipalId })) };
    },

    /** Returns one member of a scope, or null. A query. */
    findMember({ scopeId, principal }: { scopeId: string; principal: string }): Member | null {
      const row = loadMember(unit.db, { scopeId, principal });
      return row ? toMember(row) : null;
    },

    /** Returns a fresh principal id that stands for no person yet. Writes nothing. */
    newPrincipal(): PrincipalId {
      return unit.newId('prn') as PrincipalId;
    },
  };
}

function toMember(row: MemberRow): Member {
  return {
    principal: row.principal as PrincipalId,
    name: row.name,
    email: row.email,
    sinceMs: row.since,
    owner: row.owner === 1,
  };
}

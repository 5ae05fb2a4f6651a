/** The members of a scope: listed, named and removed (spec 2.6). */

import { cutPage, decodeCursor, LIMIT_MAX, type Page, type PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent, requireLimit } from '../events/operations.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import {
  deleteBinding,
  holdsSeat,
  loadBoundPerson,
  loadMembers,
  loadNames,
  type MemberRow,
  saveFormerMember,
} from './store.ts';

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

    /**
     * Takes a person's principal away: their next request is a non-member's. The kernel revokes the principal's grants.
     * @throws PlatformError `conflict`, reason `last_owner`; `not_found`, reason `unknown_member`.
     */
    removeMember(input: { scopeId: string; principal: string; by: string }): { principal: PrincipalId } {
      const { scopeId, principal, by } = input;
      if (holdsSeat(unit.db, scopeId, principal))
        throw refusal('conflict', 'last_owner', 'The owner cannot be removed: no owner would be left.');
      const person = loadBoundPerson(unit.db, scopeId, principal);
      if (!person) throw refusal('not_found', 'unknown_member', 'There is no such member here.');
      saveFormerMember(unit.db, { scopeId, principal, personId: person.id, untilMs: unit.now() });
      deleteBinding(unit.db, scopeId, principal);
      recordEvent(unit, 'member_removed', { scopeId, subject: person, principal, actor: by });
      return { principal: principal as PrincipalId };
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

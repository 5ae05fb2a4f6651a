/** Forgets a scope that is being deleted: the directory is the tenant's and would keep what it holds about it. */
import type { UnitContext } from '@freehold/store';
import { directoryIssuer } from '../accounts/contract.ts';
import { markScopeForgotten } from '../forgotten-scopes/marks.ts';
import {
  deletePeopleLeftAlone,
  deleteScopeRows,
  deleteTracesOfGone,
  endSessionsOfScope,
  loadPeopleOfScope,
  loadSubjectsOfScope,
} from '../forgotten-scopes/store.ts';

/** How many of each were deleted. */
export interface ForgottenScope {
  /** 1, or 0 when the scope had no owner seat. */
  readonly seats: number;
  readonly settings: number;
  readonly invites: number;
  readonly members: number;
  readonly formerMembers: number;
  readonly sessions: number;
  /** Of the scope, and of the whole tenant about people who are gone. */
  readonly events: number;
  readonly people: number;
}

/** The forgetting feature of the identity directory. */
export function makeForgetOperations(unit: UnitContext) {
  return {
    /**
     * Deletes everything that is held about a scope: its owner seat, settings, invites, members and former ones,
     * sessions, and its identity events, since they say who signed in; and the people who are known in no other scope
     * of the tenant, with what hangs on them. Accounts belong to the tenant and stay, with their person. Other scopes
     * keep everything.
     *
     * Every session that was begun there is ended: what stays of it is its random id, until it would have expired. No
     * event tells of it, because it would name what is to be forgotten. From then on nothing is written about the scope:
     * what is under way there is refused with `not_found`, reason `unknown_scope`, until `setPendingOwner` opens a seat
     * for it again, which provisioning does. To forget a scope that nobody knows, or once more, deletes nothing.
     */
    forgetScope({ scopeId }: { scopeId: string }): ForgottenScope {
      const { db } = unit;
      const accountIssuer = directoryIssuer(unit.key);
      const people = loadPeopleOfScope(db, scopeId);
      const subjects = loadSubjectsOfScope(db, scopeId);
      endSessionsOfScope(db, scopeId);
      const rows = deleteScopeRows(db, scopeId);
      const peopleGone = deletePeopleLeftAlone(db, { among: people, accountIssuer });
      const eventsOfGone = deleteTracesOfGone(db, { among: subjects, accountIssuer });
      markScopeForgotten(db, scopeId);
      return {
        seats: rows.seats,
        settings: rows.config,
        invites: rows.invites,
        members: rows.bindings,
        formerMembers: rows.former_members,
        sessions: rows.sessions,
        events: rows.identity_events + eventsOfGone,
        people: peopleGone,
      };
    },
  };
}

/** The ends of grants, inside the transaction that causes them: nothing that a grant allowed outlives it. */
import type { UnitContext } from '@freehold/store';
import { type EventNote, recordEvent } from '../events/operations.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { loadPerson } from '../people/store.ts';
import type { EndedBy, EndReason } from './grant-flow.ts';
import { deleteGrant, type GrantRow, loadGrants, loadGrantsOfPerson, loadSubject } from './store.ts';

/** Ends one grant. @param why the cause, or the principal who ended it. */
export function endGrant(unit: UnitContext, grant: GrantRow, why: EndedBy): void {
  deleteGrant(unit.db, grant.id);
  recordEvent(unit, 'program_ended', {
    ...noteOf(grant),
    subject: loadSubject(unit.db, grant.personId),
    ...('by' in why ? { actor: why.by } : { detail: { ...noteOf(grant).detail, reason: why.cause } }),
  });
}

/** Ends the grants of a person, in one scope or in every one of the tenant. */
export function endGrantsOf(
  unit: UnitContext,
  of: { readonly personId: string; readonly scopeId?: string },
  reason: EndReason,
): void {
  for (const grant of loadGrantsOfPerson(unit.db, of)) endGrant(unit, grant, { cause: reason });
}

/**
 * Ends the grants of a subject in every scope: a person who signs out everywhere means programs too.
 * @param upToMs later ones stay. Default: none does.
 */
export function endGrantsOfSubject(unit: UnitContext, { issuer, sub }: SubjectKey, upToMs?: number): void {
  const person = loadPerson(unit.db, issuer, sub);
  if (!person) return;
  for (const grant of loadGrantsOfPerson(unit.db, { personId: person.id }))
    if (upToMs === undefined || grant.createdMs <= upToMs)
      endGrant(unit, grant, { cause: 'all_sessions_ended' });
}

/** Ends every grant of the tenant. */
export function endAllGrants(unit: UnitContext, reason: EndReason): void {
  for (const grant of loadGrants(unit.db)) endGrant(unit, grant, { cause: reason });
}

/** The facts of an event about a grant. It names the program, and no secret of it. */
export function noteOf(grant: GrantRow): EventNote & { readonly detail: Readonly<Record<string, string>> } {
  return {
    scopeId: grant.scopeId,
    principal: grant.principal,
    detail: { program: grant.name, grant: grant.id, ...(grant.host === null ? {} : { host: grant.host }) },
  };
}

/** A person's record: made with the first binding, and amended by newer evidence only. */
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type IssuedSubject, type SubjectSession, toFlag } from '../lib/subject.ts';
import { insertPerson, loadPerson, type PersonRow, updatePerson } from './store.ts';

export interface Evidence {
  readonly subject: IssuedSubject;
  readonly session?: SubjectSession | undefined;
}

/**
 * Returns the record as a subject amends it, or null when it stays. A subject that is silent about a value does not
 * erase it. An older session does not overwrite a newer one's values: two open sessions would otherwise rewrite the
 * record in turns, on every request.
 */
export function amendPerson(
  person: PersonRow,
  { subject, session }: Evidence,
  nowMs: number,
): PersonRow | null {
  const claimsAtMs = session?.issuedAtMs ?? nowMs;
  if (claimsAtMs < person.claimsAtMs) return null;
  const email = subject.email ?? person.email;
  const name = subject.name ?? person.name;
  // A statement about the old address says nothing about the new one.
  const emailVerified =
    toFlag(subject.emailVerified) ?? (email === person.email ? person.emailVerified : null);
  const amended = { id: person.id, email, name, emailVerified, claimsAtMs };
  return changedFields(person, amended).length === 0 ? null : amended;
}

/** Makes or amends the record of a subject, in the present transaction. Returns the person's id. */
export function savePerson(unit: UnitContext, evidence: Evidence, scopeId: string): string {
  const { subject, session } = evidence;
  const nowMs = unit.now();
  const person = loadPerson(unit.db, subject.issuer, subject.sub);
  if (!person) {
    const id = unit.newId('per');
    const claimsAtMs = session?.issuedAtMs ?? nowMs;
    insertPerson(unit.db, { id, subject, emailVerified: toFlag(subject.emailVerified), claimsAtMs, nowMs });
    return id;
  }
  const amended = amendPerson(person, evidence, nowMs);
  if (amended) {
    updatePerson(unit.db, amended);
    const detail = { changed: changedFields(person, amended) };
    recordEvent(unit, 'profile_changed', { scopeId, subject, detail });
  }
  return person.id;
}

function changedFields(before: PersonRow, after: PersonRow): string[] {
  return (['email', 'name', 'emailVerified'] as const).filter((field) => before[field] !== after[field]);
}

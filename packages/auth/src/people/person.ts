/** A person's record: made when somebody is first bound, and kept up to date by newer evidence only. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import type { IssuedSubject, SubjectSession } from '../lib/subject.ts';
import { insertPerson, loadPerson, type PersonRow, updatePerson } from './store.ts';

/** OpenID Connect Core, section 2, allows 255; the rest is room for issuers that take none of it seriously. */
const SUB_LENGTH_MAX = 1_024;

/** A subject and the session it was read from, if there is one. */
export interface Evidence {
  readonly subject: IssuedSubject;
  readonly session?: SubjectSession | undefined;
}

/**
 * Refuses what names nobody: an empty or missing `sub` or issuer would make strangers share one identity.
 * @throws PlatformError `unauthenticated`, reason `subject_invalid`.
 */
export function requireSubject(subject: IssuedSubject): void {
  const { issuer, sub } = subject;
  const named = typeof issuer === 'string' && issuer !== '' && typeof sub === 'string' && sub !== '';
  if (!named || sub.length > SUB_LENGTH_MAX)
    throw new PlatformError('unauthenticated', 'This sign-in does not say who it is for.', {
      reason: 'subject_invalid',
    });
}

/**
 * What the record becomes in the light of a subject, or null when it stays. An answer that is silent about a
 * value does not erase it, and an older session does not overwrite what a newer one said: otherwise two open
 * sessions would rewrite the record in turns, on every request.
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
  // What was asserted about the old address says nothing about the new one.
  const emailVerified =
    toFlag(subject.emailVerified) ?? (email === person.email ? person.emailVerified : null);
  const same = email === person.email && name === person.name && emailVerified === person.emailVerified;
  return same ? null : { id: person.id, email, name, emailVerified, claimsAtMs };
}

/** Makes or amends the record of a subject, in the present transaction, and answers the person's id. */
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
    recordEvent(unit, 'profile_changed', {
      scopeId,
      subject,
      detail: { changed: changedFields(person, amended) },
    });
  }
  return person.id;
}

/** How a flag is kept: 1, 0, or null when nothing was said. */
export function toFlag(verified: boolean | undefined): number | null {
  return typeof verified === 'boolean' ? Number(verified) : null;
}

function changedFields(before: PersonRow, after: PersonRow): string[] {
  return (['email', 'name', 'emailVerified'] as const).filter((field) => before[field] !== after[field]);
}

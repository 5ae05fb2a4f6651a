/** The SQL of people and their bindings. */
import type { SqlDatabase } from '@freehold/store';
import type { IssuedSubject } from '../subject.ts';

export interface PersonRow {
  readonly id: string;
  readonly email: string | null;
  readonly name: string | null;
  /** 1, 0, or null when the issuer said nothing. */
  readonly emailVerified: number | null;
  /** When the evidence behind e-mail and name was issued. */
  readonly claimsAtMs: number;
}

export interface MemberRow {
  readonly principal: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly since: number;
  readonly owner: number;
}

/** Everything that one request's answer depends on, read by one statement. */
export interface ResolutionRow {
  readonly id: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly emailVerified: number | null;
  readonly claimsAtMs: number | null;
  readonly principal: string | null;
  readonly validAfterMs: number | null;
  readonly endedSid: string | null;
  /** The principal of a seat that the next sign-in may take. */
  readonly openSeat: string | null;
}

/** One index look-up a table, whatever their sizes: this runs on every request of every application. */
export const RESOLUTION_SQL = `SELECT p.id, p.email, p.name, p.email_verified AS emailVerified, p.claims_at AS claimsAtMs,
    b.principal, f.valid_after AS validAfterMs, e.sid AS endedSid, s.principal AS openSeat
  FROM (SELECT 1)
  LEFT JOIN people p ON p.issuer = ? AND p.sub = ?
  LEFT JOIN bindings b ON b.scope_id = ? AND b.person_id = p.id
  LEFT JOIN session_floors f ON f.issuer = ? AND f.sub = ?
  LEFT JOIN ended_sessions e ON e.sid = ?
  LEFT JOIN seats s ON s.scope_id = ? AND s.state = 'pending' AND s.window_ends_at > ?`;

export function loadResolution(
  db: SqlDatabase,
  key: { scopeId: string; subject: IssuedSubject; sid: string | null; nowMs: number },
): ResolutionRow {
  const { issuer, sub } = key.subject;
  return db.get<ResolutionRow>(
    RESOLUTION_SQL,
    issuer,
    sub,
    key.scopeId,
    issuer,
    sub,
    key.sid,
    key.scopeId,
    key.nowMs,
  ) as ResolutionRow;
}

export function loadPerson(db: SqlDatabase, issuer: string, sub: string): PersonRow | undefined {
  return db.get<PersonRow>(
    `SELECT id, email, name, email_verified AS emailVerified, claims_at AS claimsAtMs
     FROM people WHERE issuer = ? AND sub = ?`,
    issuer,
    sub,
  );
}

export function insertPerson(
  db: SqlDatabase,
  person: {
    id: string;
    subject: IssuedSubject;
    emailVerified: number | null;
    claimsAtMs: number;
    nowMs: number;
  },
): void {
  db.run(
    `INSERT INTO people (id, issuer, sub, email, name, email_verified, claims_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    person.id,
    person.subject.issuer,
    person.subject.sub,
    person.subject.email,
    person.subject.name,
    person.emailVerified,
    person.claimsAtMs,
    person.nowMs,
  );
}

export function updatePerson(db: SqlDatabase, person: PersonRow): void {
  db.run(
    'UPDATE people SET email = ?, name = ?, email_verified = ?, claims_at = ? WHERE id = ?',
    person.email,
    person.name,
    person.emailVerified,
    person.claimsAtMs,
    person.id,
  );
}

/** The principal that a person is in a scope. */
export function loadBinding(db: SqlDatabase, scopeId: string, personId: string): string | undefined {
  return db.get<{ principal: string }>(
    'SELECT principal FROM bindings WHERE scope_id = ? AND person_id = ?',
    scopeId,
    personId,
  )?.principal;
}

export function saveBinding(
  db: SqlDatabase,
  binding: { scopeId: string; personId: string; principal: string; sinceMs: number },
): void {
  db.run(
    'INSERT INTO bindings (scope_id, person_id, principal, since) VALUES (?, ?, ?, ?)',
    binding.scopeId,
    binding.personId,
    binding.principal,
    binding.sinceMs,
  );
}

/** The person whom a principal stands for in a scope. */
export function loadBoundPerson(
  db: SqlDatabase,
  scopeId: string,
  principal: string,
): { id: string; issuer: string; sub: string; name: string | null } | undefined {
  return db.get(
    `SELECT p.id, p.issuer, p.sub, p.name FROM bindings b JOIN people p ON p.id = b.person_id
     WHERE b.scope_id = ? AND b.principal = ?`,
    scopeId,
    principal,
  );
}

export function deleteBinding(db: SqlDatabase, scopeId: string, principal: string): void {
  db.run('DELETE FROM bindings WHERE scope_id = ? AND principal = ?', scopeId, principal);
}

/** Members of a scope in the order of their principals, after `after`. */
export function loadMembers(
  db: SqlDatabase,
  options: { scopeId: string; after: string; limit: number },
): MemberRow[] {
  return db.all<MemberRow>(
    `SELECT b.principal, p.name, p.email, b.since, s.principal IS NOT NULL AS owner
     FROM bindings b
     JOIN people p ON p.id = b.person_id
     LEFT JOIN seats s ON s.scope_id = b.scope_id AND s.principal = b.principal
     WHERE b.scope_id = ? AND b.principal > ? ORDER BY b.principal LIMIT ?`,
    options.scopeId,
    options.after,
    options.limit,
  );
}

/** The SQL of people and their bindings. */
import {
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { IssuedSubject } from '../lib/subject.ts';

const people = defineTable('people', ['id'], {
  id: text(),
  issuer: unread(text()),
  sub: unread(text()),
  email: nullable(text()),
  name: nullable(text()),
  /** 1, 0, or null when the issuer said nothing. */
  emailVerified: nullable(integer()),
  /** When the evidence behind e-mail and name was issued. */
  claimsAtMs: time(),
  createdAtMs: unread(time()),
});
export type PersonRow = RowOf<typeof people>;

const findPerson = people.finding('issuer', 'sub');
export const updatePerson = people.updating('email', 'name', 'emailVerified', 'claimsAtMs');

export interface MemberRow {
  readonly principal: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly since: number;
  readonly owner: number;
}

export function loadPerson(db: SqlDatabase, issuer: string, sub: string): PersonRow | undefined {
  return findPerson(db, { issuer, sub });
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
  const { subject, nowMs, ...row } = person;
  const { issuer, sub, email, name } = subject;
  people.insert(db, { ...row, issuer, sub, email, name, createdAtMs: nowMs });
}

const bindings = defineTable('bindings', ['scopeId', 'personId'], {
  scopeId: text(),
  personId: text(),
  principal: text(),
  sinceMs: time(),
});
export const saveBinding = bindings.insert;
const deleteByPrincipal = bindings.deleting('scopeId', 'principal');

/** The roles that were last noted for a member, as JSON; null: none were; undefined: there is no such member. */
export function loadNotedRoles(
  db: SqlDatabase,
  { scopeId, principal }: { readonly scopeId: string; readonly principal: string },
): string | null | undefined {
  return db.get<{ roles: string | null }>(
    'SELECT roles FROM bindings WHERE scope_id = ? AND principal = ?',
    scopeId,
    principal,
  )?.roles;
}

export function updateNotedRoles(
  db: SqlDatabase,
  {
    scopeId,
    principal,
    roles,
  }: { readonly scopeId: string; readonly principal: string; readonly roles: string | null },
): void {
  db.run('UPDATE bindings SET roles = ? WHERE scope_id = ? AND principal = ?', roles, scopeId, principal);
}

/** The principal of a person in a scope. */
export function loadBinding(db: SqlDatabase, scopeId: string, personId: string): string | undefined {
  return bindings.get(db, { scopeId, personId })?.principal;
}

/** The person of a principal in a scope. */
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

/** Counts the members of a scope, and those of them who are people of one issuer. */
export function countMembersByIssuer(
  db: SqlDatabase,
  of: { scopeId: string; issuer: string },
): { readonly all: number; readonly ofIssuer: number } {
  return db.get<{ all: number; ofIssuer: number }>(
    `SELECT count(*) AS "all", coalesce(sum(p.issuer = ?), 0) AS ofIssuer
     FROM bindings b JOIN people p ON p.id = b.person_id WHERE b.scope_id = ?`,
    of.issuer,
    of.scopeId,
  ) as { all: number; ofIssuer: number };
}

const formerMembers = defineTable('former_members', ['scopeId', 'principal'], {
  scopeId: text(),
  principal: text(),
  personId: text(),
  untilMs: time(),
});
/** Remembers the person of a principal before the binding is deleted. */
export const saveFormerMember = formerMembers.insert;

export interface NamedRow {
  readonly principal: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly state: 'member' | 'removed' | 'invited';
}

/** Selects the present, former and invited people of principals. @param principals a JSON list. */
export const NAMES_SQL = `SELECT b.principal, p.name, p.email, 'member' AS state
    FROM json_each(?2) j JOIN bindings b ON b.scope_id = ?1 AND b.principal = j.value
    JOIN people p ON p.id = b.person_id
  UNION ALL
  SELECT f.principal, p.name, p.email, 'removed'
    FROM json_each(?2) j JOIN former_members f ON f.scope_id = ?1 AND f.principal = j.value
    JOIN people p ON p.id = f.person_id
  UNION ALL
  SELECT i.principal, i.name, i.email, 'invited'
    FROM json_each(?2) j JOIN invites i ON i.principal = j.value AND i.scope_id = ?1
    WHERE i.accepted_at IS NULL`;

export function loadNames(
  db: SqlDatabase,
  of: { scopeId: string; principals: readonly string[] },
): NamedRow[] {
  return db.all<NamedRow>(NAMES_SQL, of.scopeId, JSON.stringify(of.principals));
}

export function deleteBinding(db: SqlDatabase, scopeId: string, principal: string): void {
  deleteByPrincipal(db, { scopeId, principal });
}

const MEMBERS = `SELECT b.principal, p.name, p.email, b.since, s.principal IS NOT NULL AS owner
     FROM bindings b
     JOIN people p ON p.id = b.person_id
     LEFT JOIN seats s ON s.scope_id = b.scope_id AND s.principal = b.principal`;

/** The member with this principal. */
export function loadMember(
  db: SqlDatabase,
  of: { scopeId: string; principal: string },
): MemberRow | undefined {
  return db.get<MemberRow>(`${MEMBERS} WHERE b.scope_id = ? AND b.principal = ?`, of.scopeId, of.principal);
}

/** Members of a scope in the order of their principals, after `after`. */
export function loadMembers(
  db: SqlDatabase,
  options: { scopeId: string; after: string; limit: number },
): MemberRow[] {
  return db.all<MemberRow>(
    // SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`.
    `${MEMBERS} WHERE b.scope_id = ? AND b.principal > ? ORDER BY b.principal LIMIT ? + 0`,
    options.scopeId,
    options.after,
    options.limit,
  );
}

/** Whether a principal is the one of the scope's owner seat. */
export function holdsSeat(db: SqlDatabase, scopeId: string, principal: string): boolean {
  return db.get('SELECT 1 FROM seats WHERE scope_id = ? AND principal = ?', scopeId, principal) !== undefined;
}

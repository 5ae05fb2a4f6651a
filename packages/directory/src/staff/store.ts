/** The roster and the sessions of its members in SQL. */
import { cutPage, type Page, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { RosterRole, StaffRecord } from '../declarations/staff.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

const COLUMNS = `id, email, name, role, tenant, issuer, subject, created_at AS createdAtMs, updated_at AS updatedAtMs,
  last_sign_in_at AS lastSignInAtMs, revision`;

export interface StaffRow {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: RosterRole;
  /** Null exactly for staff. */
  readonly tenant: TenantId | null;
  /** Null, like the subject, until the first sign-in. */
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly lastSignInAtMs: number | null;
  readonly revision: number;
}

export function loadMember(db: SqlDatabase, id: string): StaffRow | undefined {
  return db.get<StaffRow>(`SELECT ${COLUMNS} FROM staff WHERE id = ?`, id);
}

export function loadMemberByEmail(db: SqlDatabase, email: string): StaffRow | undefined {
  return db.get<StaffRow>(`SELECT ${COLUMNS} FROM staff WHERE email = ?`, email);
}

export function loadMemberBySubject(
  db: SqlDatabase,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): StaffRow | undefined {
  return db.get<StaffRow>(`SELECT ${COLUMNS} FROM staff WHERE issuer = ? AND subject = ?`, issuer, subject);
}

export function saveMember(db: SqlDatabase, row: StaffRow): void {
  db.run(
    `INSERT INTO staff
       (id, email, name, role, tenant, issuer, subject, created_at, updated_at, last_sign_in_at, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, role = excluded.role, issuer = excluded.issuer,
       subject = excluded.subject, updated_at = excluded.updated_at, last_sign_in_at = excluded.last_sign_in_at,
       revision = excluded.revision`,
    row.id,
    row.email,
    row.name,
    row.role,
    row.tenant,
    row.issuer,
    row.subject,
    row.createdAtMs,
    row.updatedAtMs,
    row.lastSignInAtMs,
    row.revision,
  );
}

/** Deletes a member with their sessions, tokens and codes. */
export function deleteMember(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM staff WHERE id = ?', id);
}

/** Whether another admin has signed in at least once. */
export function hasOtherAdmin(db: SqlDatabase, id: string): boolean {
  return (
    db.get("SELECT 1 FROM staff WHERE role = 'admin' AND subject IS NOT NULL AND id <> ? LIMIT 1", id) !==
    undefined
  );
}

export interface StaffFilter extends PageRequest {
  readonly tenant?: string | undefined;
}

export function staffPage(filter: StaffFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM staff`,
      where: { tenant: filter.tenant },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listStaff(db: SqlDatabase, filter: StaffFilter): Page<StaffRecord> {
  const { sql, params } = staffPage(filter);
  return cutPage(db.all<StaffRow>(sql, ...params), filter.limit, (row) => row.id, staffOfRow);
}

export function staffOfRow(row: StaffRow): StaffRecord {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    tenant: row.tenant,
    status: row.subject === null ? 'invited' : 'active',
    issuer: row.issuer,
    subject: row.subject,
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    lastSignInAt: row.lastSignInAtMs === null ? null : toTimestamp(row.lastSignInAtMs),
    etag: String(row.revision),
  };
}

export interface SessionRow {
  readonly sid: string;
  readonly member: string;
  /** The issuer's own session, which its logout tokens name. */
  readonly issuerSid: string | null;
  readonly expiresAtMs: number;
}

export function insertSession(db: SqlDatabase, row: SessionRow, nowMs: number): void {
  db.run('DELETE FROM staff_sessions WHERE expires_at <= ?', nowMs);
  db.run(
    'INSERT INTO staff_sessions (sid, member, issuer_sid, expires_at) VALUES (?, ?, ?, ?)',
    row.sid,
    row.member,
    row.issuerSid,
    row.expiresAtMs,
  );
}

/** The member of a session that has not ended, if the cookie's subject is still theirs. */
export function loadSessionMember(
  db: SqlDatabase,
  session: {
    readonly sid: string;
    readonly issuer: string;
    readonly subject: string;
    readonly nowMs: number;
  },
): StaffRow | undefined {
  return db.get<StaffRow>(
    `SELECT ${COLUMNS} FROM staff WHERE issuer = ? AND subject = ?
     AND id = (SELECT member FROM staff_sessions WHERE sid = ? AND expires_at > ?)`,
    session.issuer,
    session.subject,
    session.sid,
    session.nowMs,
  );
}

export function deleteSession(db: SqlDatabase, sid: string): void {
  db.run('DELETE FROM staff_sessions WHERE sid = ?', sid);
}

/**
 * Ends the sessions that a logout token names: one session of the issuer, or all of a subject. A session whose ID token named
 * no session of the issuer may be the one that is meant, so that it ends with any of its subject.
 */
export function deleteSessionsOf(
  db: SqlDatabase,
  named: {
    readonly issuer: string;
    readonly subject?: string | undefined;
    readonly issuerSid?: string | undefined;
  },
): void {
  const { issuer, subject, issuerSid } = named;
  if (issuerSid !== undefined)
    db.run(
      `DELETE FROM staff_sessions WHERE issuer_sid = ?
       AND member IN (SELECT id FROM staff WHERE issuer = ?)`,
      issuerSid,
      issuer,
    );
  const member = subject === undefined ? undefined : loadMemberBySubject(db, { issuer, subject });
  if (!member) return;
  const only = issuerSid === undefined ? '' : ' AND issuer_sid IS NULL';
  db.run(`DELETE FROM staff_sessions WHERE member = ?${only}`, member.id);
}

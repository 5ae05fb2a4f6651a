/** The roster and the sessions of its members in SQL. */
import type { TenantId } from '@freehold/contracts';
import { defineTable, nullable, type RowOf, revision, type SqlDatabase, text, time } from '@freehold/store';
import type { RosterRole, StaffRecord } from '../declarations/staff.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const staff = defineTable('staff', ['id'], {
  id: text(),
  /** In lower case. */
  email: text(),
  name: text(),
  role: text<RosterRole>(),
  /** Null exactly for staff. */
  tenant: nullable(text<TenantId>()),
  /** Null, like the subject, until the first sign-in. */
  issuer: nullable(text()),
  subject: nullable(text()),
  createdAtMs: time(),
  updatedAtMs: time(),
  lastSignInAtMs: nullable(time()),
  revision: revision(),
});
export type StaffRow = RowOf<typeof staff>;

export const loadMember = staff.get;
export const loadMemberByEmail = staff.finding('email');
export const loadMemberBySubject = staff.finding('issuer', 'subject');
export const saveMember = staff.saving(
  ...(['name', 'role', 'issuer', 'subject', 'updatedAtMs', 'lastSignInAtMs', 'revision'] as const),
);
/** Deletes a member with their sessions, tokens and codes. */
export const deleteMember = staff.delete;
const shown = staff.recording<Omit<StaffRecord, 'status'>>();

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

export const { statement: staffPage, list: listStaff } = definePages({
  from: staff,
  where: ({ tenant }: StaffFilter) => ({ tenant }),
  key: 'id',
  item: staffOfRow,
});

export function staffOfRow(row: StaffRow): StaffRecord {
  return { ...shown(row), status: row.subject === null ? 'invited' : 'active' };
}

const sessions = defineTable('staff_sessions', ['sid'], {
  sid: text(),
  member: text(),
  /** The issuer's own session, which its logout tokens name. */
  issuerSid: nullable(text()),
  expiresAtMs: time(),
  /** Null for a session of before that was not used since. */
  lastSeenAtMs: nullable(time()),
});
export type SessionRow = RowOf<typeof sessions>;

export const deleteSession = sessions.delete;
export const saveSeen = sessions.updating('lastSeenAtMs');
const loadSession = sessions.get;

/** Whether a new installation demands a second factor: one that was made since this is asked. */
export function isNewInstallation(db: SqlDatabase): boolean {
  return db.get('SELECT 1 FROM staff_policy WHERE demands_second_factor = 1') !== undefined;
}

export function insertSession(db: SqlDatabase, row: SessionRow, nowMs: number): void {
  db.run('DELETE FROM staff_sessions WHERE expires_at <= ?', nowMs);
  sessions.insert(db, row);
}

/** The last use of a session is written at most so often. */
const SEEN_EVERY_MS = 60_000;

/** Whether the use of a session is to be written. */
export function isSeenDue(db: SqlDatabase, sid: string, nowMs: number): boolean {
  const last = loadSession(db, sid)?.lastSeenAtMs ?? null;
  return last === null || nowMs - last >= SEEN_EVERY_MS;
}

/**
 * The member of a session that has not ended and was used lately, if the cookie's subject is still theirs.
 * @param session `idleMs`: the time without use that ends it; null for none. A use that is not written yet counts as one of
 * the last minute, so that no session ends early: it ends up to a minute late.
 */
export function loadSessionMember(
  db: SqlDatabase,
  session: {
    readonly sid: string;
    readonly issuer: string;
    readonly subject: string;
    readonly nowMs: number;
    readonly idleMs: number | null;
  },
): StaffRow | undefined {
  return staff.first(
    db,
    `${staff.select} WHERE issuer = ? AND subject = ?
     AND id = (SELECT member FROM staff_sessions WHERE sid = ? AND expires_at > ?
                AND coalesce(last_seen_at, expires_at) > ?)`,
    session.issuer,
    session.subject,
    session.sid,
    session.nowMs,
    session.idleMs === null ? 0 : session.nowMs - session.idleMs - SEEN_EVERY_MS,
  );
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

/** The tokens of programs that act for members of the roster, in SQL. Of a secret only its hash and its two ends are kept. */
import { cutPage, type Page, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { RosterRole, StaffTokenRecord } from '../declarations/staff.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { TOKEN_PREFIXES } from '../tokens/secret.ts';
import { LAST_USE_STEP_MS } from '../tokens/store.ts';

const COLUMNS = `id, member, client, last4, created_at AS createdAtMs, expires_at AS expiresAtMs,
  last_used_at AS lastUsedAtMs, revision`;

export interface StaffTokenRow {
  readonly id: string;
  readonly member: string;
  readonly client: string;
  readonly last4: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastUsedAtMs: number | null;
  readonly revision: number;
}

export function loadStaffToken(db: SqlDatabase, id: string): StaffTokenRow | undefined {
  return db.get<StaffTokenRow>(`SELECT ${COLUMNS} FROM staff_tokens WHERE id = ?`, id);
}

export function loadStaffTokenByHash(db: SqlDatabase, hash: string): StaffTokenRow | undefined {
  return db.get<StaffTokenRow>(`SELECT ${COLUMNS} FROM staff_tokens WHERE hash = ?`, hash);
}

/** A token that works, with the member behind it as they are now. */
export interface TokenHolder {
  readonly token: string;
  readonly lastUsedAtMs: number | null;
  readonly id: string;
  readonly name: string;
  readonly role: RosterRole;
  readonly tenant: TenantId | null;
}

export function loadTokenHolder(db: SqlDatabase, hash: string, nowMs: number): TokenHolder | undefined {
  return db.get<TokenHolder>(
    `SELECT staff_tokens.id AS token, staff_tokens.last_used_at AS lastUsedAtMs, staff.id AS id, staff.name AS name,
       staff.role AS role, staff.tenant AS tenant
     FROM staff_tokens JOIN staff ON staff.id = staff_tokens.member
     WHERE staff_tokens.hash = ? AND staff_tokens.expires_at > ?`,
    hash,
    nowMs,
  );
}

/** Takes the opportunity to remove what has expired: nothing here is evidence, the admin log is. */
export function insertStaffToken(db: SqlDatabase, row: StaffTokenRow, hash: string): void {
  db.run('DELETE FROM staff_tokens WHERE expires_at <= ?', row.createdAtMs);
  db.run(
    `INSERT INTO staff_tokens (id, member, client, hash, last4, created_at, expires_at, last_used_at, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.member,
    row.client,
    hash,
    row.last4,
    row.createdAtMs,
    row.expiresAtMs,
    row.lastUsedAtMs,
    row.revision,
  );
}

export function deleteStaffToken(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM staff_tokens WHERE id = ?', id);
}

/** Notes that a token was used, unless that was noted less than a minute ago. */
export function touchStaffTokenRow(db: SqlDatabase, id: string, atMs: number): void {
  db.run(
    'UPDATE staff_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)',
    atMs,
    id,
    atMs - LAST_USE_STEP_MS,
  );
}

export interface StaffTokenFilter extends PageRequest {
  readonly member?: string | undefined;
}

export function staffTokensPage(filter: StaffTokenFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM staff_tokens`,
      where: { member: filter.member },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listStaffTokens(db: SqlDatabase, filter: StaffTokenFilter): Page<StaffTokenRecord> {
  const { sql, params } = staffTokensPage(filter);
  return cutPage(db.all<StaffTokenRow>(sql, ...params), filter.limit, (row) => row.id, staffTokenOfRow);
}

export function staffTokenOfRow(row: StaffTokenRow): StaffTokenRecord {
  return {
    id: row.id,
    member: row.member,
    client: row.client,
    prefix: TOKEN_PREFIXES.staff,
    last4: row.last4,
    createdAt: toTimestamp(row.createdAtMs),
    expiresAt: toTimestamp(row.expiresAtMs),
    lastUsedAt: row.lastUsedAtMs === null ? null : toTimestamp(row.lastUsedAtMs),
    etag: String(row.revision),
  };
}

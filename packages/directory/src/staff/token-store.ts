/** The tokens of programs that act for members of the roster, in SQL. Of a secret only its hash and its two ends are kept. */
import { cutPage, type Page, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { TOKEN_PREFIXES } from '../access/secret.ts';
import type { StaffTokenRecord } from '../declarations/staff.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

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

/** Inserts a token and removes the expired ones: the admin log is the evidence, not this table. */
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

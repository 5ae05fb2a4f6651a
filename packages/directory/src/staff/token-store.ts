/** The tokens of programs that act for members of the roster, in SQL. Of a secret only its hash and its two ends are kept. */
import {
  defineTable,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import { TOKEN_PREFIXES } from '../access/secret.ts';
import type { StaffTokenRecord } from '../declarations/staff.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { cancelWorkOf } from '../long-work/store.ts';

const tokens = defineTable('staff_tokens', ['id'], {
  id: text(),
  member: text(),
  client: text(),
  hash: unread(text()),
  last4: text(),
  createdAtMs: time(),
  expiresAtMs: time(),
  lastUsedAtMs: nullable(time()),
  revision: revision(),
});
export type StaffTokenRow = RowOf<typeof tokens>;

export const loadStaffToken = tokens.get;
export const loadStaffTokenByHash = tokens.finding('hash');
export const deleteStaffToken = tokens.delete;
const shown = tokens.recording<Omit<StaffTokenRecord, 'prefix'>>();

/** Deletes codes that a member agreed to and that no program has turned into a token. */
export function dropCodesOf(db: SqlDatabase, member: string): void {
  for (const table of ['staff_codes', 'staff_devices'])
    db.run(`DELETE FROM ${table} WHERE member = ?`, member);
}

/** Deletes the staff tokens of a member, and codes that would become one. Returns the ids for the row of the caller. */
export function dropTokensOf(db: SqlDatabase, member: string, nowMs: number): string[] {
  dropCodesOf(db, member);
  const deleted = db.all<{ id: string }>('DELETE FROM staff_tokens WHERE member = ? RETURNING id', member);
  const ids = deleted.map(({ id }) => id);
  cancelWorkOf(db, ids, nowMs);
  return ids;
}

/** Inserts a token and removes the expired ones: the admin log is the evidence, not this table. */
export function insertStaffToken(db: SqlDatabase, row: StaffTokenRow, hash: string): void {
  db.run('DELETE FROM staff_tokens WHERE expires_at <= ?', row.createdAtMs);
  tokens.insert(db, { ...row, hash });
}

export interface StaffTokenFilter extends PageRequest {
  readonly member?: string | undefined;
}

export const { statement: staffTokensPage, list: listStaffTokens } = definePages({
  from: tokens,
  where: ({ member }: StaffTokenFilter) => ({ member }),
  key: 'id',
  item: staffTokenOfRow,
});

export function staffTokenOfRow(row: StaffTokenRow): StaffTokenRecord {
  return { ...shown(row), prefix: TOKEN_PREFIXES.staff };
}

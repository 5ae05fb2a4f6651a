/** The SQL of the links that are sent to addresses. */
import type { SqlDatabase } from '@freehold/store';
import type { LinkPurpose } from './contract.ts';

export interface LinkRow {
  readonly purpose: LinkPurpose;
  /** SHA-256 of the address, under which an earlier link of the same kind is found. */
  readonly addressHash: string;
  /** The address the link was sent to; null when it was not sent. */
  readonly email: string | null;
  /** Null before there is an account. */
  readonly userId: string | null;
  readonly name: string | null;
  readonly expiresAtMs: number;
  readonly usedAtMs: number | null;
}

const COLUMNS = `purpose, address_hash AS addressHash, email, user_id AS userId, name, expires_at AS expiresAtMs,
  used_at AS usedAtMs`;

export const LINK_SQL = `SELECT ${COLUMNS} FROM account_links WHERE token_hash = ?`;
export const RETIRE_LINKS_SQL = `DELETE FROM account_links
  WHERE purpose = ? AND address_hash = ? AND user_id IS ? AND used_at IS NULL`;
export const VOID_LINKS_SQL = `DELETE FROM account_links
  WHERE user_id = ? AND used_at IS NULL AND purpose <> 'email_revert'`;
export const VOID_REVERTS_SQL = `DELETE FROM account_links
  WHERE user_id = ? AND used_at IS NULL AND purpose = 'email_revert' AND expires_at >= ?`;
export const FORGET_LINKS_SQL = `DELETE FROM account_links WHERE token_hash IN
  (SELECT token_hash FROM account_links WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

/** The look-up is by a hash of 128 random bits, so that its timing says nothing about the token. */
export function loadLink(db: SqlDatabase, tokenHash: string): LinkRow | undefined {
  return db.get<LinkRow>(LINK_SQL, tokenHash);
}

export function insertLink(db: SqlDatabase, row: LinkRow, tokenHash: string): void {
  db.run(
    `INSERT INTO account_links (token_hash, purpose, address_hash, email, user_id, name, expires_at, used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    tokenHash,
    row.purpose,
    row.addressHash,
    row.email,
    row.userId,
    row.name,
    row.expiresAtMs,
    row.usedAtMs,
  );
}

export function markLinkUsed(db: SqlDatabase, use: { tokenHash: string; atMs: number }): void {
  db.run('UPDATE account_links SET used_at = ? WHERE token_hash = ?', use.atMs, use.tokenHash);
}

/** Removes the unused links of one purpose, address and account (or of no account). */
export function retireLinks(
  db: SqlDatabase,
  link: Pick<LinkRow, 'purpose' | 'addressHash' | 'userId'>,
): void {
  db.run(RETIRE_LINKS_SQL, link.purpose, link.addressHash, link.userId);
}

/** Removes every unused link of an account but those that revert a change of address. */
export function voidLinks(db: SqlDatabase, userId: string): void {
  db.run(VOID_LINKS_SQL, userId);
}

/** Removes the unused links that revert a change of address and expire at a moment or later. */
export function voidReverts(db: SqlDatabase, since: { userId: string; expiresAtMs: number }): void {
  db.run(VOID_REVERTS_SQL, since.userId, since.expiresAtMs);
}

export function forgetLinks(db: SqlDatabase, expiry: { expiresAtMs: number; rowsMax: number }): void {
  db.run(FORGET_LINKS_SQL, expiry.expiresAtMs, expiry.rowsMax);
}

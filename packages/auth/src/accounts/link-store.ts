/** The SQL of the links that are sent to addresses. */
import { defineTable, nullable, type RowOf, type SqlDatabase, text, time, unread } from '@freehold/store';
import type { LinkPurpose } from './contract.ts';

const links = defineTable('account_links', ['tokenHash'], {
  tokenHash: unread(text()),
  purpose: text<LinkPurpose>(),
  /** SHA-256 of the address, under which an earlier link of the same kind is found. */
  addressHash: text(),
  /** The address the link was sent to; null when it was not sent. */
  email: nullable(text()),
  /** Null before there is an account. */
  userId: nullable(text()),
  name: nullable(text()),
  expiresAtMs: time(),
  usedAtMs: nullable(time()),
});
export type LinkRow = RowOf<typeof links>;

export const LINK_SQL = `${links.select} WHERE token_hash = ?`;
export const RETIRE_LINKS_SQL = `DELETE FROM account_links
  WHERE purpose = ? AND address_hash = ? AND user_id IS ? AND used_at IS NULL`;
export const VOID_LINKS_SQL = `DELETE FROM account_links
  WHERE user_id = ? AND used_at IS NULL AND purpose <> 'email_revert'`;
export const VOID_REVERTS_SQL = `DELETE FROM account_links
  WHERE user_id = ? AND used_at IS NULL AND purpose = 'email_revert' AND expires_at >= ?`;
export const FORGET_LINKS_SQL = `DELETE FROM account_links WHERE token_hash IN
  (SELECT token_hash FROM account_links WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

/** The look-up is by a hash of 128 random bits, so that its timing says nothing about the token. */
export const loadLink = links.get;
export const markLinkUsed = links.updating('usedAtMs');

export function insertLink(db: SqlDatabase, row: LinkRow, tokenHash: string): void {
  links.insert(db, { ...row, tokenHash });
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

/** The links that are sent to addresses: made, shown and used once. */

import type { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { refusal } from '../lib/refusals.ts';
import { hashToken, mintToken } from '../lib/token.ts';
import type { LinkPurpose, MadeLink } from './contract.ts';
import { forgetLinks, insertLink, type LinkRow, loadLink, markLinkUsed, retireLinks } from './link-store.ts';

const HOUR_MS = 3_600_000;
/** A user waits for a reset; the others may lie in a mailbox overnight. */
const TTL_MS: Readonly<Record<LinkPurpose, number>> = {
  sign_up: 24 * HOUR_MS,
  reset: HOUR_MS,
  email_change: 24 * HOUR_MS,
  // The holder of a stolen account has to notice the theft first.
  email_revert: 7 * 24 * HOUR_MS,
};
/** An expired link is told apart from an unknown one for this long. */
const MEMORY_MS = 24 * HOUR_MS;
/** One new or used link removes so many forgotten ones. */
const FORGOTTEN_AT_ONCE = 20;

export interface LinkOrder {
  readonly purpose: LinkPurpose;
  readonly email: string;
  readonly userId: string | null;
  readonly name: string | null;
}

export type LiveLink = LinkRow & { readonly email: string };

/** Makes a link for one use. It retires an earlier one of the same purpose, address and account. */
export function makeLink(unit: UnitContext, order: LinkOrder): MadeLink {
  const { email, name } = order;
  return { outcome: 'made', ...writeLink(unit, order, email), email, name };
}

/**
 * Writes the rows of {@link makeLink} without a usable token or an address, so that asking for a link takes the same
 * time whether or not the address has an account.
 */
export function pretendLink(unit: UnitContext, order: Pick<LinkOrder, 'purpose' | 'email'>): void {
  writeLink(unit, { ...order, userId: null, name: null }, null);
}

/** Returns a link that could be used now, or null. */
export function findLiveLink(unit: UnitContext, token: unknown, purpose: LinkPurpose): LiveLink | null {
  const row = loadLink(unit.db, hashToken(token));
  if (!row || !isSent(row, purpose) || row.usedAtMs !== null || unit.now() >= row.expiresAtMs) return null;
  return row;
}

/**
 * Uses a link up, in the present transaction. Of two uses the second finds it used.
 * @throws PlatformError `not_found`, reason `link_unknown`; `conflict`, reason `link_used` or `link_expired`.
 */
export function takeLink(unit: UnitContext, token: unknown, purpose: LinkPurpose): LiveLink {
  const tokenHash = hashToken(token);
  const row = loadLink(unit.db, tokenHash);
  if (!row || !isSent(row, purpose)) throw unknownLink();
  if (row.usedAtMs !== null) throw refusal('conflict', 'link_used', 'This link was used already.');
  const nowMs = unit.now();
  if (nowMs >= row.expiresAtMs)
    throw refusal('conflict', 'link_expired', 'This link has expired. Ask for a new one.');
  markLinkUsed(unit.db, { tokenHash, usedAtMs: nowMs });
  forgetLinks(unit.db, { expiresAtMs: nowMs - MEMORY_MS, rowsMax: FORGOTTEN_AT_ONCE });
  return row;
}

export function unknownLink(): PlatformError {
  return refusal('not_found', 'link_unknown', 'This link is not valid. Ask for a new one.');
}

function isSent(row: LinkRow, purpose: LinkPurpose): row is LiveLink {
  return row.purpose === purpose && row.email !== null;
}

function writeLink(
  unit: UnitContext,
  { purpose, email, userId, name }: LinkOrder,
  sentTo: string | null,
): { token: string; expiresAtMs: number } {
  const nowMs = unit.now();
  const addressHash = hashToken(email);
  const expiresAtMs = nowMs + TTL_MS[purpose];
  const { token, hash } = mintToken(unit.random);
  forgetLinks(unit.db, { expiresAtMs: nowMs - MEMORY_MS, rowsMax: FORGOTTEN_AT_ONCE });
  retireLinks(unit.db, { purpose, addressHash, userId });
  const row = { purpose, addressHash, email: sentTo, userId, name, expiresAtMs, usedAtMs: null };
  insertLink(unit.db, row, hash);
  return { token, expiresAtMs };
}

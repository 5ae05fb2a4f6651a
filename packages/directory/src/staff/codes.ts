/** Authorization codes for programs on a member's machine (RFC 6749, section 4.1; RFC 7636), and the tokens they become. */
import { createHash } from 'node:crypto';
import { ID_PREFIXES } from '@freehold/contracts';
import { defineTable, nullable, text, time, type UnitContext, unread } from '@freehold/store';
import { hashSecret, mintSecret } from '../access/secret.ts';
import { appendAdminLog } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { cancelWorkOf } from '../long-work/store.ts';
import { byMember, nextSequence, revocationEntry, targetOf, tokenFields } from './operations.ts';
import { isAdmitted } from './policy-store.ts';
import { loadMember } from './store.ts';
import {
  deleteStaffToken,
  dropCodesOf,
  insertStaffToken,
  loadStaffToken,
  loadStaffTokenByHash,
  type StaffTokenRow,
} from './token-store.ts';

/** The life of a code, which one process passes to another on one machine. */
export const CODE_TTL_MS = 60_000;
/** 30 days: the life of a token of staff. */
export const STAFF_TOKEN_TTL_MS = 30 * 24 * 60 * 60 * 1000;

const CODE_BYTES = 32;

/** The consent of a member. */
export interface CodeOrder {
  readonly member: string;
  readonly client: string;
  readonly redirectUri: string;
  /** BASE64URL(SHA-256(verifier)). */
  readonly challenge: string;
}

export interface CodeRedemption {
  readonly code: string;
  readonly client: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly requestId: string;
}

export interface IssuedStaffToken {
  /** Shown once. */
  readonly secret: string;
  readonly expiresAtMs: number;
  readonly head: LogHead;
}

/** Codes that were made, each with the id of the token that came of it. */
const codes = defineTable('staff_codes', ['hash'], {
  hash: unread(text()),
  member: text(),
  client: text(),
  redirectUri: text(),
  challenge: text(),
  expiresAtMs: time(),
  token: nullable(text()),
});
const saveToken = codes.updating('token');

/** Makes a code. Only its hash is kept. */
export function orderCode(context: UnitContext, order: CodeOrder): { readonly code: string } {
  const { db } = context;
  const nowMs = context.now();
  db.run('DELETE FROM staff_codes WHERE expires_at <= ?', nowMs);
  const code = randomText(context, CODE_BYTES);
  codes.insert(db, { ...order, hash: hashSecret(code), expiresAtMs: nowMs + CODE_TTL_MS, token: null });
  return { code };
}

/**
 * Turns a code into a token, once. A second use revokes the token of the first: one of the two was not the program that
 * asked (RFC 6749, section 4.1.2). A refusal is an answer and no error, so that its writes are committed.
 */
export function redeemCode(
  context: UnitContext,
  { code, client, redirectUri, verifier, requestId }: CodeRedemption,
):
  | { readonly issued: IssuedStaffToken }
  | { readonly refused: 'invalid_grant'; readonly head: LogHead | null } {
  const { db } = context;
  const hash = hashSecret(code);
  const row = codes.get(db, hash);
  const refused = { refused: 'invalid_grant', head: null } as const;
  if (!row || row.expiresAtMs <= context.now()) return refused;
  if (row.token !== null) return { ...refused, head: takeBack(context, row.token, requestId) };
  const isTheirs =
    row.client === client &&
    row.redirectUri === redirectUri &&
    createHash('sha256').update(verifier).digest('base64url') === row.challenge;
  if (!isTheirs) {
    // A program with a stolen code gets one try.
    codes.delete(db, hash);
    return refused;
  }
  if (!isAdmitted(db, null)) return refused;
  const { id, ...issued } = issueToken(context, { member: row.member, client, requestId });
  saveToken(db, { hash, token: id });
  return { issued };
}

/** Makes a token for a program that acts for a member. The secret is in the answer and nowhere else. */
export function issueToken(
  context: UnitContext,
  {
    member,
    client,
    requestId,
  }: { readonly member: string; readonly client: string; readonly requestId: string },
): IssuedStaffToken & { readonly id: string } {
  const owner = loadMember(context.db, member);
  if (!owner) throw new TypeError('a grant outlived the member who made it');
  const nowMs = context.now();
  const secret = mintSecret('staff', (bytes) => context.random(bytes));
  const row: StaffTokenRow = {
    id: context.newId(ID_PREFIXES.token),
    member,
    client,
    last4: secret.slice(-4),
    createdAtMs: nowMs,
    expiresAtMs: nowMs + STAFF_TOKEN_TTL_MS,
    lastUsedAtMs: null,
    revision: nextSequence(context),
  };
  insertStaffToken(context.db, row, hashSecret(secret));
  const head = appendAdminLog(context, byMember(owner, { requestId, action: 'staff-tokens.create' }), {
    target: targetOf({ id: row.id, tenant: owner.tenant }),
    before: null,
    after: tokenFields(row),
    outcome: 'done',
  });
  return { id: row.id, secret, expiresAtMs: row.expiresAtMs, head };
}

/** Revokes the token of a secret, for any holder of it (RFC 7009). Null for an unknown one. */
export function revokeBySecretHash(
  context: UnitContext,
  { hash, requestId }: { readonly hash: string; readonly requestId: string },
): LogHead | null {
  const row = loadStaffTokenByHash(context.db, hash);
  return row ? takeBack(context, row.id, requestId) : null;
}

/** Revokes the staff tokens of a member, each with its row of the log, and drops codes that would become one. */
export function endTokensOf(
  context: UnitContext,
  { member, requestId }: { readonly member: string; readonly requestId: string },
): void {
  const { db } = context;
  dropCodesOf(db, member);
  const tokens = db.all<{ id: string }>('SELECT id FROM staff_tokens WHERE member = ? ORDER BY id', member);
  const ids = tokens.map(({ id }) => id);
  for (const id of ids) takeBack(context, id, requestId);
  cancelWorkOf(db, ids, context.now());
}

function takeBack(context: UnitContext, token: string, requestId: string): LogHead | null {
  const row = loadStaffToken(context.db, token);
  const owner = row && loadMember(context.db, row.member);
  if (!row || !owner) return null;
  deleteStaffToken(context.db, row.id);
  return appendAdminLog(context, byMember(owner, { requestId, action: 'staff-tokens.revoke' }), {
    ...revocationEntry(row, owner.tenant),
    outcome: 'done',
  });
}

/** Random text of two characters a byte. */
export function randomText(context: UnitContext, bytes: number): string {
  return Array.from(context.random(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Consent rounds inside the directory (spec 4.7): a ticket is issued, used once, and ended once. Each step derives the
 * vertical anew from the record of the scope, and checks that the way back still leads to it.
 *
 * A ticket says what it was issued for and is signed by the directory, so that issuing one stores nothing. Its id is stored
 * when it is used, so that it is used once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import {
  defineTable,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  type UnitContext,
} from '@freehold/store';
import { z } from 'zod';
import { loadHostname } from '../hostnames/store.ts';
import { requireActiveScope, requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';

/** The most time that the person may take at the provider: the longest validity of a consent URL. */
export const CONSENT_TTL_MS = 15 * 60 * 1000;
/** 256 bits: the strength of the HMAC that it keys. */
const TICKET_KEY_BYTES = 32;
const TICKET_KEY = 'connect ticket key';
const ROUND_PREFIX = 'cnr';

/** The request of a vertical whose secret was checked. `hostname` is that of `returnUrl`. */
export interface TicketOrder extends Omit<TicketClaims, 'id' | 'expiresAtMs'> {
  readonly hostname: string;
  readonly ttlMs: number;
}

export interface IssuedTicket {
  readonly ticket: string;
  readonly vertical: string;
  readonly expiresAtMs: number;
}

/**
 * Issues a ticket. Scopes of another vertical read as not found.
 * @throws PlatformError `not_found` or `invalid_transition` about tenant and scope; `validation_failed`, reason
 * `return_url_unbound`.
 */
export function issueTicket(context: UnitContext, order: TicketOrder): IssuedTicket {
  const { db } = context;
  const { hostname, ttlMs, ...asked } = order;
  // The scope is checked first: a vertical must not learn whether a tenant exists in which it has no scope.
  requireScope(db, order);
  requireActiveTenant(db, order.tenant);
  const { vertical } = requireActiveScope(db, order);
  if (!isBound(db, order.scope, hostname)) throw unbound();
  const expiresAtMs = context.now() + ttlMs;
  const claims = { ...asked, id: context.newId(ROUND_PREFIX), expiresAtMs };
  return { ticket: signTicket(ticketKey(context), claims), vertical, expiresAtMs };
}

/**
 * Uses a ticket up.
 * @throws PlatformError `not_found`, reason `ticket_invalid`; `invalid_transition`, reason `ticket_expired`; `conflict`,
 * reason `ticket_used` or one of {@link requireSameTarget}.
 */
export function startRound(
  context: UnitContext,
  { ticket, stateHash }: { readonly ticket: string; readonly stateHash: string },
): TicketClaims {
  const { db } = context;
  const claims = readTicket(ticketKey(context), ticket);
  if (!claims)
    throw new PlatformError('not_found', 'This link is not one of ours. Go back and connect again.', {
      reason: 'ticket_invalid',
    });
  const nowMs = context.now();
  if (claims.expiresAtMs <= nowMs)
    throw new PlatformError('invalid_transition', 'This link has expired. Go back and connect again.', {
      reason: 'ticket_expired',
    });
  if (isUsedTicket(db, claims.id))
    throw new PlatformError('conflict', 'This link was used before. Go back and connect again.', {
      reason: 'ticket_used',
    });
  requireSameTarget(db, claims);
  clearOldRounds(db, nowMs);
  insertRound(db, { ...claims, stateHash, expiresAtMs: nowMs + CONSENT_TTL_MS, endedAtMs: null });
  return claims;
}

/**
 * Ends a round, whatever the provider's answer says, so that no second answer is taken.
 * @throws PlatformError `not_found`, reason `unknown_round`; `conflict`, reason `round_used`, or `target_changed`: then the
 * browser is not sent back, because the address may belong to another tenant by now.
 */
export function takeAnswer(
  context: UnitContext,
  { stateHash }: { readonly stateHash: string },
): { readonly late: boolean } {
  const { db } = context;
  const round = loadRound(db, stateHash);
  if (!round)
    throw new PlatformError('not_found', 'This consent was not begun here. Go back and connect again.', {
      reason: 'unknown_round',
    });
  if (round.endedAtMs !== null)
    throw new PlatformError('conflict', 'This was answered before. Go back and connect again.', {
      reason: 'round_used',
    });
  requireSameTarget(db, round);
  const nowMs = context.now();
  endRound(db, round.id, nowMs);
  return { late: round.expiresAtMs <= nowMs };
}

/**
 * A consent for one vertical must not reach another, nor a browser an address that no longer leads to the scope.
 * @throws PlatformError `conflict`, reason `target_changed`.
 */
export function requireSameTarget(db: SqlDatabase, claims: TicketClaims): void {
  const { hostname } = new URL(claims.returnUrl);
  if (isTarget(db, claims) && isBound(db, claims.scope, hostname)) return;
  throw new PlatformError(
    'conflict',
    'The application that asked for this has changed in the meantime. Go back and connect again.',
    { reason: 'target_changed' },
  );
}

function isTarget(db: SqlDatabase, claims: TicketClaims): boolean {
  try {
    requireActiveTenant(db, claims.tenant);
    requireActiveScope(db, claims);
    return true;
  } catch (error) {
    if (error instanceof PlatformError) return false;
    throw error;
  }
}

/** Any of a scope's surfaces will do, as long as its name is active. */
function isBound(db: SqlDatabase, scope: string, hostname: string): boolean {
  const row = loadHostname(db, hostname);
  return row?.scope === scope && row.status === 'active';
}

function unbound(): PlatformError {
  const message = 'must be at an active host name of this scope';
  return new PlatformError('validation_failed', `The body is not valid. returnUrl: ${message}.`, {
    reason: 'return_url_unbound',
    errors: [{ path: 'returnUrl', message }],
  });
}

/** The directory's own key, made when it is first needed. */
function ticketKey({ db, random }: UnitContext): Uint8Array {
  const found = db.get<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = ?', TICKET_KEY);
  if (found) return found.value;
  const value = random(TICKET_KEY_BYTES);
  db.run('INSERT INTO meta (name, value) VALUES (?, ?)', TICKET_KEY, value);
  return value;
}

/** One consent between the person's start and the provider's answer: the claims of its ticket, and its end. */
const rounds = defineTable('connect_rounds', ['id'], {
  id: text(),
  /** SHA-256 of the `state` that the provider is to bring back. */
  stateHash: text(),
  tenant: text(),
  scope: text(),
  vertical: text(),
  provider: text(),
  createdBy: text(),
  subjectRef: text(),
  returnUrl: text(),
  expiresAtMs: time(),
  /** Null until the provider answered. */
  endedAtMs: nullable(time()),
});
export type RoundRow = RowOf<typeof rounds>;

/** Ended rounds are remembered for this long, to tell a repeated answer from an unknown one. */
const REMEMBERED_MS = 24 * 60 * 60 * 1000;
/** The most old rounds that one start deletes, so that no start pays for many. */
const CLEARED_PER_START = 16;

export const loadRound = rounds.finding('stateHash');
const insertRound = rounds.insert;
const updateEnd = rounds.updating('endedAtMs');

function isUsedTicket(db: SqlDatabase, id: string): boolean {
  return rounds.get(db, id) !== undefined;
}

function endRound(db: SqlDatabase, id: string, nowMs: number): void {
  updateEnd(db, { id, endedAtMs: nowMs });
}

function clearOldRounds(db: SqlDatabase, nowMs: number): void {
  db.run(
    `DELETE FROM connect_rounds WHERE id IN
       (SELECT id FROM connect_rounds WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    nowMs - REMEMBERED_MS,
    CLEARED_PER_START,
  );
}

/** A vertical's request, with the vertical from the directory's record. */
export interface TicketClaims {
  /** Names the round; no other ticket has it. */
  readonly id: string;
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly provider: string;
  readonly createdBy: string;
  readonly subjectRef: string;
  readonly returnUrl: string;
  readonly expiresAtMs: number;
}

/** In this order on the wire, without names: the address stays short. */
const part = z.string();
const wire = z.tuple([part, part, part, part, part, part, part, part, z.int()]);

/** Keeps the signature from being valid for anything else that the key may sign. */
const PURPOSE = 'freehold.connect-ticket.v1';

/** `<claims>.<HMAC-SHA256>`, both base64url. */
export function signTicket(key: Uint8Array, claims: TicketClaims): string {
  const { id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs } = claims;
  const fields: z.infer<typeof wire> = [
    ...([id, tenant, scope, vertical, provider] as const),
    ...([createdBy, subjectRef, returnUrl, expiresAtMs] as const),
  ];
  const body = Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
  return `${body}.${tagOf(key, body).toString('base64url')}`;
}

/** The claims of a ticket that this key signed; null for anything else. Checks neither age nor use. */
export function readTicket(key: Uint8Array, ticket: string): TicketClaims | null {
  const [body, tag, more] = ticket.split('.');
  if (body === undefined || tag === undefined || more !== undefined) return null;
  const expected = tagOf(key, body);
  const presented = Buffer.from(tag, 'base64url');
  // The encoded forms are compared too: several spellings of base64url decode alike, and a ticket has one.
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return null;
  if (expected.toString('base64url') !== tag) return null;
  const [id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs] = wire.parse(
    JSON.parse(Buffer.from(body, 'base64url').toString('utf8')),
  );
  return { id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs };
}

function tagOf(key: Uint8Array, body: string): Buffer {
  return createHmac('sha256', key).update(`${PURPOSE}\n${body}`).digest();
}

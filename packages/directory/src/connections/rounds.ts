/**
 * Consent rounds as the directory sees them (spec 4.7): a ticket is issued, used once, and ended once. Each step derives
 * the vertical anew from the record of the scope, and looks whether the way back still leads to it.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { loadHostname } from '../hostnames/store.ts';
import { requireActiveScope, requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import {
  clearOldRounds,
  endRound,
  insertRound,
  isUsedTicket,
  loadRound,
  type RoundRow,
} from './rounds-store.ts';
import { readTicket, signTicket, type TicketClaims } from './ticket.ts';

/** How long the person may take at the provider: as long as a consent URL may work at most. */
export const CONSENT_TTL_MS = 15 * 60 * 1000;
/** 256 bits: the strength of the HMAC that it keys. */
const TICKET_KEY_BYTES = 32;
const TICKET_KEY = 'connect ticket key';
/** Names a round: what a ticket is known by. */
const ROUND_PREFIX = 'cnr';

/** What a vertical asks for, which has shown that it is this one. `hostname` is that of `returnUrl`. */
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
 * Issues a ticket. For a vertical, scopes that the directory does not record as its own are not there.
 * @throws PlatformError `not_found` or `invalid_transition` about tenant and scope; `validation_failed`, reason
 * `return_url_unbound`.
 */
export function issueTicket(context: UnitContext, order: TicketOrder): IssuedTicket {
  const { db } = context;
  const { hostname, ttlMs, ...asked } = order;
  // The scope first: of a tenant in which it has none, a vertical learns nothing, not even that there is one.
  requireScope(db, order);
  requireActiveTenant(db, order.tenant);
  const { vertical } = requireActiveScope(db, order);
  if (!isBound(db, order.scope, hostname)) throw unbound();
  const expiresAtMs = context.now() + ttlMs;
  const claims = { ...asked, id: context.newId(ROUND_PREFIX), expiresAtMs };
  return { ticket: signTicket(ticketKey(context), claims), vertical, expiresAtMs };
}

/**
 * Uses a ticket: from here on it is spent.
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

/** The round that a provider's answer belongs to, or null. */
export function findRound(db: SqlDatabase, stateHash: string): RoundRow | null {
  return loadRound(db, stateHash) ?? null;
}

/**
 * Ends a round, whatever the answer turns out to be, so that no second one is taken.
 * @throws PlatformError `not_found`, reason `unknown_round`; `conflict`, reason `round_used`, or `target_changed`: then
 * nobody is sent back either, because the address may be somebody else's by now.
 */
export function takeAnswer(
  context: UnitContext,
  { stateHash }: { readonly stateHash: string },
): { readonly late: boolean } {
  const { db } = context;
  const round = loadRound(db, stateHash);
  if (!round)
    throw new PlatformError('not_found', 'Nobody began this. Go back and connect again.', {
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
 * A consent given to one vertical must not end up with another, nor a person at an address that is no longer the scope's.
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

/** The directory's own key, made when it is first needed. Who can read it can write the directory as well. */
function ticketKey({ db, random }: UnitContext): Uint8Array {
  const found = db.get<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = ?', TICKET_KEY);
  if (found) return found.value;
  const value = random(TICKET_KEY_BYTES);
  db.run('INSERT INTO meta (name, value) VALUES (?, ?)', TICKET_KEY, value);
  return value;
}

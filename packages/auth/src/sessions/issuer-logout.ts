/** Ends the sessions that an issuer says are over (OpenID Connect Back-Channel Logout 1.0, section 2.7). */
import { PlatformError } from '@freehold/contracts';
import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { recordSessionEvent } from './events.ts';
import {
  isLogoutTokenKnown,
  loadLiveSessions,
  loadSessionsOfIdpSid,
  loadSessionsWithoutIdpSid,
  raiseSessionFloor,
  type SessionRow,
  saveEndedIdpSession,
  saveEndedSession,
  saveLogoutToken,
} from './store.ts';

/** How far the issuer's clock may be behind ours, and the second that a NumericDate without fraction leaves out. */
const ISSUER_CLOCK_MARGIN_MS = 31_000;
/** A sign-in takes at most its flow's ten minutes. Issuers that use a session id twice lock nobody out for long. */
const ENDED_IDP_SESSION_KEPT_MS = 3_600_000;
/** No session that an older token could end is left by then. */
const LOGOUT_TOKEN_KEPT_MS = SESSION_TTL_MS + 24 * 3_600_000;

/** What a verified logout token says. */
export interface EndIssuerSessionsInput {
  readonly issuer: string;
  /** Whose sessions; with `idpSid`, the one whose session that must be. */
  readonly sub?: string | undefined;
  /** The issuer's own session. */
  readonly idpSid?: string | undefined;
  readonly issuedAtMs: number;
  readonly jti: string;
}

/** The body of the operation of this name. */
export function endIssuerSessions(unit: UnitContext, input: EndIssuerSessionsInput): { ended: number } {
  const { issuer, sub, idpSid, jti } = input;
  if (sub === undefined && idpSid === undefined)
    throw new PlatformError('validation_failed', 'A logout names a subject or a session.', {
      errors: [{ path: 'sub', message: 'must be given when there is no idpSid' }],
    });
  // An issuer repeats what it heard no answer to, and a captured token can be sent again: either would end sessions
  // that began after the logout.
  if (isLogoutTokenKnown(unit.db, issuer, jti)) return { ended: 0 };
  const nowMs = unit.now();
  saveLogoutToken(unit.db, { issuer, jti, forgetAtMs: nowMs + LOGOUT_TOKEN_KEPT_MS });
  const upToMs = upTo(input.issuedAtMs, nowMs);
  if (idpSid !== undefined) return endOne(unit, { issuer, idpSid, sub }, upToMs, nowMs);
  return sub === undefined ? { ended: 0 } : endAll(unit, { issuer, sub }, upToMs, nowMs);
}

/**
 * Sessions that began up to here existed when the token was made, as far as two clocks can tell. A token that arrives
 * late does not end what began since; one whose time is no number ends everything that there is.
 */
function upTo(issuedAtMs: number, nowMs: number): number {
  return Number.isFinite(issuedAtMs) ? Math.min(nowMs, issuedAtMs + ISSUER_CLOCK_MARGIN_MS) : nowMs;
}

function endOne(
  unit: UnitContext,
  named: { issuer: string; idpSid: string; sub: string | undefined },
  upToMs: number,
  nowMs: number,
): { ended: number } {
  const { issuer, idpSid, sub } = named;
  const forgetAtMs = nowMs + ENDED_IDP_SESSION_KEPT_MS;
  saveEndedIdpSession(unit.db, { issuer, idpSid, sub: sub ?? '', forgetAtMs });
  const rows = loadSessionsOfIdpSid(unit.db, { issuer, idpSid, sub: sub ?? null });
  // A session whose ID token did not name the issuer's own may be the one that is meant. Signing in again costs its
  // holder a moment; a session that outlives its end is worth more to somebody else.
  if (sub !== undefined) rows.push(...loadSessionsWithoutIdpSid(unit.db, { issuer, sub }, upToMs));
  for (const row of rows) endBecauseOfIssuer(unit, row);
  return { ended: rows.length };
}

function endAll(
  unit: UnitContext,
  subject: { issuer: string; sub: string },
  upToMs: number,
  nowMs: number,
): { ended: number } {
  const ended = loadLiveSessions(unit.db, subject, nowMs).filter((row) => row.startedMs <= upToMs).length;
  raiseSessionFloor(unit.db, { ...subject, validAfterMs: upToMs });
  recordSessionEvent(unit, 'all_sessions_ended', { subject, detail: { by: 'issuer' } });
  return { ended };
}

function endBecauseOfIssuer(unit: UnitContext, row: SessionRow): void {
  const { sid, issuer, sub, scopeId, expiresMs } = row;
  saveEndedSession(unit.db, { sid, expiresAtMs: expiresMs });
  recordSessionEvent(unit, 'session_ended', {
    scopeId,
    subject: { issuer, sub },
    detail: { by: 'issuer' },
  });
}

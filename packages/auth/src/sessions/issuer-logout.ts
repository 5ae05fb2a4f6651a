/** Ends the sessions that an issuer reports as over (OpenID Connect Back-Channel Logout 1.0, section 2.7). */

import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { invalid } from '../lib/refusals.ts';
import { endGrantsOfSubject } from '../programs/grants.ts';
import { recordSessionEvent } from './session-state.ts';
import {
  isLogoutTokenKnown,
  loadLiveSessions,
  loadSessionsOfIdpSid,
  loadSessionsWithoutIdpSid,
  raiseSessionFloor,
  saveEndedIdpSession,
  saveEndedSession,
  saveLogoutToken,
} from './store.ts';

/** The issuer's clock may be behind ours by this much, with the second that a NumericDate without fraction leaves out. */
const ISSUER_CLOCK_MARGIN_MS = 31_000;
/** A sign-in takes at most its flow's ten minutes. An issuer that reuses a session id locks no user out for long. */
const ENDED_IDP_SESSION_TTL_MS = 3_600_000;
/** No session that an older token could end is left by then. */
const LOGOUT_TOKEN_TTL_MS = SESSION_TTL_MS + 24 * 3_600_000;

/** The content of a verified logout token. */
export interface EndIssuerSessionsInput {
  readonly issuer: string;
  /** The person; with `idpSid`, that session must be theirs. */
  readonly sub?: string | undefined;
  readonly idpSid?: string | undefined;
  readonly issuedAtMs: number;
  readonly jti: string;
}

export function endIssuerSessions(unit: UnitContext, input: EndIssuerSessionsInput): { ended: number } {
  const { issuer, sub, idpSid, jti } = input;
  if (sub === undefined && idpSid === undefined)
    throw invalid('sub', 'must be given when there is no idpSid', 'A logout names a subject or a session.');
  // An issuer repeats an unanswered token, and an attacker can replay a captured one: either would end sessions that
  // began after the logout.
  if (isLogoutTokenKnown(unit.db, issuer, jti)) return { ended: 0 };
  const nowMs = unit.now();
  saveLogoutToken(unit.db, { issuer, jti, forgetAtMs: nowMs + LOGOUT_TOKEN_TTL_MS });
  const upToMs = upTo(input.issuedAtMs, nowMs);
  if (idpSid !== undefined) return endOne(unit, { issuer, idpSid, sub }, upToMs, nowMs);
  if (sub === undefined) return { ended: 0 };
  const subject = { issuer, sub };
  const ended = loadLiveSessions(unit.db, subject, nowMs).filter((row) => row.startedMs <= upToMs).length;
  raiseSessionFloor(unit.db, { ...subject, validAfterMs: upToMs });
  endGrantsOfSubject(unit, subject, upToMs);
  recordSessionEvent(unit, 'all_sessions_ended', { subject, detail: { by: 'issuer' } });
  return { ended };
}

/**
 * Returns the time up to which sessions existed when the token was made, as far as two clocks can tell. A late token
 * does not end newer sessions; a token whose time is no number ends all.
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
  const forgetAtMs = nowMs + ENDED_IDP_SESSION_TTL_MS;
  saveEndedIdpSession(unit.db, { issuer, idpSid, sub: sub ?? '', forgetAtMs });
  const rows = loadSessionsOfIdpSid(unit.db, { issuer, idpSid, sub: sub ?? null });
  // A session whose ID token did not name the issuer's own may be the one that is meant. Signing in again costs its
  // holder a moment; a session that outlives its end may serve a thief.
  if (sub !== undefined) rows.push(...loadSessionsWithoutIdpSid(unit.db, { issuer, sub }, upToMs));
  for (const row of rows) {
    saveEndedSession(unit.db, { sid: row.sid, expiresAtMs: row.expiresMs });
    recordSessionEvent(unit, 'session_ended', {
      scopeId: row.scopeId,
      subject: { issuer: row.issuer, sub: row.sub },
      detail: { by: 'issuer' },
    });
  }
  return { ended: rows.length };
}

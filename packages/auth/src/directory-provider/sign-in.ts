/** Beginning and ending a browser's session: the cookie, the directory's list, and the session that it replaces. */
import { PlatformError } from '@freehold/contracts';
import type { VerifiedSession } from '@freehold/oidc-rp';
import type { Account, SignInStep } from '../accounts/contract.ts';
import { clientLabel } from '../sessions/client-label.ts';
import { type Exchange, type ProviderContext, subjectOf } from './context.ts';
import { authUrl } from './return-path.ts';
import { clearShortCookie, RETURN_COOKIE, SECOND_FACTOR_COOKIE, setShortCookie } from './short-cookies.ts';

/** Where a browser goes after a step, and with which cookies. */
export interface Onward {
  readonly location: string;
  readonly setCookies: readonly string[];
}

/** Where somebody goes who has shown a first factor, or all of them; null when they were refused. */
export async function goOn(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly step: SignInStep; readonly startedMs: number; readonly returnTo: string | null },
): Promise<Onward | null> {
  const { step, startedMs, returnTo } = input;
  const { origin } = exchange;
  switch (step.outcome) {
    case 'refused':
      return null;
    case 'second_factor':
      return {
        location: authUrl('login/second-factor', { returnTo }),
        setCookies: [setShortCookie(SECOND_FACTOR_COOKIE, origin, step.token)],
      };
    case 'signed_in':
      return {
        location: returnTo ?? context.onSuccess,
        setCookies: [
          ...(await beginSession(context, exchange, { account: step.account, atMs: startedMs })),
          clearShortCookie(SECOND_FACTOR_COOKIE, origin),
          clearShortCookie(RETURN_COOKIE, origin),
        ],
      };
  }
}

/**
 * Begins a session for somebody who has proved who they are, and ends the one this browser had.
 *
 * `atMs` is a time from before the proof was judged: whatever ends all sessions of the account meanwhile, such as a
 * new password, ends this one too.
 * @returns `Set-Cookie` values.
 * @throws PlatformError `conflict`, reason `session_ended`, when that has happened; and as the directory does, so
 * that no session leaves that the directory does not know.
 */
export async function beginSession(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly account: Account; readonly atMs: number; readonly authTimeMs?: number | undefined },
): Promise<readonly string[]> {
  const setCookies = await mintSession(context, exchange, input);
  if (setCookies === null)
    throw new PlatformError('conflict', 'All sessions of this account were ended just now. Sign in again.', {
      reason: 'session_ended',
    });
  await endPrevious(context, exchange);
  return setCookies;
}

/** How far the directory's clock may be ahead of ours: a moment, and the tolerance that holds between machines. */
const CLOCK_LEADS_MS = [1, 1_000, 30_000];

/**
 * Begins a session after every session of the account was ended, by the one whose doing that was. Sessions up to the
 * directory's own time are over, so this one is issued a moment later.
 */
export async function beginSessionAfterAllEnded(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly account: Account; readonly authTimeMs?: number | undefined },
): Promise<readonly string[]> {
  const nowMs = context.now();
  for (const leadMs of CLOCK_LEADS_MS) {
    const setCookies = await mintSession(context, exchange, {
      account: input.account,
      authTimeMs: input.authTimeMs ?? nowMs,
      atMs: nowMs + leadMs,
    });
    if (setCookies === null) continue;
    await endPrevious(context, exchange);
    return setCookies;
  }
  throw new PlatformError('unavailable', 'The change was made. Sign in with it.', {
    reason: 'clocks_disagree',
  });
}

/** Ends a session in the directory, until it would have expired anyway. */
export async function endSession(context: ProviderContext, session: VerifiedSession): Promise<void> {
  await context.directory.endSession({
    sid: session.sid,
    expiresAtMs: session.expiresAtMs,
    subject: { issuer: session.issuer, sub: session.user.id },
    scopeId: context.scopeId,
  });
}

async function mintSession(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly account: Account; readonly atMs: number; readonly authTimeMs?: number | undefined },
): Promise<readonly string[] | null> {
  const { account, atMs, authTimeMs = atMs } = input;
  // Nothing but the id: everything else is read from the directory, and the cookie is not encrypted.
  const user = { id: account.userId };
  const { session, setCookies } = context.cookiesAt(atMs).mint(user, exchange.origin, { authTimeMs });
  const state = await context.directory.recordSignIn({
    scopeId: context.scopeId,
    subject: subjectOf(context.issuer, account),
    session: { sid: session.sid, issuedAtMs: session.issuedAtMs },
    expiresAtMs: session.expiresAtMs,
    client: clientLabel(exchange.request.headers.get('user-agent')),
  });
  return state === 'live' ? setCookies : null;
}

/** A sign-in replaces a session, so the old cookie must not work beside the new one. */
async function endPrevious(context: ProviderContext, exchange: Exchange): Promise<void> {
  const previous = context.cookies.read(exchange.request.headers);
  if (previous !== null) await endSession(context, previous);
}

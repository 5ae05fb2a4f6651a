/** A browser's session: begun, found behind a request, and ended. */

import { PlatformError } from '@freehold/contracts';
import type { VerifiedSession } from '@freehold/oidc-rp';
import {
  type Account,
  type AccountSecurity,
  accountSubject,
  type Holder,
  type SignInStep,
} from '../../accounts/contract.ts';
import { refusal } from '../../lib/refusals.ts';
import { findLiveSession } from '../../lib/subject.ts';
import { clientLabel } from '../../sessions/client-label.ts';
import { authUrl, SECURITY_PATH } from '../pages/paths.ts';
import type { Exchange, Handler, ProviderContext } from './context.ts';
import {
  clearShortCookie,
  RETURN_COOKIE,
  rememberBrowser,
  SECOND_FACTOR_COOKIE,
  setShortCookie,
} from './cookies.ts';
import { notifyAccount } from './mails.ts';
import { readForm } from './request-body.ts';
import { redirectTo } from './responses.ts';

/** A proof of identity is enough for changing a credential for this long. */
const FRESH_MS = 10 * 60_000;
/** The clock of a proof may be ahead of ours by this much. */
const CLOCK_TOLERANCE_MS = 30_000;

export interface Onward {
  readonly location: string;
  readonly setCookies: readonly string[];
}

/** Returns where a user goes on to after one factor, or all of them; null when they were refused. */
export async function goOn(
  exchange: Exchange,
  input: { readonly step: SignInStep; readonly returnTo: string | null },
): Promise<Onward | null> {
  const { step, returnTo } = input;
  const { origin } = exchange;
  switch (step.outcome) {
    case 'refused':
      if (step.locked) notifyAccount(exchange, step.locked, 'account_locked');
      return null;
    case 'second_factor':
      return {
        location: authUrl('login/second-factor', { returnTo }),
        setCookies: [setShortCookie(SECOND_FACTOR_COOKIE, origin, step.token)],
      };
    case 'signed_in': {
      const { account, sessionAtMs: atMs } = step;
      if (step.recoveryCodesLeft !== undefined) notifyAccount(exchange, account, 'recovery_code_used');
      return {
        location: returnTo ?? exchange.onSuccess,
        setCookies: [
          ...(await beginSession(exchange, { account, atMs })),
          clearShortCookie(SECOND_FACTOR_COOKIE, origin),
          clearShortCookie(RETURN_COOKIE, origin),
        ],
      };
    }
  }
}

/**
 * Begins a session for a proven user, and ends the one this browser had. `atMs` is the time that the directory gave
 * with the proof: a later end of all sessions, such as a new password, ends this one too. `authTimeMs`: when the user
 * proved their identity, by default now.
 * @returns `Set-Cookie` values.
 * @throws PlatformError `conflict`, reason `session_ended`, when that has happened; and as the directory does, so
 * that no browser gets a session that the directory does not know.
 */
export async function beginSession(
  exchange: Exchange,
  input: { readonly account: Account; readonly atMs: number; readonly authTimeMs?: number | undefined },
): Promise<readonly string[]> {
  const { account, atMs, authTimeMs = exchange.now() } = input;
  const { userId } = account;
  const { origin, request } = exchange;
  // Nothing but the id: the directory has the rest, and the cookie is not encrypted.
  const { session, setCookies } = exchange.cookies.mint({ id: userId }, origin, { atMs, authTimeMs });
  const state = await exchange.directory.recordSignIn({
    scopeId: exchange.scopeId,
    subject: accountSubject(exchange.issuer, account),
    session: { sid: session.sid, issuedAtMs: session.issuedAtMs },
    expiresAtMs: session.expiresAtMs,
    client: clientLabel(request.headers.get('user-agent')),
  });
  if (state !== 'live')
    throw refusal(
      'conflict',
      'session_ended',
      'All sessions of this account were ended just now. Sign in again.',
    );
  // The old cookies must not work beside the new one.
  await endSessions(exchange, exchange.cookies.readAll(request.headers));
  return [...setCookies, rememberBrowser(exchange, origin, { userId, sinceMs: atMs })];
}

export async function endSessions(
  { directory, scopeId }: ProviderContext,
  sessions: readonly VerifiedSession[],
): Promise<void> {
  for (const { sid, expiresAtMs, issuer, user } of sessions)
    await directory.endSession({ sid, expiresAtMs, subject: { issuer, sub: user.id }, scopeId });
}

/** A request's session with its account. */
export interface SignedIn {
  readonly session: VerifiedSession;
  readonly account: AccountSecurity;
  /** Whether the user proved their identity within the last ten minutes. */
  readonly fresh: boolean;
}

/** Returns the live session behind a request with its present account, or null. @throws as the directory does. */
export async function findSession<A extends Account>(
  { cookies, now, issuer, directory }: Pick<ProviderContext, 'cookies' | 'now' | 'issuer' | 'directory'>,
  headers: Headers,
  findAccount: (input: { readonly userId: string }) => Promise<A | null>,
): Promise<{ readonly session: VerifiedSession; readonly account: A } | null> {
  return findLiveSession(cookies.readAll(headers), now(), async (session) => {
    const { sid, issuedAtMs } = session;
    const userId = session.user.id;
    const [state, account] = await Promise.all([
      directory.sessionState({ subject: { issuer, sub: userId }, session: { sid, issuedAtMs } }),
      findAccount({ userId }),
    ]);
    return state === 'live' && account !== null ? { session, account } : null;
  });
}

/** Returns the signed-in user of a request, or null. @throws as the directory does. */
export async function findSignedIn(exchange: Exchange): Promise<SignedIn | null> {
  const { directory, now } = exchange;
  const found = await findSession(exchange, exchange.request.headers, (input) =>
    directory.accountSecurity(input),
  );
  if (found === null) return null;
  const ageMs = now() - (found.session.authTimeMs ?? 0);
  return { ...found, fresh: ageMs < FRESH_MS && ageMs >= -CLOCK_TOLERANCE_MS };
}

/** Returns the same for the directory, which checks the session again when it changes a row. */
export function holderOf({ scopeId }: ProviderContext, { session, account }: SignedIn): Holder {
  const { sid, issuedAtMs } = session;
  return { scopeId, userId: account.userId, session: { sid, issuedAtMs } };
}

/** A route for a signed-in user, with the fields of its form. */
export type AccountHandler<Name extends string = never> = (
  exchange: Exchange,
  signedIn: SignedIn,
  form: Readonly<Record<Name, string>>,
) => Promise<Response>;

type BackTo = (exchange: Exchange) => string;

const toSecurity: BackTo = () => SECURITY_PATH;

/** A page for signed-in users. Others are sent to the sign-in page, and back afterwards. */
export function forSignedIn(handler: AccountHandler, backTo: BackTo = toSecurity): Handler {
  return async (exchange) => enter(exchange, handler, {} as never, backTo(exchange));
}

/** A form of signed-in users. It is read before their session is: a slow sender's session may end meanwhile. */
export function forSignedInForm<Name extends string>(
  names: readonly Name[],
  handler: AccountHandler<Name>,
): Handler {
  return async (exchange) => {
    const form = await readForm(exchange.request, names);
    return enter(exchange, handler, form, SECURITY_PATH);
  };
}

/** As {@link forSignedInForm}; a user whose proof is older first gives another. */
export function forFreshlySignedInForm<Name extends string>(
  names: readonly Name[],
  handler: AccountHandler<Name>,
): Handler {
  return forSignedInForm<Name>(names, requireFresh(handler));
}

/** Sends a user whose proof is older to give another. */
export function requireFresh<Name extends string>(
  handler: AccountHandler<Name>,
  backTo: BackTo = toSecurity,
): AccountHandler<Name> {
  return async (exchange, signedIn, form) =>
    signedIn.fresh
      ? handler(exchange, signedIn, form)
      : redirectTo(authUrl('confirm', { returnTo: backTo(exchange) }));
}

/** For our script. @throws PlatformError `unauthenticated`; `forbidden`, reason `confirm_first`, unless `stale`. */
export async function requireSignedIn(
  exchange: Exchange,
  { stale = false }: { readonly stale?: boolean } = {},
): Promise<SignedIn> {
  const signedIn = await findSignedIn(exchange);
  if (signedIn === null) throw new PlatformError('unauthenticated', 'Sign in first.');
  if (!signedIn.fresh && !stale)
    throw refusal('forbidden', 'confirm_first', 'Confirm that it is you first, then try again.');
  return signedIn;
}

async function enter<Name extends string>(
  exchange: Exchange,
  handler: AccountHandler<Name>,
  form: Readonly<Record<Name, string>>,
  returnTo: string,
): Promise<Response> {
  const toLogin = () => redirectTo(authUrl('login', { returnTo }));
  const signedIn = await findSignedIn(exchange);
  if (signedIn === null) return toLogin();
  try {
    return await handler(exchange, signedIn, form);
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'unauthenticated') return toLogin();
    throw error;
  }
}

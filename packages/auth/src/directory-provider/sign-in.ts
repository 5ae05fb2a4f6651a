/** Beginning and ending a browser's session: the cookie, the directory's list, and the session that it replaces. */
import { PlatformError } from '@freehold/contracts';
import type { VerifiedSession } from '@freehold/oidc-rp';
import type { Account, SignInStep } from '../accounts/contract.ts';
import { clientLabel } from '../sessions/client-label.ts';
import { type Exchange, type ProviderContext, subjectOf } from './lib/context.ts';
import { rememberBrowser } from './known-browser.ts';
import { notifyAccount } from './notify.ts';
import { authUrl } from './pages/paths.ts';
import { clearShortCookie, RETURN_COOKIE, SECOND_FACTOR_COOKIE, setShortCookie } from './lib/cookies.ts';

/** Where a browser goes after a step, and with which cookies. */
export interface Onward {
  readonly location: string;
  readonly setCookies: readonly string[];
}

/** Where somebody goes who has shown a first factor, or all of them; null when they were refused. */
export async function goOn(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly step: SignInStep; readonly returnTo: string | null },
): Promise<Onward | null> {
  const { step, returnTo } = input;
  const { origin } = exchange;
  switch (step.outcome) {
    case 'refused':
      if (step.locked) notifyAccount(context, exchange, step.locked, 'account_locked');
      return null;
    case 'second_factor':
      return {
        location: authUrl('login/second-factor', { returnTo }),
        setCookies: [setShortCookie(SECOND_FACTOR_COOKIE, origin, step.token)],
      };
    case 'signed_in': {
      const { account, sessionAtMs: atMs } = step;
      if (step.recoveryCodesLeft !== undefined)
        notifyAccount(context, exchange, account, 'recovery_code_used');
      return {
        location: returnTo ?? context.onSuccess,
        setCookies: [
          ...(await beginSession(context, exchange, { account, atMs })),
          clearShortCookie(SECOND_FACTOR_COOKIE, origin),
          clearShortCookie(RETURN_COOKIE, origin),
        ],
      };
    }
  }
}

/**
 * Begins a session for somebody who has proved who they are, and ends the one this browser had.
 *
 * `atMs` is the time that the directory gave with the proof: whatever ended all sessions of the account since, such as
 * a new password, ends this one too. `authTimeMs`: when they proved it, by default now.
 * @returns `Set-Cookie` values.
 * @throws PlatformError `conflict`, reason `session_ended`, when that has happened; and as the directory does, so
 * that no session leaves that the directory does not know.
 */
export async function beginSession(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly account: Account; readonly atMs: number; readonly authTimeMs?: number | undefined },
): Promise<readonly string[]> {
  const { account, atMs, authTimeMs = context.now() } = input;
  const { userId } = account;
  const { origin, request } = exchange;
  // Nothing but the id: everything else is read from the directory, and the cookie is not encrypted.
  const { session, setCookies } = context.cookies.mint({ id: userId }, origin, { atMs, authTimeMs });
  const state = await context.directory.recordSignIn({
    scopeId: context.scopeId,
    subject: subjectOf(context.issuer, account),
    session: { sid: session.sid, issuedAtMs: session.issuedAtMs },
    expiresAtMs: session.expiresAtMs,
    client: clientLabel(request.headers.get('user-agent')),
  });
  if (state !== 'live')
    throw new PlatformError('conflict', 'All sessions of this account were ended just now. Sign in again.', {
      reason: 'session_ended',
    });
  // The old cookies must not work beside the new one.
  await endSessions(context, context.cookies.readAll(request.headers));
  return [...setCookies, rememberBrowser(context, origin, { userId, sinceMs: atMs })];
}

/** Ends sessions in the directory, until they would have expired anyway. */
export async function endSessions(
  { directory, scopeId }: ProviderContext,
  sessions: readonly VerifiedSession[],
): Promise<void> {
  for (const { sid, expiresAtMs, issuer, user } of sessions)
    await directory.endSession({ sid, expiresAtMs, subject: { issuer, sub: user.id }, scopeId });
}

/** Who is signed in, for the routes that need somebody to be. */
import { PlatformError } from '@freehold/contracts';
import type { VerifiedSession } from '@freehold/oidc-rp';
import type { Account, AccountSecurity, Holder } from '../../accounts/contract.ts';
import { findLiveSession } from '../../sessions/live-session.ts';
import type { Exchange, Handler, ProviderContext } from './context.ts';
import { readForm } from './request-body.ts';
import { redirectTo } from './responses.ts';
import { authUrl, SECURITY_PATH } from '../pages/paths.ts';

export interface SignedIn {
  readonly session: VerifiedSession;
  readonly account: AccountSecurity;
  /** Whether they proved who they are within the last ten minutes. */
  readonly fresh: boolean;
}

/** How long a proof of identity is enough for changing how one signs in. */
const FRESH_MS = 10 * 60_000;
/** How far the clock that a proof was made under may be ahead of ours. */
const CLOCK_TOLERANCE_MS = 30_000;

/** A route for somebody who is signed in, with the fields of its form. */
export type AccountHandler<Name extends string = never> = (
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
  form: Readonly<Record<Name, string>>,
) => Promise<Response>;

/** Where somebody goes on to who was sent to show first who they are. */
type BackTo = (exchange: Exchange) => string;

/** The session behind a request and its account as the directory has it now, or null. @throws as the directory does. */
export async function findSession<A extends Account>(
  { cookies, now, issuer, directory }: Pick<ProviderContext, 'cookies' | 'now' | 'issuer' | 'directory'>,
  headers: Headers,
  findAccount: (input: { readonly userId: string }) => Promise<A | null>,
): Promise<{ readonly session: VerifiedSession; readonly account: A } | null> {
  return findLiveSession(cookies.readAll(headers), {
    nowMs: now(),
    judge: async (session) => {
      const { sid, issuedAtMs } = session;
      const userId = session.user.id;
      const [state, account] = await Promise.all([
        directory.sessionState({ subject: { issuer, sub: userId }, session: { sid, issuedAtMs } }),
        findAccount({ userId }),
      ]);
      return state === 'live' && account !== null ? { session, account } : null;
    },
  });
}

/** Whoever is behind the request, or null. @throws as the directory does. */
export async function findSignedIn(context: ProviderContext, exchange: Exchange): Promise<SignedIn | null> {
  const { directory, now } = context;
  const found = await findSession(context, exchange.request.headers, (input) =>
    directory.accountSecurity(input),
  );
  if (found === null) return null;
  const ageMs = now() - (found.session.authTimeMs ?? 0);
  return { ...found, fresh: ageMs < FRESH_MS && ageMs >= -CLOCK_TOLERANCE_MS };
}

/** The same to the directory, which looks again when it changes something: the session may be over by then. */
export function holderOf({ scopeId }: ProviderContext, { session, account }: SignedIn): Holder {
  const { sid, issuedAtMs } = session;
  return { scopeId, userId: account.userId, session: { sid, issuedAtMs } };
}

/** A page for who is signed in. Everybody else is sent to the sign-in page, and back afterwards. */
export function forSignedIn(handler: AccountHandler, backTo: BackTo = securityPath): Handler {
  return async (context, exchange) => enter(context, exchange, handler, {} as never, backTo(exchange));
}

/**
 * A form of who is signed in. It is read first: whoever sends it slowly must not be looked at before their session is
 * ended, and heard afterwards.
 */
export function forSignedInForm<Name extends string>(
  names: readonly Name[],
  handler: AccountHandler<Name>,
): Handler {
  return async (context, exchange) => {
    const form = await readForm(exchange.request, names);
    return enter(context, exchange, handler, form, SECURITY_PATH);
  };
}

/** As {@link forSignedInForm}; somebody whose proof is older is asked for another one first. */
export function forFreshlySignedInForm<Name extends string>(
  names: readonly Name[],
  handler: AccountHandler<Name>,
): Handler {
  return forSignedInForm<Name>(names, requireFresh(handler));
}

/** Asks somebody whose proof is older for another one first. */
export function requireFresh<Name extends string>(
  handler: AccountHandler<Name>,
  backTo: BackTo = securityPath,
): AccountHandler<Name> {
  return async (context, exchange, signedIn, form) =>
    signedIn.fresh
      ? handler(context, exchange, signedIn, form)
      : redirectTo(authUrl('confirm', { returnTo: backTo(exchange) }));
}

/** For our script. @throws PlatformError `unauthenticated`; `forbidden`, reason `confirm_first`, unless `stale` will do. */
export async function requireSignedIn(
  context: ProviderContext,
  exchange: Exchange,
  { stale = false }: { readonly stale?: boolean } = {},
): Promise<SignedIn> {
  const signedIn = await findSignedIn(context, exchange);
  if (signedIn === null) throw new PlatformError('unauthenticated', 'Sign in first.');
  if (!signedIn.fresh && !stale)
    throw new PlatformError('forbidden', 'Confirm that it is you first, then try again.', {
      reason: 'confirm_first',
    });
  return signedIn;
}

async function enter<Name extends string>(
  context: ProviderContext,
  exchange: Exchange,
  handler: AccountHandler<Name>,
  form: Readonly<Record<Name, string>>,
  returnTo: string,
): Promise<Response> {
  const toLogin = () => redirectTo(authUrl('login', { returnTo }));
  const signedIn = await findSignedIn(context, exchange);
  if (signedIn === null) return toLogin();
  try {
    return await handler(context, exchange, signedIn, form);
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'unauthenticated') return toLogin();
    throw error;
  }
}

function securityPath(): string {
  return SECURITY_PATH;
}

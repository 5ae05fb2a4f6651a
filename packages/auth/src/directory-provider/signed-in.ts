/** Who is signed in, for the routes that need somebody to be. */
import { PlatformError } from '@freehold/contracts';
import type { VerifiedSession } from '@freehold/oidc-rp';
import type { AccountSecurity } from '../accounts/contract.ts';
import type { Exchange, Handler, ProviderContext } from './context.ts';
import { redirectTo } from './responses.ts';
import { authUrl, SECURITY_PATH } from './return-path.ts';

export interface SignedIn {
  readonly session: VerifiedSession;
  readonly account: AccountSecurity;
  /** Whether they proved who they are within the last ten minutes. */
  readonly fresh: boolean;
}

/** How long a proof of identity is enough for changing how one signs in. */
const FRESH_MS = 10 * 60_000;

/** A route for somebody who is signed in. */
export type AccountHandler = (
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
) => Promise<Response>;

/** Whoever is behind the request, or null. @throws as the directory does. */
export async function findSignedIn(context: ProviderContext, exchange: Exchange): Promise<SignedIn | null> {
  const session = context.cookies.read(exchange.request.headers);
  if (session === null) return null;
  const sub = session.user.id;
  const [state, account] = await Promise.all([
    context.directory.sessionState({ subject: { issuer: session.issuer, sub }, session }),
    context.directory.accountSecurity({ userId: sub }),
  ]);
  if (state !== 'live' || account === null) return null;
  const provedMs = session.authTimeMs ?? 0;
  return { session, account, fresh: context.now() - provedMs < FRESH_MS };
}

/** Sends everybody else to the sign-in page, and back here afterwards. */
export function forSignedIn(handler: AccountHandler): Handler {
  return async (context, exchange) => {
    const signedIn = await findSignedIn(context, exchange);
    if (signedIn === null) return redirectTo(authUrl('login', { returnTo: SECURITY_PATH }));
    return handler(context, exchange, signedIn);
  };
}

/** As {@link forSignedIn}; somebody whose proof is older is asked for another one first. */
export function forFreshlySignedIn(handler: AccountHandler): Handler {
  return forSignedIn(async (context, exchange, signedIn) => {
    if (!signedIn.fresh) return redirectTo(authUrl('confirm', { returnTo: SECURITY_PATH }));
    return handler(context, exchange, signedIn);
  });
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

/** RP-initiated logout: ends the issuer's session, and asks first where the standard demands it. */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { trustedHtml } from './pages/html.ts';
import { renderSignedOutPage, renderSignOutPage } from './pages/other-pages.ts';
import type { Page } from './pages/page.ts';
import { findPerson, type Person } from './people/people.ts';

type Session = NonNullable<KoaContextWithOIDC['oidc']['session']>;
type Client = NonNullable<KoaContextWithOIDC['oidc']['client']>;
type KoaContext = Parameters<Parameters<Provider['use']>[0]>[0];

/** oidc-provider has this method; its published types do not. */
type LogoutReceiver = Client & { backchannelLogout(subject: string, sid: string | undefined): Promise<void> };

export interface SignOutOptions {
  readonly people: readonly Person[];
  readonly onError: (error: unknown) => void;
}

/**
 * Ends the session when the ID token hint belongs to it, and asks otherwise: without such a hint any page could sign
 * people out (OpenID Connect RP-Initiated Logout 1.0, section 2 and 6).
 * @param form oidc-provider's form with its token against cross-site requests.
 */
export async function confirmSignOut(
  ctx: KoaContextWithOIDC,
  form: string,
  options: SignOutOptions,
): Promise<void> {
  const { session, client, provider } = ctx.oidc;
  if (session !== undefined && hintBelongsTo(session, ctx)) {
    await endSession(provider, session, options.onError);
    ctx.cookies.set(provider.cookieName('session'), null, { httpOnly: true, sameSite: 'lax' });
    redirectAfterLogout(ctx);
    return;
  }
  const asked = postLogoutRedirectUri(ctx);
  sendPage(
    ctx,
    renderSignOutPage({
      signedIn: session?.accountId === undefined ? undefined : findPerson(options.people, session.accountId),
      clientName: client && (client.clientName ?? client.clientId),
      form: trustedHtml(form),
      formsLeadTo: asked === undefined ? [] : [asked],
    }),
  );
}

/**
 * Ends an issuer session as its own sign-out form would: reports it to relying parties over the back channel, and
 * forgets the session. Its codes and tokens end with it; those for `offline_access` are meant to outlive it.
 */
export async function endSession(
  provider: Provider,
  session: Session,
  onError: (error: unknown) => void,
): Promise<void> {
  const logins = Object.entries(session.authorizations ?? {});
  await Promise.all(
    logins.map(([clientId, { sid }]) =>
      sendLogout(provider, { clientId, subject: session.accountId, sid }).catch(onError),
    ),
  );
  await session.destroy();
}

/**
 * Redirects an anonymous request at once. oidc-provider would answer with a page whose script submits a form; signing
 * out twice should need neither a script nor a click.
 */
export async function redirectAnonymous(
  provider: Provider,
  ctx: KoaContext,
  next: () => Promise<unknown>,
): Promise<void> {
  await next();
  const { oidc } = ctx as KoaContext & Partial<Pick<KoaContextWithOIDC, 'oidc'>>;
  if (oidc?.route !== 'end_session' || ctx.status !== 200) return;
  if (!(oidc instanceof provider.OIDCContext) || oidc.session?.accountId !== undefined) return;
  redirectAfterLogout(ctx as KoaContextWithOIDC);
}

/** The page after a sign-out, when the application named none of its own. */
export function showSignedOut(ctx: KoaContextWithOIDC): void {
  const { client } = ctx.oidc;
  sendPage(ctx, renderSignedOutPage(client && (client.clientName ?? client.clientId)));
}

export function sendPage(ctx: KoaContextWithOIDC, page: Page): void {
  ctx.set({ ...page.headers });
  ctx.body = page.body;
}

/** oidc-provider has verified the hint's signature, issuer and audience by now, but not its session. */
function hintBelongsTo(session: Session, ctx: KoaContextWithOIDC): boolean {
  const hint = ctx.oidc.entities.IdTokenHint?.payload;
  const clientId = ctx.oidc.client?.clientId;
  if (hint === undefined || clientId === undefined) return false;
  const authorization = session.authorizations?.[clientId];
  if (authorization === undefined || hint.sub !== session.accountId) return false;
  return hint.sid === undefined || hint.sid === authorization.sid;
}

async function sendLogout(
  provider: Provider,
  login: { clientId: string; subject: string | undefined; sid: string | undefined },
): Promise<void> {
  const client = await provider.Client.find(login.clientId);
  if (client?.backchannelLogoutUri === undefined || login.subject === undefined) return;
  await (client as LogoutReceiver).backchannelLogout(login.subject, login.sid);
}

function redirectAfterLogout(ctx: KoaContextWithOIDC): void {
  const asked = postLogoutRedirectUri(ctx);
  ctx.status = 303;
  if (asked === undefined) {
    ctx.redirect(ctx.oidc.urlFor('end_session_success'));
    return;
  }
  const { state } = ctx.oidc.params ?? {};
  const target = new URL(asked);
  if (typeof state === 'string') target.searchParams.set('state', state);
  ctx.redirect(typeof state === 'string' ? target.href : asked);
}

/**
 * Returns the address that was checked against the client's registration; undefined without one, or without a client.
 */
function postLogoutRedirectUri(ctx: KoaContextWithOIDC): string | undefined {
  const uri = ctx.oidc.params?.post_logout_redirect_uri;
  return typeof uri === 'string' ? uri : undefined;
}

/**
 * The hosted provider: signs people in on the server by code flow, and lets the tenant's directory end what it
 * began (spec 5.1, A-21; design: identity, "Sessions and cookies").
 */
import { PlatformError, problemDocument } from '@freehold/contracts';
import {
  BACKCHANNEL_LOGOUT_PATH,
  type LogoutToken,
  makeRelyingParty,
  OidcError,
  type RelyingParty,
  type SessionUser,
  type SignedIn,
  type VerifiedSession,
} from '@freehold/oidc-rp';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import type { VerifyingAuthProvider } from '../provider.ts';
import { type AuthRuntime, completeRuntime, issuerAt } from '../runtime.ts';
import { clientLabel } from '../sessions/client-label.ts';
import { isFromTheFuture } from '../sessions/floor.ts';
import type { VerifiedSubject } from '../subject.ts';

/** The provider's own hint cookie (spec 2.5): the relying party of the platform's apps keeps another. */
export const HINT_COOKIE_NAME = 'sb_auth_idt';

/** What the provider needs of a tenant's identity directory. */
export type SessionDirectory = Pick<
  IdentityDirectory,
  'sessionState' | 'endSession' | 'recordSignIn' | 'endIssuerSessions'
>;

export interface OidcRpAuthProviderOptions {
  readonly tenantId: string;
  readonly scopeId: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: a public client, which proves itself by PKCE alone. */
  readonly clientSecret?: string;
  /** Forces the origin of the redirect URI. Default: the request's own. */
  readonly baseUrl?: string;
  /** The tenant's own, from its directory: each at least 32 bytes. Of several the first signs, all verify. */
  readonly sessionSecret: string | readonly string[];
  readonly directory: SessionDirectory;
  /** Default: the system's clock and network, host-only cookies. */
  readonly runtime?: AuthRuntime;
}

/**
 * Makes the provider. `resolve` answers the subject of a session that is signed, current, of this instance and
 * not ended; it rejects when the directory cannot say. `handle` serves login, callback and logout, and with
 * `backchannelLogout` the address at which the issuer ends sessions.
 * @throws OidcConfigError for an issuer, a client, a secret or a base URL that cannot be used.
 */
export function oidcRpAuthProvider(options: OidcRpAuthProviderOptions): VerifyingAuthProvider {
  const { directory, scopeId } = options;
  const runtime = completeRuntime(options.runtime);
  const relyingParty = makeRelyingPartyOf(options);

  const end = (session: VerifiedSession) =>
    directory.endSession({
      sid: session.sid,
      expiresAtMs: session.expiresAtMs,
      subject: { issuer: session.issuer, sub: session.user.id },
      scopeId,
    });

  const onSignedIn = async ({ session, previous, issuerSid, request }: SignedIn) => {
    const subject = toSubject(session);
    const state = await directory.recordSignIn({
      scopeId,
      subject,
      session: subject.session,
      expiresAtMs: session.expiresAtMs,
      idpSid: issuerSid,
      client: clientLabel(request.headers.get('user-agent')),
    });
    if (state === 'ended')
      throw new OidcError('login_required', 'The session at the issuer was ended while somebody signed in.');
    // A sign-in replaces a session, so the old cookie must not work beside the new one.
    if (previous !== null) await end(previous);
  };

  const told = runtime.onFailure === undefined ? {} : { onFailure: runtime.onFailure };
  const onLogout = async ({ issuer, sub, sid, issuedAtMs, jti }: LogoutToken) =>
    void (await directory.endIssuerSessions({ issuer, sub, idpSid: sid, issuedAtMs, jti }));

  return {
    resolve: async (headers) => {
      const verified = relyingParty.verifiedSessionFromHeaders(headers);
      if (verified === null || isFromTheFuture(verified, runtime.now())) return null;
      const subject = toSubject(verified);
      const state = await directory.sessionState({ subject, session: subject.session });
      return state === 'live' ? subject : null;
    },

    handle: async (request) => {
      // Asked first: what begins under a clock that cannot be read would only fail half-way.
      runtime.now();
      if (runtime.backchannelLogout === true && new URL(request.url).pathname === BACKCHANNEL_LOGOUT_PATH)
        return relyingParty.handleBackchannelLogout(request, { onLogout, ...told });
      const response = await relyingParty.handle(request, {
        ...(runtime.onSuccess === undefined ? {} : { onSuccess: runtime.onSuccess }),
        ...(runtime.onError === undefined ? {} : { onError: runtime.onError }),
        ...told,
        onSignedIn,
        // Awaited before the answer leaves: the next request with the old cookie is nobody's.
        onSignedOut: async ({ session }) => void (await end(session)),
      });
      return response.status === 404 ? problemDocument(nothingHere()) : response;
    },
  };
}

function makeRelyingPartyOf(options: OidcRpAuthProviderOptions): RelyingParty {
  const { tenantId, scopeId, issuer, clientId, clientSecret, baseUrl, sessionSecret } = options;
  const runtime = completeRuntime(options.runtime);
  return makeRelyingParty({
    env: {
      issuer,
      clientId,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(runtime.allowInsecureIssuer === undefined
        ? {}
        : { allowInsecureIssuer: runtime.allowInsecureIssuer }),
      sessionSecrets: [sessionSecret].flat(),
    },
    // The secret is the tenant's. The audience keeps the sessions of its instances apart.
    audience: `${tenantId}/${scopeId}`,
    fetch: runtime.fetch,
    now: runtime.now,
    hintCookieName: HINT_COOKIE_NAME,
    ...(runtime.random === undefined ? {} : { random: runtime.random }),
    ...(runtime.cookieDomain === undefined ? {} : { cookieDomain: runtime.cookieDomain }),
    ...(runtime.trustForwarded === undefined ? {} : { trustForwarded: runtime.trustForwarded }),
    issuer: issuerAt(issuer, runtime),
  });
}

/** The spec's subject: null where the session is silent, and `emailVerified` absent where the issuer was. */
function toSubject(session: VerifiedSession): VerifiedSubject & Required<Pick<VerifiedSubject, 'session'>> {
  const { id, email, name, emailVerified }: SessionUser = session.user;
  return {
    issuer: session.issuer,
    sub: id,
    email: email ?? null,
    name: name ?? null,
    ...(emailVerified === undefined ? {} : { emailVerified }),
    session: { sid: session.sid, issuedAtMs: session.issuedAtMs },
  };
}

function nothingHere(): PlatformError {
  return new PlatformError('not_found', 'There is no sign-in route at this address.');
}

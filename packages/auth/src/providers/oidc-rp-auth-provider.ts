/**
 * The hosted provider: signs people in on the server by code flow, with sessions that the tenant's directory can end
 * (spec 5.1, A-21; design: identity, "Sessions and cookies").
 */
import { PlatformError } from '@freehold/contracts';
import {
  BACKCHANNEL_LOGOUT_PATH,
  LOGOUT_PATH,
  type LogoutToken,
  makeRelyingParty,
  makeSessionCookies,
  OidcError,
  type RelyingParty,
  type SessionCookies,
  type SessionUser,
  type SignedIn,
  type VerifiedSession,
} from '@freehold/oidc-rp';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { problemAnswer, withCare } from '../lib/answers.ts';
import { type AuthRuntime, completeRuntime, issuerAt } from '../lib/runtime.ts';
import {
  findLiveSession,
  possibleSessions,
  type VerifiedSubject,
  type VerifyingAuthProvider,
} from '../lib/subject.ts';
import { clientLabel } from '../sessions/client-label.ts';

/** The provider's own hint cookie (spec 2.5): the relying party of the platform's apps keeps another. */
export const HINT_COOKIE_NAME = 'sb_auth_idt';

export type SessionDirectory = Pick<
  IdentityDirectory,
  'sessionState' | 'endSession' | 'recordSignIn' | 'endIssuerSessions'
>;

export interface OidcRpAuthProviderOptions {
  readonly tenantId: string;
  readonly scopeId: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which proves itself by PKCE alone. */
  readonly clientSecret?: string;
  /** Forces the origin of the redirect URI. Default: the request's own. */
  readonly baseUrl?: string;
  /** The tenant's own, from its directory: each at least 32 bytes. Of several the first signs, all verify. */
  readonly sessionSecret: string | readonly string[];
  readonly directory: SessionDirectory;
  readonly runtime?: AuthRuntime;
}

/**
 * Makes the provider. `resolve` returns the subject of a session that is signed, current, of this instance and not
 * ended; it rejects when the directory cannot say. `handle` serves login, callback and logout, and with
 * `backchannelLogout` the address at which the issuer ends sessions.
 * @throws OidcConfigError for an unusable issuer, client, secret or base URL.
 */
export function oidcRpAuthProvider(options: OidcRpAuthProviderOptions): VerifyingAuthProvider {
  const { directory, scopeId } = options;
  const runtime = completeRuntime(options.runtime);
  const relyingParty = makeRelyingPartyOf(options);
  const cookies = makeCookiesOf(options);

  const end = (session: VerifiedSession) =>
    directory.endSession({
      sid: session.sid,
      expiresAtMs: session.expiresAtMs,
      subject: { issuer: session.issuer, sub: session.user.id },
      scopeId,
    });

  const onSignedIn = async ({ session, issuerSid, request }: SignedIn) => {
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
      throw new OidcError('login_required', 'The session at the issuer was ended during the sign-in.');
    // A sign-in replaces a session, so no old cookie must work beside the new one.
    for (const previous of cookies.readAll(request.headers)) await end(previous);
  };

  const reporting = runtime.onFailure === undefined ? {} : { onFailure: runtime.onFailure };
  const onLogout = async ({ issuer, sub, sid, issuedAtMs, jti }: LogoutToken) =>
    void (await directory.endIssuerSessions({ issuer, sub, idpSid: sid, issuedAtMs, jti }));

  /** Ends several presented sessions too, of which the relying party takes none for its own. */
  const endOthers = async (request: Request, response: Response): Promise<Response> => {
    const presented = cookies.readAll(request.headers);
    if (presented.length < 2) return response;
    try {
      for (const each of presented) await end(each);
      return response;
    } catch (cause) {
      const error = new OidcError('sign_out_incomplete', 'The sessions could not be ended on the server.', {
        cause,
      });
      runtime.onFailure?.(error);
      const refused = problemAnswer(new PlatformError('unavailable', error.message, { reason: error.code }));
      for (const cookie of response.headers.getSetCookie()) refused.headers.append('set-cookie', cookie);
      return refused;
    }
  };

  return {
    issuer: options.issuer,
    present: async (headers) =>
      possibleSessions(cookies.readAll(headers), runtime.now()).map((session) => ({
        subject: toSubject(session),
      })),

    resolve: async (headers) =>
      findLiveSession(cookies.readAll(headers), runtime.now(), async (session) => {
        const subject = toSubject(session);
        const state = await directory.sessionState({ subject, session: subject.session });
        return state === 'live' ? subject : null;
      }),

    handle: async (request) => {
      // Read first: a flow that begins under an unreadable clock would only fail half-way.
      runtime.now();
      if (runtime.backchannelLogout === true && new URL(request.url).pathname === BACKCHANNEL_LOGOUT_PATH)
        return withCare(await relyingParty.handleBackchannelLogout(request, { onLogout, ...reporting }));
      const response = await relyingParty.handle(request, {
        ...(runtime.onSuccess === undefined ? {} : { onSuccess: runtime.onSuccess }),
        ...(runtime.onError === undefined ? {} : { onError: runtime.onError }),
        ...reporting,
        onSignedIn,
        // Awaited before the answer leaves: the next request with the old cookie is anonymous.
        onSignedOut: async ({ session }) => void (await end(session)),
      });
      if (response.status === 404) return problemAnswer(noSuchRoute());
      const isSignedOut = response.status === 302 && new URL(request.url).pathname === LOGOUT_PATH;
      return withCare(isSignedOut ? await endOthers(request, response) : response);
    },
  };
}

/** Makes the reader of the relying party's sessions, which are signed with the same secrets, issuer and audience. */
function makeCookiesOf(options: OidcRpAuthProviderOptions): SessionCookies {
  const { tenantId, scopeId, issuer, sessionSecret } = options;
  const { now } = completeRuntime(options.runtime);
  return makeSessionCookies({
    issuer,
    secrets: [sessionSecret].flat(),
    audience: `${tenantId}/${scopeId}`,
    now,
    random: () => {
      throw new TypeError('Sessions are made by the relying party.');
    },
  });
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

/** Returns the spec's subject: null where the session is silent, and `emailVerified` absent where the issuer was. */
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

function noSuchRoute(): PlatformError {
  return new PlatformError('not_found', 'There is no sign-in route at this address.');
}

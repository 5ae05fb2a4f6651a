/** `makeRelyingParty`: the dependency record together with the functions bound to it. */
import { type BackchannelLogoutHooks, handleBackchannelLogout } from './backchannel-logout.ts';
import { type CompletedLogin, completeLogin } from './callback.ts';
import { makeContext, type OidcContext, type OidcContextOptions } from './context.ts';
import {
  type BeginLoginOptions,
  type BegunLogin,
  beginLogin,
  type IncomingRequest,
  restartLogin,
} from './login.ts';
import { federatedLogoutUrl } from './logout.ts';
import { resolveOrigin } from './origin.ts';
import { type AuthRoutesOptions, handleAuthRequest } from './routes.ts';
import {
  type MintOptions,
  mintSession,
  type SessionUser,
  sessionFromHeaders,
  type VerifiedSession,
  verifiedSessionFromHeaders,
  verifySession,
} from './session.ts';

export type RelyingPartyOptions = OidcContextOptions;

/**
 * One OpenID Connect client of one issuer. It is the record that the free functions take first, and has the same
 * functions as methods, which may be passed around unbound.
 */
export interface RelyingParty extends OidcContext {
  resolveOrigin(request: IncomingRequest): string;
  beginLogin(request: IncomingRequest, options?: BeginLoginOptions): Promise<BegunLogin>;
  completeLogin(request: IncomingRequest): Promise<CompletedLogin>;
  restartLogin(request: IncomingRequest): Promise<BegunLogin | null>;
  mintSession(user: SessionUser, options?: MintOptions): string;
  verifySession(token: string): VerifiedSession | null;
  sessionFromHeaders(headers: Headers): SessionUser | null;
  verifiedSessionFromHeaders(headers: Headers): VerifiedSession | null;
  federatedLogoutUrl(
    origin: string,
    postLogoutPath: string,
    idTokenHint?: string | null,
  ): Promise<string | null>;
  handle(request: Request, options?: AuthRoutesOptions): Promise<Response>;
  handleBackchannelLogout(request: Request, hooks: BackchannelLogoutHooks): Promise<Response>;
}

/** Makes a relying party. Reuse it: it holds derived keys and the issuer's caches. @throws OidcConfigError. */
export function makeRelyingParty(options: RelyingPartyOptions): RelyingParty {
  const env = makeContext(options);
  return {
    ...env,
    resolveOrigin: (request) => resolveOrigin(env, request),
    beginLogin: (request, login) => beginLogin(env, request, login),
    completeLogin: (request) => completeLogin(env, request),
    restartLogin: (request) => restartLogin(env, request),
    mintSession: (user, mint) => mintSession(env, user, mint),
    verifySession: (token) => verifySession(env, token),
    sessionFromHeaders: (headers) => sessionFromHeaders(env, headers),
    verifiedSessionFromHeaders: (headers) => verifiedSessionFromHeaders(env, headers),
    federatedLogoutUrl: (origin, path, hint) => federatedLogoutUrl(env, origin, path, hint),
    handle: (request, routes) => handleAuthRequest(env, request, routes),
    handleBackchannelLogout: (request, hooks) => handleBackchannelLogout(env, request, hooks),
  };
}

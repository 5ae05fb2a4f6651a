/** The relying party: sign-in by authorization code at one OpenID Connect issuer, sessions in signed cookies. */
export {
  BACKCHANNEL_LOGOUT_PATH,
  type BackchannelLogoutHooks,
  handleBackchannelLogout,
  type MountBackchannelLogoutOptions,
  mountBackchannelLogout,
} from './backchannel-logout.ts';
export { type CompletedLogin, completeLogin } from './callback.ts';
export type { ClientAuthMethod, OidcContext } from './context.ts';
export {
  AUTH_PATH,
  CALLBACK_PATH,
  COOKIE_BYTES_MAX,
  FLOW_TTL_MS,
  LOGIN_PATH,
  LOGOUT_PATH,
  SESSION_TTL_MS,
} from './cookies.ts';
export { type IssuerMetadata, SIGNING_ALGORITHMS, type SigningAlgorithm } from './discovery.ts';
export { checkOidcEnv, isConfidentialUrl, isLoopbackHost, type OidcEnv, parseOidcEnv } from './env.ts';
export { isDeliberate } from './fetch-metadata.ts';
export { hintFromHeaders } from './hint.ts';
export { type Issuer, type IssuerOptions, type JwtExpectations, makeIssuer } from './issuer.ts';
export { OIDC_ERROR_CODES, OidcConfigError, OidcError, type OidcErrorCode } from './lib/errors.ts';
export { deriveKey, type KeyPurpose } from './lib/keys.ts';
export type { Deadline, FetchLike, FetchPurpose } from './lib/peer-fetch.ts';
export {
  type BeginLoginOptions,
  type BegunLogin,
  beginLogin,
  type IncomingRequest,
  isPrefetch,
  restartLogin,
} from './login.ts';
export { federatedLogoutUrl } from './logout.ts';
export { type LogoutToken, verifyLogoutToken } from './logout-token.ts';
export { type MountOidcOptions, mountOidcRoutes } from './mount.ts';
export { resolveOrigin } from './origin.ts';
export { makeRelyingParty, type RelyingParty, type RelyingPartyOptions } from './relying-party.ts';
export {
  type AuthRoutesOptions,
  checkAuthRoutesOptions,
  handleAuthRequest,
  type SignedIn,
  type SignedOut,
} from './routes.ts';
export { landingPath, safePath } from './safe-path.ts';
export {
  type MintOptions,
  makeSessionCookies,
  mintSession,
  type SessionCookies,
  type SessionCookiesOptions,
  type SessionUser,
  sessionFromHeaders,
  userFromClaims,
  type VerifiedSession,
  verifiedSessionFromHeaders,
  verifySession,
} from './session.ts';

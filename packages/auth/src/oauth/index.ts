/** The authorization server of an instance, for programs: the entry `@freehold/auth/programs`. */
export {
  type AuthorizationRequest,
  type AuthorizationServer,
  type AuthorizationServerOptions,
  type Consenter,
  makeAuthorizationServer,
  RefusedAuthorization,
} from './authorization-server.ts';
export { type ClientDocuments, makeClientDocuments } from './lib/client-document.ts';
export { OAuthError } from './lib/errors.ts';
export { redirectKind } from './lib/redirect-uri.ts';
export { AUTHORIZATION_SERVER_PATH, OAUTH_PATHS } from './metadata.ts';

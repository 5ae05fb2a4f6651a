/** The authorization server of an instance, for programs: the entry `@freehold/auth/programs`. */

export { makeSeals, type Seals } from '../lib/seals.ts';
export {
  type AuthorizationRequest,
  type AuthorizationServer,
  type AuthorizationServerOptions,
  type Consenter,
  makeAuthorizationServer,
  type ProgramDirectory,
  RefusedAuthorization,
} from './authorization-server.ts';
export { keepQuery, keptQuery } from './kept-query.ts';
export {
  type ClientDocuments,
  type DocumentFetch,
  isDocumentId,
  makeClientDocuments,
} from './lib/client-document.ts';
export { readClientProof } from './lib/client-proof.ts';
export { describable, OAuthError, type OAuthErrorCode } from './lib/errors.ts';
export { readFormBody } from './lib/parameters.ts';
export { formTargetOf, redirectKind } from './lib/redirect-uri.ts';
export { isRegisteredId } from './lib/registration.ts';
export { AUTHORIZATION_SERVER_PATH, authorizationServerMetadata, OAUTH_PATHS } from './metadata.ts';

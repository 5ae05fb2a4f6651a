/** Chooses the client's authentication from the methods that the issuer accepts. */
import {
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clockTolerance,
  None,
} from 'oauth4webapi';
import type { OidcContext } from './context.ts';
import type { IssuerMetadata } from './discovery.ts';
import { OidcError } from './lib/errors.ts';

/** Returns the client in the form of oauth4webapi. */
export function oauthClient(env: OidcContext): Client {
  return {
    client_id: env.env.clientId,
    // oauth4webapi reads the ambient clock. `verifyIdToken` checks the times with the injected one.
    [clockTolerance]: Number.MAX_SAFE_INTEGER,
  };
}

/** @throws OidcError `issuer_misconfigured` when the issuer accepts no method that works with a client secret. */
export function chooseClientAuth(env: OidcContext, metadata: IssuerMetadata): ClientAuth {
  const secret = env.env.clientSecret;
  if (secret === undefined) return None();
  const methods = env.clientAuthMethod === undefined ? metadata.clientAuthMethods : [env.clientAuthMethod];
  if (methods.includes('client_secret_basic')) return ClientSecretBasic(secret);
  if (methods.includes('client_secret_post')) return ClientSecretPost(secret);
  throw new OidcError(
    'issuer_misconfigured',
    'The issuer accepts neither client_secret_basic nor client_secret_post.',
  );
}

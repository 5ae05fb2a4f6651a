/** How this client shows the issuer who it is, chosen from what the issuer says it accepts. */
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

/** The client as oauth4webapi wants it. */
export function oauthClient(env: OidcContext): Client {
  return {
    client_id: env.env.clientId,
    // oauth4webapi reads the ambient clock. Times are judged by `verifyIdToken`, with the clock that was passed in.
    [clockTolerance]: Number.MAX_SAFE_INTEGER,
  };
}

/** Throws `OidcError` `issuer_misconfigured` when the issuer accepts nothing that a client secret can do. */
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

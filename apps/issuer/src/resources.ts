/**
 * Resource indicators (RFC 8707): a client names an API, and gets an access token for that API alone, a JWT that the
 * API verifies by itself (RFC 9068). Any API may be named: this issuer is for development.
 */
import type { KoaContextWithOIDC, ResourceServer } from 'oidc-provider';
import { InvalidTarget } from 'oidc-provider/lib/helpers/errors.js';
import { claimsOf, findPerson, type Person } from './people/people.ts';

type Client = NonNullable<KoaContextWithOIDC['oidc']['client']>;

/**
 * Returns the API of a resource indicator. It is the audience of the token, character for character.
 * @throws InvalidTarget for a text that is neither an http or https address nor a URN.
 */
export function describeResource(resource: string, client: Client): ResourceServer {
  if (!/^(https?:\/\/|urn:)/i.test(resource)) {
    throw new InvalidTarget('the resource must be an http or https address or a URN');
  }
  return {
    // An API defines its own scopes; none are requested here.
    scope: '',
    audience: resource,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: client.idTokenSignedResponseAlg === 'RS256' ? 'RS256' : 'ES256' } },
  };
}

/** Returns the claims of the person in an access token for an API, as far as the client's scopes allow. */
export function accessTokenClaims(
  ctx: KoaContextWithOIDC,
  token: object,
  people: readonly Person[],
): Record<string, unknown> | undefined {
  const { accountId, resourceServer } = token as { accountId?: string; resourceServer?: ResourceServer };
  const person = accountId === undefined ? undefined : findPerson(people, accountId);
  if (person === undefined || resourceServer?.accessTokenFormat !== 'jwt') return undefined;
  const { AuthorizationCode: code, RefreshToken: refresh, DeviceCode: device } = ctx.oidc.entities;
  const scopes = new Set((code ?? refresh ?? device)?.scope?.split(' '));
  const { name, preferred_username, email, email_verified } = claimsOf(person);
  return {
    ...(scopes.has('profile') ? { name, preferred_username } : {}),
    ...(scopes.has('email') ? { email, email_verified } : {}),
  };
}

/**
 * Resource indicators (RFC 8707): a client names the API it wants to call, and gets an access token made for that API
 * alone, a JWT that the API judges by itself (RFC 9068). Any API may be named: this issuer is for development.
 */
import type { KoaContextWithOIDC, ResourceServer } from 'oidc-provider';
import { InvalidTarget } from 'oidc-provider/lib/helpers/errors.js';
import { claimsOf, findPerson, type Person } from './people/people.ts';

type Client = NonNullable<KoaContextWithOIDC['oidc']['client']>;

/**
 * The API that a resource indicator names. It is the audience of the token, character for character.
 * @throws InvalidTarget for what is neither an http or https address nor a URN.
 */
export function describeResource(resource: string, client: Client): ResourceServer {
  if (!/^(https?:\/\/|urn:)/i.test(resource)) {
    throw new InvalidTarget('the resource must be an http or https address or a URN');
  }
  return {
    // Which scopes an API knows is its own business; none are asked for here.
    scope: '',
    audience: resource,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: client.idTokenSignedResponseAlg === 'RS256' ? 'RS256' : 'ES256' } },
  };
}

/** Who the person behind an access token for an API is, as far as the client asked to know it. */
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

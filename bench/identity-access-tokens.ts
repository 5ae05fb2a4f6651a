/** Verifying the access token of a request: the fixed-issuer provider with cached keys, beside jose alone. */
import { oidcAuthProvider } from '@freehold/auth';
import { exportJWK, generateKeyPair, type JWK, jwtVerify, SignJWT } from 'jose';
import { compare, type Row } from './harness.ts';
import { ADA, ISSUER, NEAR_BARE, requireVerdicts, spoil } from './identity-aims.ts';

const AUDIENCE = 'scp_01arz3ndektsv4rrffq69g5fav';

export async function benchAccessTokens(): Promise<Row[]> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
  const { fetch, fetched } = makeIssuer(key);
  const provider = oidcAuthProvider({ issuer: ISSUER, audience: AUDIENCE, runtime: { fetch } });

  const token = await new SignJWT({ email: ADA.email, name: ADA.name, email_verified: ADA.emailVerified })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'at+jwt' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(ADA.id)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
  const headersWith = (it: string): Headers => new Headers({ authorization: `Bearer ${it}` });
  const credentials = { good: token, spoilt: spoil(token) };
  await requireVerdicts('ours', async (it) => (await provider.resolve(headersWith(it)))?.sub, credentials);
  const options = { issuer: ISSUER, audience: AUDIENCE };
  const bare = (it: string) => jwtVerify(it, publicKey, options);
  await requireVerdicts('jose', async (it) => (await bare(it)).payload.sub, credentials);

  const headers = headersWith(token);
  const row = await compare(
    {
      name: 'access token of a request (ES256)',
      ours: () => provider.resolve(headers),
      peer: () => bare(token),
      against: 'jose jwtVerify alone',
    },
    NEAR_BARE,
  );
  if (fetched() !== 2) throw new Error('the metadata and the keys were not cached');
  return [row];
}

/** An issuer that answers its two documents, and counts. */
function makeIssuer(key: JWK): { fetch: (url: string) => Promise<Response>; fetched: () => number } {
  const documents: Readonly<Record<string, unknown>> = {
    [`${ISSUER}/.well-known/openid-configuration`]: {
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/authorize`,
      token_endpoint: `${ISSUER}/token`,
      jwks_uri: `${ISSUER}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    },
    [`${ISSUER}/jwks`]: { keys: [key] },
  };
  let count = 0;
  return {
    fetch: async (url) => {
      count += 1;
      return Response.json(documents[url]);
    },
    fetched: () => count,
  };
}

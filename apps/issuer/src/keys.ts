/** The issuer's signing keys: ES256, which tokens use unless a client asks otherwise, and RS256. */
import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'oidc-provider';

/** A private JSON Web Key Set (RFC 7517). Keep one so that tokens still verify after a restart. */
export interface IssuerKeys {
  readonly keys: readonly JWK[];
}

const generate = promisify(generateKeyPair);

/** Returns fresh signing keys, ES256 first. For development only: they are plain private keys. */
export async function generateIssuerKeys(): Promise<IssuerKeys> {
  const [elliptic, rsa] = await Promise.all([
    generate('ec', { namedCurve: 'P-256' }),
    generate('rsa', { modulusLength: 2048 }),
  ]);
  return { keys: [toJwk(elliptic.privateKey, 'ES256'), toJwk(rsa.privateKey, 'RS256')] };
}

function toJwk(key: KeyObject, alg: 'ES256' | 'RS256'): JWK {
  const kid = `${alg.toLowerCase()}-${randomBytes(6).toString('hex')}`;
  return { ...(key.export({ format: 'jwk' }) as JWK), alg, use: 'sig', kid };
}

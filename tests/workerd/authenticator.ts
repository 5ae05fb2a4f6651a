/**
 * A passkey authenticator in software (Web Authentication Level 3): it returns the answers of a browser's
 * `navigator.credentials`.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

interface CeremonyOptions {
  /** As the server sent it, base64url. */
  readonly challenge: string;
}

export interface Authenticator {
  /** Makes the passkey: `navigator.credentials.create`, as JSON. */
  create(options: CeremonyOptions): Record<string, unknown>;
  /** Signs with it: `navigator.credentials.get`, as JSON. `spoilt`: with a signature over other data. */
  get(options: CeremonyOptions, spoilt?: 'spoilt'): Record<string, unknown>;
}

/** User present, user verified, attested credential data included (section 6.1). */
const [PRESENT, VERIFIED, ATTESTED] = [0x01, 0x04, 0x40];

/** A device with one ES256 passkey for an origin, whose host name is the relying party's id. */
export function makeAuthenticator(origin: string): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  const rpIdHash = createHash('sha256').update(new URL(origin).hostname).digest();
  let counter = 0;

  const clientData = (type: string, challenge: string): Buffer =>
    Buffer.from(JSON.stringify({ type: `webauthn.${type}`, challenge, origin, crossOrigin: false }));
  const authenticatorData = (flags: number, attested = Buffer.alloc(0)): Buffer => {
    const head = Buffer.alloc(5);
    head.writeUInt8(flags);
    head.writeUInt32BE(counter, 1);
    return Buffer.concat([rpIdHash, head, attested]);
  };
  const credential = (response: Record<string, string | string[]>): Record<string, unknown> => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });

  return {
    create: ({ challenge }) => {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      // RFC 9053, section 7.1: kty EC2, alg ES256, curve P-256 and the point.
      const coseKey = cborMap([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]);
      const idLength = Buffer.alloc(2);
      idLength.writeUInt16BE(id.length);
      const attested = Buffer.concat([Buffer.alloc(16), idLength, id, coseKey]);
      const attestation = cborMap([
        ['fmt', 'none'],
        ['attStmt', []],
        ['authData', authenticatorData(PRESENT | VERIFIED | ATTESTED, attested)],
      ]);
      return credential({
        clientDataJSON: clientData('create', challenge).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      });
    },
    get: ({ challenge }, spoilt) => {
      counter += 1;
      const client = clientData('get', challenge);
      const data = authenticatorData(PRESENT | VERIFIED);
      const clientHash = createHash('sha256').update(client).digest();
      const signed = spoilt ? randomBytes(69) : Buffer.concat([data, clientHash]);
      return credential({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
      });
    },
  };
}

type CborPairs = readonly (readonly [key: string | number, value: string | number | Buffer | CborPairs])[];

/** A CBOR map (RFC 8949) of text, integers, bytes and maps, as far as it is needed above. */
function cborMap(pairs: CborPairs): Buffer {
  return Buffer.concat([
    cborHead(5, pairs.length),
    ...pairs.flatMap(([key, value]) => [cborItem(key), cborItem(value)]),
  ]);
}

function cborItem(value: string | number | Buffer | CborPairs): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  return Buffer.isBuffer(value) ? Buffer.concat([cborHead(2, value.length), value]) : cborMap(value);
}

/** Major type and argument (section 3). */
function cborHead(major: number, argument: number): Buffer {
  if (argument < 24) return Buffer.from([(major << 5) | argument]);
  if (argument < 256) return Buffer.from([(major << 5) | 24, argument]);
  return Buffer.from([(major << 5) | 25, argument >> 8, argument & 255]);
}

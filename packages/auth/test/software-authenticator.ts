/** An authenticator in software: makes ES256 passkeys and signs with them, and misbehaves on demand. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A ceremony's options, as far as an authenticator and its browser read them. */
interface CeremonyOptions {
  readonly challenge?: unknown;
  readonly rp?: unknown;
  readonly rpId?: unknown;
}

export interface Misbehaviour {
  /** The page that the browser names. */
  readonly origin?: string;
  /** The relying party that is signed for. */
  readonly rpId?: string;
  readonly challenge?: string;
  /** False: the user gave no PIN or finger. */
  readonly userVerified?: boolean;
  readonly userPresent?: boolean;
  readonly type?: string;
  /** Default: one more than before. */
  readonly counter?: number;
  /** The browser's word on the frame of the page. */
  readonly crossOrigin?: boolean;
  readonly topOrigin?: string;
  /** The account that the authenticator names. Default: none. */
  readonly userHandle?: string;
  /** Another key signs. */
  readonly otherKey?: boolean;
  /** An attestation statement that comes although none was asked for. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: Cbor };
}

export interface SoftwareAuthenticator {
  /** The credential id, base64url. */
  readonly id: string;
  register(options: CeremonyOptions, misbehaviour?: Misbehaviour): Record<string, unknown>;
  sign(options: CeremonyOptions, misbehaviour?: Misbehaviour): Record<string, unknown>;
}

const FLAG = { userPresent: 0x01, userVerified: 0x04, attestedData: 0x40 };

/** One authenticator with one passkey, in a browser on a page of the origin. */
export function makeAuthenticator(origin: string): SoftwareAuthenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const credentialId = randomBytes(16);
  const id = credentialId.toString('base64url');
  let counter = 0;

  const authenticatorData = (rpId: string, how: Misbehaviour, attested: Buffer): Buffer => {
    const flags =
      (how.userPresent === false ? 0 : FLAG.userPresent) |
      (how.userVerified === false ? 0 : FLAG.userVerified) |
      (attested.length > 0 ? FLAG.attestedData : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(how.counter ?? counter);
    return Buffer.concat([sha256(how.rpId ?? rpId), Buffer.from([flags]), count, attested]);
  };
  const clientData = (type: string, options: CeremonyOptions, how: Misbehaviour): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: how.type ?? type,
        challenge: how.challenge ?? options.challenge,
        origin: how.origin ?? origin,
        crossOrigin: how.crossOrigin ?? false,
        ...(how.topOrigin === undefined ? {} : { topOrigin: how.topOrigin }),
      }),
    );
  const credential = (response: Record<string, unknown>) => ({
    id,
    rawId: id,
    type: 'public-key',
    authenticatorAttachment: 'platform',
    clientExtensionResults: { credProps: { rk: true } },
    response,
  });

  return {
    id,
    register: (options, how = {}) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, credentialId, coseKey(publicKey)]);
      const { id: rpId } = options.rp as { id: string };
      const authData = authenticatorData(rpId, how, attested);
      const { fmt, attStmt } = how.attestation ?? { fmt: 'none', attStmt: new Map() };
      const attestationObject = cbor(
        new Map<Cbor, Cbor>([
          ['fmt', fmt],
          ['attStmt', attStmt],
          ['authData', authData],
        ]),
      );
      return credential({
        clientDataJSON: clientData('webauthn.create', options, how).toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal', 'made-up'],
      });
    },
    sign: (options, how = {}) => {
      counter += 1;
      const authData = authenticatorData(options.rpId as string, how, Buffer.alloc(0));
      const client = clientData('webauthn.get', options, how);
      const key = how.otherKey ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : privateKey;
      return credential({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign('sha256', Buffer.concat([authData, sha256(client)]), key).toString('base64url'),
        userHandle: how.userHandle ?? null,
      });
    },
  };
}

export type Cbor = string | number | Uint8Array | readonly Cbor[] | Map<Cbor, Cbor>;

/** As much of CBOR (RFC 8949) as an authenticator writes. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map)
    return Buffer.concat([
      head(5, value.size),
      ...[...value].flatMap(([key, each]) => [cbor(key), cbor(each)]),
    ]);
  return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count]);
  if (count < 256) return Buffer.from([(major << 5) | 24, count]);
  return Buffer.from([(major << 5) | 25, count >> 8, count & 0xff]);
}

/** A P-256 key for ES256 (RFC 9053, section 7.1.1). */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return cbor(
    new Map<Cbor, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
}

function sha256(bytes: string | Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

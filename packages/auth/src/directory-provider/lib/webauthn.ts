/**
 * The two ceremonies of passkeys (Web Authentication Level 3, sections 7.1 and 7.2). A passkey verifies its user, by a
 * PIN, a finger or a face, and so it counts as two factors. No attestation is asked for, and none is read.
 */
import { PlatformError } from '@freehold/contracts';
import type { AttestationObject } from '@simplewebauthn/server/helpers';
import { base64url } from 'jose';
import { z } from 'zod';
import type { Challenge, NewPasskey, PasskeyKey } from '../../accounts/contract.ts';
import type { Exchange, ProviderContext } from './context.ts';

/** Loaded for the first passkey: it has three hundred modules, a tenth of the platform's start. */
const webauthn = () => import('@simplewebauthn/server');

/** EdDSA, ES256, RS256: the algorithms of authenticators, which every runtime verifies. */
const ALGORITHMS = [-8, -7, -257];
const TTL_MS = 5 * 60_000;
/** Web Authentication, section 13.4.3, asks for 16 random bytes at least. */
const NONCE_BYTES = 16;

/** Base64url, bounded well below the body's limit. */
const bytes = z
  .string()
  .max(12_000)
  .regex(/^[A-Za-z0-9_-]+$/);

/**
 * Reads a browser's `PublicKeyCredential.toJSON()` (Web Authentication Level 3, section 5.1.8). Other members are
 * dropped: browsers add to them.
 */
function credentialJson<R extends z.ZodType>(response: R) {
  return z
    .object({ id: bytes, rawId: bytes, type: z.literal('public-key'), response })
    .transform((json) => ({ ...json, clientExtensionResults: {} }));
}

export const registrationJson = credentialJson(z.object({ clientDataJSON: bytes, attestationObject: bytes }));

export const assertionJson = credentialJson(
  z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: bytes.nullish(),
  }),
);

/** The purpose of a challenge, which serves no other. */
export type Ceremony =
  | { readonly kind: 'sign_in' }
  | { readonly kind: 'confirm'; readonly userId: string }
  | { readonly kind: 'register'; readonly userId: string }
  | { readonly kind: 'sign_up'; readonly linkToken: string };

export async function requestOptions(exchange: Exchange, ceremony: Ceremony) {
  const { generateAuthenticationOptions } = await webauthn();
  return generateAuthenticationOptions({
    rpID: rpIdOf(exchange),
    challenge: toBytes(makeChallenge(exchange, ceremony)),
    userVerification: 'required',
    timeout: TTL_MS,
  });
}

/** A passkey that signed, and its challenge, which the directory is to use up. */
export interface VerifiedAssertion {
  readonly passkey: PasskeyKey;
  readonly counter: number;
  readonly backedUp: boolean;
  readonly challenge: Challenge;
}

/**
 * Returns the passkey that signed, or null when it is unknown, another account's, of another origin, in another site's
 * frame, without its user's verification, or signed a challenge that is not ours. The directory judges the signature
 * counter and whether the challenge was used.
 */
export async function verifyAssertion(
  exchange: Exchange,
  input: { readonly response: z.infer<typeof assertionJson>; readonly ceremony: Ceremony },
): Promise<VerifiedAssertion | null> {
  const { response, ceremony } = input;
  const passkey = await exchange.directory.findPasskey({ id: response.id });
  if (passkey === null || ('userId' in ceremony && passkey.userId !== ceremony.userId)) return null;
  const { publicKey, id } = passkey;
  const { userHandle, ...signed } = response.response;
  if (typeof userHandle === 'string' && userHandle !== passkey.userHandle) return null;
  const challenge = challengeIn(exchange, ceremony, signed.clientDataJSON);
  if (challenge === null) return null;
  const { verifyAuthenticationResponse } = await webauthn();
  return orRefused(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...response, response: signed },
      expectedChallenge: challenge.text,
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(exchange),
      credential: { id, publicKey: toBytes(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    const { newCounter: counter, credentialBackedUp: backedUp } = authenticationInfo;
    return verified ? { passkey, counter, backedUp, challenge } : null;
  });
}

export async function creationOptions(
  exchange: Exchange,
  input: {
    readonly ceremony: Ceremony;
    /** The handle by which the passkey knows the account, base64url. */
    readonly userHandle: string;
    readonly email: string;
    readonly name: string | null;
    readonly known: readonly string[];
  },
) {
  const { ceremony, userHandle, email, name, known } = input;
  const { generateRegistrationOptions } = await webauthn();
  return generateRegistrationOptions({
    rpName: exchange.passkeys.rpName ?? exchange.appName,
    rpID: rpIdOf(exchange),
    userName: email,
    userDisplayName: name ?? email,
    userID: toBytes(userHandle),
    challenge: toBytes(makeChallenge(exchange, ceremony)),
    attestationType: 'none',
    excludeCredentials: known.map((id) => ({ id })),
    // Sign-in names no account, so the authenticator must find the passkey by itself.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    timeout: TTL_MS,
  });
}

/** Returns the new passkey and its challenge, or null when the registration does not hold. */
export async function verifyRegistration(
  exchange: Exchange,
  input: {
    readonly response: z.infer<typeof registrationJson>;
    readonly ceremony: Ceremony;
    readonly name: string;
  },
): Promise<{ readonly passkey: NewPasskey; readonly challenge: Challenge } | null> {
  const { response, ceremony, name } = input;
  const challenge = challengeIn(exchange, ceremony, response.response.clientDataJSON);
  if (challenge === null) return null;
  const { verifyRegistrationResponse } = await webauthn();
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  return orRefused(async () => {
    if (!hasNoCertificates(decodeAttestationObject(toBytes(response.response.attestationObject))))
      return null;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.text,
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(exchange),
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return null;
    const { credential, credentialBackedUp: backedUp } = registrationInfo;
    const { id, counter } = credential;
    const publicKey = base64url.encode(credential.publicKey);
    return { passkey: { id, publicKey, counter, backedUp, name }, challenge };
  });
}

/**
 * Returns a challenge, base64url. Any visitor may ask for one, so it is sealed and not stored; the directory stores
 * those that were answered rightly, so that each works once.
 */
function makeChallenge({ seals, now, random }: ProviderContext, ceremony: Ceremony): string {
  return seals.seal(purposeOf(ceremony), `${now() + TTL_MS} ${base64url.encode(random(NONCE_BYTES))}`);
}

function purposeOf(ceremony: Ceremony): string[] {
  const holder = 'userId' in ceremony ? ceremony.userId : 'linkToken' in ceremony ? ceremony.linkToken : '';
  return ['passkey', ceremony.kind, holder];
}

const clientDataJson = z.object({
  challenge: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.unknown().optional(),
});

/** Returns the challenge of an answer; null when it is not ours for the ceremony, expired, or from another's frame. */
function challengeIn(
  { seals, now }: ProviderContext,
  ceremony: Ceremony,
  clientDataJSON: string,
): (Challenge & { readonly text: string }) | null {
  const data = parseClientData(clientDataJSON);
  if (data === null || data.crossOrigin === true || data.topOrigin !== undefined) return null;
  const value = seals.open(purposeOf(ceremony), data.challenge);
  if (value === null) return null;
  const [expiry = '', id = ''] = value.split(' ');
  const expiresAtMs = Number(expiry);
  return now() < expiresAtMs ? { id, expiresAtMs, text: data.challenge } : null;
}

function parseClientData(clientDataJSON: string): z.infer<typeof clientDataJson> | null {
  try {
    return clientDataJson.parse(JSON.parse(new TextDecoder().decode(toBytes(clientDataJSON))));
  } catch {
    return null;
  }
}

/**
 * Browsers remove certificates when no attestation was asked for. Reading any that come anyway would have us parse
 * them, and fetch the revocation lists at the addresses that they name.
 */
function hasNoCertificates(decoded: AttestationObject): boolean {
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
}

function rpIdOf({ passkeys, origin }: Exchange): string {
  return passkeys.rpId ?? new URL(origin).hostname;
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(base64url.decode(text));
}

/** The library throws at an answer that does not hold. A failure of the directory stays a failure. */
async function orRefused<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    return null;
  }
}

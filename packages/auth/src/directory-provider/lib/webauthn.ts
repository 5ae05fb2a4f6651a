/**
 * The two ceremonies of passkeys (Web Authentication Level 3, sections 7.1 and 7.2). A passkey verifies its user, by a
 * PIN, a finger or a face, and so it counts as two factors. No attestation is asked for, and none is looked at.
 */
import { PlatformError } from '@freehold/contracts';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import { base64url } from 'jose';
import { z } from 'zod';
import type { Challenge, NewPasskey, PasskeyKey } from '../../accounts/contract.ts';
import type { Exchange, ProviderContext } from './context.ts';
import { type Ceremony, makeChallenge, openChallenge } from '../passkey-challenges.ts';
import type { AssertionJson, RegistrationJson } from '../webauthn-json.ts';

/** EdDSA, ES256, RS256: what authenticators have, and what every runtime verifies. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;

/** Options for `navigator.credentials.get`, as JSON. */
export function requestOptions(context: ProviderContext, exchange: Exchange, ceremony: Ceremony) {
  return generateAuthenticationOptions({
    rpID: rpIdOf(context, exchange),
    challenge: toBytes(makeChallenge(context, ceremony)),
    userVerification: 'required',
    timeout: TIMEOUT_MS,
  });
}

/** A passkey that signed, and the challenge that it signed for, which the directory is to use up. */
export interface VerifiedAssertion {
  readonly passkey: PasskeyKey;
  readonly counter: number;
  readonly backedUp: boolean;
  readonly challenge: Challenge;
}

/**
 * What signed, or null when it does not hold: unknown, another's, of another origin, in another site's frame, without
 * its user's verification, or for a challenge that is not ours. The signature counter, and whether the challenge was
 * used already, are the directory's to judge.
 */
export async function verifyAssertion(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly response: AssertionJson; readonly ceremony: Ceremony },
): Promise<VerifiedAssertion | null> {
  const { response, ceremony } = input;
  const passkey = await context.directory.findPasskey({ id: response.id });
  if (passkey === null || ('userId' in ceremony && passkey.userId !== ceremony.userId)) return null;
  const { publicKey, id } = passkey;
  const { userHandle, ...signed } = response.response;
  if (typeof userHandle === 'string' && userHandle !== passkey.userHandle) return null;
  const challenge = challengeIn(context, ceremony, signed.clientDataJSON);
  if (challenge === null) return null;
  return orRefused(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...response, response: signed },
      expectedChallenge: challenge.text,
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(context, exchange),
      credential: { id, publicKey: toBytes(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    const { newCounter: counter, credentialBackedUp: backedUp } = authenticationInfo;
    return verified ? { passkey, counter, backedUp, challenge } : null;
  });
}

/** Options for `navigator.credentials.create`, as JSON. */
export function creationOptions(
  context: ProviderContext,
  exchange: Exchange,
  input: {
    readonly ceremony: Ceremony;
    /** What the passkey is to know the account by, base64url. */
    readonly userHandle: string;
    readonly email: string;
    readonly name: string | null;
    readonly known: readonly string[];
  },
) {
  const { ceremony, userHandle, email, name, known } = input;
  return generateRegistrationOptions({
    rpName: context.passkeys.rpName ?? exchange.appName,
    rpID: rpIdOf(context, exchange),
    userName: email,
    userDisplayName: name ?? email,
    userID: toBytes(userHandle),
    challenge: toBytes(makeChallenge(context, ceremony)),
    attestationType: 'none',
    excludeCredentials: known.map((id) => ({ id })),
    // One that the authenticator cannot find by itself could not sign anybody in here.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    timeout: TIMEOUT_MS,
  });
}

/** The passkey that was made and the challenge that it was made for, or null when the registration does not hold. */
export async function verifyRegistration(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly response: RegistrationJson; readonly ceremony: Ceremony; readonly name: string },
): Promise<{ readonly passkey: NewPasskey; readonly challenge: Challenge } | null> {
  const { response, ceremony, name } = input;
  const challenge = challengeIn(context, ceremony, response.response.clientDataJSON);
  if (challenge === null) return null;
  return orRefused(async () => {
    if (!hasNoCertificates(response.response.attestationObject)) return null;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.text,
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(context, exchange),
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

const clientDataJson = z.object({
  challenge: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.unknown().optional(),
});

/** The challenge that a browser answered on a page of ours; null when it is not ours, or the page was another's frame. */
function challengeIn(
  context: ProviderContext,
  ceremony: Ceremony,
  clientDataJSON: string,
): (Challenge & { readonly text: string }) | null {
  const data = parseClientData(clientDataJSON);
  if (data === null || data.crossOrigin === true || data.topOrigin !== undefined) return null;
  const challenge = openChallenge(context, ceremony, data.challenge);
  return challenge && { ...challenge, text: data.challenge };
}

function parseClientData(clientDataJSON: string): z.infer<typeof clientDataJson> | null {
  try {
    return clientDataJson.parse(JSON.parse(new TextDecoder().decode(toBytes(clientDataJSON))));
  } catch {
    return null;
  }
}

/**
 * Browsers take certificates out when no attestation was asked for. One that comes with them anyway would have us
 * parse them, and fetch the revocation lists that they name from wherever they say.
 */
function hasNoCertificates(attestationObject: string): boolean {
  const decoded = decodeAttestationObject(toBytes(attestationObject));
  const format = decoded.get('fmt');
  return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
}

function rpIdOf({ passkeys }: ProviderContext, { origin }: Exchange): string {
  return passkeys.rpId ?? new URL(origin).hostname;
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(base64url.decode(text));
}

/** The library throws at whatever does not hold. A directory that fails is something else, and stays a failure. */
async function orRefused<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    return null;
  }
}

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
import type { NewPasskey, PasskeyKey } from '../accounts/contract.ts';
import type { Exchange, ProviderContext } from './context.ts';
import type { AssertionJson, RegistrationJson } from './webauthn-json.ts';

/** Whom a registration is for: an account, or the one that a sign-up link stands for. */
export type PasskeyHolder = { readonly userId: string } | { readonly linkToken: string };

/** EdDSA, ES256, RS256: what authenticators have, and what every runtime verifies. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;
/** What one registration may claim about how its authenticator is reached. */
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

/** Options for `navigator.credentials.get`, as JSON. @param userId whose passkey it has to be; absent: anybody's. */
export async function requestOptions(context: ProviderContext, exchange: Exchange, userId?: string) {
  const holder = userId === undefined ? {} : { userId };
  const { challenge } = await context.directory.beginPasskey({ purpose: 'sign_in', ...holder });
  return generateAuthenticationOptions({
    rpID: rpIdOf(context, exchange),
    challenge: toBytes(challenge),
    userVerification: 'required',
    timeout: TIMEOUT_MS,
  });
}

/**
 * The passkey that signed, or null when it did not: unknown, another's, of another origin, without its user's
 * verification, or for a challenge that is not ours or was used. The signature counter is the directory's to judge.
 */
export async function verifyAssertion(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly response: AssertionJson; readonly userId?: string | undefined },
): Promise<{ readonly passkey: PasskeyKey; readonly counter: number; readonly backedUp: boolean } | null> {
  const { response, userId } = input;
  const holder = userId === undefined ? {} : { userId };
  const passkey = await context.directory.findPasskey({ id: response.id });
  if (passkey === null || (userId !== undefined && passkey.userId !== userId)) return null;
  const { publicKey, id } = passkey;
  return orRefused(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: (challenge) =>
        context.directory.takeChallenge({ challenge, purpose: 'sign_in', ...holder }),
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(context, exchange),
      credential: { id, publicKey: toBytes(publicKey), counter: 0 },
      requireUserVerification: true,
    });
    const { newCounter: counter, credentialBackedUp: backedUp } = authenticationInfo;
    return verified ? { passkey, counter, backedUp } : null;
  });
}

/** Options for `navigator.credentials.create`, as JSON. */
export async function creationOptions(
  context: ProviderContext,
  exchange: Exchange,
  input: {
    readonly holder: PasskeyHolder;
    readonly email: string;
    readonly name: string | null;
    readonly known: readonly string[];
  },
) {
  const { holder, email, name, known } = input;
  const { challenge } = await context.directory.beginPasskey({ purpose: 'register', ...holder });
  return generateRegistrationOptions({
    rpName: context.passkeys.rpName ?? exchange.appName,
    rpID: rpIdOf(context, exchange),
    userName: email,
    userDisplayName: name ?? email,
    // A handle that means nothing: an account to come has no id yet, and a passkey is found by its own.
    userID: new Uint8Array(context.random(16)),
    challenge: toBytes(challenge),
    attestationType: 'none',
    excludeCredentials: known.map((id) => ({ id })),
    // One that the authenticator cannot find by itself could not sign anybody in here.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
    timeout: TIMEOUT_MS,
  });
}

/** The passkey that was made, or null when the registration does not hold. */
export async function verifyRegistration(
  context: ProviderContext,
  exchange: Exchange,
  input: { readonly response: RegistrationJson; readonly holder: PasskeyHolder; readonly name: string },
): Promise<NewPasskey | null> {
  const { response, holder, name } = input;
  const { transports = [], ...signed } = response.response;
  return orRefused(async () => {
    if (!hasNoCertificates(signed.attestationObject)) return null;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: { ...response, response: signed },
      expectedChallenge: (challenge) =>
        context.directory.takeChallenge({ challenge, purpose: 'register', ...holder }),
      expectedOrigin: exchange.origin,
      expectedRPID: rpIdOf(context, exchange),
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return null;
    const { credential, credentialBackedUp } = registrationInfo;
    return {
      id: credential.id,
      publicKey: base64url.encode(credential.publicKey),
      counter: credential.counter,
      transports: TRANSPORTS.filter((each) => transports.includes(each)),
      backedUp: credentialBackedUp,
      name,
    };
  });
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

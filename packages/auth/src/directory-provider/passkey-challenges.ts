/**
 * The challenges of passkey ceremonies. Anybody may ask for one, so that nothing is written down when one is made: it
 * is sealed for its ceremony, and the directory keeps those that were answered rightly, so that each works once.
 */
import { base64url } from 'jose';
import type { Challenge } from '../accounts/contract.ts';
import type { ProviderContext } from './lib/context.ts';

/** What a challenge is for: it is good for nothing else. */
export type Ceremony =
  | { readonly kind: 'sign_in' }
  /** Somebody who is signed in proves once more who they are. */
  | { readonly kind: 'confirm'; readonly userId: string }
  | { readonly kind: 'register'; readonly userId: string }
  /** Of the account that a sign-up link stands for. */
  | { readonly kind: 'sign_up'; readonly linkToken: string };

type Maker = Pick<ProviderContext, 'seals' | 'now' | 'random'>;

/** Web Authentication, section 13.4.3, asks for 16 random bytes at least. */
const NONCE_BYTES = 16;
const TTL_MS = 5 * 60_000;

/** A challenge, base64url. */
export function makeChallenge({ seals, now, random }: Maker, ceremony: Ceremony): string {
  return seals.seal(purposeOf(ceremony), `${now() + TTL_MS} ${base64url.encode(random(NONCE_BYTES))}`);
}

/** What was made for the ceremony and has not expired; null for anything else. */
export function openChallenge(
  { seals, now }: Pick<Maker, 'seals' | 'now'>,
  ceremony: Ceremony,
  challenge: string,
): Challenge | null {
  const value = seals.open(purposeOf(ceremony), challenge);
  if (value === null) return null;
  const [expiry = '', id = ''] = value.split(' ');
  const expiresAtMs = Number(expiry);
  return now() < expiresAtMs ? { id, expiresAtMs } : null;
}

function purposeOf(ceremony: Ceremony): string[] {
  const holder = 'userId' in ceremony ? ceremony.userId : 'linkToken' in ceremony ? ceremony.linkToken : '';
  return ['passkey', ceremony.kind, holder];
}

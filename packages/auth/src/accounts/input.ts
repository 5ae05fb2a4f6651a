/** Checks the values of an account, beyond its address. */

import { PlatformError, parseInput } from '@freehold/contracts';
import { z } from 'zod';
import { isOrdinaryCost, parsePhc } from '../directory-provider/passwords/phc-string.ts';
import { invalid } from '../lib/refusals.ts';
import type { NewPasskey } from './contract.ts';

const NAME_LENGTH_MAX = 100;
/** Line breaks and control characters, and those that change the direction of the text around them. */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/**
 * `$id$…` in printable ASCII: https://github.com/P-H-C/phc-string-format. Any other text may be a password that was
 * about to be stored in clear.
 */
const PHC_STRING = /^\$[a-z0-9-]{1,32}\$[!-~]{1,480}$/;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Returns a trimmed display name; null when nothing is left. @throws PlatformError `validation_failed`. */
export function requireName(name: string | null | undefined): string | null {
  const trimmed = name?.trim() ?? '';
  if (trimmed.length > NAME_LENGTH_MAX || UNSHOWABLE.test(trimmed))
    throw invalid(
      'name',
      `must be one line of at most ${NAME_LENGTH_MAX} characters`,
      `A name has at most ${NAME_LENGTH_MAX} characters.`,
    );
  return trimmed === '' ? null : trimmed;
}

/** @throws PlatformError `validation_failed` when it has not the form of a PHC string; the message does not repeat it. */
export function requirePasswordHash(hash: unknown): string {
  if (typeof hash !== 'string' || !PHC_STRING.test(hash))
    throw invalid('passwordHash', 'must be a PHC string', 'This is not the hash of a password.');
  return hash;
}

/**
 * Returns the hash of an imported account. A hash that cannot be compared at about our own cost would reveal, by its
 * time or by its constant failure, that there is such an account.
 * @throws PlatformError `validation_failed`, reason `hash_unsupported` for a hash that is not like ours.
 */
export function requireImportedHash(hash: unknown): string {
  const text = requirePasswordHash(hash);
  const record = parsePhc(text);
  if (record === null || !isOrdinaryCost(record.cost))
    throw new PlatformError(
      'validation_failed',
      'This hash is of another function, or much cheaper or dearer than ours. Import the account without it.',
      {
        reason: 'hash_unsupported',
        errors: [{ path: 'passwordHash', message: 'must be argon2id or scrypt at about our own cost' }],
      },
    );
  return text;
}

/** @throws PlatformError `validation_failed` when it is no base32 of 160 bits or more. */
export function requireTotpSecret(secret: unknown): string {
  if (typeof secret !== 'string' || !/^[A-Z2-7]{32,128}$/.test(secret))
    throw invalid('secret', 'must be base32', 'This is not the secret of an authenticator app.');
  return secret;
}

/** A credential id has at most 1,023 bytes (Web Authentication, section 7.1). */
const passkeySchema = z.object({
  id: z.string().max(1_364).regex(BASE64URL),
  publicKey: z.string().max(4_096).regex(BASE64URL),
  counter: z.int().min(0),
  backedUp: z.boolean(),
  name: z.string(),
});

/** @throws PlatformError `validation_failed`. */
export function requirePasskey(passkey: NewPasskey): NewPasskey {
  return parseInput('The passkey', passkeySchema, passkey);
}

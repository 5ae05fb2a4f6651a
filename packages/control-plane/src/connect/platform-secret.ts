/** The gate of the verticals' own door: only what carries the platform secret comes in (spec 4.7 and 5.6). */
import { createHash, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';

/** The secret, or several while one is being replaced; none means that nobody is let in. */
export type PlatformSecret = string | readonly string[] | undefined;

/**
 * Lets a vertical in.
 * @throws PlatformError `forbidden`, reason `platform_secret_unset` (fail closed) or `platform_secret_mismatch`.
 */
export function assertVertical(presented: string | null, configured: PlatformSecret): void {
  const secrets = [configured ?? []].flat().filter((secret) => secret !== '');
  if (secrets.length === 0) throw refused('platform_secret_unset');
  if (presented === null || !isOneOf(presented, secrets)) throw refused('platform_secret_mismatch');
}

/** Compares digests, which are of one length, and all of them: the time taken says nothing about any secret. */
function isOneOf(presented: string, secrets: readonly string[]): boolean {
  const digest = sha256(presented);
  let found = false;
  for (const secret of secrets) found = timingSafeEqual(digest, sha256(secret)) || found;
  return found;
}

function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text, 'utf8').digest();
}

function refused(reason: string): PlatformError {
  return new PlatformError('forbidden', 'This address is for the platform’s verticals only.', { reason });
}

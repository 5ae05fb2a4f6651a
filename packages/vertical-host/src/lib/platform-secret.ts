/** The one gate of `/internal/*`: only the platform comes in (spec 5.6). */
import { createHash, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';

/** The secret, or several while one is being replaced; none means that nobody is let in. */
export type PlatformSecret = string | readonly string[] | undefined;

/**
 * Lets the platform in.
 * @throws PlatformError `forbidden` when no secret is configured (reason `platform_secret_unset`: fail closed) or
 * when what was presented is not one of them (`platform_secret_mismatch`).
 */
export function assertPlatform(presented: string | undefined, configured: PlatformSecret): void {
  const secrets = [configured ?? []].flat().filter((secret) => secret !== '');
  if (secrets.length === 0) throw refused('platform_secret_unset');
  if (presented === undefined || !isOneOf(presented, secrets)) throw refused('platform_secret_mismatch');
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
  return new PlatformError('forbidden', 'This address is for the platform only.', { reason });
}

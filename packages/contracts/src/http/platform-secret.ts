/**
 * The gate between the platform and its verticals (spec 4.7 and 5.6): the same secret opens a vertical's `/internal/*` to
 * the platform, and the platform's own door to its verticals.
 */
import { PlatformError } from '../problems.ts';

/** The secret, or several while one is being replaced; none means that nobody is let in. */
export type PlatformSecret = string | readonly string[] | undefined;

/**
 * Lets in whoever shows one of the secrets.
 * @param detail what a stranger is told.
 * @throws PlatformError `forbidden` when no secret is configured (reason `platform_secret_unset`: fail closed) or
 * when what was presented is not one of them (`platform_secret_mismatch`).
 */
export async function requirePlatformSecret(
  presented: string | null | undefined,
  configured: PlatformSecret,
  detail: string,
): Promise<void> {
  const refused = (reason: string): PlatformError => new PlatformError('forbidden', detail, { reason });
  const secrets = [configured ?? []].flat().filter((secret) => secret !== '');
  if (secrets.length === 0) throw refused('platform_secret_unset');
  if (presented === null || presented === undefined || !(await isOneOf(presented, secrets)))
    throw refused('platform_secret_mismatch');
}

/**
 * Compares digests, which are of one length and which nobody can steer towards that of a secret, to their ends, and all
 * of them: the time taken says nothing about any secret.
 */
async function isOneOf(presented: string, secrets: readonly string[]): Promise<boolean> {
  const [digest, ...own] = await Promise.all([presented, ...secrets].map(sha256));
  let found = false;
  for (const each of own) found = isEqual(digest as Uint8Array, each) || found;
  return found;
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length;
  for (const [index, byte] of left.entries()) difference |= byte ^ (right[index] ?? 0);
  return difference === 0;
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

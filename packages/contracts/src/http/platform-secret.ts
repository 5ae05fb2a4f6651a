/**
 * The gate between the platform and its verticals (spec 4.7 and 5.6). Every vertical has its own secret, derived from the
 * platform's: it opens that vertical's `/internal/*` to the platform, and the platform's routes to that vertical, so that
 * no vertical can act as another.
 */
import { slug as slugSchema } from '../manifest.ts';
import { PlatformError } from '../problems.ts';

/** The secret, or several while one is being replaced; without any, every caller is refused. */
export type PlatformSecret = string | readonly string[] | undefined;

/**
 * Requires one of the secrets.
 * @param detail the text of the refusal.
 * @throws PlatformError `forbidden`, reason `platform_secret_unset` when no secret is configured (fail closed), or
 * `platform_secret_mismatch`.
 */
export async function requirePlatformSecret(
  presented: string | null | undefined,
  configured: PlatformSecret,
  detail: string,
): Promise<void> {
  const secrets = listOf(configured);
  if (presented === null || presented === undefined || !(await isOneOf(presented, secrets)))
    throw refusal(secrets, detail);
}

/** The prefix of a vertical's secret, by which people and secret scanners recognise one. */
const VERTICAL_SECRET_PREFIX = 'fh_vrt_';
/** A slug has no underscore: the text before the last one is the whole slug. */
const VERTICAL_SECRET = new RegExp(`^${VERTICAL_SECRET_PREFIX}([a-z0-9-]+)_[0-9a-f]{64}$`);
/** Separates this derivation from other uses of the same key. */
const PURPOSE = 'freehold.vertical.v1';
const VERTICALS_ONLY = 'This takes the secret that the platform gave to a vertical.';

/**
 * Returns the secret of one vertical: `fh_vrt_<slug>_<HMAC-SHA-256 in hex>`. Neither another vertical's nor the
 * platform's secret can be derived from it.
 * @param master the platform's secret, which no vertical knows.
 * @throws TypeError for an empty master and for a malformed slug.
 */
export async function verticalSecret(master: string, slug: string): Promise<string> {
  if (master === '') throw new TypeError('nothing is derived from an empty secret');
  if (!slugSchema.safeParse(slug).success) throw new TypeError('a vertical is named by its slug');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8(master), algorithm, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, utf8(`${PURPOSE}\n${slug}`)));
  return `${VERTICAL_SECRET_PREFIX}${slug}_${Array.from(mac, hexOf).join('')}`;
}

/**
 * Requires a vertical's own secret, and returns the vertical's slug.
 * @param masters the platform's secret, or several while one is being replaced.
 * @throws PlatformError `forbidden`, reason `platform_secret_unset` or `platform_secret_mismatch`, as
 * {@link requirePlatformSecret}; a master itself is a mismatch.
 */
export async function requireVerticalSecret(
  presented: string | null | undefined,
  masters: PlatformSecret,
): Promise<string> {
  const secrets = listOf(masters);
  const slug = slugSchema.safeParse(VERTICAL_SECRET.exec(presented ?? '')?.[1]).data;
  if (slug === undefined) throw refusal(secrets, VERTICALS_ONLY);
  const own = await Promise.all(secrets.map((master) => verticalSecret(master, slug)));
  await requirePlatformSecret(presented, own, VERTICALS_ONLY);
  return slug;
}

function listOf(configured: PlatformSecret): string[] {
  return [configured ?? []].flat().filter((secret) => secret !== '');
}

function refusal({ length }: readonly string[], detail: string): PlatformError {
  const reason = length === 0 ? 'platform_secret_unset' : 'platform_secret_mismatch';
  return new PlatformError('forbidden', detail, { reason });
}

/** Compares all digests to their ends, so that the time tells nothing about a secret. */
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
  return new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)));
}

function utf8(text: string): ReturnType<TextEncoder['encode']> {
  return new TextEncoder().encode(text);
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

/**
 * Secrets that the first start makes, in a file of the data directory that only its owner can read; and
 * `npm start -- vertical-secret`, which shows the secret of a vertical to its operator.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { slug as slugSchema } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { z } from 'zod';
import { type Settings, SettingsError } from '../settings/settings.ts';

const stored = z.strictObject({
  platformSecret: z.string().min(32),
  issuerClientSecret: z.string().min(32),
  /** The development issuer's signing keys, so that what it signed before a restart stays valid. */
  issuerKeys: z.unknown(),
});
export type Secrets = z.infer<typeof stored>;

/**
 * The platform's secret, and former ones. They are never handed out: secrets derived from the first are, and those derived
 * from former ones are accepted.
 */
export type PlatformSecrets = readonly [string, ...string[]];

/**
 * The secrets of a data directory, made when the directory is new.
 * @param makeIssuerKeys called once, on the first start.
 * @throws SettingsError when the directory holds data and the secrets are gone or damaged.
 */
export async function loadSecrets(
  dataDirectory: string,
  makeIssuerKeys: () => Promise<unknown>,
): Promise<Secrets> {
  const found = findSecrets(dataDirectory);
  if (found) return found;
  if (existsSync(join(dataDirectory, 'directory', 'main.sqlite'))) {
    throw new SettingsError(
      `The secrets are missing: ${pathIn(dataDirectory)} is gone although the directory holds data. Restore that file from your backup.`,
    );
  }
  return makeSecrets(dataDirectory, makeIssuerKeys);
}

/** The operator's own, or the one of the data directory. */
export function platformSecretsOf(
  { platformSecrets }: Pick<Settings, 'platformSecrets'>,
  { platformSecret: made }: Pick<Secrets, 'platformSecret'>,
): PlatformSecrets {
  const [first = made, ...former] = platformSecrets ?? [];
  return [first, ...former];
}

/** The secrets of a data directory, or null where there are none. @throws SettingsError when they are damaged. */
export function findSecrets(dataDirectory: string): Secrets | null {
  const path = pathIn(dataDirectory);
  return existsSync(path) ? readSecrets(path) : null;
}

/** Makes new secrets. No data is sealed with them, and the next start hands out the new ones. */
export async function makeSecrets(
  dataDirectory: string,
  makeIssuerKeys: () => Promise<unknown>,
): Promise<Secrets> {
  const secrets: Secrets = {
    platformSecret: randomSecret(),
    issuerClientSecret: randomSecret(),
    issuerKeys: await makeIssuerKeys(),
  };
  writePrivately(pathIn(dataDirectory), `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}

/** Writes a file that only its owner can read, whole or not at all. */
export function writePrivately(path: string, text: string): void {
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

function pathIn(dataDirectory: string): string {
  return join(dataDirectory, 'secrets.json');
}

function readSecrets(path: string): Secrets {
  try {
    return stored.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new SettingsError(
      `The secrets cannot be read: ${path} is damaged. Restore that file from your backup.`,
    );
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

export const VERTICAL_SECRET_USAGE = 'npm start -- vertical-secret SLUG';

/**
 * Returns one line: the secret of a vertical, for the operator of one that runs elsewhere. It is derived from the first
 * platform secret, so that the platform need not run, nor know the vertical yet.
 * @throws SettingsError with one sentence.
 */
export async function showVerticalSecret(
  args: readonly string[],
  { platformSecrets, dataDirectory }: Pick<Settings, 'platformSecrets' | 'dataDirectory'>,
): Promise<readonly string[]> {
  const [slug] = args;
  if (args.length !== 1 || !slugSchema.safeParse(slug).success)
    throw new SettingsError(`Say which vertical, by its slug. Usage: ${VERTICAL_SECRET_USAGE}`);
  const master = platformSecrets?.[0] ?? findSecrets(dataDirectory)?.platformSecret;
  if (master === undefined)
    throw new SettingsError(
      `There is no platform secret yet: set PLATFORM_SECRET, or start the platform once with ${dataDirectory} as its data directory.`,
    );
  return [await verticalSecret(master, slug as string)];
}

/**
 * Secrets that the platform makes for itself on its first start and keeps in the data directory, readable by its
 * owner only.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
 * What is derived from them is handed out, and never they themselves: from the first alone. What was derived from the
 * others, which came before it, is taken as well.
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

/** The operator's own, or the one that the platform has made for itself. */
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

/** Makes them anew. Nothing is sealed with them: whoever was given one is told the new one at the next start. */
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

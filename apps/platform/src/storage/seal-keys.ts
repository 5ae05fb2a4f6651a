/**
 * The keys that personal data and stored secrets are sealed under: from SEAL_KEY, or from a file of the data directory
 * that the first start makes. They are in no copy and no archive, so that a copy alone reveals nothing. The unit
 * `platform` keeps a sealed proof, which tells the right key from another one.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Engine, type Keyring, makeKeyring, SEAL_KEY_BYTES } from '@freehold/store';
import { SettingsError } from '../settings/settings.ts';
import { PLATFORM_KEY, platformUnit } from './platform-unit.ts';
import { writePrivately } from './secrets.ts';

/** The place that the proof is sealed for: it opens at no other. */
const PROOF_PLACE = 'platform/seal-proof';
const IV_BYTES = 12;

export interface SealKeysOptions {
  readonly engine: Pick<Engine, 'unit'>;
  readonly dataDirectory: string;
  /** The keys of SEAL_KEY; undefined: the file's. */
  readonly given: readonly string[] | undefined;
}

export function sealKeyFile(dataDirectory: string): string {
  return join(dataDirectory, 'seal-key');
}

/**
 * Opens the keyring; the first start makes a key.
 * @throws SettingsError when data is sealed here and the key for it is missing, unreadable or another.
 */
export async function openKeyring({ engine, dataDirectory, given }: SealKeysOptions): Promise<Keyring> {
  const platform = engine.unit(platformUnit, PLATFORM_KEY, { create: true });
  const proof = await platform.sealProof();
  const path = sealKeyFile(dataDirectory);
  const source = given === undefined ? path : 'SEAL_KEY';
  const keyring = makeKeyring(given ?? readKeys(path) ?? makeKeys(path, proof));
  if (proof !== null && keyring.open(PROOF_PLACE, proof) === null)
    throw new SettingsError(
      `The sealing key is another: what is sealed in ${dataDirectory} does not open with ${source}. Give it the key it was sealed with.`,
    );
  if (proof === null) await prove(platform, keyring);
  return keyring;
}

/**
 * Ends a rotation: everything is sealed under the newest key, and so is the proof from now on. Until then each start needs
 * the former key, so that it is not removed while data depends on it.
 */
export async function finalizeRotation(
  engine: Pick<Engine, 'unit'>,
  keyring: Pick<Keyring, 'isStale' | 'seal'>,
): Promise<void> {
  const platform = engine.unit(platformUnit, PLATFORM_KEY);
  const proof = await platform.sealProof();
  if (proof !== null && keyring.isStale(proof)) await prove(platform, keyring);
}

async function prove(
  platform: { saveSealProof(proof: { readonly sealed: string }): Promise<null> },
  keyring: Pick<Keyring, 'seal'>,
): Promise<void> {
  await platform.saveSealProof({ sealed: keyring.seal(PROOF_PLACE, 'opens', randomBytes(IV_BYTES)) });
}

/** The keys of a file, one a line; null when there is no file. @throws SettingsError when it holds none. */
export function readKeys(path: string): readonly string[] | null {
  if (!existsSync(path)) return null;
  const keys = readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  if (keys.length > 0 && keys.every((key) => Buffer.byteLength(key) >= SEAL_KEY_BYTES)) return keys;
  throw new SettingsError(
    `The sealing key cannot be read: ${path} is damaged. Restore that file from your backup.`,
  );
}

function makeKeys(path: string, proof: string | null): readonly string[] {
  if (proof !== null)
    throw new SettingsError(
      `The sealing key is missing: ${path} is gone although data is sealed with it. Restore that file from your backup, or set SEAL_KEY.`,
    );
  const key = randomBytes(SEAL_KEY_BYTES).toString('base64url');
  writePrivately(path, `${key}\n`);
  return [key];
}

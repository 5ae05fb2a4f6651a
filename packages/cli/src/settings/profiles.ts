/** What is remembered between command lines: where the control plane is, and a token for it, under names. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { PlatformError, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { fileFailure } from '../world.ts';

export const profileName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens, at most 32');

const profile = z.strictObject({
  url: z.url(),
  /** Absent after a sign-out. */
  token: z.string().min(1).optional(),
  expiresAt: timestamp.optional(),
  /** Who signed in, for people. */
  member: z.string().optional(),
});
export type Profile = z.infer<typeof profile>;

const config = z.strictObject({
  current: profileName.nullable(),
  profiles: z.record(profileName, profile),
});
export type Config = z.infer<typeof config>;

export const PROFILE_DEFAULT = 'default';

/** The file, in the directory of the settings. */
export function configFile(directory: string): string {
  return join(directory, 'config.json');
}

/** @throws PlatformError for a file that cannot be read, or was not written by this program. */
export function loadConfig(directory: string): Config {
  const file = configFile(directory);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, profiles: {} };
    throw fileFailure(`${file} cannot be read`, error);
  }
  const parsed = config.safeParse(parse(text));
  if (parsed.success) return parsed.data;
  // Nothing of it is repeated: it holds tokens.
  throw new PlatformError(
    'validation_failed',
    `${file} is damaged: repair it, or remove it and sign in again.`,
  );
}

/** Whole or not at all, and readable by nobody but its owner from the first byte. */
export function saveConfig(directory: string, value: Config): void {
  const file = configFile(directory);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const handle = openSync(draft, 'wx', 0o600);
    try {
      writeSync(handle, `${JSON.stringify(config.parse(value), null, 2)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(draft, file);
  } catch (error) {
    removeDraft(draft);
    throw fileFailure(`${file} cannot be written`, error);
  }
}

/** What went wrong before is what is told, not that there is nothing to remove. */
function removeDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // The directory itself is not there.
  }
}

/** A profile as it is shown: never its token. */
export function shownProfile(name: string, { token, ...rest }: Profile, current: string | null): object {
  return { name, current: name === current, ...rest, signedIn: token !== undefined };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

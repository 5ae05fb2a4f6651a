/** Stores addresses of control planes and their tokens under names. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { fileFailure, parseJson } from '../lib/world.ts';

export const profileName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens, at most 32');

const profile = z.strictObject({
  url: z.url(),
  /** Absent after a sign-out. */
  token: z.string().min(1).optional(),
  expiresAt: timestamp.optional(),
  /** Absent for a token that is not renewed. */
  refresh: z.strictObject({ client: z.string().min(1), token: z.string().min(1) }).optional(),
  /** The name of the person who signed in. */
  member: z.string().optional(),
});
export type Profile = z.infer<typeof profile>;

const config = z.strictObject({
  current: profileName.nullable(),
  profiles: z.record(profileName, profile),
});
export type Config = z.infer<typeof config>;

export const PROFILE_DEFAULT = 'default';

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
  const parsed = config.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  // The message repeats no content: the file holds tokens.
  throw new PlatformError(
    'validation_failed',
    `${file} is damaged: repair it, or remove it and sign in again.`,
  );
}

/** Writes the file whole or not at all. Only its owner can read it, from the first byte. */
export function saveConfig(directory: string, value: Config): void {
  const file = configFile(directory);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const text = `${JSON.stringify(config.parse(value), null, 2)}\n`;
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(draft, file);
  } catch (error) {
    removeDraft(draft);
    throw fileFailure(`${file} cannot be written`, error);
  }
}

/** The error before this one counts; a missing draft does not. */
function removeDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // The directory does not exist.
  }
}

/** Returns a profile for display, without its tokens. */
export function shownProfile(
  name: string,
  { token, refresh, expiresAt, ...rest }: Profile,
  current: string | null,
): object {
  // A token that is renewed by itself has no end that a person acts on.
  const ends = refresh === undefined && expiresAt !== undefined ? { expiresAt } : {};
  return { name, current: name === current, ...rest, ...ends, signedIn: token !== undefined };
}

/** The profile of this name, if there is one. */
export function profileNamed({ profiles }: Config, name: string): Profile | undefined {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

/** @throws PlatformError `validation_failed` that lists the known profiles. */
export function requireProfile(config: Config, name: string): Profile {
  const found = profileNamed(config, name);
  if (found) return found;
  const names = Object.keys(config.profiles);
  const shown = profileName.safeParse(name).success ? ` "${name}"` : '';
  const known = names.length === 0 ? 'there are none yet' : `there are ${names.join(', ')}`;
  throw new PlatformError('validation_failed', `There is no profile${shown}: ${known}.`);
}

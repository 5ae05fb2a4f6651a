/** Renews the token of a profile before it ends (RFC 6749, section 6), for one process of this machine at a time. */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError, toTimestamp } from '@freehold/contracts';
import { isSystemError, type World } from '../lib/world.ts';
import { discover, OAuthRefusal, postForm, processGrant } from '../oauth/authorization-server.ts';
import { loadConfig, type Profile, profileNamed, saveConfig } from './profiles.ts';

/** A token is renewed so long before its end that a call with it arrives in time. */
const MARGIN_MS = 60_000;
/** A renewal takes a second. A lock that is older was left by a process that was killed. */
const LOCK_STALE_MS = 30_000;
const LOCK_POLL_MS = 100;

/** The token of a command line, and the profile that it is of; null for one of the environment. */
export interface Held {
  readonly profile: string | null;
  readonly token: string;
}

/**
 * Returns a token that works for the next minute, if its profile has one.
 * @param world its `fetch` reports network failures as `PlatformError`s.
 * @throws PlatformError `unauthenticated` when the sign-in has ended.
 */
export async function freshToken({ profile, token }: Held, world: World): Promise<string> {
  if (profile === null) return token;
  const known = profileNamed(loadConfig(world.configDirectory), profile);
  if (!known?.token || !isDue(known, world)) return known?.token ?? token;
  // The refresh token works once: a second process that uses it would end the sign-in of both.
  return locked(world, async () => {
    const config = loadConfig(world.configDirectory);
    const present = profileNamed(config, profile);
    if (!present?.token || !isDue(present, world)) return present?.token ?? token;
    const renewed = await renew(present, world);
    saveConfig(world.configDirectory, {
      ...config,
      profiles: { ...config.profiles, [profile]: { ...present, ...renewed } },
    });
    return renewed.token;
  });
}

function isDue({ refresh, expiresAt }: Profile, { now }: Pick<World, 'now'>): boolean {
  return refresh !== undefined && expiresAt !== undefined && Date.parse(expiresAt) - now() < MARGIN_MS;
}

async function renew({ url, refresh }: Profile, world: World) {
  if (!refresh) throw new TypeError('a profile without a refresh token is never due');
  const reach = { fetch: world.fetch, signal: world.interrupted };
  const { token_endpoint } = await discover(url, reach, world.interrupted);
  const form = { grant_type: 'refresh_token', client_id: refresh.client, refresh_token: refresh.token };
  const granted = processGrant(
    await postForm(token_endpoint, form, reach).catch((error: unknown) => {
      if (!(error instanceof OAuthRefusal)) throw error;
      throw new PlatformError(
        'unauthenticated',
        `Your sign-in at ${url} has ended: sign in again with freehold login.`,
        { reason: 'sign_in_ended' },
      );
    }),
  );
  return storedGrant(granted, refresh.client, world);
}

/** Returns the fields of a profile for what the token endpoint answered. */
export function storedGrant(
  { access_token: token, expires_in, refresh_token }: ReturnType<typeof processGrant>,
  client: string,
  { now }: Pick<World, 'now'>,
): Pick<Profile, 'expiresAt' | 'refresh'> & { readonly token: string } {
  return {
    token,
    ...(expires_in === undefined ? {} : { expiresAt: toTimestamp(now() + expires_in * 1000) }),
    ...(refresh_token === undefined ? {} : { refresh: { client, token: refresh_token } }),
  };
}

/** Runs work while no other process of this machine renews. */
async function locked<T>(world: World, work: () => Promise<T>): Promise<T> {
  const file = join(world.configDirectory, 'renewal.lock');
  mkdirSync(world.configDirectory, { recursive: true, mode: 0o700 });
  while (!take(file)) await world.sleep(LOCK_POLL_MS, world.interrupted);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
  }
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > LOCK_STALE_MS) rmSync(file, { force: true });
  return false;
}

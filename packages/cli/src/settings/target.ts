/** Chooses the control plane of a command line, and its token. */
import { PlatformError } from '@freehold/contracts';
import { type Caller, ConnectionBroken, makeCaller } from '@freehold/control-plane/client';
import type { World } from '../lib/world.ts';
import { loadConfig, profileNamed, requireProfile } from './profiles.ts';
import { freshToken } from './renewal.ts';

export interface Target {
  readonly url: string;
  /** The name of its profile; null when the address or the token comes from the environment. */
  readonly profile: string | null;
  /** Null without a sign-in there. */
  readonly token: string | null;
}

/**
 * `--profile` wins over the environment, and the environment over the profile in use. A profile's token goes only to
 * the profile's own address.
 * @throws PlatformError `validation_failed` when no address is known, or the known one cannot be used.
 */
export function resolveTarget({ env, configDirectory }: World, named: string | undefined): Target {
  const config = loadConfig(configDirectory);
  const given = { url: env.FREEHOLD_URL || undefined, token: env.FREEHOLD_TOKEN || undefined };
  const name = named ?? (env.FREEHOLD_PROFILE || undefined) ?? config.current ?? undefined;
  const profile = name === undefined ? undefined : profileNamed(config, name);
  const isChosen = named !== undefined || (given.url === undefined && Boolean(env.FREEHOLD_PROFILE));
  if (isChosen) requireProfile(config, String(name));
  if (named !== undefined && profile)
    return {
      url: baseUrl(profile.url, 'The address of the profile'),
      profile: named,
      token: profile.token ?? null,
    };
  const address = given.url ?? profile?.url;
  if (address === undefined)
    throw new PlatformError(
      'validation_failed',
      'No control plane is known: sign in with freehold login --url <address>, or set FREEHOLD_URL and FREEHOLD_TOKEN.',
    );
  const url = baseUrl(address, given.url === undefined ? 'The address of the profile' : 'FREEHOLD_URL');
  const isOwn = profile !== undefined && baseUrl(profile.url, 'The address of the profile') === url;
  const token = given.token ?? (isOwn ? profile.token : undefined) ?? null;
  return { url, profile: isOwn && given.token === undefined ? (name ?? null) : null, token };
}

/** @throws PlatformError `validation_failed`; `unauthenticated` with the next step. */
export function requireTarget(world: World, named: string | undefined): Target & { readonly token: string } {
  const target = resolveTarget(world, named);
  if (target.token === null)
    throw new PlatformError(
      'unauthenticated',
      `You are not signed in at ${target.url}: sign in with freehold login, or set FREEHOLD_TOKEN.`,
    );
  return { ...target, token: target.token };
}

/**
 * Returns an address without a slash at its end.
 * @throws PlatformError `validation_failed` for an address that would carry a token over a network without TLS.
 */
export function baseUrl(text: string, what: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const why =
    url === null || !/^https?:$/.test(url.protocol) ? 'must begin with https:// or http://' : refused(url);
  if (url === null || why !== null)
    throw new PlatformError('validation_failed', `${what} cannot be used: it ${why}.`, {
      errors: [{ path: what, message: String(why) }],
    });
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function refused({ protocol, hostname, username, password, search, hash }: URL): string | null {
  if (username || password || search || hash)
    return 'must be an address alone, without a name, query or fragment';
  const isHere = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === 'http:' && !isHere
    ? 'must begin with https:// (http:// is for this machine alone)'
    : null;
}

/** Returns a `fetch` whose network failures are `unavailable`, with the exit code for "try again". */
export function makeReach({ url }: Pick<Target, 'url'>, { fetch }: Pick<World, 'fetch'>) {
  return async (request: Request): Promise<Response> => {
    try {
      return await fetch(request);
    } catch (cause) {
      if (!(cause instanceof TypeError) || request.signal.aborted) throw cause;
      throw outOfReach(url, cause);
    }
  };
}

/** Returns a caller of operations. An unreachable control plane is `unavailable`, after the usual attempts. */
export function callerOf(target: Target & { readonly token: string }, world: World): Caller {
  const unreached = new WeakSet<object>();
  const call = makeCaller({
    baseUrl: target.url,
    // A command may take longer than a token lives.
    token: () => freshToken(target, { ...world, fetch: makeReach(target, world) }),
    now: world.now,
    sleep: (ms, signal) => world.sleep(ms, signal),
    fetch: async (request) => {
      try {
        return await world.fetch(request);
      } catch (error) {
        if (error instanceof TypeError) unreached.add(error);
        throw error;
      }
    },
  });
  return async (operation, input, options) => {
    try {
      return await call(operation, input, { signal: world.interrupted, ...options });
    } catch (error) {
      if (error instanceof ConnectionBroken) throw brokenOff(target.url, error);
      throw error instanceof TypeError && unreached.has(error) ? outOfReach(target.url, error) : error;
    }
  };
}

function outOfReach(url: string, cause: unknown): PlatformError {
  const inner = cause instanceof Error ? cause.cause : undefined;
  const code = inner instanceof Error && 'code' in inner ? String(inner.code) : '';
  return new PlatformError('unavailable', `${url} cannot be reached${whyUnreached(code)}.`, {
    reason: 'out_of_reach',
    cause,
  });
}

/** Explains a code of the system, of name look-ups or of TLS; returns an unknown code itself. */
function whyUnreached(code: string): string {
  if (code === '') return '';
  const words = REASONS.find(([codes]) => codes.test(code))?.[1];
  return words === undefined ? ` (${code})` : `: ${words} (${code})`;
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ENOTFOUND$/, 'no machine is known by that name; check the address'],
  [/^EAI_AGAIN$/, 'the name servers do not answer'],
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH)$/, 'nothing answers from there'],
  [/^(ERR_SSL_|EPROTO)/, 'it does not speak TLS there; check the port, and whether it begins with http://'],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/,
    'its certificate is of an authority that is not known here; NODE_EXTRA_CA_CERTS can name a file of yours',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another name'],
];

function brokenOff(url: string, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The connection to ${url} broke off before the end. Whether it was done is not known; the same command can be given again.`,
    { reason: 'broken_off', cause },
  );
}

/** `--profile`, an option of every command that calls a control plane. */
export const PROFILE_OPTION = {
  profile: { summary: 'The control plane to ask, by the name it has here', placeholder: 'name' },
} as const;

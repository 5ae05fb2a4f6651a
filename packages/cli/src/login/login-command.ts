/** `freehold login` gets a token for this machine, through a browser (RFC 8252) or a code (RFC 8628). */
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import {
  CLIENT_ID,
  discover,
  type Granted,
  makePkce,
  OAuthRefusal,
  postForm,
  processGrant,
  registerClient,
  type ServerMetadata,
} from '../oauth/authorization-server.ts';
import { loadConfig, PROFILE_DEFAULT, profileName, profileNamed, saveConfig } from '../settings/profiles.ts';
import { storedGrant } from '../settings/renewal.ts';
import { baseUrl, makeReach } from '../settings/target.ts';
import { grantByDevice } from './device.ts';
import { openLoopback } from './loopback.ts';
import { whoIs, whoText } from './session-commands.ts';

/** The time for a person to sign in at the issuer. */
const PATIENCE_MS = 5 * 60 * 1000;

const ACCESS = ['all', 'read', 'operate', 'administer', 'deploy'] as const;
type Access = (typeof ACCESS)[number];

export const loginCommand = command({
  path: ['login'],
  summary: 'Sign in at a control plane',
  description: [
    'Opens the browser, where you sign in and choose what this program may do for you, and remembers the sign-in in a',
    'profile. It is renewed while you use it, and asks again after 60 days without use, or 180 days in any case. With',
    '--device the browser can be on another machine: it shows a code to type there, and the token works for 30 days and is',
    'for everything that you may do, so that --access cannot ask for less.',
    'Tokens are kept in a file that only you may read, and are never shown.',
    'In a script, which cannot answer a browser, set FREEHOLD_URL and FREEHOLD_TOKEN instead.',
  ].join('\n'),
  examples: [
    { line: 'freehold login --url https://api.apps.example.org', does: 'in the browser of this machine' },
    {
      line: 'freehold login --url https://api.apps.example.org --device',
      does: 'with a browser somewhere else',
    },
    { line: 'freehold login --profile staging', does: 'again, when the sign-in has ended' },
    { line: 'freehold login --access read', does: 'for commands that change nothing' },
  ],
  arguments: [],
  options: {
    url: {
      summary: 'The control plane; the default is that of the profile, or FREEHOLD_URL',
      placeholder: 'address',
    },
    device: { kind: 'flag', summary: 'Show a code to type in a browser somewhere else' },
    access: {
      summary: 'What to ask for; the default is all, and you decide in the browser',
      placeholder: 'access',
      values: ACCESS,
    },
    profile: {
      summary: 'The name to remember it by; the default is the one in use, or default',
      placeholder: 'name',
    },
  },
  input: z.strictObject({
    url: z.string().optional(),
    device: z.boolean().optional(),
    access: z.enum(ACCESS).default('all'),
    profile: profileName.optional(),
  }),
  run: async ({ url: given, device, access, profile: named }, world) => {
    const { env, configDirectory } = world;
    const before = loadConfig(configDirectory);
    const envName = profileName.safeParse(env.FREEHOLD_PROFILE).data;
    const profile = named ?? envName ?? before.current ?? PROFILE_DEFAULT;
    const known = profileNamed(before, profile)?.url;
    const address = given ?? (named === undefined ? env.FREEHOLD_URL || known : (known ?? env.FREEHOLD_URL));
    if (!address) throw new PlatformError('validation_failed', '--url is missing.');
    const url = baseUrl(address, '--url');
    if (!world.isTerminal)
      throw new PlatformError(
        'validation_failed',
        'freehold login needs a terminal and a person: in a script, set FREEHOLD_URL and FREEHOLD_TOKEN.',
      );
    if (device && access !== 'all') throw unlimited('A device code');
    const { client, granted } = await grant({ url, access, device: device === true }, world);
    const stored = storedGrant(granted, client, world);
    const reach = { fetch: makeReach({ url }, world), signal: world.interrupted };
    const member = await whoIs({ url, token: stored.token }, reach);
    // Load again: another process may have changed the file meanwhile.
    const config = loadConfig(configDirectory);
    saveConfig(configDirectory, {
      current: config.current ?? profile,
      profiles: { ...config.profiles, [profile]: { url, ...stored, member: member.name } },
    });
    const inUse = config.current === null || config.current === profile;
    return {
      value: {
        ...{ profile, url, member },
        expiresAt: stored.refresh ? null : (stored.expiresAt ?? null),
        current: inUse,
      },
      text: [
        `Signed in at ${url} as ${whoText(member)}, as the profile ${profile}.`,
        ...(inUse
          ? []
          : [
              `Commands ask ${config.current} still: freehold profile use ${profile}, or --profile ${profile}.`,
            ]),
      ].join('\n'),
    };
  },
});

/** The tokens, and the client that they were given to. */
interface Grant {
  readonly client: string;
  readonly granted: Granted;
}

/** A person who asks for less must not get everything. */
function unlimited(what: string): PlatformError {
  return new PlatformError(
    'validation_failed',
    `${what} gives a token for everything that you may do: leave --access out to have that.`,
  );
}

async function grant(
  { url, device, access }: { readonly url: string; readonly device: boolean; readonly access: Access },
  world: World,
): Promise<Grant> {
  const reaching = { ...world, fetch: makeReach({ url }, world) };
  const server = await discover(url, reaching, world.interrupted);
  if (device) return { client: CLIENT_ID, granted: await grantByDevice(server, reaching, world.interrupted) };
  return grantByLoopback(server, access, reaching);
}

async function grantByLoopback(server: ServerMetadata, scope: Access, world: World): Promise<Grant> {
  if (scope !== 'all' && server.registration_endpoint === undefined) throw unlimited('This control plane');
  const { verifier, challenge } = makePkce(world.random);
  const state = Buffer.from(world.random(16)).toString('base64url');
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, world.interrupted]);
  const loopback = await openLoopback({ state, issuer: server.issuer }, signal);
  try {
    const reach = { fetch: world.fetch, signal: world.interrupted };
    const client =
      server.registration_endpoint === undefined
        ? CLIENT_ID
        : await registerClient(server.registration_endpoint, loopback.redirectUri, reach);
    const url = new URL(server.authorization_endpoint);
    const query = {
      response_type: 'code',
      client_id: client,
      scope,
      redirect_uri: loopback.redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state,
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const opened = await world.openBrowser(url.href);
    world.say(
      opened
        ? `Waiting for your browser. If it did not open:\n${url.href}`
        : `Open this address:\n${url.href}`,
    );
    const timeout = world.sleep(PATIENCE_MS, signal).then(() => {
      throw new PlatformError('unavailable', 'No sign-in arrived within five minutes: start again.');
    });
    timeout.catch(() => undefined);
    const code = await Promise.race([loopback.code, timeout]);
    const granted = processGrant(
      await postForm(
        server.token_endpoint,
        {
          grant_type: 'authorization_code',
          client_id: client,
          code,
          redirect_uri: loopback.redirectUri,
          code_verifier: verifier,
        },
        reach,
      ).catch((error: unknown) => {
        throw error instanceof OAuthRefusal
          ? new PlatformError('forbidden', 'The control plane refused the code: start again.')
          : error;
      }),
    );
    return { client, granted };
  } finally {
    stop.abort();
    loopback.close();
  }
}

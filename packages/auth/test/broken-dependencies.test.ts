/**
 * Breaks each dependency of a provider, one at a time: no caller is signed in by it, no session is given out, and the
 * error says what it is. Every provider is made anew, so that no cache helps.
 */
import { PlatformError } from '@freehold/contracts';
import { OidcError } from '@freehold/oidc-rp';
import { describe, expect, test } from 'vitest';
import { AuthConfigError, type IdentityDirectory, instanceAuthFor } from '../src/index.ts';
import { makeBrowser } from './browser.ts';
import { accessClaims, makeFakeIssuer } from './fake-issuer.ts';
import { DAY_MS, ISSUER, MINUTE_MS, openPlatform, SCOPE } from './support.ts';

const ORIGIN = 'https://app.example';
const DISCOVERY = '/.well-known/openid-configuration';
const YEARS_MS = 3_650 * DAY_MS;

/** The parts that can break. */
interface World {
  /** Our clock, for the true time. */
  now: (nowMs: number) => number;
  /** The network's answer in place of the issuer's; undefined for the issuer's own. */
  answer: (url: string) => Response | Promise<Response> | undefined;
  /** Operations of the directory that fail. */
  readonly failing: Set<string>;
  /** The directory's answer for a session secret; undefined for the true one. */
  secret: string | null | undefined;
}

/** The outcome for good credentials: a subject or none, a status, or the thrown error. */
type Outcome = 'subject' | 'anonymous' | 'unavailable' | 'not configured' | 'signed in' | number;
const ROUTES = ['login', 'callback', 'logout', 'backchannel'] as const;
type Route = (typeof ROUTES)[number];

type Row = readonly [
  name: string,
  spoil: (world: World) => void,
  /** With `oidcRpAuthProvider`: resolve, login, callback, logout, back-channel logout. */
  rp: readonly Outcome[],
  /** With `oidcAuthProvider`: resolve. It has no routes, so that those are 501 unless it cannot be made. */
  jwt: Outcome,
];

const answering = (path: string, make: () => Response) => (world: World) => {
  world.answer = (url) => (url.endsWith(path) ? make() : undefined);
};
const unreachable = (path: string) => (world: World) => {
  world.answer = (url) => (url.includes(path) ? Promise.reject(new TypeError('fetch failed')) : undefined);
};
const failing = (operation: string) => (world: World) => void world.failing.add(operation);
const clock = (now: World['now']) => (world: World) => void Object.assign(world, { now });
const secret = (value: string | null) => (world: World) => void Object.assign(world, { secret: value });
const redirect = () =>
  new Response(null, { status: 302, headers: { location: 'https://evil.example/config' } });

const NOTHING_WORKS = Array<Outcome>(5).fill('unavailable');
const NOTHING_IS_SET = Array<Outcome>(5).fill('not configured');

/** Sessions are our own: they need no issuer. A sign-out needs none either. */
const ROWS: readonly Row[] = [
  ['nothing', () => undefined, ['subject', 302, 'signed in', 302, 200], 'subject'],

  ['the issuer: unreachable', unreachable(''), ['subject', 503, 503, 302, 503], 'unavailable'],
  [
    'the issuer: 500',
    answering('', () => new Response('no', { status: 500 })),
    ['subject', 503, 503, 302, 503],
    'unavailable',
  ],
  ['discovery: unreachable', unreachable(DISCOVERY), ['subject', 503, 503, 302, 503], 'unavailable'],
  ...(
    [
      ['404', () => new Response('no', { status: 404 })],
      ['a page', () => new Response('<html>')],
      ['nothing', () => new Response('')],
      ['null', () => Response.json(null)],
      ['a list', () => Response.json([])],
      ['an empty object', () => Response.json({})],
      ['another issuer', () => Response.json({ issuer: 'https://evil.example' })],
      ['no endpoints', () => Response.json({ issuer: ISSUER })],
      ['a redirect', redirect],
    ] as const
  ).map(
    ([name, make]): Row => [
      `discovery: ${name}`,
      answering(DISCOVERY, make),
      ['subject', 502, 502, 302, 503],
      'unavailable',
    ],
  ),
  [
    'discovery: without end',
    answering(DISCOVERY, () => new Response('x'.repeat(5_000_000))),
    ['subject', 503, 503, 302, 503],
    'unavailable',
  ],
  ['keys: unreachable', unreachable('/jwks'), ['subject', 302, 503, 302, 503], 'unavailable'],
  [
    'keys: 500',
    answering('/jwks', () => new Response('no', { status: 500 })),
    ['subject', 302, 503, 302, 503],
    'unavailable',
  ],
  [
    'keys: a page',
    answering('/jwks', () => new Response('<html>')),
    ['subject', 302, 502, 302, 503],
    'unavailable',
  ],
  [
    'keys: nonsense',
    answering('/jwks', () => Response.json({ keys: [null, 7, { kty: 'EC' }] })),
    ['subject', 302, 502, 302, 503],
    'unavailable',
  ],
  ['keys: a redirect', answering('/jwks', redirect), ['subject', 302, 502, 302, 503], 'unavailable'],
  // The keys were fetched, and ours is not among them: the token is bad.
  [
    'keys: none',
    answering('/jwks', () => Response.json({ keys: [] })),
    ['subject', 302, 502, 302, 400],
    'anonymous',
  ],
  ['tokens: unreachable', unreachable('/token'), ['subject', 302, 503, 302, 200], 'subject'],
  [
    'tokens: a page',
    answering('/token', () => new Response('<html>')),
    ['subject', 302, 502, 302, 200],
    'subject',
  ],

  ['the directory: settings', failing('readInstanceConfig'), NOTHING_WORKS, 'unavailable'],
  [
    'the directory: session states',
    failing('sessionState'),
    ['unavailable', 302, 'signed in', 302, 200],
    'subject',
  ],
  ['the directory: sign-ins', failing('recordSignIn'), ['subject', 302, 'unavailable', 302, 200], 'subject'],
  ['the directory: ending one', failing('endSession'), ['subject', 302, 'unavailable', 503, 200], 'subject'],
  [
    'the directory: ending the issuer’s',
    failing('endIssuerSessions'),
    ['subject', 302, 'signed in', 302, 503],
    'subject',
  ],

  [
    'the clock: 5 minutes ahead',
    clock((at) => at + 5 * MINUTE_MS),
    ['subject', 302, 'signed in', 302, 400],
    'subject',
  ],
  [
    'the clock: 5 minutes behind',
    clock((at) => at - 5 * MINUTE_MS),
    ['subject', 302, 502, 302, 400],
    'anonymous',
  ],
  ['the clock: years ahead', clock((at) => at + YEARS_MS), ['anonymous', 302, 400, 302, 400], 'anonymous'],
  ['the clock: years behind', clock((at) => at - YEARS_MS), ['anonymous', 302, 502, 302, 400], 'anonymous'],
  ['the clock: at its beginning', clock(() => 0), ['anonymous', 302, 502, 302, 400], 'anonymous'],
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, undefined, '2026'].map(
    (value): Row => [`the clock: ${value}`, clock(() => value as number), NOTHING_WORKS, 'unavailable'],
  ),

  ['the secret: none', secret(null), NOTHING_WORKS, 'unavailable'],
  ['the secret: empty', secret(''), NOTHING_IS_SET, 'subject'],
  ['the secret: 31 bytes', secret('x'.repeat(31)), NOTHING_IS_SET, 'subject'],
];

/** An instance with good credentials, and nearly good ones. */
async function open(kind: 'rp' | 'jwt') {
  const platform = await openPlatform();
  const issuer = await makeFakeIssuer(platform.clock);
  const world: World = { now: (at) => at, answer: () => undefined, failing: new Set(), secret: undefined };
  const directory = breakable(platform.directory, world);
  const choice = JSON.stringify({ mode: 'oidc', issuer: ISSUER, clientId: 'app' });
  await platform.directory.putConfig({
    scopeId: SCOPE,
    config: kind === 'rp' ? { 'platform:auth': choice } : { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER },
  });
  const runtime = {
    fetch: async (url: string, init: RequestInit) => (await world.answer(url)) ?? issuer.fetch(url, init),
    now: () => world.now(platform.clock.nowMs),
    backchannelLogout: true,
  };
  const provider = async () =>
    (await instanceAuthFor({ directory, scopeId: SCOPE, envSpec: {}, env: {}, runtime })).provider();

  const browser = makeBrowser(ORIGIN, async (request) => (await provider()).handle(request));
  const begin = async () =>
    issuer.authorize((await browser.get('/api/auth/login')).headers.get('location') ?? '');
  if (kind === 'rp') await browser.get(await begin());
  const callback = kind === 'rp' ? await begin() : `${ORIGIN}/api/auth/callback?code=c&state=s`;
  const token = await issuer.sign(accessClaims(platform.clock, { aud: SCOPE }));
  const session = browser.cookies.get('sb_session')?.value ?? '';
  const headersOf = (spoil: (credential: string) => string) =>
    new Headers(
      kind === 'rp'
        ? { cookie: `sb_session=${spoil(session)}` }
        : { authorization: `Bearer ${spoil(token)}` },
    );

  const iat = Math.floor(platform.clock.nowMs / 1_000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const logoutToken = await issuer.sign(
    { iss: ISSUER, aud: 'app', sub: 'ada', jti: 'j', iat, exp: iat + 120, events },
    { typ: 'logout+jwt' },
  );
  const requestFor = (route: Route): Request => {
    if (route === 'backchannel')
      return new Request(`${ORIGIN}/api/auth/backchannel-logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: logoutToken }),
      });
    const url = new URL(route === 'callback' ? callback : `/api/auth/${route}`, ORIGIN);
    return new Request(url, { headers: browser.headersFor(url.pathname) });
  };
  return { world, provider, requestFor, good: headersOf((each) => each), headersOf };
}

/** The thrown error is one of three that say what they are. Any other fails the test. */
async function outcomeOf(attempt: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'unavailable') return 'unavailable';
    if (error instanceof AuthConfigError) return 'not configured';
    expect(error).toBeInstanceOf(OidcError);
    return (error as OidcError).status;
  }
}

describe.each(['rp', 'jwt'] as const)('A-01: with the %s provider, when this is broken', (kind) => {
  test.each(ROWS)('%s', async (_, spoil, rp, jwt) => {
    const { world, provider, requestFor, good, headersOf } = await open(kind);
    spoil(world);
    const resolve = (headers: Headers) =>
      outcomeOf(async () => ((await (await provider()).resolve(headers)) === null ? 'anonymous' : 'subject'));

    // No request without credentials gets a subject, and bad credentials stay bad.
    expect(await resolve(new Headers())).not.toBe('subject');
    for (const forge of [flipped, (each: string) => each.slice(0, -43), () => 'e30.e30.e30'])
      expect(await resolve(headersOf(forge))).not.toBe('subject');

    const outcomes: Outcome[] = [await resolve(good)];
    for (const route of ROUTES) {
      const outcome = await outcomeOf(async () => {
        const answer = await (await provider()).handle(requestFor(route));
        const cookies = answer.headers.getSetCookie().filter((each) => each.startsWith('sb_session='));
        const isSet = cookies.some((each) => !each.startsWith('sb_session=;'));
        // B-14: whatever else fails, an answered sign-out leaves no session in the browser.
        if (route === 'logout' && kind === 'rp') expect(cookies.length > 0 && !isSet).toBe(true);
        expect(isSet && answer.status !== 302).toBe(false);
        return isSet ? 'signed in' : answer.status;
      });
      outcomes.push(outcome);
    }
    const isMade = world.secret !== null && !world.failing.has('readInstanceConfig');
    const without = ROUTES.map(() => (isMade ? 501 : jwt));
    expect(outcomes).toEqual(kind === 'rp' ? rp : [jwt, ...without]);
  });
});

/** The credential with one bit of its signature changed. */
function flipped(credential: string): string {
  const at = credential.length - 10;
  return `${credential.slice(0, at)}${credential[at] === 'A' ? 'B' : 'A'}${credential.slice(at + 1)}`;
}

/** A directory that fails on demand. */
function breakable(directory: IdentityDirectory, world: World): IdentityDirectory {
  type Operation = (input: unknown) => Promise<unknown>;
  const call = async (operation: string, input: unknown): Promise<unknown> => {
    if (world.failing.has(operation))
      throw new PlatformError('unavailable', 'The directory does not answer.');
    const answer = await (Reflect.get(directory, operation) as Operation)(input);
    if (world.secret === undefined) return answer;
    if (operation === 'sessionSecret') return world.secret;
    if (operation !== 'readInstanceConfig') return answer;
    const sessionSecrets = world.secret === null ? [] : [world.secret];
    return { ...(answer as object), sessionSecret: world.secret, sessionSecrets };
  };
  return new Proxy(directory, {
    get: (_, operation) => (input: unknown) => call(String(operation), input),
  });
}

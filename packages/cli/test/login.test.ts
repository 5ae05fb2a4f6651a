/** Signs in and out against the real authorization server: by browser, by code, and with refusals. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type Fixture,
  ORIGIN,
  openFixture,
  ownPage,
  signedIn,
} from '../../control-plane/test/staff/fixture.ts';
import { commands } from '../src/commands.ts';
import { answerCallback } from '../src/login/loopback.ts';
import { fetchFromHere } from '../src/settings/fetch-from-here.ts';
import { runLine, scratchDirectory } from './world.ts';

type Over = NonNullable<Parameters<typeof runLine>[2]>;

async function open() {
  const fixture = await openFixture();
  await signedIn(fixture, 'ada', 'operator');
  const configDirectory = join(scratchDirectory(), 'freehold');
  const run = (line: string[], over: Over = {}) =>
    runLine(commands, line, {
      configDirectory,
      watched: true,
      fetch: fixture.send,
      now: () => fixture.clock.ms,
      // These tests never reach the timeout of the browser.
      sleep: () => new Promise(() => {}),
      ...over,
    });
  /** A browser in which a member is signed in: it decides, and follows the redirects. */
  const browser =
    (decision: 'allow' | 'deny', alter: (back: URL) => void = () => {}, who = 'ada') =>
    async (address: string) => {
      const page = await fixture.ask(address, { headers: { cookie: `who=${who}` } });
      const text = await page.text();
      const ticket = /name="ticket" value="([^"]+)"/.exec(text)?.[1] ?? '';
      const access = /name="access" value="(\w+)" checked/.exec(text)?.[1] ?? '';
      const form = { ticket, access, answer: decision === 'allow' ? 'yes' : 'no' };
      const permission = /name="permission" value="(\w+)" checked/.exec(text)?.[1];
      const answer = await fixture.post(
        '/oauth/consent',
        { ...form, ...(permission ? { permission } : {}) },
        ownPage(who),
      );
      const back = new URL(answer.headers.get('location') ?? '');
      alter(back);
      await fetchFromHere(new Request(back));
      return true;
    };
  const config = () => JSON.parse(readFileSync(join(configDirectory, 'config.json'), 'utf8'));
  return { fixture, run, browser, config, configDirectory };
}

const login = ['login', '--url', ORIGIN];

/** A server whose metadata lacks a member. */
function without(fixture: Fixture, member: string) {
  return async (request: Request): Promise<Response> => {
    const answer = await fixture.send(request);
    if (!request.url.endsWith('/.well-known/oauth-authorization-server')) return answer;
    const { [member]: _, ...metadata } = (await answer.json()) as Record<string, unknown>;
    return Response.json(metadata);
  };
}

describe('freehold login in the browser of this machine (RFC 8252)', () => {
  test('stores a token that only its owner reads, and never shows it', async () => {
    const { run, browser, config, configDirectory } = await open();
    const ended = await run(login, { openBrowser: browser('allow') });
    expect(ended.status, ended.stderr).toBe(0);
    expect(ended.stdout).toBe(`Signed in at ${ORIGIN} as ada (staff, operator), as the profile default.\n`);
    const { token, refresh } = config().profiles.default;
    expect(token).toMatch(/^fh_access_/);
    expect(refresh.token).toMatch(/^fh_refresh_/);
    for (const secret of [token, refresh.token]) expect(ended.stdout + ended.stderr).not.toContain(secret);
    expect(statSync(join(configDirectory, 'config.json')).mode & 0o777).toBe(0o600);
    expect(statSync(configDirectory).mode & 0o777).toBe(0o700);
    const asked = await run(['whoami', '--json']);
    expect(JSON.parse(asked.stdout)).toMatchObject({
      name: 'ada',
      role: 'operator',
      url: ORIGIN,
      profile: 'default',
    });
    expect((await run(['tenants', 'list'])).status).toBe(0);
    for (const line of [
      ['profile', 'list'],
      ['profile', 'show', '--json'],
    ])
      for (const secret of [token, refresh.token]) expect((await run(line)).stdout).not.toContain(secret);
  });

  test('is for as much as was asked, and the member let in', async () => {
    const { run, browser } = await open();
    await run([...login, '--access', 'read'], { openBrowser: browser('allow') });
    expect((await run(['tenants', 'list'])).status).toBe(0);
    const made = await run(['tenants', 'create', '--slug', 'acme', '--name', 'Acme']);
    expect(made.status).toBe(3);
    expect(made.stderr).toContain('The Freehold command line may not do this');
  });

  test('is a staff token where the control plane registers no program', async () => {
    const { fixture, run, config } = await open();
    const fetch = without(fixture, 'registration_endpoint');
    const openBrowser = async (address: string) => {
      const form = Object.fromEntries(new URL(address).searchParams);
      const answer = await fixture.post('/oauth/authorize', { ...form, decision: 'allow' }, ownPage('ada'));
      await fetchFromHere(new Request(answer.headers.get('location') ?? ''));
      return true;
    };
    expect((await run(login, { openBrowser, fetch })).status).toBe(0);
    expect(config().profiles.default.token).toMatch(/^fh_staff_/);
    expect(config().profiles.default).not.toHaveProperty('refresh');
  });

  test('is refused for less than everything where that cannot be given', async () => {
    const { fixture, run, config } = await open();
    const fetch = without(fixture, 'registration_endpoint');
    const begins = () => Promise.reject(new Error('a sign-in began'));
    for (const line of [
      [...login, '--access', 'read'],
      [...login, '--access', 'read', '--device'],
    ]) {
      const ended = await run(line, { fetch, openBrowser: begins, sleep: begins });
      expect(ended).toMatchObject({ status: 2, stdout: '' });
      expect(ended.stderr).toContain('leave --access out');
    }
    expect(config).toThrow('ENOENT');
  });

  test('names the tenant of a builder', async () => {
    const { fixture, run, browser } = await open();
    const { id: tenant } = await fixture.tenant('acme');
    await signedIn(fixture, 'bob', 'builder', tenant);
    const ended = await run(login, { openBrowser: browser('allow', () => {}, 'bob') });
    expect(ended.stdout).toBe(
      `Signed in at ${ORIGIN} as bob (builder, ${tenant}), as the profile default.\n`,
    );
    expect((await run(['whoami'])).stdout).toContain(`bob (builder, ${tenant})`);
    expect(JSON.parse((await run(['whoami', '--json'])).stdout)).toMatchObject({ role: 'builder', tenant });
  });

  test('asks with PKCE, S256, and a state, for a 127.0.0.1 address', async () => {
    const { run, browser } = await open();
    let asked = new URL(ORIGIN);
    const openBrowser = (address: string) => {
      asked = new URL(address);
      return browser('allow')(address);
    };
    await run(login, { openBrowser });
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      client_id: expect.stringMatching(/^fh_client_/),
      scope: 'all',
      code_challenge_method: 'S256',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      state: expect.stringMatching(/^[\w-]{22}$/),
    });
  });

  test.each([
    ['a no', 'deny', undefined, 'You said no.'],
    [
      'another issuer',
      'allow',
      (back: URL) => back.searchParams.set('iss', 'https://evil.example'),
      /not from the control plane/,
    ],
  ] as const)('%s ends it with exit code 3, and stores nothing', async (_, decision, alter, sentence) => {
    const { run, browser, config } = await open();
    const ended = await run(login, { openBrowser: browser(decision, alter) });
    expect(ended).toMatchObject({ status: 3, stdout: '' });
    expect(ended.stderr).toMatch(sentence);
    expect(config).toThrow('ENOENT');
  });

  test('gives up when no answer comes', async () => {
    const { run } = await open();
    const ended = await run(login, { sleep: async () => {} });
    expect(ended.status).toBe(6);
    expect(ended.stderr).toContain('No sign-in arrived within five minutes');
  });

  test('is refused without a terminal, and without an address', async () => {
    const { run } = await open();
    expect(await run(login, { watched: false })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('FREEHOLD_TOKEN'),
    });
    expect(await run(['login'])).toMatchObject({ status: 2, stderr: '--url is missing.\n' });
    const clear = await run(['login', '--url', 'http://api.example.org']);
    expect(clear).toMatchObject({ status: 2, stderr: expect.stringContaining('https://') });
  });

  test('refuses a server whose metadata names another origin', async () => {
    const { run, fixture } = await open();
    const ended = await run(['login', '--url', 'http://other.localhost:8787'], { fetch: fixture.send });
    expect(ended.status).toBe(3);
    expect(ended.stderr).toContain(`says that it is ${ORIGIN}`);
  });

  test('says at an application what to do there, before anything is let in', async () => {
    const { fixture, run } = await open();
    const openBrowser = () => Promise.reject(new Error('no browser is opened'));
    const ended = await run(login, { fetch: without(fixture, 'scopes_supported'), openBrowser });
    expect(ended.status).toBe(1);
    for (const place of ['/oauth/programs', '/api/mcp']) expect(ended.stderr).toContain(ORIGIN + place);
  });
});

describe('the place that the browser comes back to', () => {
  const expected = { state: 'of-this-attempt', issuer: ORIGIN, port: 4711 };
  const ask = (target: string, host = '127.0.0.1:4711') => answerCallback(target, host, expected);
  const good = `/callback?code=c&state=of-this-attempt&iss=${encodeURIComponent(ORIGIN)}`;

  test('takes one answer to this attempt', () => {
    expect(ask(good)).toMatchObject({ status: 200, code: 'c' });
  });

  test.each([
    ['another path', good.replace('callback', 'other'), undefined],
    ['an address that cannot be read', '//', undefined],
    ['another name for this machine', good, 'localhost:4711'],
    ['a name of another site', good, 'evil.example:4711'],
    ['another state', good.replace('of-this', 'of-that'), undefined],
    ['no state', '/callback?code=c', undefined],
    ['two states', `${good}&state=of-this-attempt`, undefined],
  ])('takes no code with %s, and goes on waiting', (_, target, host) => {
    const answer = ask(target, host);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer).not.toHaveProperty('code');
    expect(answer).not.toHaveProperty('refused');
  });
});

describe('freehold login --device (RFC 8628)', () => {
  test('shows a code, polls at the allowed interval, and stores the token', async () => {
    const { fixture, run, config } = await open();
    const waits: number[] = [];
    let typed = '';
    const sleep = async (ms: number) => {
      waits.push(ms);
      fixture.clock.ms += ms;
      if (waits.length === 2)
        await fixture.post('/device', { user_code: typed, decision: 'approve' }, ownPage('ada'));
    };
    const fetch = async (request: Request) => {
      const answer = await fixture.send(request);
      if (request.url.endsWith('/device_authorization'))
        typed = ((await answer.clone().json()) as { user_code: string }).user_code;
      return answer;
    };
    const ended = await run([...login, '--device', '--profile', 'staging'], { fetch, sleep });
    expect(ended.status, ended.stderr).toBe(0);
    expect(ended.stderr).toContain(`Open ${ORIGIN}/device and type the code ${typed}\n`);
    expect(waits).toEqual([5000, 5000]);
    expect(config()).toMatchObject({
      current: 'staging',
      profiles: { staging: { url: ORIGIN, member: 'ada' } },
    });
  });

  test('ends when the member refuses, and when the code expires', async () => {
    const { fixture, run } = await open();
    const sleep = async (ms: number) => {
      fixture.clock.ms += ms;
    };
    const late = await run([...login, '--device'], { sleep });
    expect(late.status).toBe(6);
    expect(late.stderr).toContain('The code expired');
  });
});

describe('freehold logout (RFC 7009)', () => {
  test('revokes the token, forgets it, and keeps the address', async () => {
    const { fixture, run, browser, config } = await open();
    await run(login, { openBrowser: browser('allow') });
    const { token } = config().profiles.default;
    expect((await run(['logout'])).stdout).toBe(`Signed out at ${ORIGIN}.\n`);
    expect(config()).toEqual({ current: 'default', profiles: { default: { url: ORIGIN } } });
    const again = await fixture.ask('/auth/me', { headers: { authorization: `Bearer ${token}` } });
    expect(again.status).toBe(401);
    expect((await run(['whoami'])).status).toBe(3);
    const ends = (await fixture.adminLog()).filter(({ action }) => action === 'staff-programs.end');
    expect(ends).toHaveLength(1);
  });

  test('forgets nothing when the control plane is out of reach', async () => {
    const { run, browser, config } = await open();
    await run(login, { openBrowser: browser('allow') });
    const fetch = () => Promise.reject(new TypeError('fetch failed'));
    expect((await run(['logout'], { fetch })).status).toBe(6);
    expect(config().profiles.default.token).toMatch(/^fh_access_/);
  });
});

describe('a sign-in that is used for longer than its token lives (RFC 6749, section 6)', () => {
  const HOUR_MS = 3_600_000;

  test('is renewed before the call, and stored for its owner alone', async () => {
    const { fixture, run, browser, config, configDirectory } = await open();
    await run(login, { openBrowser: browser('allow') });
    const before = config().profiles.default;
    fixture.clock.ms += HOUR_MS;
    expect((await run(['tenants', 'list'])).status).toBe(0);
    const after = config().profiles.default;
    expect(after.token).not.toBe(before.token);
    expect(after.refresh.token).not.toBe(before.refresh.token);
    expect(after.member).toBe('ada');
    expect(statSync(join(configDirectory, 'config.json')).mode & 0o777).toBe(0o600);
    fixture.clock.ms += HOUR_MS;
    expect((await run(['whoami'])).status).toBe(0);
  });

  test('is renewed once by commands that run at the same time', async () => {
    const { fixture, run, browser } = await open();
    await run(login, { openBrowser: browser('allow') });
    fixture.clock.ms += HOUR_MS;
    let renewals = 0;
    const fetch = async (request: Request) => {
      if (request.url.endsWith('/oauth/token')) renewals += 1;
      return fixture.send(request);
    };
    const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms / 10));
    const ended = await Promise.all([1, 2, 3].map(() => run(['tenants', 'list'], { fetch, sleep })));
    expect(ended.map(({ status }) => status)).toEqual([0, 0, 0]);
    expect(renewals).toBe(1);
  });

  test('that was ended in the browser says so', async () => {
    const { fixture, run, browser } = await open();
    await run(login, { openBrowser: browser('allow') });
    await fixture.post('/oauth/programs', { everywhere: 'yes' }, ownPage('ada'));
    fixture.clock.ms += HOUR_MS;
    const ended = await run(['tenants', 'list']);
    expect(ended.status).toBe(3);
    expect(ended.stderr).toContain('has ended: sign in again with freehold login');
  });
});

/**
 * Fixtures for the tests of `doAuthProvider`: the real directory, an outbox, a cheap hasher, and people with accounts.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { expect } from 'vitest';
import type { AccountDirectory } from '../src/directory-provider/lib/context.ts';
import type { Mail } from '../src/directory-provider/lib/mails.ts';
import type { PasswordHasher } from '../src/directory-provider/passwords/password-hash.ts';
import { type DoAuthProviderOptions, doAuthProvider } from '../src/directory-provider/provider.ts';
import { type FormBrowser, makeFormBrowser } from './directory-provider-browser.ts';
import { openPlatform, SCOPE, TENANT_A, type TestPlatform, testRandom } from './support.ts';

export const ORIGIN = 'https://app.example';
export const PASSWORD = 'seven green bottles';

/** A hasher that costs nothing and counts. Its strings have the shape of real ones. */
export interface CountingHasher extends PasswordHasher {
  hashed: number;
  /** The stored hash of each comparison. */
  readonly compared: (string | null)[];
}

/** A directory that counts its calls, and that can be made to fail. */
export interface Watch {
  /** Names of the methods that were called, in order. */
  readonly calls: string[];
  /** True, or the names of the methods: they fail like those of a directory whose disk is gone. */
  failing: boolean | readonly string[];
}

export interface ProviderFixture extends TestPlatform {
  readonly provider: ReturnType<typeof doAuthProvider>;
  readonly outbox: Mail[];
  readonly hasher: CountingHasher;
  readonly watch: Watch;
  readonly reported: unknown[];
  /** A provider of the same directory with other options. */
  readonly make: (more?: Partial<DoAuthProviderOptions>) => ReturnType<typeof doAuthProvider>;
  /** A fresh browser. */
  readonly browser: (provider?: ReturnType<typeof doAuthProvider>) => FormBrowser;
  /** The token of the newest mail. Mail is sent in the background: this waits for it. */
  readonly mailedToken: () => Promise<string>;
  /** Waits for all mail to have been sent. */
  readonly settled: () => Promise<void>;
}

export async function openProvider(more: Partial<DoAuthProviderOptions> = {}): Promise<ProviderFixture> {
  const platform = await openPlatform();
  const { clock, directory } = platform;
  const outbox: Mail[] = [];
  const reported: unknown[] = [];
  const tasks: Promise<unknown>[] = [];
  const watch: Watch = { calls: [], failing: false };
  const hasher = makeCountingHasher();
  const sessionSecret = await directory.sessionSecret();
  const options: DoAuthProviderOptions = {
    tenantId: TENANT_A,
    scopeId: SCOPE,
    sessionSecret,
    directory: watched(directory, watch),
    mailer: { send: async (mail) => void outbox.push(mail) },
    theme: { appName: 'Fieldwork' },
    passwordHasher: hasher,
    runtime: { now: () => clock.nowMs, random: testRandom() },
    background: (task) => void tasks.push(task),
    onIncident: (error) => void reported.push(error),
    ...more,
  };
  const make = (over: Partial<DoAuthProviderOptions> = {}) => doAuthProvider({ ...options, ...over });
  const provider = make();
  const settled = async () => void (await Promise.all(tasks));
  return {
    ...platform,
    provider,
    outbox,
    hasher,
    watch,
    reported,
    make,
    settled,
    browser: (one = provider) => makeFormBrowser(ORIGIN, (request) => one.handle(request)),
    mailedToken: async () => {
      await settled();
      const token = /[?&]token=([\w-]+)/.exec(outbox.at(-1)?.text ?? '')?.[1];
      if (token === undefined) throw new Error('the newest mail has no link');
      return token;
    },
  };
}

/** Signs a user up and in, over the pages and the mail; the clock moves on a little. */
export async function signUp(
  fixture: ProviderFixture,
  email = 'ada@example.com',
  { browser = fixture.browser(), name = 'Ada', password = PASSWORD } = {},
): Promise<FormBrowser> {
  expect((await browser.post('/api/auth/sign-up', { email, name })).status).toBe(200);
  const token = await fixture.mailedToken();
  const done = await browser.post('/api/auth/sign-up/finish', { token, name, password });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
  fixture.clock.nowMs += 1;
  return browser;
}

/** Signs in with a password, in a fresh browser unless one is given. */
export async function logIn(
  fixture: ProviderFixture,
  email = 'ada@example.com',
  { browser = fixture.browser(), password = PASSWORD } = {},
): Promise<FormBrowser> {
  fixture.clock.nowMs += 1;
  const done = await browser.post('/api/auth/login', { email, password });
  expect(done.status).toBe(303);
  return browser;
}

/** The id of the account that a browser is signed in as. */
export async function userIdOf(fixture: ProviderFixture, browser: FormBrowser): Promise<string> {
  const subject = await fixture.provider.resolve(browser.headersFor('/'));
  if (subject === null) throw new Error('the browser is not signed in');
  return subject.sub;
}

/** Whether a browser is signed in. */
export async function isSignedIn(fixture: ProviderFixture, browser: FormBrowser): Promise<boolean> {
  return (await fixture.provider.resolve(browser.headersFor('/'))) !== null;
}

function makeCountingHasher(): CountingHasher {
  const digest = (password: string) =>
    createHash('sha256').update(password).digest('base64').replace('=', '');
  const hasher: CountingHasher = {
    hashed: 0,
    compared: [],
    hash: async (password) => {
      hasher.hashed += 1;
      return `$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$${digest(password)}`;
    },
    verify: async (password, stored) => {
      hasher.compared.push(stored);
      return { right: stored?.endsWith(`$${digest(password)}`) ?? false, outdated: false, unreadable: false };
    },
  };
  return hasher;
}

function watched(directory: AccountDirectory, watch: Watch): AccountDirectory {
  return new Proxy(directory, {
    get: (target, name: string) => {
      const method = Reflect.get(target, name) as (...input: unknown[]) => Promise<unknown>;
      return async (...input: unknown[]) => {
        watch.calls.push(name);
        if (watch.failing === true || (watch.failing !== false && watch.failing.includes(name)))
          throw new PlatformError('unavailable', 'The directory does not answer.');
        return method.apply(target, input);
      };
    },
  });
}

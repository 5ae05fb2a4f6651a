/**
 * The story of an instance that stores credentials itself (`doAuthProvider`; A-18): an account by mail, passwords and
 * their hashes, a passkey. The runtimes differ only in the function that hashes.
 */
import { argon2Sync, randomBytes, scryptSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Answer, Caller } from '../support/http.ts';
import { ACCOUNTS_HOST, CONTROL_HOST } from './application.ts';
import { makeAuthenticator } from './authenticator.ts';
import type { Current } from './stories.ts';

export type HashKind = 'argon2id' | 'scrypt';

/** The operator's message where a stored hash cannot be computed. */
export const UNREADABLE_HASH = 'Error: The stored hash of a password cannot be computed here.';

const PASSWORD = 'three blind mice in a row';

export function accountsStory(world: Current, hashKind: HashKind): void {
  const origin = (): string => world().origin(ACCOUNTS_HOST);
  const control = (): string => world().origin(CONTROL_HOST);
  const post = (caller: Caller, path: string, form: Record<string, string>): Promise<Answer> =>
    caller.ask(`${origin()}/api/auth/${path}`, { form, headers: { origin: origin() } });
  const call = (caller: Caller, path: string, json: unknown): Promise<Answer> =>
    caller.ask(`${origin()}/api/auth/${path}`, { json, headers: { origin: origin() } });
  const askMe = (caller: Caller): Promise<Answer> => caller.ask(`${origin()}/api/me`);
  const importAccount = async (email: string, passwordHash: string): Promise<void> => {
    const json = { email, emailVerified: true, passwordHash };
    expect((await world().browser().ask(`${control()}/accounts`, { json })).status).toBe(200);
  };
  /** Returns the stored form of a password. */
  const storedHash = async (email: string): Promise<string> => {
    const answer = await world().browser().ask(`${control()}/stored-password?email=${email}`);
    return answer.json<{ hash: string }>().hash;
  };
  /** Returns the token in the newest mail to an address. */
  const tokenFor = async (email: string): Promise<string> => {
    const mails = (await world().browser().ask(`${control()}/mails`)).json<{ to: string; text: string }[]>();
    const text = mails.findLast(({ to }) => to === email)?.text ?? '';
    return /[?&]token=([\w-]+)/.exec(text)?.[1] ?? '';
  };
  const signUp = async (email: string): Promise<{ browser: Caller; token: string }> => {
    const browser = world().browser();
    expect((await post(browser, 'sign-up', { email, name: 'Ada' })).status).toBe(200);
    return { browser, token: await tokenFor(email) };
  };

  describe('A-18: an instance with accounts of its own', () => {
    test('A-06, A-22: an account is made by a link in a mail, and is a member from then on', async () => {
      const email = 'ada@example.test';
      const { browser, token } = await signUp(email);
      const answer = await post(browser, 'sign-up/finish', { token, name: 'Ada', password: PASSWORD });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/home']);
      expect((await askMe(browser)).json()).toMatchObject({
        subject: { sub: expect.stringMatching(/^usr_/), email, name: 'Ada', emailVerified: true },
        principal: expect.stringMatching(/^prn_/),
        claimedNow: true,
      });
      const again = await post(world().browser(), 'sign-up/finish', { token, password: PASSWORD });
      expect(again.headers.getSetCookie().join()).not.toContain('sb_session=ey');
    });

    test(`a password is stored as ${hashKind}, and a wrong one is refused`, async () => {
      const email = 'grace@example.test';
      const { browser, token } = await signUp(email);
      await post(browser, 'sign-up/finish', { token, password: PASSWORD });
      expect(await storedHash(email)).toMatch(new RegExp(`^\\$${hashKind}\\$`));
      const other = world().browser();
      const refused = await post(other, 'login', { email, password: `${PASSWORD}!` });
      expect(refused.headers.get('location')).toBeNull();
      expect((await askMe(other)).status).toBe(401);
      expect((await post(other, 'login', { email, password: PASSWORD })).headers.get('location')).toBe(
        '/home',
      );
      expect((await askMe(other)).status).toBe(200);
    });

    test("a hash of scrypt from any place signs in here, and is renewed with this runtime's function", async () => {
      const email = 'linus@example.test';
      await importAccount(email, scryptHash(PASSWORD));
      const browser = world().browser();
      expect((await post(browser, 'login', { email, password: PASSWORD })).headers.get('location')).toBe(
        '/home',
      );
      expect(await storedHash(email)).toMatch(new RegExp(`^\\$${hashKind}\\$`));
    });

    test('a hash of argon2id signs in where the runtime has argon2id, and is refused elsewhere', async () => {
      const email = 'margaret@example.test';
      await importAccount(email, argon2Hash(PASSWORD));
      const answer = await post(world().browser(), 'login', { email, password: PASSWORD });
      expect(answer.headers.get('location')).toBe(hashKind === 'argon2id' ? '/home' : null);
    });

    test('B-14: after logout the old cookie is refused', async () => {
      const email = 'barbara@example.test';
      await importAccount(email, scryptHash(PASSWORD));
      const browser = world().browser();
      await post(browser, 'login', { email, password: PASSWORD });
      const headers = { cookie: browser.cookieHeader(origin()) };
      const ask = (): Promise<Answer> => world().browser().ask(`${origin()}/api/me`, { headers });
      expect((await ask()).status).toBe(200);
      await browser.ask(`${origin()}/api/auth/logout`);
      expect((await ask()).status).toBe(401);
    });

    test('a passkey is made and signs in; a signature over other data does not', async () => {
      const device = makeAuthenticator(origin());
      const { browser, token: linkToken } = await signUp('edsger@example.test');
      const creation = (await call(browser, 'passkeys/options', { linkToken })).json<{ challenge: string }>();
      const made = await call(browser, 'passkeys', {
        linkToken,
        name: 'Edsger',
        credential: device.create(creation),
      });
      expect(made.json()).toEqual({ location: '/home' });

      const use = async (caller: Caller, spoilt?: 'spoilt'): Promise<Answer> => {
        const options = (await call(caller, 'passkey/options', {})).json<{ challenge: string }>();
        return call(caller, 'passkey/verify', { credential: device.get(options, spoilt) });
      };
      const thief = world().browser();
      expect((await use(thief, 'spoilt')).json()).toMatchObject({ reason: 'passkey_refused' });
      expect((await askMe(thief)).status).toBe(401);
      const holder = world().browser();
      expect((await use(holder)).json()).toEqual({ location: '/home' });
      expect((await askMe(holder)).json()).toMatchObject({ subject: { email: 'edsger@example.test' } });
    });
  });
}

/** A PHC string of a password, with settings that are not the library's own. */
function scryptHash(password: string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 5 });
  return `$scrypt$ln=14,r=8,p=5$${base64(salt)}$${base64(hash)}`;
}

function argon2Hash(password: string): string {
  const nonce = randomBytes(16);
  const cost = { memory: 12_288, passes: 3, parallelism: 1, tagLength: 32 };
  const hash = argon2Sync('argon2id', { message: password, nonce, ...cost });
  return `$argon2id$v=19$m=12288,t=3,p=1$${base64(nonce)}$${base64(hash)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

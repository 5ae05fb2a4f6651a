/**
 * The story of signing in and out over HTTP against the certified oidc-provider, the same on every runtime. `A-21`,
 * `A-22` and so on are the requirements of docs/spec/requirements.md.
 */
import type { AuthSubject } from '@freehold/auth';
import { describe, expect, test } from 'vitest';
import type { Answer, Caller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { CONSOLE_HOST, INSTANCES } from './application.ts';
import type { Current } from './stories.ts';

/** An instance's answer about its caller. */
interface Me {
  readonly subject: AuthSubject & { readonly issuer: string };
  readonly principal: string | null;
  readonly claimedNow: boolean;
}

/** The number of browsers that arrive at once when all caches are empty. */
const CROWD = 12;

export function signInStory(world: Current): void {
  const at = (hostname: string): string => world().origin(hostname);
  const askMe = (caller: Caller, hostname: string): Promise<Answer> => caller.ask(`${at(hostname)}/api/me`);
  const meAt = async (caller: Caller, hostname: string): Promise<Me> => {
    const answer = await askMe(caller, hostname);
    expect(answer.status).toBe(200);
    return answer.json<Me>();
  };
  const signedIn = async (hostname: string, login: string): Promise<Caller> => {
    const browser = world().browser();
    await signIn(browser, at(hostname), login);
    return browser;
  };
  /** Sends only a stored cookie header. */
  const askWith = (cookie: string, hostname: string): Promise<Answer> =>
    world()
      .browser()
      .ask(`${at(hostname)}/api/me`, { headers: { cookie } });

  describe('B: the console, by the mounted routes', () => {
    test('B-10: login starts a code flow with PKCE, and sets the flow cookie', async () => {
      const answer = await world()
        .browser()
        .ask(`${at(CONSOLE_HOST)}/api/auth/login`);
      expect(answer.status).toBe(302);
      const asked = new URL(answer.headers.get('location') ?? '');
      expect(asked.origin).toBe(world().issuerUrl);
      expect(Object.fromEntries(asked.searchParams)).toMatchObject({
        response_type: 'code',
        client_id: CONSOLE_HOST,
        redirect_uri: `${at(CONSOLE_HOST)}/api/auth/callback`,
        code_challenge_method: 'S256',
        state: expect.any(String),
        nonce: expect.any(String),
      });
      expect(cookiesSet(answer)).toMatchObject({ sb_oidc_flow: expect.stringContaining('HttpOnly') });
    });

    test('B-01, B-11: the callback sets the session and hint cookies and lands on onSuccess', async () => {
      const browser = world().browser();
      expect((await askMe(browser, CONSOLE_HOST)).status).toBe(401);
      const answer = await browser.ask(await callbackUrl(browser, at(CONSOLE_HOST), 'ada'));
      expect(answer.status).toBe(302);
      expect(answer.headers.get('location')).toBe('/home');
      expect(cookiesSet(answer)).toEqual({
        sb_session: 'Path=/; Max-Age=604800; HttpOnly; SameSite=Lax',
        sb_oidc_idt: 'Path=/api/auth/logout; Max-Age=604800; HttpOnly; SameSite=Strict',
        sb_oidc_flow: 'Path=/api/auth; Max-Age=0; HttpOnly; SameSite=Lax',
      });
      expect((await askMe(browser, CONSOLE_HOST)).json()).toEqual({
        id: 'ada',
        email: 'ada@example.test',
        name: 'Ada Lovelace',
        emailVerified: true,
      });
    });

    test('B-11: a callback with another state is refused at onError, and signs no one in', async () => {
      const browser = world().browser();
      const callback = new URL(await callbackUrl(browser, at(CONSOLE_HOST), 'ada'));
      const { searchParams } = callback;
      searchParams.set('state', `x${searchParams.get('state')}`);
      const answer = await browser.ask(callback.href);
      expect(answer.headers.get('location')).toBe('/refused?error=state_mismatch');
      expect(cookiesSet(answer)).not.toHaveProperty('sb_session');
      expect((await askMe(browser, CONSOLE_HOST)).status).toBe(401);
    });

    test('B-11: a callback that another browser began is refused', async () => {
      const callback = await callbackUrl(world().browser(), at(CONSOLE_HOST), 'ada');
      const victim = world().browser();
      const answer = await victim.ask(callback);
      expect(answer.headers.get('location')).toMatch(/^\/refused\?error=/);
      expect((await askMe(victim, CONSOLE_HOST)).status).toBe(401);
    });

    test('B-11: a code is redeemed once: the same callback with the same flow again is refused', async () => {
      const browser = world().browser();
      const callback = await callbackUrl(browser, at(CONSOLE_HOST), 'ada');
      const flow = browser.cookieHeader(`${at(CONSOLE_HOST)}/api/auth/callback`);
      expect((await browser.ask(callback)).headers.get('location')).toBe('/home');
      const replayed = await world()
        .browser()
        .ask(callback, { headers: { cookie: flow } });
      expect(replayed.headers.get('location')).toMatch(/^\/refused\?error=/);
      expect(cookiesSet(replayed)).not.toHaveProperty('sb_session');
    });

    test('B-12, B-14: logout clears the session and goes to a path of our own, and to no other', async () => {
      const browser = await signedIn(CONSOLE_HOST, 'ada');
      const answer = await browser.ask(`${at(CONSOLE_HOST)}/api/auth/logout?returnTo=/bye`);
      expect(answer.headers.get('location')).toBe('/bye');
      expect(cookiesSet(answer)).toMatchObject({
        sb_session: 'Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
        sb_oidc_idt: 'Path=/api/auth/logout; Max-Age=0; HttpOnly; SameSite=Strict',
      });
      expect((await askMe(browser, CONSOLE_HOST)).status).toBe(401);
      const away = await browser.ask(
        `${at(CONSOLE_HOST)}/api/auth/logout?returnTo=https://elsewhere.example/`,
      );
      expect(away.headers.get('location')).toBe('/');
    });

    test('B-13: federated logout ends the session at the issuer too, and comes back', async () => {
      const browser = await signedIn(CONSOLE_HOST, 'ada');
      const answer = await browser.ask(`${at(CONSOLE_HOST)}/api/auth/logout?federated&returnTo=/bye`);
      const endSession = new URL(answer.headers.get('location') ?? '');
      expect(endSession.origin).toBe(world().issuerUrl);
      expect(endSession.searchParams.get('post_logout_redirect_uri')).toBe(`${at(CONSOLE_HOST)}/bye`);
      expect(endSession.searchParams.get('id_token_hint')).toMatch(/^eyJ/);
      expect((await browser.navigate(endSession.href)).url).toBe(`${at(CONSOLE_HOST)}/bye`);
      const again = await browser.navigate(`${at(CONSOLE_HOST)}/api/auth/login`);
      expect(again.url).toMatch(new RegExp(`^${world().issuerUrl}/interaction/`));
    });

    test('B-12: a logout that is not federated leaves the session at the issuer', async () => {
      const browser = await signedIn(CONSOLE_HOST, 'ada');
      await browser.ask(`${at(CONSOLE_HOST)}/api/auth/logout`);
      const again = await browser.navigate(`${at(CONSOLE_HOST)}/api/auth/login`);
      expect(again.url).toBe(`${at(CONSOLE_HOST)}/home`);
    });
  });

  describe('A: an instance, with the identity directory of its tenant', () => {
    test('A-21, A-22, A-25: of those who sign in at once the first is the owner, and stays it', async () => {
      const browsers = await Promise.all(
        ['ada', 'grace', 'linus', 'margaret'].map((login) => signedIn('acme.localhost', login)),
      );
      const first = await Promise.all(browsers.map((browser) => meAt(browser, 'acme.localhost')));
      const owners = first.filter(({ claimedNow }) => claimedNow);
      expect(owners).toHaveLength(1);
      expect(owners[0]?.principal).toMatch(/^prn_/);
      expect(first.filter(({ principal }) => principal === null)).toHaveLength(3);
      expect(first.map(({ subject }) => subject.issuer)).toEqual(Array(4).fill(world().issuerUrl));
      const later = await Promise.all(browsers.map((browser) => meAt(browser, 'acme.localhost')));
      expect(later).toEqual(first.map((me) => ({ ...me, claimedNow: false })));
    });

    test('A-22: the session of one tenant is refused at another, though both have a scope of that id', async () => {
      const browser = await signedIn('acme.localhost', 'ada');
      const cookie = browser.cookieHeader(at('acme.localhost'));
      expect((await askWith(cookie, 'acme.localhost')).status).toBe(200);
      expect((await askWith(cookie, 'birch.localhost')).status).toBe(401);
    });

    test('A-22: the owner at one tenant is no member at another', async () => {
      const browser = await signedIn('birch.localhost', 'edsger');
      const { principal, subject } = await meAt(browser, 'birch.localhost');
      expect(subject).toMatchObject({ sub: 'edsger', emailVerified: false });
      expect(principal).toMatch(/^prn_/);
      await browser.navigate(`${at('acme.localhost')}/api/auth/login`);
      expect((await meAt(browser, 'acme.localhost')).principal).toBeNull();
    });

    test('A-21, B-14: after logout the old cookie, still signed and in date, is refused', async () => {
      const browser = await signedIn('acme.localhost', 'ada');
      const cookie = browser.cookieHeader(at('acme.localhost'));
      expect((await askWith(cookie, 'acme.localhost')).status).toBe(200);
      await browser.ask(`${at('acme.localhost')}/api/auth/logout`);
      expect((await askWith(cookie, 'acme.localhost')).status).toBe(401);
    });

    test('A-39, B-13: federated logout hands the hint over, once, and comes back', async () => {
      const browser = await signedIn('acme.localhost', 'ada');
      const { url, answer } = await browser.navigate(`${at('acme.localhost')}/api/auth/logout?federated`);
      expect([url, answer.status]).toEqual([`${at('acme.localhost')}/`, 200]);
      const again = await browser.ask(`${at('acme.localhost')}/api/auth/logout?federated`);
      expect(again.headers.get('location')).not.toContain('id_token_hint');
      const login = await browser.navigate(`${at('acme.localhost')}/api/auth/login`);
      expect(login.url).toMatch(new RegExp(`^${world().issuerUrl}/interaction/`));
    });

    test("A-21: signing out at one tenant ends the issuer's sessions at another, by its back channel", async () => {
      const browser = await signedIn('acme.localhost', 'ada');
      await browser.navigate(`${at('birch.localhost')}/api/auth/login`);
      const cookie = browser.cookieHeader(at('birch.localhost'));
      expect((await askWith(cookie, 'birch.localhost')).status).toBe(200);
      await browser.navigate(`${at('acme.localhost')}/api/auth/logout?federated`);
      expect((await askWith(cookie, 'birch.localhost')).status).toBe(401);
    });

    test('A-21: an unreachable issuer lets no one in, and is not mistaken for a refusal', async () => {
      const answer = await world()
        .browser()
        .ask(`${at('adrift.localhost')}/api/auth/login`);
      expect(answer.headers.get('location')).toBe('/refused?error=issuer_unavailable');
      expect((await askMe(world().browser(), 'adrift.localhost')).status).toBe(401);
    });
  });

  describe.each([CONSOLE_HOST, 'acme.localhost'])(
    'B-04: tabs that sign in at %s at the same moment',
    (hostname) => {
      const TABS = ['/tab-0', '/tab-1', '/tab-2', '/tab-3', '/tab-4', '/tab-5'];
      /** Returns the issuer's address for each tab. Every request leaves before an answer has come. */
      const beginAtOnce = async (browser: Caller): Promise<string[]> => {
        const answers = await Promise.all(
          TABS.map((tab) => browser.ask(`${at(hostname)}/api/auth/login?returnTo=${tab}`)),
        );
        return answers.map(({ headers }) => headers.get('location') ?? '');
      };
      /** A browser that the issuer knows, and the application does not. */
      const knownAtTheIssuer = async (): Promise<Caller> => {
        const browser = await signedIn(hostname, 'ada');
        await browser.ask(`${at(hostname)}/api/auth/logout`);
        expect((await askMe(browser, hostname)).status).toBe(401);
        return browser;
      };

      test('all end signed in, each at its own page, when the issuer answers them one by one', async () => {
        const browser = await knownAtTheIssuer();
        const ends: string[] = [];
        for (const url of await beginAtOnce(browser)) ends.push((await browser.navigate(url)).url);
        expect(ends).toEqual(TABS.map((tab) => `${at(hostname)}${tab}`));
        expect((await askMe(browser, hostname)).status).toBe(200);
      });

      test('and when it answers them all at once', async () => {
        const browser = await knownAtTheIssuer();
        const urls = await beginAtOnce(browser);
        const ends = await Promise.all(urls.map(async (url) => (await browser.navigate(url)).url));
        expect(ends).toEqual(TABS.map((tab) => `${at(hostname)}${tab}`));
        expect((await askMe(browser, hostname)).status).toBe(200);
      });

      test('the answer of an overtaken tab signs no one in, neither elsewhere nor here after signing out', async () => {
        const browser = await knownAtTheIssuer();
        const [first = ''] = await beginAtOnce(browser);
        const callback = (await browser.ask(first)).headers.get('location') ?? '';
        expect(callback).toMatch(`${at(hostname)}/api/auth/callback?`);
        expect((await browser.navigate(callback)).url).toBe(`${at(hostname)}/tab-0`);
        const victim = world().browser();
        const stolen = await victim.ask(callback);
        expect(stolen.headers.get('location')).toBe('/refused?error=flow_expired');
        expect((await askMe(victim, hostname)).status).toBe(401);
        await browser.ask(`${at(hostname)}/api/auth/logout`);
        expect((await browser.ask(callback)).headers.get('location')).toBe('/refused?error=flow_expired');
        expect((await askMe(browser, hostname)).status).toBe(401);
      });
    },
  );

  describe('A-20: an instance that takes access tokens', () => {
    const askAs = (token: string): Promise<Answer> =>
      world()
        .browser()
        .ask(`${at('tokens.localhost')}/api/me`, { headers: { authorization: `Bearer ${token}` } });

    test('accepts a token that the issuer made for it, and for no other resource', async () => {
      const own = await world().accessToken('edsger', at('tokens.localhost'));
      expect((await askAs(own)).json()).toMatchObject({
        subject: { issuer: world().issuerUrl, sub: 'edsger', emailVerified: false },
        principal: expect.stringMatching(/^prn_/),
      });
      const other = await world().accessToken('edsger', at('acme.localhost'));
      expect((await askAs(other)).status).toBe(401);
    });

    test.each([
      ['for another audience', { aud: INSTANCES['acme.localhost']?.tenantId ?? '' }, 'at+jwt'],
      ['that has expired', { exp: 1_700_000_000 }, 'at+jwt'],
      ['of another issuer', { iss: 'https://elsewhere.example' }, 'at+jwt'],
      ['that is an ID token by its claims', { nonce: 'n' }, 'at+jwt'],
      ['of another type', {}, 'logout+jwt'],
    ])('refuses a token under its key %s', async (_what, claims, type) => {
      expect((await askAs(await world().forgedToken({ sub: 'robot', ...claims }, type))).status).toBe(401);
    });

    test('refuses a token whose signature was changed', async () => {
      const token = await world().forgedToken({ sub: 'robot' });
      const start = token.lastIndexOf('.') + 1;
      const spoilt = `${token.slice(0, start)}${token[start] === 'A' ? 'B' : 'A'}${token.slice(start + 1)}`;
      expect((await askAs(spoilt)).status).toBe(401);
    });

    test('refuses the ID token that the issuer itself made', async () => {
      const browser = await signedIn('acme.localhost', 'ada');
      const answer = await browser.ask(`${at('acme.localhost')}/api/auth/logout?federated`);
      const hint = new URL(answer.headers.get('location') ?? '').searchParams.get('id_token_hint');
      expect((await askAs(hint ?? '')).status).toBe(401);
    });

    test('has no sign-in of its own', async () => {
      expect(
        (
          await world()
            .browser()
            .ask(`${at('tokens.localhost')}/api/auth/login`)
        ).status,
      ).toBe(501);
    });
  });

  describe('over time', () => {
    test('B-03: keys that the issuer replaces are found, and the old ones stop counting', async () => {
      const before = await world().forgedToken({ sub: 'robot' });
      const askAs = (token: string): Promise<Answer> =>
        world()
          .browser()
          .ask(`${at('tokens.localhost')}/api/me`, { headers: { authorization: `Bearer ${token}` } });
      expect((await askAs(before)).status).toBe(200);
      await world().rotateKeys();
      const after = await world().forgedToken({ sub: 'robot' });
      expect((await askAs(after)).status).toBe(200);
      expect((await askAs(before)).status).toBe(401);
      expect((await meAt(await signedIn('acme.localhost', 'grace'), 'acme.localhost')).subject.sub).toBe(
        'grace',
      );
      expect((await askMe(await signedIn(CONSOLE_HOST, 'grace'), CONSOLE_HOST)).status).toBe(200);
    });

    test('A-22: seats, live sessions and ended ones outlive a restart', async () => {
      const browser = await signedIn('birch.localhost', 'edsger');
      const ended = browser.cookieHeader(at('birch.localhost'));
      await browser.ask(`${at('birch.localhost')}/api/auth/logout`);
      await browser.navigate(`${at('birch.localhost')}/api/auth/login`);
      const live = browser.cookieHeader(at('birch.localhost'));
      const { principal } = (await askWith(live, 'birch.localhost')).json<Me>();
      expect(principal).toMatch(/^prn_/);

      await world().restart();
      expect((await askWith(ended, 'birch.localhost')).status).toBe(401);
      expect((await askWith(live, 'birch.localhost')).json()).toMatchObject({ principal, claimedNow: false });
    });

    test('A-21: a crowd that arrives with empty caches signs in, each person as themselves', async () => {
      await world().restart();
      const logins = Array.from({ length: CROWD }, (_, i) => `visitor-${i}`);
      const browsers = await Promise.all(logins.map((login) => signedIn('acme.localhost', login)));
      const crowd = await Promise.all(browsers.map((browser) => meAt(browser, 'acme.localhost')));
      expect(crowd.map(({ subject }) => subject.sub)).toEqual(logins);
    });
  });
}

/** Goes to the issuer and back up to the callback, which the caller visits. */
async function callbackUrl(browser: Caller, origin: string, login: string): Promise<string> {
  const { url, answer } = await browser.navigate(`${origin}/api/auth/login`);
  const action = /<form method="post" action="([^"]+)"/.exec(answer.text)?.[1];
  if (!action) throw new Error(`expected the issuer's sign-in page at ${url}, got ${answer.status}`);
  let at = new URL(action, url).href;
  let step = await browser.ask(at, { form: { login } });
  for (let hops = 0; hops < 20; hops++) {
    at = new URL(step.headers.get('location') ?? '', at).href;
    if (at.startsWith(`${origin}/api/auth/callback`)) return at;
    step = await browser.ask(at);
  }
  throw new Error(`the issuer did not send the browser back: it is at ${at}`);
}

/** Returns the attributes of the cookies that an answer sets, by name. */
function cookiesSet(answer: Answer): Record<string, string> {
  return Object.fromEntries(
    answer.headers.getSetCookie().map((line) => {
      const [pair = '', ...attributes] = line.split('; ');
      return [pair.slice(0, pair.indexOf('=')), attributes.join('; ')];
    }),
  );
}

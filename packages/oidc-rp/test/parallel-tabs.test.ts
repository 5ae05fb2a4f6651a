/**
 * Tabs of one browser that sign in at the same moment: their requests leave before any answer has come, so only
 * the last cookie is stored, whatever the order of the issuer's answers. spec B-04, B-11.
 */
import { describe, expect, test } from 'vitest';
import {
  ALICE,
  APP,
  type Fixture,
  type FixtureOptions,
  makeFixture,
} from '../../testkit/src/oidc/fixture.ts';
import type { OidcErrorCode } from '../src/lib/errors.ts';

const ROUTES = { onSuccess: '/home', onError: '/oops' };

interface Tab {
  /** The destination of the sign-in. */
  readonly place: string;
  /** The last address to which it was sent. */
  at: string;
  /** The number of times that the issuer sent it back. */
  answers: number;
}

const makeWorld = (options: FixtureOptions = {}): Promise<Fixture> =>
  makeFixture({ routes: ROUTES, ...options });

/** Returns all orders of a few items. */
function orders<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/**
 * Sends a request for every tab with the browser's present cookies, and only then stores the answers, in the order
 * given.
 */
async function atOnce(
  { rp, browser }: Fixture,
  tabs: readonly Tab[],
  stored: readonly Tab[] = tabs,
): Promise<void> {
  const requests = tabs.map((tab) => browser.request(new URL(tab.at, APP).href));
  const responses = new Map<Tab, Response>();
  for (const [at, tab] of tabs.entries()) {
    responses.set(tab, await rp.handle(requests[at] ?? new Request(APP), ROUTES));
  }
  for (const tab of stored) {
    const response = responses.get(tab) ?? Response.error();
    browser.store(APP, response);
    expectBounded(response);
    tab.at = response.headers.get('location') ?? '';
  }
}

/** Starts so many tabs, each at the issuer; the tab of number `last` has the only flow. */
async function begin(fixture: Fixture, count: number, last = count - 1): Promise<Tab[]> {
  const tabs = range(count).map((at): Tab => {
    const place = `/place/${at}`;
    return { place, at: `/api/auth/login?${new URLSearchParams({ returnTo: place })}`, answers: 0 };
  });
  await atOnce(fixture, tabs, [
    ...tabs.filter((_, at) => at !== last),
    ...tabs.filter((_, at) => at === last),
  ]);
  return tabs;
}

/** The issuer, where Alice is signed in, sends a tab back. */
function answer({ issuer }: Fixture, tab: Tab): void {
  expect(tab.at).toMatch(/^https:\/\/issuer\.example\/authorize\?/);
  tab.at = issuer.approve(tab.at, ALICE);
  tab.answers += 1;
}

/** Continues one tab until it is on a page of ours. */
async function finish(fixture: Fixture, tab: Tab): Promise<void> {
  for (let hop = 0; hop < 6 && !tab.at.startsWith('/'); hop += 1) {
    if (tab.at.startsWith(APP)) await atOnce(fixture, [tab]);
    else answer(fixture, tab);
  }
}

const userOf = ({ rp, browser }: Fixture): string | undefined =>
  rp.sessionFromHeaders(browser.request(`${APP}/page`).headers)?.id;

/** Expects no cookie beyond a browser's limit, and no address beyond the usual limits. */
function expectBounded(response: Response): void {
  for (const line of response.headers.getSetCookie()) {
    expect((line.split('; ')[0] ?? '').length).toBeLessThanOrEqual(4096);
  }
  expect((response.headers.get('location') ?? '').length).toBeLessThanOrEqual(2048);
}

describe('tabs that begin at the same moment all end signed in, each at its own place', () => {
  const cases = [2, 3].flatMap((count) =>
    range(count).flatMap((last) =>
      orders(range(count)).map((order): [number, number, number[]] => [count, last, order]),
    ),
  );

  test.each(cases)(
    '%i of them, with the cookie of number %i, in the order %j',
    async (count, last, order) => {
      const fixture = await makeWorld();
      const tabs = await begin(fixture, count, last);
      for (const at of order) {
        const tab = tabs[at];
        if (tab === undefined) continue;
        await finish(fixture, tab);
        expect(tab.at).toBe(tab.place);
        expect(tab.answers).toBeLessThanOrEqual(2);
        expect(userOf(fixture)).toBe(ALICE.sub);
      }
    },
  );

  test.each([
    ['first to last', range(10)],
    ['last to first', range(10).reverse()],
    ['from the middle', [5, 0, 9, 3, 7, 1, 8, 2, 6, 4]],
  ])('ten of them, %s', async (_, order) => {
    const fixture = await makeWorld();
    const tabs = await begin(fixture, 10);
    for (const at of order) await finish(fixture, tabs[at] ?? expect.fail());
    expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
    // A tab that is not first finds a signed-in user and redeems nothing, except for the one whose cookie it was.
    expect(fixture.issuer.count('/token')).toBe(order[0] === 9 ? 1 : 2);
  });

  test.each([2, 3, 10])('%i of them whose answers come at the same moment, too', async (count) => {
    const fixture = await makeWorld();
    const tabs = await begin(fixture, count, 0);
    for (const tab of tabs) answer(fixture, tab);
    await atOnce(fixture, tabs);
    expect(tabs[0]?.at).toBe('/place/0');
    for (const tab of tabs.slice(1)) answer(fixture, tab);
    await atOnce(fixture, tabs.slice(1));
    expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
    expect(userOf(fixture)).toBe(ALICE.sub);
  });

  test.each([3, 10])(
    '%i of them, and the one whose cookie it is takes longest to be signed in',
    async (count) => {
      const fixture = await makeWorld();
      const tabs = await begin(fixture, count, 0);
      const [slow, ...others] = tabs;
      for (const tab of tabs) answer(fixture, tab);
      await atOnce(fixture, others);
      for (const tab of others) answer(fixture, tab);
      // Second flows, all at once and before a user is signed in: none of them overtakes another again.
      await atOnce(fixture, others);
      await atOnce(fixture, slow === undefined ? [] : [slow]);
      expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
      expect(userOf(fixture)).toBe(ALICE.sub);
      expect(fixture.issuer.count('/token')).toBe(count);
    },
  );

  test('one after the other, beyond the four that are kept', async () => {
    const fixture = await makeWorld();
    const tabs: Tab[] = [];
    for (let at = 0; at < 10; at += 1) {
      fixture.clock.nowMs += 1000;
      const tab = { place: `/place/${at}`, at: `/api/auth/login?returnTo=%2Fplace%2F${at}`, answers: 0 };
      await atOnce(fixture, [tab]);
      tabs.push(tab);
    }
    for (const tab of tabs) answer(fixture, tab);
    await atOnce(fixture, tabs);
    for (const tab of tabs) await finish(fixture, tab);
    expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
  });

  test('at an issuer that requires pushed requests, too', async () => {
    const fixture = await makeWorld();
    fixture.issuer.behaviour.metadata = { require_pushed_authorization_requests: true };
    const tabs = await begin(fixture, 3);
    for (const tab of tabs) await finish(fixture, tab);
    expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
  });

  test('even with the longest places, in headers of a bounded size', async () => {
    const fixture = await makeWorld({ issuerUrl: 'https://issuer.example' });
    const tabs = range(10).map((at): Tab => {
      const place = `/${String(at).repeat(511)}`;
      return { place, at: `/api/auth/login?${new URLSearchParams({ returnTo: place })}`, answers: 0 };
    });
    await atOnce(fixture, tabs);
    for (const tab of tabs) {
      expect((new URL(tab.at).searchParams.get('state') ?? '').length).toBeLessThanOrEqual(800);
      await finish(fixture, tab);
    }
    expect(tabs.map(({ at }) => at)).toEqual(tabs.map(({ place }) => place));
    const sent = fixture.browser.request(`${APP}/api/auth/callback`).headers.get('cookie') ?? '';
    expect(sent.length).toBeLessThanOrEqual(2 * 4096);
  });
});

test('a prefetch between them overtakes no tab', async () => {
  const fixture = await makeWorld();
  const [tab] = await begin(fixture, 1);
  const guess = await fixture.visit('/api/auth/login', { headers: { 'sec-purpose': 'prefetch' } });
  expect(guess.headers.getSetCookie()).toEqual([]);
  await finish(fixture, tab ?? expect.fail());
  expect([tab?.at, tab?.answers]).toEqual(['/place/0', 1]);
});

test('a sign-in of another application of the same issuer overtakes no tab', async () => {
  const fixture = await makeWorld();
  const [tab] = await begin(fixture, 1);
  const tenantB = fixture.other({ audience: 'tenant-b' });
  const theirs = await tenantB.handle(fixture.browser.request(`${APP}/api/auth/login`));
  const callback = fixture.issuer.approve(theirs.headers.get('location') ?? '', ALICE);
  // Their state is no text of ours, although a sign-in is pending here.
  expect(codeOf(await fixture.visit(callback))).toBe('state_mismatch');
  await finish(fixture, tab ?? expect.fail());
  expect(tab?.at).toBe('/place/0');
});

describe('a second try is made', () => {
  /** A tab that lost its flow to another one, which is still pending; its answer has come. */
  async function overtaken(options: FixtureOptions = {}): Promise<{ fixture: Fixture; callback: string }> {
    const fixture = await makeWorld(options);
    const [first] = await begin(fixture, 2);
    answer(fixture, first ?? expect.fail());
    return { fixture, callback: first?.at ?? '' };
  }
  const edited = (callback: string, edit: (query: URLSearchParams) => void): string => {
    const url = new URL(callback);
    edit(url.searchParams);
    return url.href;
  };
  const isRestarted = (response: Response): boolean =>
    response.headers.get('location')?.startsWith('https://issuer.example/authorize?') === true;

  test('with a state, a nonce and a challenge of its own, and by no cookie', async () => {
    const { fixture, callback } = await overtaken();
    const before = fixture.browser.values('sb_oidc_flow');
    const response = await fixture.visit(callback);
    expect(response.status).toBe(302);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(fixture.browser.values('sb_oidc_flow')).toEqual(before);
    const asked = new URL(response.headers.get('location') ?? '').searchParams;
    const again = new URL((await fixture.visit(callback)).headers.get('location') ?? '').searchParams;
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(asked.get(name)).toMatch(/^[\w-]{38,}$/);
      expect(asked.get(name)).not.toBe(again.get(name));
    }
    expect(asked.get('prompt')).toBeNull();
    expect(fixture.issuer.count('/token')).toBe(0);
  });

  test('once: a second flow that is lost as well is a failure', async () => {
    const { fixture, callback } = await overtaken();
    const second = fixture.issuer.approve(
      (await fixture.visit(callback)).headers.get('location') ?? '',
      ALICE,
    );
    // Its supporting flow is gone with the cookie, and another one is pending.
    await fixture.visit('/api/auth/logout');
    await fixture.visit('/api/auth/login');
    expect(codeOf(await fixture.visit(second))).toBe('state_mismatch');
    expect(userOf(fixture)).toBeUndefined();
  });

  test('once: in a browser that keeps no cookie there is none at all', async () => {
    const { fixture, callback } = await overtaken();
    expect(codeOf(await fixture.rp.handle(new Request(callback), ROUTES))).toBe('flow_expired');
  });

  test.each<[string, (query: URLSearchParams) => void]>([
    ['a state that was made up', (query) => query.set('state', 'a'.repeat(60))],
    ['a state with something behind it', (query) => query.set('state', `${query.get('state')}1`)],
    ['a state with something before it', (query) => query.set('state', `x${query.get('state')}`)],
    [
      'a state with one bit changed',
      (query) =>
        query.set(
          'state',
          (query.get('state') ?? '').replace(/.$/, (end) => (end === 'A' ? 'Q' : 'A')),
        ),
    ],
    ['a state too long to be read', (query) => query.set('state', 'a'.repeat(5000))],
    ['no state', (query) => query.delete('state')],
    ['an error in place of a code', (query) => query.set('error', 'access_denied')],
    ['no code', (query) => query.delete('code')],
    ['the name of another issuer', (query) => query.set('iss', 'https://evil.example')],
    ['two names of issuers', (query) => query.append('iss', 'https://evil.example')],
  ])('never for %s', async (_, edit) => {
    const { fixture, callback } = await overtaken();
    const response = await fixture.visit(edited(callback, edit));
    expect(codeOf(response)).toBe('state_mismatch');
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(fixture.issuer.count('/token')).toBe(0);
    expect(isRestarted(await fixture.visit(callback))).toBe(true);
  });

  test.each([
    ['an image', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  ])('never for %s of another page', async (_, headers) => {
    const { fixture, callback } = await overtaken();
    expect(codeOf(await fixture.visit(callback, { headers }))).toBe('state_mismatch');
    const asNavigation = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect(isRestarted(await fixture.visit(callback, { headers: asNavigation }))).toBe(true);
  });

  test.each(['issuer', 'clientId'] as const)('never after the %s was replaced', async (member) => {
    const { fixture, callback } = await overtaken({ relyingParty: { audience: 'tenant-a' } });
    const changed = fixture.other({ env: { ...fixture.rp.env, [member]: 'https://other.example' } });
    // A sign-in at the new one is pending too.
    const cookie = changed.signers.flow.sign({
      idp: changed.env.issuer,
      cid: changed.env.clientId,
      flows: [{ s: 's', n: 'n', v: 'v', u: `${APP}/api/auth/callback`, e: fixture.clock.nowMs + 1000 }],
    });
    const request = new Request(callback, { headers: { cookie: `sb_oidc_flow=${cookie}` } });
    expect(codeOf(await changed.handle(request, ROUTES))).toBe('state_mismatch');
  });

  test.each([{ maxAgeS: 60 }, { acrValues: ['urn:mfa'] }, { prompt: 'login' }, { otherAccount: true }])(
    'never for a sign-in that asked for more than an ordinary one: %j',
    async (options) => {
      const fixture = await makeWorld();
      const { redirectTo } = await fixture.rp.beginLogin(
        fixture.browser.request(`${APP}/api/auth/login`),
        options,
      );
      await fixture.visit('/api/auth/login');
      expect(codeOf(await fixture.visit(fixture.issuer.approve(redirectTo, ALICE)))).toBe('state_mismatch');
    },
  );

  test('and is a failure when the issuer cannot be asked', async () => {
    const { fixture, callback } = await overtaken();
    fixture.issuer.behaviour.metadata = { issuer: 'https://other.example' };
    const fresh = fixture.other({});
    expect(codeOf(await fresh.handle(fixture.browser.request(callback), ROUTES))).toBe(
      'issuer_misconfigured',
    );
  });

  test('and the destination stays secret: no issuer or log can read a claim link', async () => {
    const fixture = await makeWorld();
    const response = await fixture.visit('/api/auth/login?returnTo=%2F%3Fclaim%3Da-secret-of-one-tenant');
    const state = new URL(response.headers.get('location') ?? '').searchParams.get('state') ?? '';
    const bytes = atob(state.replaceAll('-', '+').replaceAll('_', '/'));
    for (const text of [state, bytes]) expect(text).not.toContain('claim');
  });

  test('whose answer in turn is a reload later on, and redeems nothing again', async () => {
    const { fixture, callback } = await overtaken();
    const second = fixture.issuer.approve(
      (await fixture.visit(callback)).headers.get('location') ?? '',
      ALICE,
    );
    for (const address of [second, second, callback]) {
      expect((await fixture.visit(address)).headers.get('location')).toBe('/place/0');
    }
    expect(fixture.issuer.count('/token')).toBe(1);
  });

  test('and so is that of one that led nowhere in particular', async () => {
    const fixture = await makeWorld();
    const tabs = range(2).map((): Tab => ({ place: '/home', at: '/api/auth/login', answers: 0 }));
    await atOnce(fixture, tabs);
    const [first] = tabs;
    answer(fixture, first ?? expect.fail());
    await atOnce(fixture, [first ?? expect.fail()]);
    const second = fixture.issuer.approve(first?.at ?? '', ALICE);
    for (let visit = 0; visit < 2; visit += 1) {
      expect((await fixture.visit(second)).headers.get('location')).toBe('/home');
    }
    expect(fixture.issuer.count('/token')).toBe(1);
  });

  test('never for one that was used, whatever else is pending and although the user is gone', async () => {
    const fixture = await makeWorld();
    const [tab] = await begin(fixture, 1);
    answer(fixture, tab ?? expect.fail());
    const callback = tab?.at ?? '';
    await finish(fixture, tab ?? expect.fail());
    await fixture.visit('/api/auth/login');
    const cookie = `sb_oidc_flow=${fixture.browser.values('sb_oidc_flow')[0]}`;
    const response = await fixture.rp.handle(new Request(callback, { headers: { cookie } }), ROUTES);
    expect(codeOf(response)).toBe('state_mismatch');
    expect(fixture.issuer.count('/token')).toBe(1);
  });

  test('never beside one whose ten minutes are over, even if the browser kept the cookie', async () => {
    const { fixture, callback } = await overtaken();
    const request = fixture.browser.request(callback);
    fixture.clock.nowMs += 10 * 60 * 1000;
    expect(codeOf(await fixture.rp.handle(request, ROUTES))).toBe('flow_expired');
  });

  test('after a secret was replaced, while the old one is still listed', async () => {
    const { fixture, callback } = await overtaken();
    const next = 'the next session secret, also long enough';
    const sessionSecrets = [next, ...fixture.rp.env.sessionSecrets];
    const rotated = fixture.other({ env: { ...fixture.rp.env, sessionSecrets } });
    expect(isRestarted(await rotated.handle(fixture.browser.request(callback), ROUTES))).toBe(true);
    const later = fixture.other({ env: { ...fixture.rp.env, sessionSecrets: [next] } });
    expect(codeOf(await later.handle(fixture.browser.request(callback), ROUTES))).toBe('flow_expired');
  });
});

describe('a callback that comes after ten minutes', () => {
  const LATE_MS = 10 * 60 * 1000;

  test('is a failure for a visitor who is neither signing in nor signed in', async () => {
    const fixture = await makeWorld();
    const [tab] = await begin(fixture, 1);
    answer(fixture, tab ?? expect.fail());
    fixture.clock.nowMs += LATE_MS;
    expect(codeOf(await fixture.visit(tab?.at ?? ''))).toBe('flow_expired');
    expect(fixture.issuer.count('/token')).toBe(0);
  });

  test('begins anew beside a pending sign-in, and is never completed itself', async () => {
    const fixture = await makeWorld();
    const [tab] = await begin(fixture, 1);
    answer(fixture, tab ?? expect.fail());
    fixture.clock.nowMs += LATE_MS / 2;
    await fixture.visit('/api/auth/login');
    fixture.clock.nowMs += LATE_MS / 2;
    await finish(fixture, tab ?? expect.fail());
    expect([tab?.at, tab?.answers]).toEqual(['/place/0', 2]);
    expect(fixture.issuer.count('/token')).toBe(1);
  });

  test('leads to its place for a user who is signed in by now', async () => {
    const fixture = await makeWorld();
    const [tab] = await begin(fixture, 1);
    answer(fixture, tab ?? expect.fail());
    fixture.clock.nowMs += LATE_MS;
    await fixture.signIn();
    await finish(fixture, tab ?? expect.fail());
    expect([tab?.at, tab?.answers]).toEqual(['/place/0', 1]);
  });

  test('that is supported by a flow expires with it', async () => {
    const fixture = await makeWorld();
    const [first] = await begin(fixture, 2);
    const tab = first ?? expect.fail();
    answer(fixture, tab);
    await atOnce(fixture, [tab]);
    answer(fixture, tab);
    const request = fixture.browser.request(tab.at);
    fixture.clock.nowMs += LATE_MS - 1;
    await expect(fixture.rp.completeLogin(request)).resolves.toMatchObject({ user: { id: ALICE.sub } });
    fixture.clock.nowMs += 1;
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
  });
});

test('no user is signed in again by old callbacks after signing out', async () => {
  const fixture = await makeWorld();
  const tabs = await begin(fixture, 3);
  for (const tab of tabs) answer(fixture, tab);
  const callbacks = tabs.map(({ at }) => at);
  for (const tab of tabs) await finish(fixture, tab);
  await fixture.visit('/api/auth/logout');
  const asked = fixture.issuer.requests.length;
  for (const callback of callbacks) expect(codeOf(await fixture.visit(callback))).toBe('flow_expired');
  expect(userOf(fixture)).toBeUndefined();
  expect(fixture.issuer.requests).toHaveLength(asked);
});

/** Returns the code at the end of a sign-in that failed. */
function codeOf(response: Response): OidcErrorCode | null {
  const { pathname, searchParams } = new URL(response.headers.get('location') ?? '', APP);
  return pathname === '/oops' ? (searchParams.get('error') as OidcErrorCode) : null;
}

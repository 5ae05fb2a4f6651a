import { describe, expect, test } from 'vitest';
import { ALICE, APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { FLOW_TTL_MS } from './cookies.ts';
import { readFlowCookie } from './flow-cookie.ts';
import { stateId } from './state.ts';

const flowCount = (fixture: Fixture): number =>
  readFlowCookie(fixture.rp, fixture.browser.request(`${APP}/api/auth/callback`).headers).flows.length;

test('B-04: the flow cookie holds the signed verifier, state and nonce of the redirect', async () => {
  const fixture = await makeFixture();
  const response = await fixture.visit('/api/auth/login');
  const asked = new URL(response.headers.get('location') ?? '').searchParams;
  const [flow] = readFlowCookie(
    fixture.rp,
    fixture.browser.request(`${APP}/api/auth/callback`).headers,
  ).flows;
  expect(flow).toMatchObject({ id: stateId(asked.get('state') ?? ''), nonce: asked.get('nonce') });
  expect(flow?.verifier).toMatch(/^[\w-]{43}$/);
  const [value = ''] = fixture.browser.values('sb_oidc_flow');
  expect(fixture.rp.signers.flow.verify(value)).not.toBeNull();
});

describe('B-04: a flow lasts ten minutes', () => {
  test('one millisecond before, it completes', async () => {
    const fixture = await makeFixture();
    const callback = await fixture.approve();
    fixture.clock.nowMs += FLOW_TTL_MS - 1;
    expect((await fixture.visit(callback)).headers.get('location')).toBe('/');
  });

  test('at ten minutes it has expired, even if the browser kept the cookie', async () => {
    const fixture = await makeFixture();
    const callback = await fixture.approve();
    const request = fixture.browser.request(callback);
    fixture.clock.nowMs += FLOW_TTL_MS;
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
    expect(fixture.issuer.count('/token')).toBe(0);
  });

  test('each flow has its own ten minutes', async () => {
    const fixture = await makeFixture();
    const early = await fixture.approve();
    fixture.clock.nowMs += FLOW_TTL_MS / 2;
    const late = await fixture.approve();
    fixture.clock.nowMs += FLOW_TTL_MS / 2;
    const request = fixture.browser.request(early);
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
    expect((await fixture.visit(late)).headers.get('location')).toBe('/');
  });
});

describe('parallel tabs', () => {
  test('both finish, each at its own returnTo', async () => {
    const fixture = await makeFixture();
    const first = await fixture.approve({ returnTo: '/one' });
    const second = await fixture.approve({ returnTo: '/two' });
    expect((await fixture.visit(first)).headers.get('location')).toBe('/one');
    expect(flowCount(fixture)).toBe(1);
    expect((await fixture.visit(second)).headers.get('location')).toBe('/two');
    expect(flowCount(fixture)).toBe(0);
  });

  test('a fifth drops the oldest, whose answer is then worth nothing', async () => {
    const fixture = await makeFixture();
    const callbacks: string[] = [];
    for (let tab = 0; tab < 5; tab += 1) {
      fixture.clock.nowMs += 1000;
      callbacks.push(await fixture.approve());
    }
    expect(flowCount(fixture)).toBe(4);
    const [oldest = '', ...rest] = callbacks;
    const request = fixture.browser.request(oldest);
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'state_mismatch' });
    for (const callback of rest) expect((await fixture.visit(callback)).headers.get('location')).toBe('/');
  });

  test('a wrong state uses up no flow', async () => {
    const fixture = await makeFixture();
    const callback = await fixture.approve();
    const wrong = new URL(callback);
    wrong.searchParams.set('state', 'invented');
    expect((await fixture.visit(wrong.href)).status).toBe(400);
    expect((await fixture.visit(callback)).headers.get('location')).toBe('/');
  });

  test('four with the longest returnTo fit one cookie, and what does not fit drops the oldest', async () => {
    const fixture = await makeFixture();
    for (let tab = 0; tab < 6; tab += 1) {
      fixture.clock.nowMs += 1000;
      await fixture.approve({ returnTo: `/${String(tab).repeat(511)}` });
    }
    expect(flowCount(fixture)).toBe(4);
    const [value = ''] = fixture.browser.values('sb_oidc_flow');
    expect(`sb_oidc_flow=${value}`.length).toBeLessThanOrEqual(4096);
  });

  test('a long issuer leaves room for fewer, never for an oversized cookie', async () => {
    const fixture = await makeFixture({ issuerUrl: `https://issuer.example/${'r'.repeat(300)}` });
    for (let tab = 0; tab < 6; tab += 1) {
      fixture.clock.nowMs += 1000;
      await fixture.approve({ returnTo: `/${String(tab).repeat(511)}` });
    }
    const [value = ''] = fixture.browser.values('sb_oidc_flow');
    expect(`sb_oidc_flow=${value}`.length).toBeLessThanOrEqual(4096);
    expect(flowCount(fixture)).toBeLessThan(4);
    expect(flowCount(fixture)).toBeGreaterThan(0);
  });
});

// spec B-04
describe('of a flow that was used', () => {
  const claimsOf = ({ rp, browser }: Fixture): Readonly<Record<string, unknown>> | null =>
    rp.signers.flow.verify(browser.values('sb_oidc_flow')[0] ?? '');

  test('nothing is left that could complete it again: only its state and where it led', async () => {
    const fixture = await makeFixture();
    await fixture.signIn({ returnTo: '/inbox' });
    expect(claimsOf(fixture)).toMatchObject({
      flows: [],
      used: [{ s: expect.any(String), e: fixture.clock.nowMs + FLOW_TTL_MS, r: '/inbox' }],
    });
    expect(Object.keys(Object(claimsOf(fixture)?.used)[0])).toEqual(['s', 'e', 'r']);
  });

  test('nothing at all is left when it led nowhere in particular', async () => {
    const fixture = await makeFixture();
    const response = await fixture.signIn();
    expect(fixture.browser.values('sb_oidc_flow')).toEqual([]);
    expect(response.headers.getSetCookie().at(-1)).toMatch(/^sb_oidc_flow=; .*Max-Age=0/);
  });

  test('nothing is left when its ten minutes are over, even if another tab renews the cookie', async () => {
    const fixture = await makeFixture();
    await fixture.signIn({ returnTo: '/inbox' });
    fixture.clock.nowMs += FLOW_TTL_MS - 1;
    await fixture.approve();
    expect(claimsOf(fixture)).toHaveProperty('used');
    fixture.clock.nowMs += 1;
    await fixture.approve();
    expect(claimsOf(fixture)).not.toHaveProperty('used');
  });

  test('the space goes to a tab that is signing in: the oldest used one is dropped first', async () => {
    const fixture = await makeFixture();
    for (const returnTo of ['/one', '/two', '/three']) {
      fixture.clock.nowMs += 1000;
      await fixture.signIn({ returnTo });
    }
    const callbacks: string[] = [];
    for (let tab = 0; tab < 2; tab += 1) callbacks.push(await fixture.approve());
    expect(claimsOf(fixture)).toMatchObject({ used: [{ r: '/two' }, { r: '/three' }] });
    for (let tab = 0; tab < 2; tab += 1) callbacks.push(await fixture.approve());
    expect(claimsOf(fixture)).not.toHaveProperty('used');
    expect(flowCount(fixture)).toBe(4);
    for (const callback of callbacks) {
      expect((await fixture.visit(callback)).headers.get('location')).toBe('/');
    }
  });

  test('and when the bytes are short, it is dropped before any pending flow', async () => {
    const fixture = await makeFixture({ issuerUrl: `https://issuer.example/${'r'.repeat(600)}` });
    await fixture.signIn({ returnTo: `/${'u'.repeat(511)}` });
    await fixture.approve({ returnTo: `/${'a'.repeat(511)}` });
    expect(claimsOf(fixture)).toHaveProperty('used');
    await fixture.approve({ returnTo: `/${'b'.repeat(511)}` });
    expect(claimsOf(fixture)).not.toHaveProperty('used');
    expect(flowCount(fixture)).toBe(2);
  });
});

test('returnTo is kept up to 512 bytes and left out beyond', async () => {
  const fixture = await makeFixture();
  const path = `/${'a'.repeat(511)}`;
  expect((await fixture.signIn({ returnTo: path })).headers.get('location')).toBe(path);
  expect((await fixture.signIn({ returnTo: `${path}a` })).headers.get('location')).toBe('/');
});

describe('a flow is refused', () => {
  test('in another browser: state alone does not sign in (login CSRF)', async () => {
    const attacker = await makeFixture();
    const callback = await attacker.approve();
    const victim = await makeFixture();
    await expect(attacker.rp.completeLogin(victim.browser.request(callback))).rejects.toMatchObject({
      code: 'flow_expired',
    });
    expect(attacker.issuer.count('/token')).toBe(0);
  });

  test('with one changed byte', async () => {
    const fixture = await makeFixture();
    const callback = await fixture.approve();
    const cookie = (fixture.browser.request(callback).headers.get('cookie') ?? '').replace(/.$/, '');
    const request = new Request(callback, { headers: { cookie: `${cookie}x` } });
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
  });

  test('at another tenant of the same secret', async () => {
    const fixture = await makeFixture();
    const request = fixture.browser.request(await fixture.approve());
    const tenantB = fixture.other({ audience: 'tenant-b' });
    await expect(tenantB.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
  });

  test.each(['issuer', 'clientId'] as const)(
    'after the %s was replaced between redirect and callback',
    async (member) => {
      const fixture = await makeFixture({ relyingParty: { audience: 'tenant-a' } });
      const request = fixture.browser.request(await fixture.approve());
      const changed = fixture.other({ env: { ...fixture.rp.env, [member]: 'https://other.example' } });
      await expect(changed.completeLogin(request)).rejects.toMatchObject({ code: 'flow_expired' });
      await expect(fixture.rp.completeLogin(request)).resolves.toMatchObject({ user: { id: ALICE.sub } });
    },
  );

  test('when a second valid flow cookie was planted beside it', async () => {
    const attacker = await makeFixture();
    await attacker.visit('/api/auth/login');
    const fixture = await makeFixture();
    const callback = await fixture.approve();
    fixture.browser.plant({ name: 'sb_oidc_flow', value: attacker.browser.values('sb_oidc_flow')[0] ?? '' });
    await expect(fixture.rp.completeLogin(fixture.browser.request(callback))).rejects.toMatchObject({
      code: 'flow_expired',
    });
  });
});

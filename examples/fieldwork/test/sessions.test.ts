/** The caller's own sessions: listed, and ended so that the very next request with one of them is anonymous. */

import { type SessionRecord, sessionsResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accessClaims, type FakeIssuer, makeFakeIssuer } from '../../../packages/auth/test/fake-issuer.ts';
import { type Fixture, type Instance, joinTeam, openFixture, START_MS, type Visitor } from './fixture.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';
const WEEK_MS = 7 * 24 * 3_600_000;

let issuer: FakeIssuer;
let fixture: Fixture;
beforeEach(async () => {
  const clock = {
    get nowMs() {
      return fixture?.clock.nowMs ?? START_MS;
    },
  };
  issuer = await makeFakeIssuer(clock);
  fixture = await openFixture({ fetch: issuer.fetch });
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

/** Signs a person in through the issuer with a new browser, a second after the last sign-in. */
async function signIn(at: Instance, sub: string, userAgent = FIREFOX): Promise<Visitor> {
  fixture.clock.nowMs += 1_000;
  issuer.claims = { sub, name: sub, email: `${sub}@example.org`, email_verified: true };
  const away = await fixture
    .visitor(at)
    .request('GET', '/api/auth/login', undefined, { 'user-agent': userAgent });
  const back = new URL(issuer.authorize(away.headers.get('location') ?? ''));
  const landed = await fixture
    .visitor(at, cookiesOf(away))
    .request('GET', back.pathname + back.search, undefined, { 'user-agent': userAgent });
  expect([landed.status, landed.headers.get('location')]).toEqual([302, '/']);
  return fixture.visitor(at, cookiesOf(landed));
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
}

async function sessionsOf(visitor: Visitor): Promise<readonly SessionRecord[]> {
  return sessionsResponse.parse(await visitor.get('/api/sessions')).items;
}

/** The one session of a list that is not the caller's present one. */
function otherOf(sessions: readonly SessionRecord[]): SessionRecord {
  const [other, ...more] = sessions.filter((each) => !each.current);
  if (!other || more.length > 0) throw new Error(`expected one other session, got ${sessions.length - 1}`);
  return other;
}

const isSignedOut = async (visitor: Visitor) =>
  (await visitor.get('/api/me')).status === 'signed_out' &&
  (await visitor.request('GET', '/api/orders')).status === 401;

describe('the list', () => {
  test('shows where a person is signed in, newest first, and which of them this is', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    const list = await sessionsOf(laptop);
    expect(list.map(({ id: _id, ...shown }) => shown)).toEqual([
      {
        client: 'Safari on iPhone',
        startedAt: new Date(START_MS + 2_000).toISOString(),
        expiresAt: new Date(START_MS + 2_000 + WEEK_MS).toISOString(),
        current: false,
        here: true,
      },
      {
        client: 'Firefox on Linux',
        startedAt: new Date(START_MS + 1_000).toISOString(),
        expiresAt: new Date(START_MS + 1_000 + WEEK_MS).toISOString(),
        current: true,
        here: true,
      },
    ]);
    expect((await sessionsOf(phone)).map(({ current }) => current)).toEqual([true, false]);
  });

  test('A-22: holds nothing of anybody else, of this tenant or of another', async () => {
    const ada = await signIn(fixture.pipes, 'ada');
    await signIn(fixture.pipes, 'grace');
    await signIn(fixture.sparks, 'ada');
    expect((await sessionsOf(ada)).map(({ current }) => current)).toEqual([true]);
  });

  test('names those at another application of the tenant, which end here as well', async () => {
    const yard: Instance = {
      ...fixture.pipes,
      scope: fixture.pipes.scope.replace(/1$/, '7') as Instance['scope'],
    };
    await fixture.provision(yard, 'The yard', fixture.choice);
    const there = await signIn(yard, 'ada');
    const here = await signIn(fixture.pipes, 'ada');
    const list = await sessionsOf(here);
    expect(list.map((each) => [each.here, each.current])).toEqual([
      [true, true],
      [false, false],
    ]);
    await here.post(`/api/sessions/${otherOf(list).id}/end`);
    expect([await isSignedOut(there), await isSignedOut(here)]).toEqual([true, false]);
  });

  test('forgets what has expired, and is kept by no cache', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    fixture.clock.nowMs += WEEK_MS;
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    expect((await sessionsOf(phone)).map(({ client }) => client)).toEqual(['Safari on iPhone']);
    expect(await isSignedOut(laptop)).toBe(true);
    const response = await phone.request('GET', '/api/sessions');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
  });

  test('A-04: is for no anonymous caller', async () => {
    const anonymous = fixture.visitor(fixture.pipes);
    expect(await anonymous.refused('GET', '/api/sessions')).toMatchObject({ status: 401 });
    for (const path of ['/api/sessions/x/end', '/api/sessions/end-others', '/api/sessions/end-all'])
      expect(await anonymous.refused('POST', path, {}), path).toMatchObject({ status: 401 });
  });
});

describe('ending one', () => {
  test('takes effect on its very next request, and leaves this one', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    expect(await isSignedOut(phone)).toBe(false);
    await laptop.post(`/api/sessions/${otherOf(await sessionsOf(laptop)).id}/end`);
    expect(await isSignedOut(phone)).toBe(true);
    expect((await sessionsOf(laptop)).map(({ current }) => current)).toEqual([true]);
  });

  test('can be this very one', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    const current = (await sessionsOf(laptop)).find((each) => each.current);
    await laptop.post(`/api/sessions/${current?.id}/end`);
    expect([await isSignedOut(laptop), await isSignedOut(phone)]).toEqual([true, false]);
  });

  test('cannot be another person’s, even with its id', async () => {
    const ada = await signIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const [{ id } = { id: '' }] = await sessionsOf(ada);
    const colleague = await signIn(fixture.pipes, 'grace');
    const namesake = await signIn(fixture.sparks, 'ada');
    for (const visitor of [colleague, namesake])
      expect(await visitor.refused('POST', `/api/sessions/${id}/end`, {})).toMatchObject({
        status: 404,
        reason: 'unknown_session',
      });
    for (const path of ['/api/sessions/end-others', '/api/sessions/end-all']) {
      await colleague.request('POST', path, {});
      await namesake.request('POST', path, {});
    }
    expect(await isSignedOut(ada)).toBe(false);
  });

  test('of an unknown id is not found', async () => {
    const ada = await signIn(fixture.pipes, 'ada');
    expect(await ada.refused('POST', '/api/sessions/made-up/end', {})).toMatchObject({
      status: 404,
      reason: 'unknown_session',
    });
    expect(await ada.refused('POST', `/api/sessions/${'x'.repeat(129)}/end`, {})).toMatchObject({
      status: 400,
    });
  });
});

describe('ending the others', () => {
  test('leaves this browser alone signed in, and says how many there were', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    const tablet = await signIn(fixture.pipes, 'ada');
    expect(await laptop.post('/api/sessions/end-others')).toEqual({ ended: 2 });
    expect([await isSignedOut(phone), await isSignedOut(tablet), await isSignedOut(laptop)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await laptop.post('/api/sessions/end-others')).toEqual({ ended: 0 });
  });
});

describe('ending all of them', () => {
  test('takes this one too, and one that was never listed; signing in again works', async () => {
    const laptop = await signIn(fixture.pipes, 'ada');
    const phone = await signIn(fixture.pipes, 'ada', SAFARI);
    const unlisted = await fixture.signedIn(fixture.pipes, 'ada');
    expect(await isSignedOut(unlisted)).toBe(false);
    await laptop.post('/api/sessions/end-all');
    expect([await isSignedOut(laptop), await isSignedOut(phone), await isSignedOut(unlisted)]).toEqual([
      true,
      true,
      true,
    ]);
    const again = await signIn(fixture.pipes, 'ada');
    expect(await isSignedOut(again)).toBe(false);
    expect(await sessionsOf(again)).toHaveLength(1);
  });

  test('leaves everybody else signed in', async () => {
    const ada = await signIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const grace = await signIn(fixture.pipes, 'grace');
    const namesake = await signIn(fixture.sparks, 'ada');
    await ada.post('/api/sessions/end-all');
    expect([(await grace.get('/api/me')).status, (await namesake.get('/api/me')).status]).toEqual([
      'stranger',
      'member',
    ]);
  });
});

test('a person who is no member here manages their sessions all the same', async () => {
  const ada = await signIn(fixture.pipes, 'ada');
  await ada.get('/api/me');
  const laptop = await signIn(fixture.pipes, 'eve');
  const phone = await signIn(fixture.pipes, 'eve', SAFARI);
  expect(await laptop.get('/api/me')).toMatchObject({ status: 'stranger' });
  await laptop.post(`/api/sessions/${otherOf(await sessionsOf(laptop)).id}/end`);
  expect(await isSignedOut(phone)).toBe(true);
});

test('a removed member keeps their sessions and loses the business, on the next request', async () => {
  const ada = await signIn(fixture.pipes, 'ada');
  await ada.get('/api/me');
  const { principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
  const jo = await signIn(fixture.pipes, 'jo');
  expect(await jo.get('/api/orders')).toMatchObject({ items: [] });
  await ada.post(`/api/members/${principal}/remove`);
  expect(await jo.refused('GET', '/api/orders')).toMatchObject({ status: 403, reason: 'not_a_member' });
  expect(await sessionsOf(jo)).toHaveLength(1);
});

test('the bearer of an access token has no sessions, sees none, and ends none', async () => {
  const laptop = await signIn(fixture.pipes, 'ada');
  await laptop.get('/api/me');
  const { tenant: tenantId, scope: scopeId } = fixture.pipes;
  // The person is the same; only what proves it is another.
  const config = { 'platform:auth': null, AUTH_PROVIDER: 'oidc', OIDC_ISSUER: issuer.url };
  await fixture.platform('POST', '/internal/configure', { tenantId, scopeId, config });
  const token = await issuer.sign(accessClaims(fixture.clock, { aud: scopeId }));
  const headers = { authorization: `Bearer ${token}` };
  const bearer = fixture.visitor(fixture.pipes);
  const asked = await bearer.request('GET', '/api/sessions', undefined, headers);
  expect([asked.status, await asked.json()]).toEqual([200, { items: [] }]);
  for (const path of ['/api/sessions/x/end', '/api/sessions/end-others', '/api/sessions/end-all'])
    expect(await bearer.refused('POST', path, {}, headers), path).toMatchObject({
      status: 403,
      reason: 'no_session',
    });
  await fixture.platform('POST', '/internal/configure', {
    tenantId,
    scopeId,
    config: { ...fixture.choice, AUTH_PROVIDER: null },
  });
  expect(await isSignedOut(laptop)).toBe(false);
});

test('a page of another site ends nothing, and neither does a link', async () => {
  const ada = await signIn(fixture.pipes, 'ada');
  const [{ id } = { id: '' }] = await sessionsOf(ada);
  for (const path of [`/api/sessions/${id}/end`, '/api/sessions/end-others', '/api/sessions/end-all']) {
    expect(await ada.refused('POST', path, {}, { 'sec-fetch-site': 'cross-site' })).toMatchObject({
      code: 'forbidden',
    });
    expect(await ada.refused('GET', path)).toMatchObject({ status: 405 });
    expect(await ada.refused('POST', path, { more: 1 })).toMatchObject({ status: 400 });
  }
  expect(await isSignedOut(ada)).toBe(false);
});

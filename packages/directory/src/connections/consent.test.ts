/** Consent rounds against a strict provider in memory: which of them end in a connection, and which must not. */

import { makeKeyring } from '@freehold/store';
import { describe, expect, test } from 'vitest';
import { BASE_URL, ISSUER } from '../../test/consent-provider.ts';
import { HOSTNAME, openRounds, PRINCIPAL, RETURN_URL } from '../../test/consent-round.ts';
import { refusal } from '../../test/platform.ts';
import type { ConnectionRecord } from '../admin-operations.ts';

describe('spec 4.7, C-18: a round', () => {
  test('ends in a connection: of the vertical by the record, made by the principal, with the granted scopes', async () => {
    const { platform, rounds, order, begin, provider, tenant, scope } = await openRounds();
    expect(await rounds().requestUrl(order({ ttlSeconds: 60 }))).toEqual({
      url: expect.stringMatching(/^https:\/\/api\.example\.com\/connect\/[\w.-]+$/),
      expiresAt: '2026-11-21T08:01:00.000Z',
      vertical: 'fieldwork',
    });
    const round = await begin();
    expect(new URL(round.location).origin).toBe(ISSUER);
    const { location, cookie } = await round.finish(provider.consent(round.location));
    const back = new URL(location);
    expect(back.origin + back.pathname).toBe(RETURN_URL);
    const { connection, ...rest } = Object.fromEntries(back.searchParams);
    expect(rest).toEqual({ subjectRef: 'team calendar' });
    expect(cookie).toMatchObject({ value: '', maxAgeSeconds: 0 });

    const params = { tenant: tenant.id, connection };
    expect(await platform.value('connections.get', { params })).toMatchObject({
      id: connection,
      tenant: tenant.id,
      scope: scope.id,
      vertical: 'fieldwork',
      provider: 'calendar',
      account: 'ada',
      accountName: 'ada@example.com',
      subjectRef: 'team calendar',
      createdBy: PRINCIPAL,
      scopes: ['read'],
      state: 'active',
      reason: null,
    });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'connections.connect',
      actor: { kind: 'system', id: 'vertical:fieldwork' },
      requestId: 'req-callback',
      target: { tenant: tenant.id, scope: scope.id, vertical: 'fieldwork', other: connection },
      before: null,
      after: { createdBy: PRINCIPAL, provider: 'calendar', state: 'active', subjectRef: 'team calendar' },
      outcome: 'done',
    });
    expect(
      await platform.admin.connections.use({ tenant: tenant.id, connection: connection ?? '' }),
    ).toMatchObject({
      kind: 'oauth2',
      secret: provider.grants[0]?.accessToken,
    });
    expect(platform.incidents).toEqual([]);
  });

  test('is held together by a cookie of its own, which no sibling host can plant', async () => {
    const { rounds, ticketOf } = await openRounds();
    const one = await rounds().start(await ticketOf());
    const two = await rounds().start(await ticketOf());
    expect(one.cookie).toMatchObject({ secure: true, maxAgeSeconds: 900 });
    expect(one.cookie?.name).toMatch(/^__Host-fh_connect_/);
    expect(one.cookie?.name).not.toBe(two.cookie?.name);
    const development = await openRounds({ baseUrl: 'http://api.localhost:8787' });
    const plain = await development.rounds().start(await development.ticketOf());
    expect(plain.cookie).toMatchObject({ secure: false, name: expect.stringMatching(/^fh_connect_/) });
  });

  test('keeps no token in clear: not in the database, in no row of the log, in no address', async () => {
    const { platform, connect, provider, begin } = await openRounds();
    await connect();
    const round = await begin();
    const cookie = [...round.cookies.values()][0] ?? '';
    await platform.tamper((database) => {
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const everything = JSON.stringify(
        tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all()),
      );
      expect(everything).toContain('team calendar');
      expect(provider.tokens).toHaveLength(2);
      for (const secret of [...provider.tokens, cookie]) expect(everything).not.toContain(secret);
      // Neither the state nor the verifier of the running round.
      const { searchParams } = new URL(round.location);
      expect(everything).not.toContain(searchParams.get('state'));
    });
  });

  test('issues without storing anything', async () => {
    const { platform, rounds, order } = await openRounds();
    await rounds().requestUrl(order());
    const log = await platform.adminLog();
    await rounds().requestUrl(order());
    expect(await platform.adminLog()).toEqual(log);
    await platform.tamper((database) => {
      expect(database.prepare('SELECT count(*) AS rounds FROM connect_rounds').get()).toEqual({ rounds: 0 });
    });
  });

  test('works without an identity endpoint: then the caller’s own name tells connections apart', async () => {
    const { connection } = await openRounds({ provider: { identity: undefined } });
    const first = await connection({ subjectRef: 'one' });
    expect(await connection({ subjectRef: 'two' })).not.toBe(first);
    expect(await connection({ subjectRef: 'one' })).toBe(first);
  });
});

describe('spec 7.6, D-16: a consent URL is refused', () => {
  test.each([
    ['a provider that is not set up', { provider: 'nowhere' }, 400, 'unknown_provider'],
    ['a provider without a consent round', { provider: 'ledger' }, 400, 'no_consent_round'],
    ['plain http', { returnUrl: `http://${HOSTNAME}/` }, 400, 'return_url_not_https'],
    [
      'an address that is not bound',
      { returnUrl: 'https://elsewhere.example.com/' },
      400,
      'return_url_unbound',
    ],
    ['another port', { returnUrl: `https://${HOSTNAME}:444/` }, 400, 'return_url_unbound'],
    ['an address with a password', { returnUrl: `https://a:b@${HOSTNAME}/` }, 400, 'return_url_invalid'],
    [
      'a trailing dot, which is another name',
      { returnUrl: `https://${HOSTNAME}./` },
      400,
      'return_url_unbound',
    ],
    ['an unknown scope', { scopeId: 'scp_01jd0000000000000000000009' as never }, 404, 'unknown_scope'],
    ['an unknown tenant', { tenantId: 'tnt_01jd0000000000000000000009' as never }, 404, 'unknown_scope'],
    ['a scope of another vertical', { vertical: 'library' }, 404, 'unknown_scope'],
  ])('%s', async (_, more, status, reason) => {
    const { rounds, order } = await openRounds();
    expect(await refusal(rounds().requestUrl(order(more)))).toMatchObject({ status, reason });
  });

  test('another tenant’s address, another scope’s, one that is pending, and one that is switched off', async () => {
    const { platform, rounds, order, tenant } = await openRounds();
    const theirs = await platform.scope((await platform.tenant('theirs')).id);
    await platform.hostname(theirs, 'theirs.example.com');
    const second = await platform.scope(tenant.id, 'second');
    await platform.hostname(second, 'second.example.com');
    await platform.hostname(await platform.scope(tenant.id), 'pending.example.org');
    const unbound = { status: 400, reason: 'return_url_unbound' };
    for (const host of ['theirs.example.com', 'second.example.com', 'pending.example.org'])
      expect(await refusal(rounds().requestUrl(order({ returnUrl: `https://${host}/` })))).toMatchObject(
        unbound,
      );
    await platform.call('hostnames.set-status', { body: { hostname: HOSTNAME, status: 'disabled' } });
    expect(await refusal(rounds().requestUrl(order()))).toMatchObject(unbound);
    // The scope of one tenant under the name of another.
    expect(await refusal(rounds().requestUrl(order({ scopeId: theirs.id })))).toMatchObject({ status: 404 });
  });

  test('another vertical’s scope answers exactly as an unknown one, whatever its state', async () => {
    const { platform, rounds, order, tenant, scope } = await openRounds();
    const nowhere = { scopeId: 'scp_01jd0000000000000000000009' as never };
    const params = { tenant: tenant.id, scope: scope.id };
    const alike = async () => {
      const theirs = await refusal(rounds().requestUrl(order({ vertical: 'library' })));
      expect(theirs).toEqual(await refusal(rounds().requestUrl(order(nowhere))));
      expect(theirs).toMatchObject({ status: 404, reason: 'unknown_scope' });
    };
    await alike();
    await platform.call('scopes.set-status', { params, body: { status: 'suspended' } });
    await alike();
    await platform.call('tenants.set-status', {
      params: { tenant: tenant.id },
      body: { status: 'suspended' },
    });
    await alike();
    // The application that it belongs to is told the reason.
    expect(await refusal(rounds().requestUrl(order()))).toMatchObject({ reason: 'tenant_not_active' });
  });

  test('for a tenant that is suspended', async () => {
    const { platform, rounds, order, tenant } = await openRounds();
    await platform.call('tenants.set-status', {
      params: { tenant: tenant.id },
      body: { status: 'suspended' },
    });
    expect(await refusal(rounds().requestUrl(order()))).toMatchObject({
      status: 409,
      reason: 'tenant_not_active',
    });
  });

  test('where the credential could not be sealed at the end', async () => {
    const { rounds, order } = await openRounds({ keyring: makeKeyring([]) });
    expect(await refusal(rounds().requestUrl(order()))).toMatchObject({ status: 503, reason: 'no_seal_key' });
  });
});

describe('spec 4.7: a ticket', () => {
  test('works once', async () => {
    const { rounds, ticketOf } = await openRounds();
    const ticket = await ticketOf();
    await rounds().start(ticket);
    expect(await refusal(rounds().start(ticket))).toMatchObject({ status: 409, reason: 'ticket_used' });
  });

  test('works once, also when two browsers come at the same moment', async () => {
    const { rounds, ticketOf } = await openRounds();
    const ticket = await ticketOf();
    const both = await Promise.allSettled([rounds().start(ticket), rounds().start(ticket)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('works until it expires and not a millisecond longer', async () => {
    const { platform, rounds, ticketOf } = await openRounds();
    const [early, late] = [await ticketOf({ ttlSeconds: 60 }), await ticketOf({ ttlSeconds: 60 })];
    platform.clock.ms += 59_999;
    await rounds().start(early);
    platform.clock.ms += 1;
    expect(await refusal(rounds().start(late))).toMatchObject({ status: 409, reason: 'ticket_expired' });
  });

  test('signed by this directory is told from any other', async () => {
    const { rounds, ticketOf } = await openRounds();
    const elsewhere = await openRounds();
    const ticket = await ticketOf();
    for (const other of [await elsewhere.ticketOf(), `${ticket}x`, 'x', '', ticket.split('.')[0] ?? ''])
      expect(await refusal(rounds().start(other))).toMatchObject({ status: 404, reason: 'ticket_invalid' });
    await rounds().start(ticket);
  });

  test('leads back at once when the operator removed the provider, and so does an answer', async () => {
    const { platform, rounds, ticketOf, begin, provider } = await openRounds();
    const ticket = await ticketOf();
    const round = await begin();
    const back = provider.consent(round.location);
    delete (provider.options.providers as Record<string, unknown>).calendar;
    // The registry is judged when the platform starts.
    await platform.tamper(() => undefined);
    const told = { location: `${RETURN_URL}?error=provider_unavailable&subjectRef=team+calendar` };
    expect(await rounds().start(ticket)).toEqual({ ...told, cookie: null });
    expect(await round.finish(back)).toMatchObject(told);
  });
});

describe('spec 4.7, D-17: the vertical is derived again', () => {
  const rewrite = (column: string, value: string) => (database: { exec(sql: string): void }) =>
    database.exec(`UPDATE scopes SET ${column} = '${value}'`);

  test.each([
    ['the scope serves another vertical', rewrite('vertical', 'other')],
    ['the scope is suspended', rewrite('status', 'suspended')],
    [
      'the address is not bound any more',
      (database: { exec(sql: string): void }) => database.exec("UPDATE hostnames SET status = 'disabled'"),
    ],
    [
      'the tenant is suspended',
      (database: { exec(sql: string): void }) => database.exec("UPDATE tenants SET status = 'suspended'"),
    ],
  ])('when %s, a ticket is refused, and so is an answer: the browser is not sent back', async (_, change) => {
    const { platform, rounds, ticketOf, begin, provider } = await openRounds();
    const ticket = await ticketOf();
    const round = await begin();
    await platform.tamper(change);
    expect(await refusal(rounds().start(ticket))).toMatchObject({ status: 409, reason: 'target_changed' });
    const answered = round.finish(provider.consent(round.location));
    expect(await refusal(answered)).toMatchObject({ status: 409, reason: 'target_changed' });
    expect(provider.asked).toEqual([]);
  });

  test('also while the provider is being asked: then its tokens are revoked', async () => {
    const { platform, begin, provider } = await openRounds();
    const round = await begin();
    provider.fault = (path) => {
      if (path !== '/me') return null;
      return platform
        .call('hostnames.set-status', { body: { hostname: HOSTNAME, status: 'disabled' } })
        .then(() => Response.json({ sub: 'ada' }));
    };
    const answered = round.finish(provider.consent(round.location));
    expect(await refusal(answered)).toMatchObject({ status: 409, reason: 'target_changed' });
    expect(provider.asked).toEqual(['/token', '/me', '/revoke']);
    expect(provider.grants[0]?.live).toBe(false);
  });
});

describe('an answer is taken from the browser that began, once', () => {
  test('an unknown state, none, and two of them', async () => {
    const { begin, provider } = await openRounds();
    const round = await begin();
    const unknown = { status: 404, reason: 'unknown_round' };
    const back = provider.consent(round.location);
    const state = back.searchParams.get('state') ?? '';
    for (const states of [['x'], [], [state, state], [state, 'x']]) {
      back.searchParams.delete('state');
      for (const each of states) back.searchParams.append('state', each);
      expect(await refusal(round.finish(back))).toMatchObject(unknown);
    }
    expect(provider.asked).toEqual([]);
  });

  test('another browser, without the cookie or with another one: refused, and the round goes on', async () => {
    const { begin, finish, provider } = await openRounds();
    const [ours, theirs] = [await begin(), await begin()];
    const back = provider.consent(ours.location);
    const wrong = { status: 403, reason: 'wrong_browser' };
    expect(await refusal(finish(back, new Map()))).toMatchObject(wrong);
    expect(await refusal(finish(back, theirs.cookies))).toMatchObject(wrong);
    const [name] = ours.cookies.keys();
    const planted = new Map([[name ?? '', [...theirs.cookies.values()][0] ?? '']]);
    expect(await refusal(finish(back, planted))).toMatchObject(wrong);
    expect(provider.asked).toEqual([]);
    expect((await ours.finish(back)).location).toContain('connection=con_');
  });

  test('a second time, also at the same moment: refused, and the provider is asked once', async () => {
    const { begin, provider } = await openRounds();
    const round = await begin();
    const back = provider.consent(round.location);
    const both = await Promise.allSettled([round.finish(back), round.finish(back)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await refusal(round.finish(back))).toMatchObject({ status: 409, reason: 'round_used' });
    expect(provider.asked).toEqual(['/token', '/me']);
  });

  test('also after a refusal: a new round is needed', async () => {
    const { begin, provider } = await openRounds();
    const round = await begin();
    await round.finish(provider.deny(round.location));
    const answered = round.finish(provider.consent(round.location));
    expect(await refusal(answered)).toMatchObject({ status: 409, reason: 'round_used' });
  });

  test('too late: the person is sent back with the reason, and the code is not redeemed', async () => {
    const { platform, begin, provider } = await openRounds();
    const round = await begin();
    const back = provider.consent(round.location);
    platform.clock.ms += 15 * 60 * 1000;
    expect((await round.finish(back)).location).toBe(`${RETURN_URL}?error=expired&subjectRef=team+calendar`);
    expect(provider.asked).toEqual([]);
  });
});

describe('failures at the provider are reported to the application in its own address', () => {
  const status = (code: number) => () => Promise.resolve(new Response('', { status: code }));
  const json = (value: unknown) => () => Promise.resolve(Response.json(value));

  test.each<
    [string, string, (provider: Awaited<ReturnType<typeof openRounds>>['provider'], location: string) => URL]
  >([
    ['the person says no', 'consent_denied', (provider, location) => provider.deny(location)],
    [
      'the provider refuses the request',
      'provider_refused',
      (p, location) => p.deny(location, 'invalid_scope'),
    ],
    ['the provider has trouble', 'provider_unavailable', (p, location) => p.deny(location, 'server_error')],
    ['an answer without a code', 'provider_answer', (p, location) => edited(p.consent(location), 'code', [])],
    ['an empty code', 'provider_answer', (p, location) => edited(p.consent(location), 'code', [''])],
    ['two codes', 'provider_answer', (p, location) => edited(p.consent(location), 'code', ['a', 'b'])],
    [
      'a code that the provider never gave',
      'provider_refused',
      (p, location) => edited(p.consent(location), 'code', ['x']),
    ],
    [
      'another issuer (RFC 9207)',
      'issuer_mismatch',
      (p, l) => edited(p.consent(l), 'iss', ['https://evil.example']),
    ],
    ['no issuer where there is always one', 'issuer_mismatch', (p, l) => edited(p.consent(l), 'iss', [])],
    [
      'another issuer’s error is not reported as ours',
      'issuer_mismatch',
      (p, l) => edited(p.deny(l), 'iss', ['https://evil.example']),
    ],
  ])('%s: %s', async (_, error, answer) => {
    const { platform, begin, provider } = await openRounds();
    const round = await begin();
    const { location } = await round.finish(answer(provider, round.location));
    expect(location).toBe(`${RETURN_URL}?error=${error}&subjectRef=team+calendar`);
    expect(await platform.adminLog({ action: 'connections.connect' })).toEqual([]);
    expect(platform.incidents).toEqual([]);
  });

  test('the answer of one provider at the address of another: a mix-up (RFC 9700, section 4.4)', async () => {
    const { begin, provider } = await openRounds();
    const round = await begin();
    const back = provider.consent(round.location);
    back.pathname = '/connect/callback/other';
    expect((await round.finish(back)).location).toContain('error=issuer_mismatch');
    expect(provider.asked).toEqual([]);
  });

  test.each<[string, string, (path: string) => (() => Promise<Response>) | null]>([
    [
      'the token endpoint is down',
      'provider_unavailable',
      (path) => (path === '/token' ? status(503) : null),
    ],
    [
      'it cannot be reached',
      'provider_unavailable',
      () => () => Promise.reject(new TypeError('fetch failed')),
    ],
    ['it answers HTML', 'provider_answer', () => () => Promise.resolve(new Response('<html>'))],
    [
      'it answers no token',
      'provider_answer',
      (path) => (path === '/token' ? json({ token_type: 'bearer' }) : null),
    ],
    ['it redirects', 'provider_answer', (path) => (path === '/token' ? status(302) : null)],
    [
      'it does not know our client',
      'provider_answer',
      (path) => (path === '/token' ? json({ error: 'invalid_client' }) : null),
    ],
    ['it does not take its own token', 'provider_refused', (path) => (path === '/me' ? status(401) : null)],
    ['it does not say whose account it is', 'provider_answer', (path) => (path === '/me' ? json({}) : null)],
    [
      'it is down when asked whose account it is',
      'provider_unavailable',
      (path) => (path === '/me' ? status(500) : null),
    ],
  ])('%s: %s', async (_, error, fault) => {
    const { platform, begin, provider } = await openRounds();
    const round = await begin();
    provider.fault = (path) => fault(path)?.() ?? null;
    const { location } = await round.finish(provider.consent(round.location));
    expect(location).toBe(`${RETURN_URL}?error=${error}&subjectRef=team+calendar`);
    expect(await platform.adminLog({ action: 'connections.connect' })).toEqual([]);
    expect(platform.incidents).toEqual([]);
  });

  test('tokens of a round that failed are revoked', async () => {
    const { begin, provider } = await openRounds();
    const round = await begin();
    provider.fault = (path) => (path === '/me' ? Promise.resolve(new Response('', { status: 500 })) : null);
    await round.finish(provider.consent(round.location));
    expect(provider.asked).toEqual(['/token', '/me', '/revoke']);
    expect(provider.grants[0]?.live).toBe(false);
  });
});

describe('an account is connected once per tenant, vertical and provider', () => {
  test('again in the same scope: the same connection with the new credential, active again', async () => {
    const { platform, connection, provider, tenant } = await openRounds();
    const first = await connection();
    const again = await connection({
      subjectRef: 'renamed',
      createdBy: 'prn_01jd0000000000000000000002' as never,
    });
    expect(again).toBe(first);
    const params = { tenant: tenant.id, connection: first };
    expect(await platform.value('connections.get', { params })).toMatchObject({
      subjectRef: 'renamed',
      createdBy: 'prn_01jd0000000000000000000002',
      state: 'active',
    });
    const used = await platform.admin.connections.use(params);
    expect(used.secret).toBe(provider.grants[1]?.accessToken);
    const activity = await platform.value<{ items: object[] }>('connections.activity', { params });
    expect(activity.items).toMatchObject([{ kind: 'reconnected' }, { kind: 'connected', by: PRINCIPAL }]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      before: { subjectRef: 'team calendar' },
      after: { subjectRef: 'renamed' },
    });
  });

  test('in another scope of the tenant: refused, and the new tokens are revoked', async () => {
    const { platform, connection, connect, tenant, provider } = await openRounds();
    await connection();
    const second = await platform.scope(tenant.id, 'second');
    await platform.hostname(second, 'second.example.com');
    const told = await connect({ scopeId: second.id, returnUrl: 'https://second.example.com/' });
    expect(told).toEqual({ error: 'account_connected', subjectRef: 'team calendar' });
    expect(provider.grants.map(({ live }) => live)).toEqual([true, false]);
  });

  test('of another tenant: a connection of its own, unknown to the first', async () => {
    const { platform, connection, tenant } = await openRounds();
    const ours = await connection();
    const other = await platform.tenant('other');
    const scope = await platform.scope(other.id);
    await platform.hostname(scope, 'other.example.com');
    const theirs = await connection({
      tenantId: other.id,
      scopeId: scope.id,
      returnUrl: 'https://other.example.com/',
    });
    expect(theirs).not.toBe(ours);
    const { items } = await platform.value<{ items: ConnectionRecord[] }>('connections.list', {
      params: { tenant: tenant.id },
    });
    expect(items.map(({ id }) => id)).toEqual([ours]);
    const stolen = platform.call('connections.get', { params: { tenant: tenant.id, connection: theirs } });
    expect(await refusal(stolen)).toMatchObject({ status: 404 });
  });

  test('twice at the same moment: one connection', async () => {
    const { platform, begin, provider, tenant } = await openRounds();
    const rounds = [await begin(), await begin(), await begin()];
    const told = await Promise.all(rounds.map((round) => round.finish(provider.consent(round.location))));
    const ids = told.map(({ location }) => new URL(location).searchParams.get('connection'));
    expect(new Set(ids).size).toBe(1);
    const params = { tenant: tenant.id, connection: ids[0] };
    // Whichever came last, the sealed credential opens for the connection that it is loaded in.
    const { secret } = await platform.admin.connections.use(params as never);
    expect(provider.grants.map(({ accessToken }) => accessToken)).toContain(secret);
  });

  test('after a disconnection: a new connection', async () => {
    const { platform, connection, tenant } = await openRounds();
    const first = await connection();
    const disconnect = { params: { tenant: tenant.id, connection: first } };
    // spec C-09: the plan knows that this provider takes a credential back, and asks it nothing.
    expect(
      await platform.value('connections.disconnect', { ...disconnect, query: { dryRun: true } }),
    ).toMatchObject({
      credential: true,
      revocable: true,
    });
    await platform.call('connections.disconnect', disconnect);
    expect(await connection()).not.toBe(first);
  });
});

test('the callback address is one per provider, below the control plane’s own', async () => {
  const { begin } = await openRounds();
  const redirectUri = new URL((await begin()).location).searchParams.get('redirect_uri');
  expect(redirectUri).toBe(`${BASE_URL}/connect/callback/calendar`);
});

function edited(url: URL, name: string, values: readonly string[]): URL {
  url.searchParams.delete(name);
  for (const value of values) url.searchParams.append(name, value);
  return url;
}

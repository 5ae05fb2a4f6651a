/** The owner seat: forwarded to the vertical at its bound application host name. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { ScopeRecord } from '../admin-operations.ts';

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, scope };
}

const seat = (platform: Platform, scope: ScopeRecord) =>
  platform.call('owner-seat.get', { params: { tenant: scope.tenant, scope: scope.id } });
const mint = (platform: Platform, scope: ScopeRecord, more = {}) =>
  platform.call('owner-claim.mint', { params: { tenant: scope.tenant, scope: scope.id }, ...more });

describe('spec C-11: forwarded to the bound app host name', () => {
  test('the seat is read there, and before there is a name as well', async () => {
    const { platform, scope } = await openWithScope();
    expect((await seat(platform, scope)).value).toMatchObject({ state: 'pending', reason: 'window_open' });
    const query = `?tenantId=${scope.tenant}&scopeId=${scope.id}`;
    expect(platform.fieldwork.requests.at(-1)?.url).toBe(
      `http://vertical.internal/internal/owner-seat${query}`,
    );
    await platform.hostname(scope, 'acme.localhost');
    platform.fieldwork.claimed = true;
    expect((await seat(platform, scope)).value).toMatchObject({ state: 'claimed', reason: null });
    expect(platform.fieldwork.requests.at(-1)?.url).toBe(
      `http://acme.localhost:8787/internal/owner-seat${query}`,
    );
  });

  test('the claim link is 201, points at the name that was bound first, and is in no log', async () => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'zeta.localhost');
    platform.clock.ms += 1;
    await platform.hostname(scope, 'acme.localhost');
    const { status, value, head } = await mint(platform, scope);
    expect(status).toBe(201);
    expect(value).toEqual({
      url: 'http://zeta.localhost:8787/?claim=a-claim-secret',
      expiresAt: '2026-11-21T08:30:00.000Z',
    });
    expect(platform.fieldwork.requests.at(-1)).toEqual({
      method: 'POST',
      url: 'http://zeta.localhost:8787/internal/owner-claim',
      body: { tenantId: scope.tenant, scopeId: scope.id, origin: 'http://zeta.localhost:8787' },
    });
    const rows = await platform.adminLog({ action: 'owner-claim.mint' });
    expect(rows).toMatchObject([
      { outcome: 'intent', target: { scope: scope.id, other: 'zeta.localhost' } },
      { outcome: 'done', after: { expiresAt: '2026-11-21T08:30:00.000Z' }, hash: head?.hash },
    ]);
    expect(JSON.stringify(rows)).not.toContain('a-claim-secret');
  });
});

describe('spec C-12: when there is no link to make', () => {
  test.each(['nothing', 'a pending name', 'a disabled name', 'another surface'])(
    'with %s bound it is 409, and the vertical is not asked',
    async (bound) => {
      const { platform, scope } = await openWithScope();
      if (bound === 'a pending name') await platform.hostname(scope, 'shop.example.org');
      if (bound === 'a disabled name') {
        await platform.hostname(scope, 'acme.localhost');
        await platform.call('hostnames.set-status', {
          body: { hostname: 'acme.localhost', status: 'disabled' },
        });
      }
      if (bound === 'another surface')
        await platform.call('hostnames.bind', {
          body: { hostname: 'w.localhost', tenant: scope.tenant, scope: scope.id, surface: 'public' },
        });
      const asked = platform.fieldwork.requests.length;
      const rows = await platform.adminLog();
      expect(await refusal(mint(platform, scope))).toMatchObject({
        status: 409,
        code: 'conflict',
        reason: 'no_hostname',
      });
      expect(platform.fieldwork.requests).toHaveLength(asked);
      expect(await platform.adminLog()).toEqual(rows);
    },
  );

  test("a claimed seat is the vertical's own 409, and the log says that it failed", async () => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    platform.fieldwork.claimed = true;
    expect(await refusal(mint(platform, scope))).toMatchObject({ status: 409, reason: 'seat_claimed' });
    expect((await platform.adminLog()).slice(-2)).toMatchObject([
      { outcome: 'intent' },
      { outcome: 'failed', code: 'conflict' },
    ]);
  });

  test.each([
    ['local', 'no_worker', 'owner seat'],
    ['none', 'no_vertical', 'bound to no vertical'],
  ] as const)('with the vertical %s both routes are 501 with a diagnosis', async (reach, reason, words) => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    platform.reach = reach;
    for (const route of [seat, mint])
      expect(await refusal(route(platform, scope))).toMatchObject({
        status: 501,
        code: 'unsupported',
        reason,
        message: expect.stringContaining(words),
      });
  });

  test.each([
    ['local', 'no_worker'],
    ['none', 'no_vertical'],
  ] as const)(
    'with the vertical %s and no host name either, the missing seat is reported, and nothing is written',
    async (reach, reason) => {
      const { platform, scope } = await openWithScope();
      platform.reach = reach;
      const rows = await platform.adminLog();
      expect(await refusal(mint(platform, scope))).toMatchObject({ status: 501, reason });
      await platform.hostname(scope, 'acme.localhost');
      expect(await refusal(mint(platform, scope))).toMatchObject({ status: 501, reason });
      expect(await platform.adminLog({ action: 'owner-claim.mint' })).toEqual([]);
      expect(await platform.adminLog()).toHaveLength(rows.length + 1);
    },
  );

  test.each([
    [
      '501 of a vertical that keeps no seat',
      problemDocument(new PlatformError('unsupported', 'No seat.')),
      501,
    ],
    ['403', problemDocument(new PlatformError('forbidden', 'No.')), 403],
    ['404 without an explanation', new Response('Not found', { status: 404 }), 404],
    ['418 without an explanation', new Response('Tea', { status: 418 }), 418],
    ['503', problemDocument(new PlatformError('unavailable', 'Later.')), 503],
    ['a status that its code does not have elsewhere', goneForGood(), 410],
  ])("the vertical's own %s goes through unchanged", async (_, response, status) => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    for (const route of [seat, mint]) {
      platform.fieldwork.fault = async () => response.clone();
      expect(await refusal(route(platform, scope))).toMatchObject({ status });
    }
  });
});

/** A vertical's own words: the platform itself answers `not_found` as 404. */
function goneForGood(): Response {
  const detail = 'This instance was given up.';
  const problem = { type: 'about:blank', title: 'Gone', status: 410, code: 'not_found', detail };
  return Response.json(
    { ...problem, error: detail },
    { status: 410, headers: { 'content-type': 'application/problem+json' } },
  );
}

test('a replay of a link that was shown is refused with what to do instead', async () => {
  const { platform, scope } = await openWithScope();
  await platform.hostname(scope, 'acme.localhost');
  await mint(platform, scope, { key: 'k' });
  const asked = platform.fieldwork.requests.length;
  expect(await refusal(mint(platform, scope, { key: 'k' }))).toMatchObject({
    status: 409,
    reason: 'secret_shown_once',
    message: expect.stringContaining('new key'),
  });
  expect(platform.fieldwork.requests).toHaveLength(asked);
});

describe('spec A-29: the way back of an owner who cannot sign in', () => {
  const recover = (platform: Platform, scope: ScopeRecord, more = {}) =>
    platform.call('owner-recovery.mint', {
      params: { tenant: scope.tenant, scope: scope.id },
      body: { why: 'Ticket 17: their issuer is gone.', recover: true },
      ...more,
    });

  test('is asked of the vertical with who and why, is shown once, and its link is in no log', async () => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    const { status, value } = await recover(platform, scope, { key: 'k' });
    expect({ status, value }).toEqual({
      status: 201,
      value: {
        url: 'http://acme.localhost:8787/?invite=an-invite-secret',
        expiresAt: '2026-11-21T08:30:00.000Z',
      },
    });
    expect(platform.fieldwork.requests.at(-1)).toEqual({
      method: 'POST',
      url: 'http://acme.localhost:8787/internal/owner-recovery',
      body: {
        tenantId: scope.tenant,
        scopeId: scope.id,
        origin: 'http://acme.localhost:8787',
        by: 'Ada',
        why: 'Ticket 17: their issuer is gone.',
        recover: true,
      },
    });
    const rows = await platform.adminLog({ action: 'owner-recovery.mint' });
    expect(rows).toMatchObject([{ outcome: 'intent' }, { outcome: 'done', target: { scope: scope.id } }]);
    expect(JSON.stringify(rows)).not.toMatch(/an-invite-secret|Ticket/);
    expect(await refusal(recover(platform, scope, { key: 'k' }))).toMatchObject({
      reason: 'secret_shown_once',
    });
  });

  test('spec A-29: replaces the holder by a route of its own, and is ended by the operator, with who and why', async () => {
    const { platform, scope } = await openWithScope();
    await platform.hostname(scope, 'acme.localhost');
    const params = { tenant: scope.tenant, scope: scope.id };
    const why = 'Ticket 18: they left with the keys.';
    const asked = { tenantId: scope.tenant, scopeId: scope.id, by: 'Ada', why };
    const made = await platform.call('owner-replacement.mint', { params, body: { why, replace: true } });
    expect(made).toMatchObject({
      status: 201,
      value: { url: 'http://acme.localhost:8787/?invite=an-invite-secret', notice: 'mail' },
    });
    expect(platform.fieldwork.requests.at(-1)).toMatchObject({
      url: 'http://acme.localhost:8787/internal/owner-replacement',
      body: { ...asked, origin: 'http://acme.localhost:8787', replace: true },
    });
    const ended = await platform.call('owner-recovery.end', { params, body: { why } });
    expect(ended).toMatchObject({ status: 200, value: { ended: true } });
    expect(platform.fieldwork.requests.at(-1)).toMatchObject({
      url: 'http://acme.localhost:8787/internal/owner-recovery/end',
      body: asked,
    });
    for (const action of ['owner-replacement.mint', 'owner-recovery.end']) {
      const rows = await platform.adminLog({ action });
      expect(rows).toMatchObject([{ outcome: 'intent' }, { outcome: 'done', target: { scope: scope.id } }]);
      expect(JSON.stringify(rows)).not.toMatch(/an-invite-secret|Ticket/);
    }
    const unmeant = platform.call('owner-replacement.mint', {
      params,
      body: { why, replace: false },
    } as never);
    expect(await refusal(unmeant)).toMatchObject({ status: 400 });
  });

  test('is 409 without a host name, and what the vertical says otherwise', async () => {
    const { platform, scope } = await openWithScope();
    expect(await refusal(recover(platform, scope))).toMatchObject({ status: 409, reason: 'no_hostname' });
    await platform.hostname(scope, 'acme.localhost');
    for (const reason of ['seat_pending', 'hook_omitted']) {
      const code = reason === 'seat_pending' ? 'conflict' : 'unsupported';
      platform.fieldwork.fault = async () => problemDocument(new PlatformError(code, 'No.', { reason }));
      expect(await refusal(recover(platform, scope))).toMatchObject({ code, reason });
    }
  });

  test('has to be meant, and given a reason', async () => {
    const { platform, scope } = await openWithScope();
    for (const body of [{ why: 'Ticket 17.' }, { why: '  ', recover: true }, { recover: true }])
      expect(await refusal(recover(platform, scope, { body }))).toMatchObject({ status: 400 });
  });
});

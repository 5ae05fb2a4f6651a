/** Tokens that expire, one refresher at a time, revocation, the sweep, and the gate that every delegated call passes. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { describe, expect, test } from 'vitest';
import { openRounds, type Rounds } from '../../test/consent-round.ts';
import { makeKeyProvider, SEAL_KEY } from '../../test/key-provider.ts';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { ConnectionRecord } from '../admin-operations.ts';
import type { ConnectionSweep } from '../operations-log/recorder.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function openConnected(change: (rounds: Rounds) => void = () => undefined, options = {}) {
  const rounds = await openRounds(options);
  change(rounds);
  const id = await rounds.connection();
  const { platform, tenant } = rounds;
  const ref = { tenant: tenant.id, connection: id };
  const record = () => platform.value<ConnectionRecord>('connections.get', { params: ref });
  const use = () => platform.admin.connections.use(ref);
  const activity = async () => {
    const { items } = await platform.value<{ items: { kind: string }[] }>('connections.activity', {
      params: ref,
    });
    return items.map(({ kind }) => kind);
  };
  return { ...rounds, id, ref, record, use, activity };
}

async function swept(platform: Rounds['platform']): Promise<ConnectionSweep[]> {
  const lines: ConnectionSweep[] = [];
  for await (const line of platform.admin.connections.sweep()) lines.push(line);
  return lines;
}

describe('a credential that is handed out works', () => {
  test('a fresh token is handed out as it is, one that is about to expire is refreshed first', async () => {
    const { platform, provider, use, activity } = await openConnected();
    expect((await use()).secret).toBe(provider.grants[0]?.accessToken);
    platform.clock.ms += HOUR_MS - MINUTE_MS;
    const before = provider.grants[0]?.accessToken;
    const used = await use();
    expect(used.secret).not.toBe(before);
    expect(used).toMatchObject({
      secret: provider.grants[0]?.accessToken,
      expiresAtMs: platform.clock.ms + HOUR_MS,
    });
    expect((await use()).secret).toBe(used.secret);
    expect(await activity()).toEqual(['refreshed', 'connected']);
  });

  test('many callers at one moment: one refresh, and each gets the new token', async () => {
    const { platform, provider, use } = await openConnected();
    platform.clock.ms += 2 * HOUR_MS;
    provider.asked.length = 0;
    const used = await Promise.all(Array.from({ length: 10 }, use));
    expect(provider.asked).toEqual(['/token']);
    expect(new Set(used.map(({ secret }) => secret))).toEqual(new Set([provider.grants[0]?.accessToken]));
  });

  test('two processes: the second does not refresh while the first does, and uses the new token', async () => {
    const { platform, provider, ref, use } = await openConnected();
    platform.clock.ms += 2 * HOUR_MS;
    // Another process holds the lease.
    await platform.tamper((database) =>
      database.exec(`UPDATE connection_credentials SET refreshing_until = ${platform.clock.ms + MINUTE_MS}`),
    );
    provider.asked.length = 0;
    expect(await refusal(use())).toMatchObject({ status: 503, reason: 'refresh_in_progress' });
    expect(provider.asked).toEqual([]);
    // A process that died with the lease keeps others out no longer than the lease lasts.
    platform.clock.ms += MINUTE_MS;
    expect((await platform.admin.connections.use(ref)).secret).toBe(provider.grants[0]?.accessToken);
  });

  test('a clock that jumped ahead and back: the lease is over, and the token is refreshed before its late expiry', async () => {
    const { platform, provider, use } = await openConnected();
    platform.clock.ms += 400 * 24 * HOUR_MS;
    await use();
    await platform.tamper((database) =>
      database.exec(`UPDATE connection_credentials SET refreshing_until = ${platform.clock.ms + MINUTE_MS}`),
    );
    platform.clock.ms -= 400 * 24 * HOUR_MS;
    provider.asked.length = 0;
    expect(await swept(platform)).toMatchObject([{ outcome: 'swept', reason: 'refreshed' }]);
    expect(await use()).toMatchObject({ expiresAtMs: platform.clock.ms + HOUR_MS });
    expect(provider.asked).toEqual(['/token']);
  });

  test('a provider that is down: the token is used while it works, and then it is a 502', async () => {
    const { platform, provider, use, record } = await openConnected();
    provider.fault = () => Promise.reject(new TypeError('fetch failed'));
    platform.clock.ms += HOUR_MS - 1;
    expect((await use()).secret).toBe(provider.grants[0]?.accessToken);
    platform.clock.ms += 1;
    expect(await refusal(use())).toMatchObject({ status: 502, reason: 'provider_unreachable' });
    expect(await record()).toMatchObject({ state: 'active' });
    provider.fault = null;
    expect((await use()).secret).toBe(provider.grants[0]?.accessToken);
  });

  test('a client that the provider no longer knows is an incident for the operator: the connection stays', async () => {
    const { platform, provider, use, record } = await openConnected();
    provider.fault = () => Promise.resolve(Response.json({ error: 'invalid_client' }, { status: 401 }));
    platform.clock.ms += 2 * HOUR_MS;
    expect(await refusal(use())).toMatchObject({ status: 502, reason: 'provider_answer' });
    expect(await record()).toMatchObject({ state: 'active' });
  });

  test('a consent that was withdrawn breaks the connection, once, with a row of the log', async () => {
    const { platform, provider, use, record, activity, id } = await openConnected();
    for (const grant of provider.grants) grant.live = false;
    platform.clock.ms += 2 * HOUR_MS;
    expect(await refusal(use())).toMatchObject({ status: 409, reason: 'connection_not_live' });
    const broken = await record();
    expect(broken).toMatchObject({ state: 'broken', reason: 'refresh_refused' });
    const row = (await platform.adminLog()).at(-1);
    expect(row).toMatchObject({
      action: 'connections.upkeep',
      actor: { kind: 'system', id: 'connections' },
      target: { other: id },
      before: { state: 'active' },
      after: { state: 'broken' },
    });
    expect(broken.etag).toBe(String(row?.sequence));
    provider.asked.length = 0;
    expect(await refusal(use())).toMatchObject({ status: 409, reason: 'connection_not_live' });
    expect(provider.asked).toEqual([]);
    expect(await activity()).toEqual(['broken', 'connected']);
  });

  test('a token without a refresh token breaks when it expires', async () => {
    const { platform, use, record } = await openConnected(({ provider }) => {
      provider.givesRefreshTokens = false;
    });
    platform.clock.ms += HOUR_MS - 1;
    await use();
    platform.clock.ms += 1;
    expect(await refusal(use())).toMatchObject({ status: 409, reason: 'connection_not_live' });
    expect(await record()).toMatchObject({ state: 'broken', reason: 'token_expired' });
  });

  test('a token whose provider does not say when it expires is handed out as it is', async () => {
    const { platform, provider, use } = await openConnected((rounds) => {
      rounds.provider.lifetimeS = null;
    });
    platform.clock.ms += 1000 * HOUR_MS;
    expect(await use()).toMatchObject({ secret: provider.grants[0]?.accessToken, expiresAtMs: null });
  });

  test('of a suspended tenant it is never handed out', async () => {
    const { platform, use, tenant } = await openConnected();
    const set = (status: string) =>
      platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status } });
    await set('suspended');
    expect(await refusal(use())).toMatchObject({ status: 409, reason: 'connection_not_live' });
    await set('active');
    await use();
  });

  test('of another tenant it reads as not found', async () => {
    const { platform, id } = await openConnected();
    const other = await platform.tenant('other');
    const stolen = platform.admin.connections.use({ tenant: other.id, connection: id });
    expect(await refusal(stolen)).toMatchObject({ status: 404 });
  });
});

describe('disconnecting what was connected by consent', () => {
  test('revokes the refresh token at the provider (RFC 7009)', async () => {
    const { platform, provider, ref, use } = await openConnected();
    provider.asked.length = 0;
    const { value } = await platform.call('connections.disconnect', { params: ref });
    expect(value).toMatchObject({ state: 'disconnected', reason: 'revoked' });
    expect(provider.asked).toEqual(['/revoke']);
    expect(provider.grants[0]?.live).toBe(false);
    expect(await refusal(use())).toMatchObject({ status: 409 });
  });

  test('a provider that is down delays nothing: it is disconnected here, and the record says what is left', async () => {
    const { platform, provider, ref } = await openConnected();
    provider.fault = () => Promise.reject(new TypeError('fetch failed'));
    const { value } = await platform.call('connections.disconnect', { params: ref });
    expect(value).toMatchObject({ state: 'disconnected', reason: 'revocation_failed' });
    await platform.tamper((database) => {
      expect(database.prepare('SELECT * FROM connection_credentials').all()).toEqual([]);
    });
  });

  test('a second call with the same tag is refused while the first waits for the provider', async () => {
    const { platform, provider, ref, record } = await openConnected();
    const { etag } = await record();
    const disconnect = () => platform.call('connections.disconnect', { params: ref, ifMatch: etag });
    provider.fault = () => {
      provider.fault = null;
      return refusal(disconnect()).then((second) => {
        expect(second).toMatchObject({ status: 412 });
        return new Response(null, { status: 200 });
      });
    };
    expect((await disconnect()).value).toMatchObject({ state: 'disconnected', reason: 'revoked' });
  });

  test('during a refresh: the new tokens of the provider are revoked, and stored nowhere', async () => {
    const { platform, provider, ref, use } = await openConnected();
    platform.clock.ms += 2 * HOUR_MS;
    provider.fault = (path) => {
      if (path !== '/token') return null;
      provider.fault = (other) =>
        other === '/revoke' ? Promise.resolve(new Response('', { status: 500 })) : null;
      return platform.call('connections.disconnect', { params: ref }).then(() => {
        provider.fault = null;
        return Response.json({
          access_token: 'too-late',
          token_type: 'Bearer',
          refresh_token: 'too-late-too',
        });
      });
    };
    provider.asked.length = 0;
    expect(await refusal(use())).toMatchObject({ status: 409, reason: 'connection_not_live' });
    expect(provider.asked).toEqual(['/token', '/revoke', '/revoke']);
    await platform.tamper((database) => {
      expect(database.prepare('SELECT * FROM connection_credentials').all()).toEqual([]);
    });
  });
});

describe('verifying what was connected by consent', () => {
  test('asks with the token, and refreshes one that ended early', async () => {
    const { platform, provider, ref, activity } = await openConnected();
    const verify = () => platform.value<ConnectionRecord>('connections.verify', { params: ref });
    expect(await verify()).toMatchObject({ state: 'active' });
    const grant = provider.grants[0];
    if (grant) grant.accessToken = 'another-now';
    expect(await verify()).toMatchObject({ state: 'active' });
    expect(await activity()).toEqual(['verified', 'refreshed', 'verified', 'connected']);
  });

  test('a consent that was withdrawn: broken, in one row of the log, whichever caller asked', async () => {
    const { platform, provider, ref } = await openConnected();
    for (const grant of provider.grants) grant.live = false;
    const before = await platform.adminLog();
    const { value } = await platform.call('connections.verify', { params: ref });
    expect(value).toMatchObject({ state: 'broken', reason: 'refresh_refused' });
    const rows = (await platform.adminLog()).slice(before.length);
    expect(rows).toMatchObject([{ action: 'connections.verify', actor: { id: 'ada' } }]);
  });

  test('an account that has changed: broken', async () => {
    const { platform, provider, ref } = await openConnected();
    provider.fault = (path) => (path === '/me' ? Promise.resolve(Response.json({ sub: 'mallory' })) : null);
    const { value } = await platform.call('connections.verify', { params: ref });
    expect(value).toMatchObject({ state: 'broken', reason: 'account_changed' });
  });

  test('without an identity endpoint a refresh shows that the consent holds; without either it is a 501', async () => {
    const silent = { provider: { identity: undefined } };
    const refreshed = await openConnected(undefined, silent);
    const verified = await refreshed.platform.call('connections.verify', { params: refreshed.ref });
    expect(verified.value).toMatchObject({ state: 'active' });
    expect(refreshed.provider.asked).toEqual(['/token', '/token']);
    const neither = await openConnected(({ provider }) => {
      provider.givesRefreshTokens = false;
    }, silent);
    const call = neither.platform.call('connections.verify', { params: neither.ref });
    expect(await refusal(call)).toMatchObject({ status: 501, reason: 'not_verifiable' });
  });

  test('cannot be replaced by a key', async () => {
    const { platform, ref } = await openConnected();
    const call = platform.call('connections.rotate', { params: ref, body: { apiKey: 'some-key-or-other' } });
    expect(await refusal(call)).toMatchObject({ status: 409, reason: 'consent_required' });
  });
});

describe('the sweep (spec 6.4): one line for each connection', () => {
  test('refreshes what is about to expire, and skips the rest', async () => {
    const { platform, provider, id, tenant, scope } = await openConnected();
    const line = {
      connection: id,
      tenant: tenant.id,
      scope: scope.id,
      vertical: 'fieldwork',
      provider: 'calendar',
    };
    expect(await swept(platform)).toEqual([{ ...line, outcome: 'skipped', reason: 'not_due' }]);
    platform.clock.ms += HOUR_MS - 10 * MINUTE_MS;
    const before = provider.grants[0]?.accessToken;
    expect(await swept(platform)).toEqual([{ ...line, outcome: 'swept', reason: 'refreshed' }]);
    expect(provider.grants[0]?.accessToken).not.toBe(before);
  });

  test('one that fails does not keep the others from being swept', async () => {
    const { platform, provider, connection, id, record } = await openConnected();
    const second = await connection({}, 'bob');
    const [first] = provider.grants;
    if (first) first.live = false;
    platform.clock.ms += 2 * HOUR_MS;
    expect(await swept(platform)).toMatchObject([
      { connection: id, outcome: 'failed', reason: 'provider_refused' },
      { connection: second, outcome: 'swept', reason: 'refreshed' },
    ]);
    expect(await record()).toMatchObject({ state: 'broken', reason: 'refresh_refused' });
    expect(await swept(platform)).toMatchObject([
      { outcome: 'skipped', reason: 'broken' },
      { outcome: 'skipped' },
    ]);
    expect(platform.incidents).toEqual([]);
  });

  test('a provider that is down is a failure of the sweep and not of the connection', async () => {
    const { platform, provider, record } = await openConnected();
    provider.fault = () => Promise.reject(new TypeError('fetch failed'));
    platform.clock.ms += 2 * HOUR_MS;
    expect(await swept(platform)).toMatchObject([{ outcome: 'failed', reason: 'provider_unreachable' }]);
    expect(await record()).toMatchObject({ state: 'active' });
  });

  test('a token that cannot be refreshed breaks when it has expired', async () => {
    const { platform, record } = await openConnected(({ provider }) => {
      provider.givesRefreshTokens = false;
    });
    platform.clock.ms += HOUR_MS;
    expect(await swept(platform)).toMatchObject([{ outcome: 'failed', reason: 'provider_refused' }]);
    expect(await record()).toMatchObject({ state: 'broken', reason: 'token_expired' });
  });

  test('a key is tried again once a day', async () => {
    const provider = makeKeyProvider();
    const platform = await openPlatform({ connections: provider.options });
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    const { id, etag } = await platform.value<ConnectionRecord>('connections.create', {
      params: { tenant: tenant.id },
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'x', apiKey: 'key-of-ada-1' },
    });
    const record = () =>
      platform.value<ConnectionRecord>('connections.get', { params: { tenant: tenant.id, connection: id } });
    platform.clock.ms += 24 * HOUR_MS;
    const log = await platform.adminLog();
    expect(await swept(platform)).toMatchObject([{ outcome: 'swept', reason: 'verified' }]);
    // Like a token's last use: no row, and no new version.
    expect(await record()).toMatchObject({ verifiedAt: '2026-11-22T08:00:00.000Z', etag });
    expect(await platform.adminLog()).toEqual(log);
    expect(await swept(platform)).toMatchObject([{ outcome: 'skipped', reason: 'not_due' }]);
    // A check by a clock that was ahead puts the next one off no longer than a day.
    platform.clock.ms += 400 * 24 * HOUR_MS;
    expect(await swept(platform)).toMatchObject([{ outcome: 'swept', reason: 'verified' }]);
    platform.clock.ms -= 400 * 24 * HOUR_MS;
    provider.withdrawn.add('key-of-ada-1');
    expect(await swept(platform)).toMatchObject([{ outcome: 'failed', reason: 'provider_refused' }]);
    expect(await record()).toMatchObject({ state: 'broken', reason: 'credential_refused' });
  });

  test('a credential that is sealed under an old key is sealed under the new one', async () => {
    const NEW = 'a newer sealing key of 32 bytes and more';
    const { platform, provider, ref, use } = await openConnected();
    const sealKey = async () =>
      (await platform.value<{ sealKey: string }>('connections.credential', { params: ref })).sealKey;
    const before = await sealKey();
    const rotate = async (...secrets: string[]) => {
      Object.assign(provider.options, { keyring: makeKeyring(secrets) });
      await platform.tamper(() => undefined);
    };
    await rotate(NEW, SEAL_KEY);
    expect(await swept(platform)).toMatchObject([{ outcome: 'swept', reason: 'resealed' }]);
    expect(await sealKey()).not.toBe(before);
    await rotate(NEW);
    expect((await use()).secret).toBe(provider.grants[0]?.accessToken);
    expect(await swept(platform)).toMatchObject([{ outcome: 'skipped', reason: 'not_due' }]);
  });

  test('skips connections of a provider that was removed', async () => {
    const { platform, provider } = await openConnected();
    Object.assign(provider.options, { providers: {} });
    await platform.tamper(() => undefined);
    platform.clock.ms += 25 * HOUR_MS;
    expect(await swept(platform)).toMatchObject([{ outcome: 'skipped', reason: 'unknown_provider' }]);
  });

  test('goes through more connections than one page holds', async () => {
    const provider = makeKeyProvider();
    const platform = await openPlatform({ connections: provider.options });
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    for (let i = 1; i <= 101; i++)
      await platform.call('connections.create', {
        params: { tenant: tenant.id },
        body: { provider: 'ledger', scope: scope.id, subjectRef: `${i}`, apiKey: `key-of-ada-${i}` },
      });
    expect(new Set((await swept(platform)).map(({ connection }) => connection)).size).toBe(101);
  });
});

describe('spec 4.4: a connection acts in a scope', () => {
  const grant = (rounds: Rounds & { id: string }, scope = rounds.scope.id, more = {}) =>
    rounds.platform.call('connection-grants.put', {
      params: { tenant: rounds.tenant.id, connection: rounds.id },
      body: { scope, permission: 'order.complete', ...more },
    });
  const invoke = (rounds: Rounds & { id: string }, scope: string = rounds.scope.id) =>
    rounds.platform.admin.connections.invoke({
      tenantId: rounds.tenant.id,
      scopeId: scope as never,
      connection: rounds.id,
      operation: 'order/complete',
      input: { order: 'ord_1' },
    });

  test.each(['bound', 'local'] as const)(
    'once it was let in, through a %s vertical, as itself',
    async (reach) => {
      const rounds = await openConnected();
      const { platform, id } = rounds;
      platform.reach = reach;
      expect(await refusal(invoke(rounds))).toMatchObject({ status: 403, reason: 'not_granted' });
      const entity = { type: 'order', id: 'ord_1' };
      expect((await grant(rounds, rounds.scope.id, { entity })).value).toMatchObject({
        subject: `connection:${id}`,
        permission: 'order.complete',
        entity,
        grantedBy: 'ada',
      });
      expect(await invoke(rounds)).toMatchObject({ replayed: false });
      if (reach === 'local') return;
      const [granted, invoked] = platform.fieldwork.requests.slice(-2);
      expect(granted?.body).toMatchObject({ connection: id, permission: 'order.complete', entity });
      expect(invoked?.body).toMatchObject({
        connection: id,
        operation: 'order/complete',
        input: { order: 'ord_1' },
      });
    },
  );

  test('no credential is in anything that the vertical is told (D-02)', async () => {
    const rounds = await openConnected();
    await grant(rounds);
    await invoke(rounds);
    for (const token of rounds.provider.tokens)
      expect(JSON.stringify(rounds.platform.fieldwork.requests)).not.toContain(token);
  });

  test('and not after it was shut out, broken, disconnected, or its tenant suspended: the gate is passed each time', async () => {
    const ways = {
      not_granted: async ({ platform, ref, scope }: Awaited<ReturnType<typeof openConnected>>) =>
        platform.call('connection-grants.delete', { params: ref, query: { scope: scope.id } }),
      connection_not_live: async ({ platform, ref }: Awaited<ReturnType<typeof openConnected>>) =>
        platform.call('connections.disconnect', { params: ref }),
    };
    for (const [reason, end] of Object.entries(ways)) {
      const rounds = await openConnected();
      await grant(rounds);
      await invoke(rounds);
      await end(rounds);
      const asked = rounds.platform.fieldwork.requests.length;
      expect(await refusal(invoke(rounds))).toMatchObject({ reason });
      expect(rounds.platform.fieldwork.requests).toHaveLength(asked);
    }
    const suspended = await openConnected();
    await grant(suspended);
    await suspended.platform.call('tenants.set-status', {
      params: { tenant: suspended.tenant.id },
      body: { status: 'suspended' },
    });
    expect(await refusal(invoke(suspended))).toMatchObject({ status: 403, reason: 'not_granted' });
  });

  test('only in scopes of its own tenant and vertical', async () => {
    const rounds = await openConnected();
    const { platform, tenant } = rounds;
    const second = await platform.scope(tenant.id, 'second');
    const theirs = await platform.scope((await platform.tenant('theirs')).id);
    await grant(rounds);
    expect(await refusal(invoke(rounds, second.id))).toMatchObject({ reason: 'not_granted' });
    expect(await refusal(invoke(rounds, theirs.id))).toMatchObject({ reason: 'not_granted' });
    expect(await refusal(grant(rounds, theirs.id))).toMatchObject({ status: 404, reason: 'unknown_scope' });
    await platform.tamper((database) =>
      database.prepare("UPDATE scopes SET vertical = 'other' WHERE id = ?").run(second.id),
    );
    expect(await refusal(grant(rounds, second.id))).toMatchObject({ status: 409, reason: 'other_vertical' });
  });

  test('a grant that the vertical refuses failed; one whose answer means nothing may have been made', async () => {
    const rounds = await openConnected();
    const { platform, ref } = rounds;
    platform.fieldwork.fault = async () =>
      problemDocument(new PlatformError('validation_failed', 'No.', { reason: 'unknown_permission' }));
    expect(await refusal(grant(rounds))).toMatchObject({ status: 400, reason: 'unknown_permission' });
    platform.fieldwork.fault = async () => Response.json({ nonsense: true });
    expect(await refusal(grant(rounds))).toMatchObject({ status: 502, reason: 'outcome_unknown' });
    platform.fieldwork.fault = null;
    const list = () => platform.value<{ items: object[] }>('connection-grants.list', { params: ref });
    expect((await list()).items).toEqual([]);
    await grant(rounds);
    expect((await list()).items).toHaveLength(1);
    await grant(rounds);
    expect((await list()).items).toHaveLength(1);
    const outcomes = (await platform.adminLog({ action: 'connection-grants.put' })).map(
      ({ outcome }) => outcome,
    );
    expect(outcomes).toEqual([
      ...['intent', 'failed'],
      ...['intent', 'intent', 'done', 'superseded'],
      ...['intent', 'done'],
    ]);
  });

  test('without a vertical a grant is a 501 and leaves no intent', async () => {
    const rounds = await openConnected();
    rounds.platform.reach = 'none';
    expect(await refusal(grant(rounds))).toMatchObject({ status: 501, reason: 'no_vertical' });
    expect(await rounds.platform.adminLog({ action: 'connection-grants.put' })).toEqual([]);
  });
});

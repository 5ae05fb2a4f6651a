/** Facts of every projection: what the directory decides reaches the scopes, whatever happens on the way (spec C-03, C-22). */
import { beforeEach, describe, expect, test } from 'vitest';
import { openPlatform, type Platform } from '../../test/platform.ts';
import type { AdminOperationName, ScopeRecord } from '../admin-operations.ts';

let platform: Platform;
let tenant: string;
let scope: ScopeRecord;

beforeEach(async () => {
  platform = await openPlatform();
  tenant = (await platform.tenant('acme')).id;
  scope = await platform.scope(tenant);
});

const away = async (): Promise<Response> => {
  throw new TypeError('connection refused');
};
const pendingOf =
  (operation: AdminOperationName, params = {}) =>
  async () =>
    (await platform.value<{ delivery: { pendingScopes: number } }>(operation, { params })).delivery
      .pendingScopes;

/** The parts of a projection for this suite. A change is told by its keys: `put('one')`. */
const PROJECTIONS = {
  roles: {
    put: (key: string) =>
      platform.call('roles.put', { params: { key }, body: { name: key, permissions: ['order.read'] } }),
    remove: (key: string) => platform.call('roles.delete', { params: { key } }),
    pending: pendingOf('roles.list'),
    deliver: async () => {
      const { units, failed } = await platform.admin.recordSweep(platform.admin.roles.sweep());
      return { delivered: units - failed, failed };
    },
    keys: (id: string) => {
      const roles = platform.fieldwork.roles.get(id);
      return roles && Object.keys(roles).sort();
    },
    forget: (id: string) => platform.fieldwork.roles.set(id, { stale: ['order.read'] }),
    sent: (body: unknown) => Object.keys((body as { platformRoles: object }).platformRoles).sort(),
    confirm: (scopeId: string, keys: string[]) => Response.json({ scopeId, roles: keys }),
  },
  entitlements: {
    put: (key: string) => platform.call('entitlements.put', { params: { tenant, key }, body: {} }),
    remove: (key: string) => platform.call('entitlements.delete', { params: { tenant, key } }),
    pending: () => pendingOf('entitlements.list', { tenant })(),
    deliver: () => platform.admin.entitlements.deliver(),
    keys: (id: string) => {
      const entitled = platform.fieldwork.entitled.get(id);
      return entitled && Object.keys(entitled.items).sort();
    },
    forget: (id: string) => platform.fieldwork.entitled.set(id, { revision: 1, items: {} }),
    sent: (body: unknown) =>
      Object.keys((body as { entitlements: { items: object } }).entitlements.items).sort(),
    confirm: (scopeId: string, keys: string[]) => Response.json({ scopeId, entitlements: keys }),
  },
};

describe.each(['roles', 'entitlements'] as const)('the projection of %s', (name) => {
  const { put, remove, pending, deliver, keys, forget, sent, confirm } = PROJECTIONS[name];

  test.each(['bound', 'local'] as const)(
    'spec C-03, C-22: a change has reached the scopes of a vertical that is %s when it is answered',
    async (reach) => {
      platform.reach = reach;
      const second = await platform.scope(tenant, 'second');
      await put('one');
      await put('two');
      expect([keys(scope.id), keys(second.id)]).toEqual([
        ['one', 'two'],
        ['one', 'two'],
      ]);
      expect(await pending()).toBe(0);
      await remove('one');
      await remove('two');
      expect([keys(scope.id), keys(second.id)]).toEqual([[], []]);
    },
  );

  test('a change to what it was asks no scope', async () => {
    await put('one');
    const asked = platform.fieldwork.requests.length;
    await put('one');
    expect(platform.fieldwork.requests).toHaveLength(asked);
  });

  test('a scope that is suspended or archived is told as well', async () => {
    const archived = await platform.scope(tenant, 'archived');
    for (const [{ id }, status] of [
      [scope, 'suspended'],
      [archived, 'archived'],
    ] as const)
      await platform.call('scopes.set-status', { params: { tenant, scope: id }, body: { status } });
    await put('one');
    expect([keys(scope.id), keys(archived.id)]).toEqual([['one'], ['one']]);
  });

  test('a scope that is made later hears of it, and is not asked while there is nothing to hear of', async () => {
    expect(platform.fieldwork.requests.map(({ url }) => new URL(url).pathname)).toEqual([
      '/internal/provision',
    ]);
    await put('one');
    expect(keys((await platform.scope(tenant, 'later')).id)).toEqual(['one']);
  });

  test('a scope that was replaced by an earlier state of itself is told again', async () => {
    await put('one');
    const params = { tenant, scope: scope.id };
    const { id: snapshot } = await platform.value<{ id: string }>('snapshots.take', { params, body: {} });
    platform.reach = 'both';
    for (const replace of [
      () => platform.call('scopes.restore', { params, body: { from: { snapshot } } }),
      () => platform.call('scopes.rewind', { params, body: { bookmark: 'bm_1' } }),
    ]) {
      forget(scope.id);
      await replace();
      await expect.poll(() => keys(scope.id)).toEqual(['one']);
    }
  });

  test('an answer that was lost while a scope was replaced does not leave it with what it had', async () => {
    await put('one');
    platform.fieldwork.fault = away;
    const rewind = platform.call('scopes.rewind', {
      params: { tenant, scope: scope.id },
      body: { bookmark: 'bm_1' },
    });
    await expect(rewind).rejects.toMatchObject({ reason: 'outcome_unknown' });
    platform.fieldwork.fault = null;
    forget(scope.id);
    // Not before the rewind is certainly over, or it would be lost again.
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    platform.clock.ms += 5 * 60_000;
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    expect(keys(scope.id)).toEqual(['one']);
  });

  test('spec C-22: a scope that cannot be reached does not fail the change, and is tried again less and less often', async () => {
    platform.fieldwork.fault = away;
    expect(await put('one')).toMatchObject({ status: 200 });
    expect([keys(scope.id), await pending()]).toEqual([undefined, 1]);
    for (const seconds of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
      platform.clock.ms += seconds * 1_000 - 1;
      expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
      platform.clock.ms += 1;
      expect(await deliver()).toEqual({ delivered: 0, failed: 1 });
    }
    platform.fieldwork.fault = null;
    platform.clock.ms += 3_600_000;
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    expect([keys(scope.id), await pending()]).toEqual([['one'], 0]);
  });

  test('a clock that jumped ahead and back puts no delivery off', async () => {
    platform.clock.ms += 400 * 86_400_000;
    platform.fieldwork.fault = away;
    await put('one');
    expect(await pending()).toBe(1);
    platform.clock.ms -= 400 * 86_400_000;
    platform.fieldwork.fault = null;
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    expect([keys(scope.id), await pending()]).toEqual([['one'], 0]);
  });

  test('the next process delivers what this one did not', async () => {
    platform.fieldwork.fault = away;
    await put('one');
    await platform.tamper(() => undefined);
    platform.fieldwork.fault = null;
    platform.clock.ms += 60_000;
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    expect(keys(scope.id)).toEqual(['one']);
  });

  test.each([
    ['does not confirm what it was sent', () => Response.json({ scopeId: scope.id })],
    ['answers for another scope', () => confirm('scp_01jd0000000000000000000009', ['one'])],
  ])('a scope that %s is still to be told', async (_, answer) => {
    platform.fieldwork.fault = async () => answer();
    await put('one');
    expect(await pending()).toBe(1);
  });

  test('one delivery at a time goes to a scope, and what is newer follows', async () => {
    const answered = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const seen: string[][] = [];
    platform.fieldwork.fault = async (request) => {
      const now = sent(await request.json());
      seen.push(now);
      begun.resolve();
      if (seen.length === 1) await answered.promise;
      return confirm(scope.id, now);
    };
    const first = put('one');
    await begun.promise;
    await put('two');
    expect(seen).toEqual([['one']]);
    answered.resolve();
    await first;
    expect(seen).toEqual([['one'], ['one', 'two']]);
    expect(await pending()).toBe(0);
  });

  test('forty scopes are all told, the first twenty before the answer', async () => {
    for (let i = 0; i < 39; i++) await platform.scope(tenant, `s${i}`);
    await put('one');
    const told = () => 40 - missing();
    const ids = platform.fieldwork.requests.map(({ body }) => (body as { scopeId: string }).scopeId);
    const missing = () => [...new Set(ids)].filter((id) => keys(id) === undefined).length;
    expect(told()).toBeGreaterThanOrEqual(20);
    await expect.poll(pending).toBe(0);
    expect(told()).toBe(40);
  });
});

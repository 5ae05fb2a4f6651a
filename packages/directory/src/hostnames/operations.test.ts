/** Host names: binding, switching, and the map that the router draws from them. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import type { HostnameRecord, ScopeRecord } from '../admin-operations.ts';

const bind = (platform: Platform, scope: ScopeRecord, hostname: string, more = {}) =>
  platform.call('hostnames.bind', { body: { hostname, tenant: scope.tenant, scope: scope.id, ...more } });

const switchTo = (platform: Platform, hostname: string, status: string, as = STAFF) =>
  platform.call('hostnames.set-status', { body: { hostname, status }, as });

async function openWithScope(options = {}) {
  const platform = await openPlatform(options);
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, scope };
}

describe('spec C-17: binding', () => {
  test.each([
    ['acme.localhost', 'active'],
    ['acme.apps.example.com', 'active'],
    ['apps.example.com', 'pending'],
    ['shop.acme.example', 'pending'],
  ])('%s becomes %s', async (hostname, status) => {
    const { platform, scope } = await openWithScope({ baseDomains: ['apps.example.com'] });
    const { status: code, value, etag } = await bind(platform, scope, hostname);
    expect(code).toBe(201);
    expect(value).toMatchObject({
      hostname,
      tenant: scope.tenant,
      scope: scope.id,
      surface: 'app',
      status,
      etag,
    });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'hostnames.bind',
      target: { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork', other: hostname },
      before: null,
      after: { hostname, surface: 'app', status },
    });
  });

  test('the same binding in another spelling answers the one that is there, without a row', async () => {
    const { platform, scope } = await openWithScope();
    const first = await bind(platform, scope, 'acme.localhost');
    const rows = await platform.adminLog();
    expect(await bind(platform, scope, 'ACME.localhost.')).toMatchObject({ status: 200, value: first.value });
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('a name that is bound elsewhere is a conflict that does not tell whose it is', async () => {
    const { platform, scope } = await openWithScope({ reservedHostnames: ['console.localhost'] });
    const other = await platform.scope((await platform.tenant('beta')).id);
    const sibling = await platform.scope(scope.tenant, 'second');
    await bind(platform, scope, 'acme.localhost');
    const answers = [
      await refusal(bind(platform, other, 'acme.localhost')),
      await refusal(bind(platform, sibling, 'acme.localhost')),
      await refusal(bind(platform, scope, 'acme.localhost', { surface: 'public' })),
      await refusal(bind(platform, other, 'console.localhost')),
    ];
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 409, code: 'conflict', reason: 'hostname_taken' });
    expect(answers[0]?.message).not.toContain(scope.tenant);
  });

  test.each(['co.uk', 'github.io', 'GitHub.io.', '公司.cn', 'foo.ck', 'kawasaki.jp'])(
    'the bare public suffix %s is refused, and nothing is written',
    async (hostname) => {
      const { platform, scope } = await openWithScope();
      const rows = await platform.adminLog();
      expect(await refusal(bind(platform, scope, hostname))).toMatchObject({
        status: 400,
        code: 'validation_failed',
        message: expect.stringContaining('public suffix'),
      });
      expect(await platform.adminLog()).toEqual(rows);
    },
  );

  test.each(['shop.co.uk', 'acme.github.io', 'www.ck', 'app.internal', 'shop.acme.example'])(
    '%s is no bare public suffix',
    async (hostname) => {
      const { platform, scope } = await openWithScope();
      expect((await bind(platform, scope, hostname)).value).toMatchObject({ status: 'pending' });
    },
  );

  test.each([
    'x.api.localhost',
    'deep.x.api.localhost',
    'X.API.localhost',
    'status.apps.example.com',
    'eu.status.apps.example.com',
    'localhost',
    'apps.example.com',
  ])('%s is refused as the reserved name itself is', async (hostname) => {
    const { platform, scope } = await openWithScope({
      baseDomains: ['apps.example.com'],
      reservedHostnames: ['api.localhost', 'localhost', 'Status.apps.example.com', 'apps.example.com'],
    });
    const reserved = await refusal(bind(platform, scope, 'api.localhost'));
    expect(reserved).toMatchObject({ status: 409, reason: 'hostname_taken' });
    expect(await refusal(bind(platform, scope, hostname))).toEqual(reserved);
    for (const free of ['acme.localhost', 'notapi.localhost', 'acme.apps.example.com'])
      expect((await bind(platform, scope, free)).status).toBe(201);
  });

  test('staff have to name the tenant of the scope', async () => {
    const { platform, scope } = await openWithScope();
    const body = { hostname: 'acme.localhost', scope: scope.id };
    expect(await refusal(platform.call('hostnames.bind', { body }))).toMatchObject({ status: 400 });
  });

  test('a tenant that is not active binds nothing', async () => {
    const { platform, scope } = await openWithScope();
    await platform.call('tenants.set-status', {
      params: { tenant: scope.tenant },
      body: { status: 'suspended' },
    });
    expect(await refusal(bind(platform, scope, 'acme.localhost'))).toMatchObject({
      code: 'invalid_transition',
    });
  });
});

describe('spec C-17: status', () => {
  const ALLOWED = ['pending → active', 'active → disabled', 'disabled → active'];
  const reach: Readonly<Record<string, string[]>> = {
    pending: [],
    active: ['active'],
    disabled: ['active', 'disabled'],
  };
  for (const from of ['pending', 'active', 'disabled']) {
    for (const to of ['active', 'disabled']) {
      const allowed = ALLOWED.includes(`${from} → ${to}`);
      test(`${from} → ${to} is ${allowed ? 'done' : 'refused and leaves no row'}`, async () => {
        const { platform, scope } = await openWithScope();
        await bind(platform, scope, 'shop.example.org');
        for (const step of reach[from] ?? []) await switchTo(platform, 'shop.example.org', step);
        const rows = await platform.adminLog();
        if (allowed) {
          expect((await switchTo(platform, 'shop.example.org', to)).value).toMatchObject({ status: to });
          expect((await platform.adminLog()).slice(rows.length)).toMatchObject([
            { before: { status: from }, after: { status: to } },
          ]);
        } else {
          expect(await refusal(switchTo(platform, 'shop.example.org', to))).toMatchObject({
            status: 409,
            code: 'invalid_transition',
          });
          expect(await platform.adminLog()).toEqual(rows);
        }
      });
    }
  }

  test('a builder cannot vouch for a name itself, but may switch its own active name', async () => {
    const { platform, scope } = await openWithScope();
    const builder = platform.builder(scope.tenant);
    await bind(platform, scope, 'bank.example.org');
    expect(await refusal(switchTo(platform, 'bank.example.org', 'active', builder))).toMatchObject({
      status: 403,
      reason: 'verification_required',
    });
    await switchTo(platform, 'bank.example.org', 'active');
    await switchTo(platform, 'bank.example.org', 'disabled', builder);
    expect((await switchTo(platform, 'bank.example.org', 'active', builder)).status).toBe(200);
  });

  test('an unknown name reads as not found', async () => {
    const { platform } = await openWithScope();
    expect(await refusal(switchTo(platform, 'unknown.example.org', 'active'))).toMatchObject({ status: 404 });
  });
});

test('a list is filtered by tenant, scope and status', async () => {
  const { platform, scope } = await openWithScope();
  const other = await platform.scope((await platform.tenant('beta')).id);
  await bind(platform, scope, 'b.localhost');
  await bind(platform, scope, 'a.example.org');
  await bind(platform, other, 'c.localhost');
  const names = async (query: Record<string, unknown>) =>
    (await platform.value<{ items: HostnameRecord[] }>('hostnames.list', { query })).items.map(
      ({ hostname }) => hostname,
    );
  expect(await names({})).toEqual(['a.example.org', 'b.localhost', 'c.localhost']);
  expect(await names({ tenant: scope.tenant })).toEqual(['a.example.org', 'b.localhost']);
  expect(await names({ scope: other.id })).toEqual(['c.localhost']);
  expect(await names({ tenant: scope.tenant, status: 'pending' })).toEqual(['a.example.org']);
});

describe("the router's map", () => {
  test('holds active names only and says whether they are served', async () => {
    const { platform, scope } = await openWithScope();
    await bind(platform, scope, 'acme.localhost');
    await bind(platform, scope, 'shop.example.org');
    const route = {
      hostname: 'acme.localhost',
      surface: 'app',
      tenant: scope.tenant,
      scope: scope.id,
      vertical: 'fieldwork',
      version: 'unversioned',
    };
    expect(await platform.admin.routes()).toEqual([{ ...route, serving: true }]);
    await platform.call('tenants.set-status', {
      params: { tenant: scope.tenant },
      body: { status: 'suspended' },
    });
    expect(await platform.admin.routes()).toEqual([{ ...route, serving: false }]);
  });

  test.each([
    ['pending', []],
    ['disabled', ['active', 'disabled']],
  ])('a name that is %s is not in it, and is once it is active', async (status, steps) => {
    const { platform, scope } = await openWithScope();
    const names = async () => (await platform.admin.routes()).map(({ hostname }) => hostname);
    await bind(platform, scope, 'shop.example.org');
    await bind(platform, scope, 'acme.localhost');
    for (const step of steps) await switchTo(platform, 'shop.example.org', step);
    expect(await platform.value('hostnames.list', { query: { status } })).toMatchObject({
      items: [{ hostname: 'shop.example.org' }],
    });
    expect(await names()).toEqual(['acme.localhost']);
    await switchTo(platform, 'shop.example.org', 'active');
    expect(await names()).toEqual(['acme.localhost', 'shop.example.org']);
  });

  test.each(['suspended', 'deleting'])(
    'the names of a tenant that is %s stay in it and are not served, until it is active again',
    async (status) => {
      const { platform, scope } = await openWithScope();
      const other = await platform.scope((await platform.tenant('beta')).id);
      await bind(platform, scope, 'acme.localhost');
      await bind(platform, other, 'beta.localhost');
      const serving = async () =>
        (await platform.admin.routes()).map((route) => [route.hostname, route.serving]);
      const params = { tenant: scope.tenant };
      await platform.call('tenants.set-status', { params, body: { status } });
      expect(await serving()).toEqual([
        ['acme.localhost', false],
        ['beta.localhost', true],
      ]);
      await platform.call('tenants.set-status', { params, body: { status: 'active' } });
      expect(await serving()).toEqual([
        ['acme.localhost', true],
        ['beta.localhost', true],
      ]);
    },
  );

  test('its listeners hear of every change to it, after it is durable, and of nothing else', async () => {
    const { platform, scope } = await openWithScope();
    let heard = 0;
    platform.admin.onRoutesChanged(() => {
      heard += 1;
    });
    const expectHeard = async (call: Promise<unknown>, times: number) => {
      heard = 0;
      await call.catch(() => undefined);
      expect(heard).toBe(times);
    };
    await expectHeard(bind(platform, scope, 'acme.localhost'), 1);
    await expectHeard(bind(platform, scope, 'acme.localhost'), 0);
    await expectHeard(bind(platform, scope, 'not a name'), 0);
    await expectHeard(switchTo(platform, 'acme.localhost', 'disabled'), 1);
    await expectHeard(switchTo(platform, 'acme.localhost', 'disabled'), 0);
    await expectHeard(
      platform.call('tenants.set-status', {
        params: { tenant: scope.tenant },
        body: { status: 'suspended' },
      }),
      1,
    );
    await expectHeard(platform.tenant('beta'), 0);
  });

  test('spec C-17: they hear that a name in use was unbound, and nothing of one that never led anywhere', async () => {
    const { platform, scope } = await openWithScope();
    await bind(platform, scope, 'acme.localhost');
    await bind(platform, scope, 'shop.example.org');
    const heard: unknown[] = [];
    platform.admin.onRoutesChanged((change) => heard.push(change));
    await platform.call('hostnames.delete', { params: { hostname: 'shop.example.org' } });
    expect(heard).toEqual([]);
    await platform.call('hostnames.delete', { params: { hostname: 'acme.localhost' } });
    expect(heard).toEqual([{ tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork' }]);
  });
});

test('spec C-17: the plan of an unbinding counts the other names in use of the scope', async () => {
  const { platform, scope } = await openWithScope();
  for (const name of ['acme.localhost', 'pending.example.org', 'off.localhost', 'more.localhost'])
    await bind(platform, scope, name);
  await bind(platform, scope, 'public.localhost', { surface: 'public' });
  await switchTo(platform, 'off.localhost', 'disabled');
  const plan = await platform.value('hostnames.delete', {
    params: { hostname: 'acme.localhost' },
    query: { dryRun: true },
  });
  expect(plan).toMatchObject({ serves: true, others: 1 });
});

test('spec C-17: no name is bound to a scope that was reaped', async () => {
  const { platform, scope } = await openWithScope();
  const params = { tenant: scope.tenant, scope: scope.id };
  await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
  expect(await refusal(bind(platform, scope, 'acme.localhost'))).toMatchObject({
    status: 409,
    code: 'invalid_transition',
    reason: 'scope_reaped',
  });
  expect(await platform.value('hostnames.list')).toMatchObject({ items: [] });
});

/** Scopes: provisioning as a journey that can be interrupted, and configuring without keeping a value. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { ScopeRecord } from '../admin-operations.ts';

const BODY = { slug: 'main', name: 'Main', vertical: 'fieldwork' };

const provision = (platform: Platform, tenant: string, body: Record<string, unknown> = {}, more = {}) =>
  platform.call('scopes.provision', { params: { tenant }, body: { ...BODY, ...body }, ...more });

describe('spec C-04: provisioning', () => {
  test('an intent before the vertical hears of it, an outcome after, and an active scope', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const { status, value, etag, head } = await provision(platform, tenant.id, {
      owner: { email: 'owner@example.com' },
      config: { SECRET: 'hunter2' },
    });
    expect(status).toBe(201);
    expect(value).toMatchObject({ tenant: tenant.id, slug: 'main', status: 'active', kind: 'live', etag });
    const scope = value as ScopeRecord;
    expect(platform.fieldwork.requests).toEqual([
      {
        method: 'POST',
        url: 'http://vertical.internal/internal/provision',
        body: {
          tenantId: tenant.id,
          scopeId: scope.id,
          name: 'Main',
          owner: { email: 'owner@example.com' },
          config: { SECRET: 'hunter2' },
        },
      },
    ]);
    const [, intent, outcome] = await platform.adminLog();
    expect(intent).toMatchObject({
      action: 'scopes.provision',
      outcome: 'intent',
      target: { tenant: tenant.id, scope: scope.id, vertical: 'fieldwork' },
      before: null,
      after: { slug: 'main', name: 'Main', kind: 'live', status: 'provisioning', configKeys: ['SECRET'] },
    });
    expect(outcome).toMatchObject({
      outcome: 'done',
      intent: intent?.sequence,
      before: { status: 'provisioning' },
      after: { status: 'active' },
      hash: head?.hash,
    });
    expect(JSON.stringify([intent, outcome])).not.toMatch(/hunter2|owner@example/);
  });

  test.each([
    ['nothing of its own', undefined, { AUTH: 'platform', SECRET: 'hunter2' }],
    ['other settings', { NOTE: 'hi' }, { AUTH: 'platform', SECRET: 'hunter2', NOTE: 'hi' }],
    ['one of the same keys', { AUTH: 'own' }, { AUTH: 'own' }],
    ['that one of them is removed', { AUTH: null, NOTE: 'hi' }, { AUTH: null, NOTE: 'hi' }],
  ])(
    'a call that names %s is delivered what the platform gives every new scope beside it',
    async (_, config, delivered) => {
      const platform = await openPlatform({
        newScopeSettings: (vertical) =>
          vertical === 'fieldwork' ? { AUTH: 'platform', SECRET: 'hunter2' } : {},
      });
      const tenant = await platform.tenant('acme');
      await provision(platform, tenant.id, config ? { config } : {});
      expect(platform.fieldwork.requests[0]?.body).toMatchObject({ config: delivered });
      const [intent] = await platform.adminLog({ outcome: 'intent' });
      expect(intent?.after).toMatchObject({ configKeys: Object.keys(delivered).sort() });
    },
  );

  test('while the vertical works the scope is there as provisioning', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    let seen: unknown;
    const { fetch } = platform.fieldwork.bound;
    platform.fieldwork.fault = async (request) => {
      seen = await platform.value('scopes.list', { params: { tenant: tenant.id } });
      platform.fieldwork.fault = null;
      return fetch(request);
    };
    await provision(platform, tenant.id);
    expect(seen).toMatchObject({ items: [{ slug: 'main', status: 'provisioning' }] });
  });

  test.each([
    [
      'cannot be reached',
      async () => {
        throw new TypeError('fetch failed');
      },
      502,
      'runtime_fault',
    ],
    ['talks nonsense', async () => new Response('<html>', { status: 200 }), 502, 'runtime_fault'],
    [
      'answers for another scope',
      async () =>
        Response.json({
          scopeId: 'scp_01jd0000000000000000000009',
          status: 'provisioned',
          ownerSeat: null,
        }),
      502,
      'runtime_fault',
    ],
  ])(
    'a vertical that %s leaves a provisioning that the same call takes up again',
    async (_, fault, status, code) => {
      const platform = await openPlatform();
      const tenant = await platform.tenant('acme');
      platform.fieldwork.fault = fault;
      expect(await refusal(provision(platform, tenant.id, {}, { key: 'k' }))).toMatchObject({ status, code });
      const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
      expect(items).toMatchObject([{ status: 'provisioning' }]);
      const [written] = await platform.adminLog({ outcome: 'unsettled' });
      expect(written).toMatchObject({ code: null, target: { scope: items[0]?.id } });
      expect(await platform.adminLog({ outcome: 'done', action: 'scopes.provision' })).toEqual([]);

      platform.fieldwork.fault = null;
      const retried = await provision(platform, tenant.id, {}, { key: 'k' });
      expect(retried).toMatchObject({
        status: 201,
        replayed: false,
        value: { id: items[0]?.id, status: 'active' },
      });
      expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    },
  );

  test('a provisioning whose tenant was suspended meanwhile is finished by the same call', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = async () => Promise.reject(new Error('the network is gone'));
    expect(await refusal(provision(platform, tenant.id, {}, { key: 'k' }))).toMatchObject({
      reason: 'outcome_unknown',
    });
    const params = { tenant: tenant.id };
    await platform.call('tenants.set-status', { params, body: { status: 'suspended' } });
    platform.fieldwork.fault = null;
    const { status, value } = await provision(platform, tenant.id, {}, { key: 'k' });
    expect({ status, value }).toMatchObject({ status: 201, value: { status: 'active' } });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    // A provisioning that had not begun is refused as before.
    expect(await refusal(provision(platform, tenant.id, { slug: 'second' }))).toMatchObject({
      reason: 'tenant_not_active',
    });
  });

  test('a provisioning that the vertical refused leaves nothing: its slug is free for something else', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('unavailable', 'Busy.'));
    expect(await refusal(provision(platform, tenant.id))).toMatchObject({ status: 503 });
    expect(await platform.value('scopes.fleet')).toMatchObject({ items: [] });
    const [failed] = await platform.adminLog({ outcome: 'failed' });
    expect(failed).toMatchObject({ action: 'scopes.provision', code: 'unavailable' });
    platform.fieldwork.fault = null;
    const other = await provision(platform, tenant.id, { name: 'Another', kind: 'test' });
    expect(other).toMatchObject({ status: 201, value: { name: 'Another', kind: 'test' } });
    expect((other.value as ScopeRecord).id).not.toBe(failed?.target.scope);
  });

  test('a refusal after an attempt that may have come to something keeps the scope for the next try', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
    await refusal(provision(platform, tenant.id));
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('unavailable', 'Busy.'));
    await refusal(provision(platform, tenant.id));
    platform.fieldwork.fault = null;
    expect((await provision(platform, tenant.id)).value).toMatchObject({
      id: items[0]?.id,
      status: 'active',
    });
  });

  test.each([
    [
      'a host name was bound to it',
      async (platform: Platform, scope: ScopeRecord) =>
        void (await platform.hostname(scope, 'acme.localhost')),
    ],
    [
      'another call has taken it up',
      async (platform: Platform, { tenant }: ScopeRecord) => {
        platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
        await refusal(provision(platform, tenant));
      },
    ],
  ])('spec C-04: a refusal keeps the scope where meanwhile %s', async (_, meanwhile) => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = async () => {
      const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
      await meanwhile(platform, items[0] as ScopeRecord);
      return problemDocument(new PlatformError('unavailable', 'Busy.'));
    };
    expect(await refusal(provision(platform, tenant.id))).toMatchObject({ status: 503 });
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    expect(items).toMatchObject([{ slug: 'main', status: 'provisioning' }]);
    expect(await platform.adminLog({ outcome: 'failed' })).toMatchObject([{ code: 'unavailable' }]);
    expect(platform.incidents).toEqual([]);
    platform.fieldwork.fault = null;
    expect((await provision(platform, tenant.id)).value).toMatchObject({
      id: items[0]?.id,
      status: 'active',
    });
  });

  // Each is a moment at which the process dies: nothing that comes after it is ever done.
  test.each([
    ['before the vertical is asked', false],
    ['after the vertical has done it, before its answer arrives', true],
  ])('spec C-04: a crash %s is resumed by the same call, with the same scope', async (_, isDone) => {
    const platform = await openPlatform({ deadline: () => new AbortController().signal });
    const tenant = await platform.tenant('acme');
    const reached = Promise.withResolvers<void>();
    const { fetch } = platform.fieldwork.bound;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      if (isDone) await fetch(request);
      reached.resolve();
      return new Promise(() => undefined);
    };
    void provision(platform, tenant.id, {}, { key: 'k' });
    await reached.promise;
    await platform.tamper(() => undefined);
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    expect(items).toMatchObject([{ status: 'provisioning' }]);
    const { status, value } = await provision(platform, tenant.id, {}, { key: 'k' });
    expect({ status, value }).toMatchObject({ status: 201, value: { id: items[0]?.id, status: 'active' } });
    expect(platform.fieldwork.provisioned.get(items[0]?.id ?? '')).toBe(isDone ? 2 : 1);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('spec C-04: a crash after it was written down is answered from there', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const first = await provision(platform, tenant.id, {}, { key: 'k' });
    await platform.tamper(() => undefined);
    expect(await provision(platform, tenant.id, {}, { key: 'k' })).toMatchObject({
      replayed: true,
      status: 201,
      value: first.value,
    });
    expect(platform.fieldwork.requests).toHaveLength(1);
  });

  test('a crash in between leaves an open intent, and the retry finishes the same scope', async () => {
    const platform = await openPlatform({ deadline: () => new AbortController().signal });
    const tenant = await platform.tenant('acme');
    let reached: () => void = () => undefined;
    const midway = new Promise<void>((resolve) => {
      reached = resolve;
    });
    platform.fieldwork.fault = async () => {
      reached();
      return new Promise(() => undefined);
    };
    void provision(platform, tenant.id, {}, { key: 'k' });
    await midway;
    // The process is gone in the middle of the call: nothing after the intent was ever written.
    await platform.tamper(() => undefined);
    platform.fieldwork.fault = null;
    const open = await platform.adminLog({ outcome: 'unsettled' });
    expect(open).toMatchObject([{ action: 'scopes.provision', outcome: 'intent' }]);

    const { value } = await provision(platform, tenant.id, {}, { key: 'k' });
    expect(value).toMatchObject({ id: open[0]?.target.scope, status: 'active' });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('the same scope again is the one that is there; the vertical is not asked again', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const first = await provision(platform, tenant.id);
    const rows = await platform.adminLog();
    const second = await provision(platform, tenant.id);
    expect(second).toMatchObject({ status: 200, value: first.value });
    expect(platform.fieldwork.requests).toHaveLength(1);
    expect(await platform.adminLog()).toEqual(rows);
  });

  test.each([{ name: 'Other' }, { vertical: 'other' }, { kind: 'test' }])(
    'the same slug with %j is a conflict',
    async (different) => {
      const platform = await openPlatform();
      const tenant = await platform.tenant('acme');
      await provision(platform, tenant.id);
      expect(await refusal(provision(platform, tenant.id, different))).toMatchObject({
        status: 409,
        code: 'conflict',
        reason: 'slug_taken',
      });
    },
  );

  test('two calls side by side make one scope', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const [first, second] = await Promise.all([
      provision(platform, tenant.id),
      provision(platform, tenant.id),
    ]);
    expect([first.status, second.status].sort()).toEqual([200, 201]);
    expect(second.value).toEqual(first.value);
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    expect(items).toMatchObject([{ status: 'active' }]);
  });

  test('an owner or settings for a scope that is there change nothing and are delivered nowhere', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const first = await provision(platform, tenant.id, { config: { A: '1' } });
    const again = { config: { A: '2' }, owner: { email: 'other@example.com' } };
    expect(await provision(platform, tenant.id, again)).toMatchObject({ status: 200, value: first.value });
    expect(platform.fieldwork.requests).toHaveLength(1);
  });

  test('what the vertical warns of about the settings reaches the caller', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const warnings = [{ code: 'auth_provider_unused', detail: 'AUTH_PROVIDER counts for nothing here.' }];
    platform.fieldwork.fault = async (request) => {
      const { scopeId } = (await request.json()) as { scopeId: string };
      return Response.json({ scopeId, status: 'provisioned', ownerSeat: null, warnings });
    };
    const { value } = await provision(platform, tenant.id, { config: { AUTH_PROVIDER: 'oidc' } });
    expect(value).toMatchObject({ status: 'active', warnings });
  });

  test('of two that take up a provisioning with one tag, the second is refused', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
    await refusal(provision(platform, tenant.id));
    platform.fieldwork.fault = null;
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    const ifMatch = `"${items[0]?.etag}"`;
    const answers = await Promise.allSettled([
      provision(platform, tenant.id, {}, { ifMatch }),
      provision(platform, tenant.id, {}, { ifMatch }),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'precondition_failed' } },
    ]);
  });

  test('two tenants may use the same slug', async () => {
    const platform = await openPlatform();
    const [acme, beta] = [await platform.tenant('acme'), await platform.tenant('beta')];
    expect((await platform.scope(acme.id)).id).not.toBe((await platform.scope(beta.id)).id);
  });

  test('an unknown vertical is refused by name, and nothing is written', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const rows = await platform.adminLog();
    expect(await refusal(provision(platform, tenant.id, { vertical: 'ghost' }))).toMatchObject({
      status: 404,
      reason: 'unknown_vertical',
      message: expect.stringContaining('ghost'),
    });
    expect(await platform.adminLog()).toEqual(rows);
    expect(await platform.value('scopes.fleet')).toMatchObject({ items: [] });
  });

  test.each(['suspended', 'deleting'])('a tenant that is %s takes no new scope', async (status) => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    await platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status } });
    expect(await refusal(provision(platform, tenant.id))).toMatchObject({
      status: 409,
      code: 'invalid_transition',
    });
    expect(platform.fieldwork.requests).toEqual([]);
  });

  test('without a worker the co-located host provisions, and what it cannot take is refused at once', async () => {
    const platform = await openPlatform();
    platform.reach = 'local';
    const tenant = await platform.tenant('acme');
    expect(await refusal(provision(platform, tenant.id, { config: { A: 'b' } }))).toMatchObject({
      status: 501,
      reason: 'no_worker',
    });
    expect(await platform.adminLog()).toHaveLength(1);
    const { value } = await provision(platform, tenant.id);
    expect(platform.fieldwork.provisioned.get((value as ScopeRecord).id)).toBe(1);
    expect(value).toMatchObject({ status: 'active' });
  });
});

describe('spec C-04: configuring', () => {
  const configure = (
    platform: Platform,
    scope: ScopeRecord,
    config: Record<string, string | null>,
    more = {},
  ) =>
    platform.call('scopes.configure', {
      params: { tenant: scope.tenant, scope: scope.id },
      body: { config },
      ...more,
    });

  test('keys are logged, values nowhere in the directory', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await configure(platform, scope, { 'platform:auth': 'a-very-secret-value', OLD: 'x' }, { key: 'one' });
    const { value, etag } = await configure(platform, scope, { OLD: null });
    expect(value).toEqual({ keys: ['platform:auth'], warnings: [] });
    const rows = await platform.adminLog({ action: 'scopes.configure' });
    expect(rows.map(({ outcome, after }) => [outcome, after])).toEqual([
      ['intent', { set: ['OLD', 'platform:auth'], removed: [] }],
      ['done', { set: ['OLD', 'platform:auth'], removed: [], delivered: ['OLD', 'platform:auth'] }],
      ['intent', { set: [], removed: ['OLD'] }],
      ['done', { set: [], removed: ['OLD'], delivered: ['platform:auth'] }],
    ]);
    expect(etag).toBe(String(rows.at(-1)?.sequence));
    await platform.tamper((database) => {
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const everything = tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
      expect(JSON.stringify(everything)).not.toContain('a-very-secret-value');
    });
  });

  const settings = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`KEY_${index}`, 'x']));

  test('more than 100 settings in one call are refused, so that the row in the log stays bounded', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    const rows = await platform.adminLog();
    const expected = {
      status: 400,
      code: 'validation_failed',
      message: expect.stringMatching(/config: .*more than 100/),
    };
    expect(await refusal(configure(platform, scope, settings(101)))).toMatchObject(expected);
    expect(
      await refusal(provision(platform, tenant.id, { slug: 'big', config: settings(101) })),
    ).toMatchObject(expected);
    expect(await platform.adminLog()).toEqual(rows);
    expect((await configure(platform, scope, settings(100))).status).toBe(200);
    expect((await provision(platform, tenant.id, { slug: 'big', config: settings(100) })).status).toBe(201);
  });

  test('a stale If-Match is refused before the vertical hears of it', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await configure(platform, scope, { A: '1' }, { ifMatch: `"${scope.etag}"` });
    const asked = platform.fieldwork.requests.length;
    expect(
      await refusal(configure(platform, scope, { A: '2' }, { ifMatch: `"${scope.etag}"` })),
    ).toMatchObject({
      status: 412,
    });
    expect(platform.fieldwork.requests).toHaveLength(asked);
  });

  test('a scope that is still provisioning takes no settings', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    platform.fieldwork.fault = async () => new Response(null, { status: 500 });
    await refusal(provision(platform, tenant.id));
    const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.fleet');
    expect(await refusal(configure(platform, items[0] as ScopeRecord, { A: '1' }))).toMatchObject({
      code: 'invalid_transition',
    });
  });

  test.each([
    ['local', 'no_worker'],
    ['none', 'no_vertical'],
  ] as const)('with the vertical %s it is 501 with a diagnosis', async (reach, reason) => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    platform.reach = reach;
    expect(await refusal(configure(platform, scope, { A: '1' }))).toMatchObject({
      status: 501,
      reason,
      message: expect.stringContaining('fieldwork'),
    });
  });
});

describe('lists', () => {
  test('the fleet is filtered by tenant, vertical and status', async () => {
    const platform = await openPlatform();
    const [acme, beta] = [await platform.tenant('acme'), await platform.tenant('beta')];
    await platform.scope(acme.id, 'one');
    platform.fieldwork.fault = async () => new Response(null, { status: 500 });
    await refusal(platform.scope(acme.id, 'two'));
    platform.fieldwork.fault = null;
    await platform.scope(beta.id, 'three');
    const slugs = async (query: Record<string, unknown>) =>
      (await platform.value<{ items: ScopeRecord[] }>('scopes.fleet', { query })).items.map(
        ({ slug }) => slug,
      );
    expect(await slugs({})).toEqual(['one', 'two', 'three']);
    expect(await slugs({ tenant: acme.id })).toEqual(['one', 'two']);
    expect(await slugs({ status: 'provisioning' })).toEqual(['two']);
    expect(await slugs({ vertical: 'other' })).toEqual([]);
    expect(await slugs({ tenant: acme.id, vertical: 'fieldwork', status: 'active' })).toEqual(['one']);
  });

  test('spec C-04: of a tenant are its own scopes, and a tenant that is not there has no empty list of them', async () => {
    const platform = await openPlatform();
    const [acme, beta] = [await platform.tenant('acme'), await platform.tenant('beta')];
    const [one, two] = [await platform.scope(acme.id, 'one'), await platform.scope(beta.id, 'two')];
    for (const scope of [one, two]) {
      const { items } = await platform.value<{ items: ScopeRecord[] }>('scopes.list', {
        params: { tenant: scope.tenant },
      });
      expect(items.map(({ id }) => id)).toEqual([scope.id]);
    }
    const params = { tenant: 'tnt_01jd0000000000000000000009' };
    expect(await refusal(platform.call('scopes.list', { params }))).toMatchObject({
      status: 404,
      reason: 'unknown_tenant',
    });
  });
});

/** The version of a scope: its own, the one on prod, or the compiled one. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, type STAFF } from '../../test/platform.ts';
import { admitted, manifestOf, migrationOf, promote, register } from '../../test/registry.ts';
import type { ScopeRecord, ScopeVersionRecord, VerticalRecord } from '../admin-operations.ts';

async function openScope() {
  const platform = await openPlatform({ versionOf: () => '0.0.0' });
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  const [one, two] = [
    await admitted(platform, 'fieldwork', '1.0.0'),
    await admitted(platform, 'fieldwork', '2.0.0'),
  ];
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  const scope = await platform.scope(tenant.id);
  await platform.hostname(scope, 'acme.localhost');
  return { platform, tenant, scope, one, two, owner: platform.builder(tenant.id) as typeof STAFF };
}

type Parts = { as?: typeof STAFF; key?: string; ifMatch?: string };
const paramsOf = ({ tenant, id }: ScopeRecord) => ({ tenant, scope: id });
const bind = (platform: Platform, scope: ScopeRecord, body: object, parts: Parts = {}) =>
  platform.call('scope-version.set', { params: paramsOf(scope), body: { ...body }, ...parts });
const read = (platform: Platform, scope: ScopeRecord) =>
  platform.value<ScopeVersionRecord>('scope-version.get', { params: paramsOf(scope) });
const routed = async (platform: Platform) => (await platform.admin.routes()).map(({ version }) => version);

describe('spec C-04: the version of a scope', () => {
  test('is the one on prod until it is bound, and again when it is released', async () => {
    const { platform, scope, one, two } = await openScope();
    expect(await read(platform, scope)).toMatchObject({ version: '1.0.0', id: one.id, bound: false });
    await bind(platform, scope, { version: '2.0.0' });
    expect(await read(platform, scope)).toMatchObject({ version: '2.0.0', id: two.id, bound: true });
    expect(await routed(platform)).toEqual(['2.0.0']);
    await bind(platform, scope, { channel: 'prod' });
    expect(await read(platform, scope)).toMatchObject({ version: '1.0.0', bound: false, boundAt: null });
    expect(await routed(platform)).toEqual(['1.0.0']);
  });

  test('is shown with the scope, and scopes are found by it', async () => {
    const { platform, tenant, scope } = await openScope();
    const other = await platform.scope(tenant.id, 'second');
    const find = async (query: object) =>
      (await platform.value<{ items: ScopeRecord[] }>('scopes.fleet', { query: { ...query } })).items.map(
        ({ id }) => id,
      );
    const shown = () => platform.value<ScopeRecord>('scopes.get', { params: paramsOf(scope) });
    expect(await shown()).toMatchObject({ version: '1.0.0', bound: false });
    await bind(platform, scope, { version: '2.0.0' });
    expect(await shown()).toMatchObject({ version: '2.0.0', bound: true });
    expect(await find({ version: '2.0.0' })).toEqual([scope.id]);
    expect(await find({ version: '1.0.0', vertical: 'fieldwork' })).toEqual([other.id]);
    expect(await find({ version: '1.0.0', tenant: 'tnt_01jd0000000000000000000000' })).toEqual([]);
    const params = { tenant: tenant.id };
    const own = { params, query: { version: '2.0.0' } };
    expect(await platform.value('scopes.list', own)).toMatchObject({
      items: [{ id: scope.id, bound: true }],
    });
    await bind(platform, scope, { channel: 'prod' });
    expect(await shown()).toMatchObject({ version: '1.0.0', bound: false });
    expect(await find({ version: '2.0.0' })).toEqual([]);
  });

  test('a promotion moves the scopes that follow prod, and no other', async () => {
    const { platform, scope, one } = await openScope();
    await bind(platform, scope, { id: one.id });
    await promote(platform, 'fieldwork', { version: '2.0.0' });
    expect(await routed(platform)).toEqual(['1.0.0']);
    await bind(platform, scope, { channel: 'prod' });
    expect(await routed(platform)).toEqual(['2.0.0']);
  });

  test("of an unregistered vertical is the wiring's, and cannot be bound", async () => {
    const platform = await openPlatform({ versionOf: () => '0.0.0' });
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await platform.hostname(scope, 'acme.localhost');
    expect(await read(platform, scope)).toMatchObject({ version: null, id: null, bound: false });
    expect(scope).toMatchObject({ version: null, bound: false });
    expect(await routed(platform)).toEqual(['0.0.0']);
    expect(await refusal(bind(platform, scope, { version: '1.0.0' }))).toMatchObject({
      status: 404,
      reason: 'unknown_version',
    });
  });

  test('each binding is one row with both sides, the same again none, and the router hears of each', async () => {
    const { platform, scope } = await openScope();
    let told = 0;
    platform.admin.onRoutesChanged(() => {
      told += 1;
    });
    await bind(platform, scope, { version: '2.0.0' });
    await bind(platform, scope, { version: '2.0.0' });
    expect(await platform.adminLog({ action: 'scope-version.set' })).toMatchObject([
      {
        target: { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork' },
        before: { version: '1.0.0', bound: false },
        after: { version: '2.0.0', bound: true },
      },
    ]);
    expect(told).toBe(1);
  });

  test('the tag changes with the binding, and with prod while it follows that', async () => {
    const { platform, scope } = await openScope();
    const tags = [(await read(platform, scope)).etag];
    await promote(platform, 'fieldwork', { version: '2.0.0' });
    tags.push((await read(platform, scope)).etag);
    await bind(platform, scope, { version: '1.0.0' });
    tags.push((await read(platform, scope)).etag);
    expect(new Set(tags).size).toBe(3);
    const stale = bind(platform, scope, { channel: 'prod' }, { ifMatch: `"${tags[1]}"` });
    expect(await refusal(stale)).toMatchObject({ status: 412 });
    await promote(platform, 'fieldwork', { version: '1.0.0' });
    expect((await bind(platform, scope, { channel: 'prod' }, { ifMatch: `"${tags[2]}"` })).status).toBe(200);
  });

  test.each(['pending', 'rejected'])('one that is %s is refused, and nothing is written', async (state) => {
    const { platform, scope } = await openScope();
    const { id } = await register(platform, 'fieldwork', '3.0.0');
    if (state === 'rejected')
      await platform.call('vertical-versions.reject', { params: { slug: 'fieldwork', id }, body: {} });
    const before = await platform.adminLog();
    expect(await refusal(bind(platform, scope, { id, snapshot: true }))).toMatchObject({
      status: 409,
      reason: 'version_not_admitted',
    });
    expect(await platform.adminLog()).toEqual(before);
  });

  test("a version that only its owner admitted is not for another tenant's scope", async () => {
    const platform = await openPlatform();
    const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
    const owner = platform.builder(a.id) as typeof STAFF;
    await platform.call('verticals.create', {
      body: { slug: 'fieldwork', name: 'Fieldwork', ownerTenant: a.id },
    });
    const { id } = await register(platform, 'fieldwork', '1.0.0', { as: owner });
    await platform.call('vertical-versions.admit', {
      params: { slug: 'fieldwork', id },
      body: {},
      as: owner,
    });
    const [mine, theirs] = [await platform.scope(a.id), await platform.scope(b.id)];
    expect((await bind(platform, mine, { id }, { as: owner })).status).toBe(200);
    expect(await refusal(bind(platform, theirs, { id }))).toMatchObject({ reason: 'version_not_admitted' });
  });

  test('a scope that is suspended can be bound; one that is archived cannot', async () => {
    const { platform, scope } = await openScope();
    await platform.tamper((database) => database.exec("UPDATE scopes SET status = 'suspended'"));
    expect((await bind(platform, scope, { version: '2.0.0' })).status).toBe(200);
    await platform.tamper((database) => database.exec("UPDATE scopes SET status = 'archived'"));
    expect(await refusal(bind(platform, scope, { version: '1.0.0' }))).toMatchObject({
      status: 409,
      reason: 'scope_not_active',
    });
  });

  test('a call names exactly one way', async () => {
    const { platform, scope, one } = await openScope();
    for (const body of [{}, { version: '1.0.0', id: one.id }, { version: '1.0.0', channel: 'prod' }])
      expect(await refusal(bind(platform, scope, body))).toMatchObject({ status: 400 });
  });
});

describe('spec C-04: a snapshot first', () => {
  const snapshots = async (platform: Platform, scope: ScopeRecord) =>
    (await platform.value<{ items: { id: string }[] }>('snapshots.list', { params: paramsOf(scope) })).items;

  test('is taken before the binding, and both say which', async () => {
    const { platform, scope, owner } = await openScope();
    const { value } = await bind(platform, scope, { version: '2.0.0', snapshot: true }, { as: owner });
    const [taken] = await snapshots(platform, scope);
    expect(value).toMatchObject({ version: '2.0.0', snapshot: taken?.id });
    const rows = (await platform.adminLog()).slice(-3);
    expect(rows.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'snapshots.take intent',
      'snapshots.take done',
      'scope-version.set done',
    ]);
    expect(rows[2]).toMatchObject({ after: { snapshot: taken?.id }, actor: { id: owner.id } });
  });

  test('that fails leaves the binding as it was', async () => {
    const { platform, scope } = await openScope();
    platform.fieldwork.fault = () => Promise.reject(new TypeError('down'));
    expect(await refusal(bind(platform, scope, { version: '2.0.0', snapshot: true }))).toMatchObject({
      status: 502,
    });
    expect(await read(platform, scope)).toMatchObject({ version: '1.0.0', bound: false });
  });

  test('is not taken where nothing would change, nor twice for one call', async () => {
    const { platform, scope } = await openScope();
    await bind(platform, scope, { channel: 'prod', snapshot: true });
    expect(await snapshots(platform, scope)).toEqual([]);
    const call = () => bind(platform, scope, { version: '2.0.0', snapshot: true }, { key: 'one' });
    const first = await call();
    const again = await call();
    expect(again.replayed).toBe(true);
    expect(again.value).toEqual(first.value);
    expect(await snapshots(platform, scope)).toHaveLength(1);
  });
});

describe('a vertical that is compiled in', () => {
  const builtIn = (version: string, parts: object = {}) => ({
    manifest: manifestOf('fieldwork', version),
    migrations: [migrationOf(1)],
    ...parts,
  });
  const vertical = (platform: Platform) =>
    platform.value<VerticalRecord>('verticals.get', { params: { slug: 'fieldwork' } });

  test('is registered, admitted and serving at the first start, with one row by the platform itself', async () => {
    const platform = await openPlatform();
    expect(await platform.admin.registerBuiltIn(builtIn('1.0.0'))).toEqual({
      version: '1.0.0',
      changed: true,
    });
    expect(await vertical(platform)).toMatchObject({
      ownerTenant: null,
      builtIn: '1.0.0',
      serving: '1.0.0',
      tier: 'published',
    });
    expect(await platform.adminLog()).toMatchObject([
      {
        action: 'verticals.register-built-in',
        actor: { kind: 'system', id: 'platform' },
        target: { vertical: 'fieldwork' },
        after: { serving: '1.0.0' },
        outcome: 'done',
      },
    ]);
    expect(await platform.value('admin-log.verify')).toMatchObject({ status: 'unanchored', rows: 1 });
  });

  test('at every later start nothing is written, and the router hears nothing', async () => {
    const platform = await openPlatform();
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    await platform.tamper(() => undefined);
    let told = 0;
    platform.admin.onRoutesChanged(() => {
      told += 1;
    });
    expect(await platform.admin.registerBuiltIn(builtIn('1.0.0'))).toEqual({
      version: '1.0.0',
      changed: false,
    });
    expect(await platform.adminLog()).toHaveLength(1);
    expect(told).toBe(0);
  });

  test('a newer one serves at once, and releases the scopes that were bound to the one before', async () => {
    const platform = await openPlatform();
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await bind(platform, scope, { version: '1.0.0' });
    expect((await read(platform, scope)).bound).toBe(true);
    await platform.admin.registerBuiltIn(builtIn('2.0.0'));
    expect(await read(platform, scope)).toMatchObject({ version: '2.0.0', bound: false });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      before: { serving: '1.0.0' },
      after: { serving: '2.0.0', releasedScopes: 1 },
    });
    // Back again, as after a rollback of the platform.
    expect(await platform.admin.registerBuiltIn(builtIn('1.0.0'))).toMatchObject({ version: '1.0.0' });
  });

  test('spec C-04: and of no scope of another vertical, whatever that is bound to', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    const [ours, theirs] = [await platform.scope(tenant, 'ours'), await platform.scope(tenant, 'theirs')];
    await platform.call('verticals.create', { body: { slug: 'other', name: 'Other' } });
    await admitted(platform, 'other', '5.0.0');
    await platform.tamper((database) => {
      database.prepare("UPDATE scopes SET vertical = 'other' WHERE id = ?").run(theirs.id);
    });
    await bind(platform, ours, { version: '1.0.0' });
    await bind(platform, theirs, { version: '5.0.0' });
    await platform.admin.registerBuiltIn(builtIn('2.0.0'));
    expect(await read(platform, ours)).toMatchObject({ version: '2.0.0', bound: false });
    expect(await read(platform, theirs)).toMatchObject({ version: '5.0.0', bound: true });
    expect((await platform.adminLog()).at(-1)?.after).toMatchObject({ releasedScopes: 1 });
  });

  test('another build under the same number gets a longer one, and the number keeps its meaning', async () => {
    const platform = await openPlatform();
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    const other = builtIn('1.0.0', { migrations: [migrationOf(1), migrationOf(2)] });
    const { version } = await platform.admin.registerBuiltIn(other);
    expect(version).toMatch(/^1\.0\.0\+[0-9a-f]{12}$/);
    expect(await platform.admin.registerBuiltIn(other)).toEqual({ version, changed: false });
    expect(await vertical(platform)).toMatchObject({ serving: version, builtIn: version });
    const code = { ...other, digest: 'e'.repeat(64) };
    expect((await platform.admin.registerBuiltIn(code)).version).not.toBe(version);
  });

  test('runs as no other version: not by promotion, not by binding, not by registering one', async () => {
    const platform = await openPlatform();
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    await platform.admin.registerBuiltIn(builtIn('2.0.0'));
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const refused = { status: 501, code: 'unsupported', reason: 'built_in_version' };
    const told = await refusal(bind(platform, scope, { version: '1.0.0' }));
    expect(told).toMatchObject(refused);
    expect(told.message).toContain('2.0.0');
    expect(await refusal(promote(platform, 'fieldwork', { version: '1.0.0' }))).toMatchObject(refused);
    expect(await refusal(register(platform, 'fieldwork', '3.0.0'))).toMatchObject(refused);
    expect((await bind(platform, scope, { version: '2.0.0' })).status).toBe(200);
  });

  test("a slug that is a tenant's is not taken from it", async () => {
    const platform = await openPlatform();
    const { id } = await platform.tenant('acme');
    await platform.call('verticals.create', {
      body: { slug: 'fieldwork', name: 'Fieldwork', ownerTenant: id },
    });
    const before = await platform.adminLog();
    expect(await refusal(platform.admin.registerBuiltIn(builtIn('1.0.0')))).toMatchObject({
      reason: 'slug_taken',
    });
    expect(await platform.adminLog()).toEqual(before);
  });

  test('a vertical that staff registered with another version is taken over', async () => {
    const platform = await openPlatform();
    await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
    await admitted(platform, 'fieldwork', '0.1.0');
    await promote(platform, 'fieldwork', { version: '0.1.0' });
    await platform.admin.registerBuiltIn(builtIn('1.0.0'));
    expect(await vertical(platform)).toMatchObject({ serving: '1.0.0', builtIn: '1.0.0', tier: 'private' });
  });
});

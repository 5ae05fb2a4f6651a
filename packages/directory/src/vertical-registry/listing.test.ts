/** The listing of a vertical, and blocks on new instances. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import { admitted, promote } from '../../test/registry.ts';
import type { ListingRecord, ScopeRecord } from '../admin-operations.ts';

async function openApp() {
  const platform = await openPlatform();
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', {
    body: { slug: 'fieldwork', name: 'Fieldwork', ownerTenant: tenant.id },
  });
  await admitted(platform, 'fieldwork', '1.0.0');
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  return { platform, tenant, owner: platform.builder(tenant.id) };
}

const params = { slug: 'fieldwork' };
const put = (platform: Platform, body: object, as = STAFF) =>
  platform.value<ListingRecord>('listings.put', { params, body: { title: 'Fieldwork', ...body }, as });
const ask = (platform: Platform, body: object, as = STAFF) =>
  platform.value<ListingRecord>('listings.request-publish', { params, body: { ...body }, as });

describe('spec C-13: the listing', () => {
  test('of a vertical without a description is private, under its name', async () => {
    const { platform } = await openApp();
    expect(await platform.value('listings.get', { params })).toMatchObject({
      tier: 'private',
      title: 'Fieldwork',
      summary: '',
      request: null,
    });
  });

  test('a builder describes it and shows it to fewer, never to more', async () => {
    const { platform, owner } = await openApp();
    const as = owner as typeof STAFF;
    expect(await put(platform, { tier: 'private', summary: 'Orders' }, as)).toMatchObject({
      summary: 'Orders',
    });
    for (const tier of ['unlisted', 'published'])
      expect(await refusal(put(platform, { tier }, as))).toMatchObject({
        status: 403,
        reason: 'publish_by_request',
      });
    await put(platform, { tier: 'published' });
    expect(await put(platform, { tier: 'unlisted' }, as)).toMatchObject({ tier: 'unlisted' });
    expect(await refusal(put(platform, { tier: 'published' }, as))).toMatchObject({ status: 403 });
  });

  test('without a version that serves, a vertical is shown to no more people', async () => {
    const platform = await openPlatform();
    await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
    expect(await refusal(put(platform, { tier: 'published' }))).toMatchObject({
      status: 409,
      reason: 'nothing_serves',
    });
  });

  test('each change is one row, the same again none, and a stale tag is refused', async () => {
    const { platform } = await openApp();
    const { etag } = await put(platform, { tier: 'unlisted' });
    await put(platform, { tier: 'unlisted' });
    await put(platform, { tier: 'published' });
    expect(await platform.adminLog({ action: 'listings.put' })).toMatchObject([
      { before: { tier: 'private' }, after: { tier: 'unlisted' } },
      { before: { tier: 'unlisted' }, after: { tier: 'published' } },
    ]);
    const stale = platform.call('listings.put', {
      params,
      body: { tier: 'private', title: 'x' },
      ifMatch: `"${etag}"`,
    });
    expect(await refusal(stale)).toMatchObject({ status: 412 });
  });

  test.each(['http://example.com', 'javascript:alert(1)', 'nowhere'])(
    'a web site that a page must not link to is refused: %s',
    async (website) => {
      const { platform } = await openApp();
      expect(await refusal(put(platform, { tier: 'private', website }))).toMatchObject({ status: 400 });
    },
  );
});

describe('spec C-13: a publish request', () => {
  test('is open until staff grant it by showing it to as many', async () => {
    const { platform, owner } = await openApp();
    const asked = await ask(platform, { note: 'Ready.' }, owner as typeof STAFF);
    expect(asked.request).toMatchObject({
      tier: 'published',
      status: 'open',
      requestedBy: { kind: 'builder' },
      note: 'Ready.',
    });
    expect((await put(platform, { tier: 'unlisted' })).request).toMatchObject({ status: 'open' });
    expect((await put(platform, { tier: 'published' })).request).toMatchObject({ status: 'granted' });
    const [row] = await platform.adminLog({ action: 'listings.request-publish' });
    const open = { tier: 'published', note: 'Ready.', status: 'open' };
    expect(row).toMatchObject({ before: { request: null }, after: { tier: 'private', request: open } });
    expect((await platform.adminLog({ action: 'listings.put' })).at(-1)).toMatchObject({
      before: { request: open },
      after: { tier: 'published', request: { ...open, status: 'granted' } },
    });
  });

  test('is declined by staff and withdrawn by its owner', async () => {
    const { platform, owner } = await openApp();
    const as = owner as typeof STAFF;
    await ask(platform, {}, as);
    const declined = await put(platform, { tier: 'private', closeRequest: true });
    expect(declined.request).toMatchObject({ status: 'declined' });
    await ask(platform, {}, as);
    const withdrawn = await put(platform, { tier: 'private', closeRequest: true }, as);
    expect(withdrawn.request).toMatchObject({ status: 'withdrawn' });
  });

  test('the same one again writes nothing, another one has to wait, a pointless one is refused', async () => {
    const { platform } = await openApp();
    await ask(platform, { tier: 'unlisted' });
    await ask(platform, { tier: 'unlisted' });
    expect(await platform.adminLog({ action: 'listings.request-publish' })).toHaveLength(1);
    expect(await refusal(ask(platform, {}))).toMatchObject({ status: 409, reason: 'request_open' });
    await put(platform, { tier: 'unlisted' });
    expect(await refusal(ask(platform, { tier: 'unlisted' }))).toMatchObject({ reason: 'already_listed' });
  });
});

describe('spec C-13: an install block', () => {
  const block = (platform: Platform, as = STAFF, reason = 'It loses orders.') =>
    platform.call('install-blocks.put', { params, body: { reason }, as });
  const lift = (platform: Platform, as = STAFF) => platform.call('install-blocks.delete', { params, as });

  test('refuses a new instance with its reason; existing ones keep running', async () => {
    const { platform, tenant } = await openApp();
    const scope = await platform.scope(tenant.id);
    await platform.hostname(scope, 'acme.localhost');
    await block(platform);
    const before = await platform.adminLog();
    expect(await refusal(platform.scope(tenant.id, 'second'))).toMatchObject({
      status: 409,
      reason: 'install_blocked',
      message: expect.stringContaining('It loses orders.'),
    });
    // The attempt left nothing: no row, no scope, and the vertical was not asked.
    expect(await platform.adminLog()).toEqual(before);
    const scopes = await platform.value<{ items: ScopeRecord[] }>('scopes.list', {
      params: { tenant: tenant.id },
    });
    expect(scopes.items.map(({ slug }) => slug)).toEqual(['main']);
    expect(platform.fieldwork.provisioned.size).toBe(1);
    // The same provisioning again answers the existing scope.
    expect(await platform.scope(tenant.id)).toEqual(scope);
    expect(await platform.admin.routes()).toMatchObject([{ scope: scope.id, serving: true }]);
    await lift(platform);
    expect(await platform.scope(tenant.id, 'second')).toMatchObject({ status: 'active' });
  });

  test('holds up a provisioning that was interrupted', async () => {
    const { platform, tenant } = await openApp();
    platform.fieldwork.fault = () => Promise.reject(new TypeError('down'));
    await refusal(platform.scope(tenant.id));
    platform.fieldwork.fault = null;
    await block(platform);
    expect(await refusal(platform.scope(tenant.id))).toMatchObject({ reason: 'install_blocked' });
  });

  test("of the platform's is lifted and changed by staff only; an owner lifts its own", async () => {
    const { platform, owner } = await openApp();
    const as = owner as typeof STAFF;
    expect((await block(platform, as)).value).toMatchObject({ blocked: true, by: 'owner' });
    expect((await lift(platform, as)).status).toBe(204);
    await block(platform);
    for (const call of [lift(platform, as), block(platform, as, 'Other')])
      expect(await refusal(call)).toMatchObject({ status: 403, reason: 'platform_block' });
    expect(await platform.value('install-blocks.get', { params, as })).toMatchObject({
      blocked: true,
      by: 'platform',
      reason: 'It loses orders.',
    });
  });

  test('keeps its first time, whatever its reason later', async () => {
    const { platform } = await openApp();
    await block(platform);
    const { since } = await platform.value<{ since: string }>('install-blocks.get', { params });
    platform.clock.ms += 60_000;
    const later = { params, body: { reason: 'It still loses orders.' } };
    expect(await platform.value('install-blocks.put', later)).toMatchObject({ since });
    expect(await platform.value('install-blocks.get', { params })).toMatchObject({
      since,
      reason: 'It still loses orders.',
    });
  });

  test('is one row each way, and none where nothing changes', async () => {
    const { platform } = await openApp();
    await lift(platform);
    await block(platform);
    await block(platform);
    await lift(platform);
    await lift(platform);
    expect(await platform.adminLog({ action: 'install-blocks.put' })).toMatchObject([
      { before: null, after: { reason: 'It loses orders.', by: 'platform' } },
    ]);
    expect(await platform.adminLog({ action: 'install-blocks.delete' })).toMatchObject([{ after: null }]);
    expect(await platform.value('install-blocks.get', { params })).toMatchObject({
      blocked: false,
      etag: '0',
    });
  });

  test('a stale tag is refused', async () => {
    const { platform } = await openApp();
    await block(platform);
    const stale = platform.call('install-blocks.delete', { params, ifMatch: '"0"' });
    expect(await refusal(stale)).toMatchObject({ status: 412 });
  });
});

test("a builder gets no instance of another tenant's private vertical: it reads as not found", async () => {
  const { platform } = await openApp();
  const other = await platform.tenant('other');
  const provision = (as: typeof STAFF) =>
    platform.call('scopes.provision', {
      params: { tenant: other.id },
      body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
      as,
    });
  const builder = platform.builder(other.id) as typeof STAFF;
  expect(await refusal(provision(builder))).toMatchObject({ status: 404, reason: 'unknown_vertical' });
  await put(platform, { tier: 'unlisted' });
  expect((await provision(builder)).status).toBe(201);
});

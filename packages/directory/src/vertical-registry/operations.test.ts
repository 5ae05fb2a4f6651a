/** Verticals as a whole: registering and listing them. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import { admitted, manifestOf, promote } from '../../test/registry.ts';
import type { VerticalRecord } from '../admin-operations.ts';

const create = (platform: Platform, body: Record<string, unknown>, as = STAFF) =>
  platform.call('verticals.create', { body, as });

async function slugs(platform: Platform, query: Record<string, unknown>, as = STAFF): Promise<string[]> {
  const { items } = await platform.value<{ items: VerticalRecord[] }>('verticals.list', { query, as });
  return items.map(({ slug }) => slug);
}

/** A's private and published ones, B's two and one that is unlisted, and the platform's own. */
async function openMarket() {
  const platform = await openPlatform();
  const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
  for (const [slug, ownerTenant] of [
    ['a-private', a.id],
    ['a-public', a.id],
    ['b-private', b.id],
    ['b-public', b.id],
    ['b-unlisted', b.id],
    ['ours', undefined],
  ]) {
    await create(platform, { slug, name: slug, ...(ownerTenant === undefined ? {} : { ownerTenant }) });
    if (!slug?.match(/-(public|unlisted)$/)) continue;
    await admitted(platform, slug, '1.0.0');
    await promote(platform, slug, { version: '1.0.0' });
    const tier = slug.endsWith('-public') ? 'published' : 'unlisted';
    await platform.call('listings.put', { params: { slug }, body: { tier, title: slug } });
  }
  return { platform, a, b };
}

describe('spec C-14: the verticals that a caller is shown', () => {
  const ALL = ['a-private', 'a-public', 'b-private', 'b-public', 'b-unlisted', 'ours'];

  test.each([
    ['staff', STAFF],
    ['a service', SERVICE],
  ])('%s sees every one, and narrows by owner, by what a tenant sees, and by both', async (_, as) => {
    const { platform, a, b } = await openMarket();
    expect(await slugs(platform, {}, as)).toEqual(ALL);
    expect(await slugs(platform, { ownerTenant: a.id }, as)).toEqual(['a-private', 'a-public']);
    expect(await slugs(platform, { visibleTo: a.id }, as)).toEqual(['a-private', 'a-public', 'b-public']);
    expect(await slugs(platform, { visibleTo: a.id, ownerTenant: b.id }, as)).toEqual(['b-public']);
  });

  test('a builder sees the verticals of its tenant, with any value in the two filters', async () => {
    const { platform, a, b } = await openMarket();
    const as = platform.builder(a.id);
    for (const query of [{}, { ownerTenant: b.id }, { visibleTo: b.id }, { visibleTo: a.id }])
      expect(await slugs(platform, query, as)).toEqual(['a-private', 'a-public']);
  });

  test('pages go on where the one before ended, with the filter', async () => {
    const { platform, a } = await openMarket();
    const query = { visibleTo: a.id, limit: 2 };
    const first = await platform.value<{ items: unknown[]; nextCursor: string }>('verticals.list', { query });
    expect(first.items).toHaveLength(2);
    expect(await slugs(platform, { ...query, cursor: first.nextCursor })).toEqual(['b-public']);
  });

  test("a builder's pages hold what its tenant owns, each once", async () => {
    const { platform, a, b } = await openMarket();
    const as = platform.builder(a.id);
    const query = { limit: 1, visibleTo: b.id };
    const first = await platform.value<{ items: unknown[]; nextCursor: string }>('verticals.list', {
      query,
      as,
    });
    expect(first.items).toMatchObject([{ slug: 'a-private' }]);
    expect(await slugs(platform, { ...query, cursor: first.nextCursor }, as)).toEqual(['a-public']);
  });

  test("another tenant's vertical reads as not found for a builder, also a published one", async () => {
    const { platform, a } = await openMarket();
    for (const slug of ['b-private', 'b-public', 'b-unlisted', 'ours', 'unknown'])
      expect(
        await refusal(platform.call('verticals.get', { params: { slug }, as: platform.builder(a.id) })),
      ).toMatchObject({ status: 404, reason: 'unknown_vertical' });
  });
});

describe('spec C-13: registering a vertical', () => {
  test('the same again answers the existing one, and writes nothing', async () => {
    const platform = await openPlatform();
    const { id } = await platform.tenant('acme');
    const body = { slug: 'app', name: 'App', ownerTenant: id };
    const first = await create(platform, body);
    const second = await create(platform, body);
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(first.value).toMatchObject({ slug: 'app', ownerTenant: id, tier: 'private', serving: null });
    expect(second.value).toEqual(first.value);
    expect(await platform.adminLog({ action: 'verticals.create' })).toHaveLength(1);
  });

  test('another name or another owner is a conflict', async () => {
    const platform = await openPlatform();
    const { id } = await platform.tenant('acme');
    await create(platform, { slug: 'app', name: 'App', ownerTenant: id });
    for (const body of [
      { slug: 'app', name: 'Other', ownerTenant: id },
      { slug: 'app', name: 'App' },
    ])
      expect(await refusal(create(platform, body))).toMatchObject({ status: 409, reason: 'slug_taken' });
  });

  test("a builder's is its tenant's, and it can make none for another", async () => {
    const platform = await openPlatform();
    const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
    const as = platform.builder(a.id);
    const { value } = await create(platform, { slug: 'app', name: 'App' }, as);
    expect(value).toMatchObject({ ownerTenant: a.id });
    expect(
      await refusal(create(platform, { slug: 'theirs', name: 'Theirs', ownerTenant: b.id }, as)),
    ).toMatchObject({ status: 404, reason: 'unknown_tenant' });
  });

  test('a builder cannot take the slug of a vertical that the platform itself answers for', async () => {
    const platform = await openPlatform();
    const { id } = await platform.tenant('acme');
    const taken = create(platform, { slug: 'fieldwork', name: 'Mine' }, platform.builder(id));
    expect(await refusal(taken)).toMatchObject({ status: 409, reason: 'slug_taken' });
    expect((await create(platform, { slug: 'fieldwork', name: 'Fieldwork' })).status).toBe(201);
  });

  test('a tenant that is suspended gets none', async () => {
    const platform = await openPlatform();
    const { id } = await platform.tenant('acme');
    await platform.call('tenants.set-status', { params: { tenant: id }, body: { status: 'suspended' } });
    expect(await refusal(create(platform, { slug: 'app', name: 'App', ownerTenant: id }))).toMatchObject({
      status: 409,
      reason: 'tenant_not_active',
    });
    expect(await slugs(platform, {})).toEqual([]);
  });

  test('its record changes its tag with every field that it shows, and a stale tag is refused', async () => {
    const platform = await openPlatform();
    await create(platform, { slug: 'app', name: 'App' });
    const params = { slug: 'app' };
    const tags = new Set<string>();
    const look = async () => {
      const { etag } = await platform.call('verticals.get', { params });
      expect(tags.has(String(etag))).toBe(false);
      tags.add(String(etag));
    };
    await look();
    await platform.call('verticals.update', { params, body: { name: 'Better' } });
    await look();
    await admitted(platform, 'app', '1.0.0');
    await promote(platform, 'app', { version: '1.0.0' });
    await look();
    await platform.call('listings.put', { params, body: { tier: 'unlisted', title: 'App' } });
    await look();
    await platform.call('install-blocks.put', { params, body: { reason: 'Busy.' } });
    await look();
    await platform.call('install-blocks.delete', { params });
    await look();
    const [stale] = tags;
    const rename = platform.call('verticals.update', {
      params,
      body: { name: 'Worse' },
      ifMatch: `"${stale}"`,
    });
    expect(await refusal(rename)).toMatchObject({ status: 412 });
    expect((await platform.call('verticals.get', { params })).value).toMatchObject({ name: 'Better' });
  });

  test('a rename logs the old and the new name; the same name writes nothing', async () => {
    const platform = await openPlatform();
    await create(platform, { slug: 'app', name: 'App' });
    const parts = { params: { slug: 'app' }, body: { name: 'Better' } };
    await platform.call('verticals.update', parts);
    await platform.call('verticals.update', parts);
    expect(await platform.adminLog({ action: 'verticals.update' })).toMatchObject([
      { before: { name: 'App' }, after: { name: 'Better' }, target: { vertical: 'app' } },
    ]);
  });
});

test('spec C-13: instances are the scopes of a vertical with the version of each; a builder sees its own', async () => {
  const platform = await openPlatform();
  const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
  await create(platform, { slug: 'fieldwork', name: 'Fieldwork', ownerTenant: a.id });
  const mine = await platform.scope(a.id);
  const instances = async (as = STAFF) =>
    (await platform.value<{ items: object[] }>('verticals.instances', { params: { slug: 'fieldwork' }, as }))
      .items;
  expect(await instances()).toMatchObject([{ scope: mine.id, version: null, bound: false }]);
  await admitted(platform, 'fieldwork', '1.0.0', { manifest: manifestOf('fieldwork', '1.0.0') });
  await admitted(platform, 'fieldwork', '2.0.0');
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  await platform.call('listings.put', {
    params: { slug: 'fieldwork' },
    body: { tier: 'published', title: 'Fieldwork' },
  });
  const theirs = await platform.scope(b.id);
  await platform.call('scope-version.set', {
    params: { tenant: b.id, scope: theirs.id },
    body: { version: '2.0.0' },
  });
  expect(await instances()).toMatchObject([
    { scope: mine.id, tenant: a.id, version: '1.0.0', bound: false, status: 'active' },
    { scope: theirs.id, tenant: b.id, version: '2.0.0', bound: true, status: 'active' },
  ]);
  expect(await instances(platform.builder(a.id))).toMatchObject([{ scope: mine.id }]);
});

test('spec C-13: instances of another vertical are not among them', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const [ours, theirs] = [await platform.scope(tenant, 'ours'), await platform.scope(tenant, 'theirs')];
  for (const slug of ['fieldwork', 'other']) await create(platform, { slug, name: slug });
  await platform.tamper((database) => {
    database.prepare("UPDATE scopes SET vertical = 'other' WHERE id = ?").run(theirs.id);
  });
  for (const [slug, scope] of [
    ['fieldwork', ours.id],
    ['other', theirs.id],
  ]) {
    const { items } = await platform.value<{ items: object[] }>('verticals.instances', { params: { slug } });
    expect(items).toHaveLength(1);
    expect(items).toMatchObject([{ scope, bound: false }]);
  }
});

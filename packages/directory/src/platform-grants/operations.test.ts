/** The platform's grants: given and taken by staff, and what a vertical can do with one. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';

async function openApp(): Promise<Platform> {
  const platform = await openPlatform();
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
  return platform;
}

const params = { slug: 'app' };

describe.each(['email-sender', 'tenant-provisioner'] as const)('spec C-21: %s', (grant) => {
  const other = grant === 'email-sender' ? 'tenant-provisioner' : 'email-sender';

  test('is given and taken away, with one row each, and none where nothing changes', async () => {
    const platform = await openApp();
    const has = () => platform.admin.hasPlatformGrant('app', grant);
    expect(await platform.value(`${grant}.get`, { params })).toMatchObject({
      vertical: 'app',
      grant,
      granted: false,
      since: null,
    });
    expect(await has()).toBe(false);
    const given = await platform.call(`${grant}.put`, { params, body: { note: 'newsletter' } });
    await platform.call(`${grant}.put`, { params, body: { note: 'newsletter' } });
    expect(given.value).toMatchObject({ granted: true, note: 'newsletter', etag: given.etag });
    expect(await has()).toBe(true);
    expect(await platform.admin.hasPlatformGrant('app', other)).toBe(false);
    expect((await platform.call(`${grant}.delete`, { params })).status).toBe(204);
    await platform.call(`${grant}.delete`, { params });
    expect(await has()).toBe(false);
    expect(await platform.adminLog({ action: `${grant}.put` })).toMatchObject([
      { target: { vertical: 'app', other: grant }, before: null, after: { note: 'newsletter' } },
    ]);
    expect(await platform.adminLog({ action: `${grant}.delete` })).toMatchObject([
      { before: { note: 'newsletter' }, after: null },
    ]);
  });

  test('a stale tag and a vertical that nobody registered are refused', async () => {
    const platform = await openApp();
    await platform.call(`${grant}.put`, { params, body: {} });
    for (const ifMatch of ['"0"', '"999"'])
      expect(await refusal(platform.call(`${grant}.delete`, { params, ifMatch }))).toMatchObject({
        status: 412,
      });
    const nobody = { params: { slug: 'nobody' }, body: {} };
    expect(await refusal(platform.call(`${grant}.put`, nobody))).toMatchObject({ status: 404 });
    expect(await platform.admin.hasPlatformGrant('app', grant)).toBe(true);
  });
});

describe('spec C-21: a vertical that creates tenants', () => {
  const order = { vertical: 'app', slug: 'new', name: 'New' };

  test('may not without the grant, and nothing is written', async () => {
    const platform = await openApp();
    await platform.call('email-sender.put', { params, body: {} });
    const before = await platform.adminLog();
    for (const vertical of ['app', 'nobody'])
      expect(await refusal(platform.admin.provisionTenant({ ...order, vertical }))).toMatchObject({
        status: 403,
        reason: 'not_granted',
      });
    expect(await platform.adminLog()).toEqual(before);
    expect((await platform.value<{ items: [] }>('tenants.list')).items).toEqual([]);
  });

  test('may with it; the log names the vertical, and its chain holds', async () => {
    const platform = await openApp();
    await platform.call('tenant-provisioner.put', { params, body: {} });
    const { tenant, created } = await platform.admin.provisionTenant(order);
    expect(created).toBe(true);
    expect(await platform.value('tenants.get', { params: { tenant: tenant.id } })).toEqual(tenant);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'tenants.create',
      actor: { kind: 'system', id: 'vertical:app' },
      token: null,
      target: { tenant: tenant.id },
      after: { slug: 'new' },
    });
    expect(await platform.value('admin-log.verify')).toMatchObject({ firstBad: null });
  });

  test('the same one again is the one that is there; another name is a conflict', async () => {
    const platform = await openApp();
    await platform.call('tenant-provisioner.put', { params, body: {} });
    const { tenant } = await platform.admin.provisionTenant(order);
    const before = await platform.adminLog();
    expect(await platform.admin.provisionTenant(order)).toEqual({ tenant, created: false });
    expect(await refusal(platform.admin.provisionTenant({ ...order, name: 'Other' }))).toMatchObject({
      reason: 'slug_taken',
    });
    expect(await platform.adminLog()).toEqual(before);
  });

  test('may no more, from the moment it is taken away', async () => {
    const platform = await openApp();
    await platform.call('tenant-provisioner.put', { params, body: {} });
    await platform.admin.provisionTenant(order);
    await platform.call('tenant-provisioner.delete', { params });
    expect(await refusal(platform.admin.provisionTenant({ ...order, slug: 'next' }))).toMatchObject({
      reason: 'not_granted',
    });
  });

  test('what is not a tenant is refused', async () => {
    const platform = await openApp();
    await platform.call('tenant-provisioner.put', { params, body: {} });
    for (const parts of [{ slug: 'Not A Slug' }, { name: '' }])
      expect(await refusal(platform.admin.provisionTenant({ ...order, ...parts }))).toMatchObject({
        status: 400,
      });
  });
});

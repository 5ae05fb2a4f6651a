/** The platform's grants: staff give and take them, and verticals act with them. */
import { describe, expect, test } from 'vitest';
import { type CallParts, openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import type { Actor } from '../access/actors.ts';
import type { AdminOperationName, TenantRecord } from '../admin-operations.ts';

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

  test('that is given with another note is as old as it was, at another version, and leaves the other grant', async () => {
    const platform = await openApp();
    await platform.call(`${other}.put`, { params, body: {} });
    const first = await platform.call(`${grant}.put`, { params, body: { note: 'trial' } });
    platform.clock.ms += 1_000;
    const second = await platform.call(`${grant}.put`, { params, body: { note: 'for good' } });
    expect(second.value).toMatchObject({ note: 'for good', since: '2026-11-21T08:00:00.000Z' });
    expect(second.etag).not.toBe(first.etag);
    expect(await platform.call(`${grant}.get`, { params })).toMatchObject({
      value: second.value,
      etag: second.etag,
    });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      before: { note: 'trial' },
      after: { note: 'for good' },
    });
    const { etag: ifMatch = '' } = second;
    expect((await platform.call(`${grant}.delete`, { params, ifMatch })).status).toBe(204);
    expect(await platform.admin.hasPlatformGrant('app', other)).toBe(true);
  });

  test('a stale tag and an unknown vertical are refused', async () => {
    const platform = await openApp();
    await platform.call(`${grant}.put`, { params, body: {} });
    for (const ifMatch of ['"0"', '"999"'])
      expect(await refusal(platform.call(`${grant}.delete`, { params, ifMatch }))).toMatchObject({
        status: 412,
      });
    const noPrincipal = { params: { slug: 'unknown' }, body: {} };
    expect(await refusal(platform.call(`${grant}.put`, noPrincipal))).toMatchObject({ status: 404 });
    expect(await platform.admin.hasPlatformGrant('app', grant)).toBe(true);
  });
});

describe('spec C-21: a vertical that creates tenants', () => {
  const app: Actor = { kind: 'vertical', id: 'app', name: 'app' };
  const body = { slug: 'new', name: 'New' };
  const create = (platform: Platform, parts: CallParts = {}) =>
    platform.call('tenants.create', { body, as: app, ...parts });
  const grant = (platform: Platform) => platform.call('tenant-provisioner.put', { params, body: {} });

  test('may not without the grant, and nothing is written', async () => {
    const platform = await openApp();
    await platform.call('email-sender.put', { params, body: {} });
    await platform.call('verticals.create', { body: { slug: 'other', name: 'Other' } });
    await platform.call('tenant-provisioner.put', { params: { slug: 'other' }, body: {} });
    const before = await platform.adminLog();
    for (const id of ['app', 'unknown'])
      for (const key of [undefined, 'key-1'])
        expect(
          await refusal(create(platform, { as: { ...app, id }, ...(key === undefined ? {} : { key }) })),
        ).toMatchObject({ status: 403, code: 'forbidden', reason: 'not_granted' });
    expect(await platform.adminLog()).toEqual(before);
    expect((await platform.value<{ items: [] }>('tenants.list')).items).toEqual([]);
  });

  test('may with it; the log names the vertical, and its chain holds', async () => {
    const platform = await openApp();
    await grant(platform);
    const { status, value, etag, head } = await create(platform);
    expect(status).toBe(201);
    const { id } = value as TenantRecord;
    expect(await platform.value('tenants.get', { params: { tenant: id } })).toEqual(value);
    const row = (await platform.adminLog()).at(-1);
    expect(row).toMatchObject({
      action: 'tenants.create',
      actor: { kind: 'vertical', id: 'app', name: 'app' },
      token: null,
      target: { tenant: id },
      after: { slug: 'new' },
      outcome: 'done',
    });
    expect([etag, head?.hash]).toEqual([String(row?.sequence), row?.hash]);
    expect(await platform.value('admin-log.verify')).toMatchObject({ firstBad: null });
  });

  test('the same one again is the one that is there; another name is a conflict', async () => {
    const platform = await openApp();
    await grant(platform);
    const { value } = await create(platform);
    const before = await platform.adminLog();
    expect(await create(platform)).toMatchObject({ status: 200, value, replayed: false });
    expect(await refusal(create(platform, { body: { ...body, name: 'Other' } }))).toMatchObject({
      reason: 'slug_taken',
    });
    expect(await platform.adminLog()).toEqual(before);
  });

  test('an idempotency key is its own: not another vertical’s, nor that of a token with the same id', async () => {
    const platform = await openApp();
    await grant(platform);
    await platform.call('verticals.create', { body: { slug: 'other', name: 'Other' } });
    await platform.call('tenant-provisioner.put', { params: { slug: 'other' }, body: {} });
    const first = await create(platform, { key: 'key-1' });
    expect(await create(platform, { key: 'key-1' })).toMatchObject({ status: 201, replayed: true });
    for (const as of [{ ...app, id: 'other' }, { ...SERVICE, id: 'app' } as Actor])
      expect(await create(platform, { key: 'key-1', as })).toMatchObject({
        status: 200,
        value: first.value,
        replayed: false,
      });
  });

  test('is refused from the moment the grant is taken away, and gets no earlier answer again', async () => {
    const platform = await openApp();
    await grant(platform);
    await create(platform, { key: 'key-1' });
    await platform.call('tenant-provisioner.delete', { params });
    const before = await platform.adminLog();
    for (const parts of [{ body: { slug: 'next', name: 'Next' } }, {}, { key: 'key-1' }])
      expect(await refusal(create(platform, parts))).toMatchObject({ status: 403, reason: 'not_granted' });
    expect(await platform.adminLog()).toEqual(before);
  });

  test('no other operation is open to it, whatever its grants', async () => {
    const platform = await openApp();
    await grant(platform);
    await platform.call('email-sender.put', { params, body: {} });
    const { id: tenant } = await platform.tenant('acme');
    const calls: [AdminOperationName, CallParts][] = [
      ['tenants.list', {}],
      ['tenants.get', { params: { tenant } }],
      ['tenants.update', { params: { tenant }, body: { name: 'Mine' } }],
      ['verticals.get', { params }],
      ['tenant-provisioner.put', { params, body: {} }],
      ['push-tokens.create', { body: { tenant, name: 'mine' } }],
    ];
    for (const [name, parts] of calls)
      expect(await refusal(platform.call(name, { ...parts, as: app }))).toMatchObject({
        status: 403,
        reason: 'not_for_verticals',
      });
  });
});

/** Tenants: the life of one, what a repeat does, and what a list shows. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { TenantRecord } from '../admin-operations.ts';

type Status = 'active' | 'suspended' | 'deleting';
const STATES: readonly Status[] = ['active', 'suspended', 'deleting'];
const ALLOWED: Readonly<Record<Status, readonly Status[]>> = {
  active: ['suspended', 'deleting'],
  suspended: ['active', 'deleting'],
  deleting: ['active'],
};

const setStatus = (platform: Platform, tenant: TenantRecord, status: Status) =>
  platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status } });

describe('spec C-03, C-30: every status and every verb', () => {
  for (const from of STATES) {
    for (const to of STATES) {
      const allowed = ALLOWED[from].includes(to);
      test(`${from} → ${to} is ${allowed ? 'done and logged' : 'refused and leaves no row'}`, async () => {
        const platform = await openPlatform();
        const tenant = await platform.tenant('acme');
        if (from !== 'active') await setStatus(platform, tenant, from);
        const before = await platform.adminLog();

        if (allowed) {
          const { value, etag } = await setStatus(platform, tenant, to);
          expect(value).toMatchObject({ id: tenant.id, status: to, etag });
        } else {
          expect(await refusal(setStatus(platform, tenant, to))).toMatchObject({
            status: 409,
            code: 'invalid_transition',
          });
        }

        const rows = (await platform.adminLog()).slice(before.length);
        expect(rows).toHaveLength(allowed ? 1 : 0);
        if (allowed)
          expect(rows[0]).toMatchObject({
            action: 'tenants.set-status',
            actor: { kind: 'staff', id: 'ada', name: 'Ada' },
            target: { tenant: tenant.id },
            before: { slug: 'acme', name: 'Tenant acme', status: from },
            after: { slug: 'acme', name: 'Tenant acme', status: to },
            outcome: 'done',
          });
      });
    }
  }

  test('a reaped tenant has no way out, and its slug is never given out again', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    await platform.tamper((database) => database.exec("UPDATE tenants SET status = 'reaped'"));
    for (const to of STATES)
      expect(await refusal(setStatus(platform, tenant, to))).toMatchObject({ code: 'invalid_transition' });
    expect(await refusal(platform.tenant('acme'))).toMatchObject({ status: 409, reason: 'slug_retired' });
  });
});

describe('creating', () => {
  test('the same slug and name answer the tenant that is there, without a second row', async () => {
    const platform = await openPlatform();
    const parts = { body: { slug: 'acme', name: 'Acme' } };
    const first = await platform.call('tenants.create', parts);
    const second = await platform.call('tenants.create', parts);
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.value).toEqual(first.value);
    expect(await platform.adminLog()).toHaveLength(1);
  });

  test('the same slug and another name are a conflict', async () => {
    const platform = await openPlatform();
    await platform.tenant('acme');
    expect(
      await refusal(platform.call('tenants.create', { body: { slug: 'acme', name: 'Other' } })),
    ).toMatchObject({ status: 409, code: 'conflict', reason: 'slug_taken' });
  });

  test.each(['', 'Acme', '1acme', 'acme-', 'a_b', 'a'.repeat(64)])('the slug %j is refused', async (slug) => {
    const platform = await openPlatform();
    expect(await refusal(platform.call('tenants.create', { body: { slug, name: 'Acme' } }))).toMatchObject({
      status: 400,
      code: 'validation_failed',
    });
  });
});

describe('reading', () => {
  test('pages are complete and stay so when tenants are created in between', async () => {
    const platform = await openPlatform();
    const made = [];
    for (let i = 0; i < 5; i++) made.push((await platform.tenant(`t${i}`)).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await platform.value<{ items: TenantRecord[]; nextCursor: string | null }>(
        'tenants.list',
        {
          query: { limit: 2, cursor },
        },
      );
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map((each) => each.id));
      if (seen.length === 2) made.push((await platform.tenant('late')).id);
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(made);
  });

  test.each([
    [{ status: 'suspended' }, ['beta']],
    [{ q: 'be' }, ['beta']],
    [{ q: 'TENANT A' }, ['acme', 'apex']],
    [{ q: 'ap', status: 'active' }, ['apex']],
    [{ q: 'enant' }, []],
    [{ q: '%' }, []],
  ])('the filter %j shows %j', async (query, slugs) => {
    const platform = await openPlatform();
    for (const slug of ['acme', 'apex', 'beta']) await platform.tenant(slug);
    const { items } = await platform.value<{ items: TenantRecord[] }>('tenants.list', {
      query: { q: 'beta' },
    });
    await setStatus(platform, items[0] as TenantRecord, 'suspended');
    const found = await platform.value<{ items: TenantRecord[] }>('tenants.list', { query });
    expect(found.items.map((each) => each.slug)).toEqual(slugs);
  });

  test('an unknown tenant is not there, and a made-up cursor is refused', async () => {
    const platform = await openPlatform();
    const params = { tenant: 'tnt_01jd0000000000000000000009' };
    expect(await refusal(platform.call('tenants.get', { params }))).toMatchObject({ status: 404 });
    expect(await refusal(platform.call('tenants.list', { query: { cursor: '%%%' } }))).toMatchObject({
      status: 400,
    });
    expect(await refusal(platform.call('admin-log.list', { query: { cursor: 'YWJj' } }))).toMatchObject({
      status: 400,
    });
  });
});

describe('If-Match', () => {
  test('a stale tag is refused with the present one; the present one and * go through', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const change = (status: Status, ifMatch: string) =>
      platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status }, ifMatch });
    const { etag } = await change('suspended', `"${tenant.etag}"`);
    const stale = await change('active', `"${tenant.etag}"`).catch((error) => error);
    expect(stale).toMatchObject({ code: 'precondition_failed', status: 412, headers: { etag: `"${etag}"` } });
    expect((await platform.call('tenants.get', { params: { tenant: tenant.id } })).etag).toBe(etag);
    expect(await change('active', '*')).toMatchObject({ status: 200 });
  });

  test('an unknown tenant is 404 before it is 412', async () => {
    const platform = await openPlatform();
    const params = { tenant: 'tnt_01jd0000000000000000000009' };
    const call = platform.call('tenants.set-status', { params, body: { status: 'active' }, ifMatch: '"1"' });
    expect(await refusal(call)).toMatchObject({ status: 404 });
  });
});

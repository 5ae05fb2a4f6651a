/** Previews: made beside the live version, found at their own name, and gone at their end with everything that they had. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { openPlatform, type Platform, refusal, type STAFF } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import type { PreviewMade, PreviewRecord } from '../admin-operations.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MODULES = [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('export {}') }];
const forever = new AbortController().signal;

async function open() {
  const runtime = makeMemoryRuntime();
  const destroyed: string[] = [];
  const platform = await openPlatform({ runtime, destroyTenantKeys: async (id) => void destroyed.push(id) });
  const [acme, bolt] = [await platform.tenant('acme'), await platform.tenant('bolt')];
  await platform.call('verticals.create', {
    body: { slug: 'fieldwork', name: 'Fieldwork', ownerTenant: acme.id },
  });
  const [scope, foreign] = [await platform.scope(acme.id), await platform.scope(bolt.id)];
  platform.reach = 'local';
  platform.fieldwork.copy = 'the books of acme';
  const as = platform.builder(acme.id) as typeof STAFF;
  return {
    platform,
    runtime,
    acme,
    bolt,
    scope,
    foreign,
    as,
    outsider: platform.builder(bolt.id) as typeof STAFF,
  };
}

const make = (platform: Platform, body: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
  platform.call('previews.create', {
    params: { slug: 'fieldwork' },
    body: { manifest: manifestOf('fieldwork', '2.0.0'), modules: MODULES, ...body },
    ...more,
  });
const made = async (...args: Parameters<typeof make>) => (await make(...args)).value as PreviewMade;
const list = async (platform: Platform, query = {}) =>
  (
    await platform.value<{ items: PreviewRecord[] }>('previews.list', {
      params: { slug: 'fieldwork' },
      query,
    })
  ).items;
const ofPreview = ({ id }: PreviewRecord) => ({ params: { slug: 'fieldwork', preview: id } });

describe('a preview of a scope', () => {
  test('gets a masked copy, answers at a name of its own, and is no version', async () => {
    const { platform, runtime, scope, acme, as } = await open();
    const { preview, copied } = await made(platform, { scope: scope.id, branch: 'next', days: 2 }, { as });
    expect(preview).toMatchObject({
      ...{ vertical: 'fieldwork', version: '2.0.0', tenant: acme.id, scope: scope.id, branch: 'next' },
      ...{ network: false, createdBy: { id: as.id } },
    });
    expect(Date.parse(preview.expiresAt) - Date.parse(preview.createdAt)).toBe(2 * DAY_MS);
    expect(copied).toEqual({ tables: 2, rows: 5, masked: ['people.name'], unmasked: [] });
    expect(runtime.previews.copies.get(preview.id)).toBe('the books of acme');
    // Data comes into what was provisioned: its members are not those of the live scope.
    expect(runtime.previews.running.get(preview.id)).toEqual(['mask', 'provision', 'restore']);
    expect(await platform.admin.route(preview.hostname)).toMatchObject({
      ...{ tenant: acme.id, scope: scope.id, vertical: 'fieldwork', serving: true },
      version: '2.0.0+preview',
      hostnames: [preview.hostname],
      preview: { id: preview.id, scope: scope.id, network: false },
    });
    expect((await platform.admin.routes()).map(({ hostname }) => hostname)).not.toContain(preview.hostname);
    const versions = await platform.value<{ items: unknown[] }>('vertical-versions.list', {
      params: { slug: 'fieldwork' },
    });
    expect(versions.items).toEqual([]);
    expect(await list(platform)).toEqual([preview]);
    expect(await list(platform, { branch: 'main' })).toEqual([]);
    const rows = await platform.adminLog({ action: 'previews.create' });
    expect(rows.at(-1)).toMatchObject({ outcome: 'done', target: { scope: scope.id, other: preview.id } });
  });

  test('with text that is neither sealed nor personal is refused by name, and nothing of it stays', async () => {
    const { platform, runtime, scope } = await open();
    runtime.previews.unmasked = ['orders.title'];
    expect(await refusal(make(platform, { scope: scope.id }))).toMatchObject({
      ...{ status: 409, reason: 'unmasked_text' },
      message: expect.stringContaining('orders.title'),
    });
    expect([await list(platform), runtime.previews.running.size]).toEqual([[], 0]);
    const { copied } = await made(platform, { scope: scope.id, acknowledgeUnmasked: true });
    expect(copied).toMatchObject({ unmasked: ['orders.title'] });
    expect((await platform.adminLog({ action: 'previews.create' })).at(-1)).toMatchObject({
      after: { unmasked: ['orders.title'] },
    });
  });

  test('of another tenant is not there for a builder; staff may make it', async () => {
    const { platform, runtime, foreign, bolt, as } = await open();
    expect(await refusal(make(platform, { scope: foreign.id }, { as }))).toMatchObject({ status: 404 });
    expect(runtime.previews.copies.size).toBe(0);
    expect((await made(platform, { scope: foreign.id })).preview).toMatchObject({ tenant: bolt.id });
  });

  test('that cannot be opened leaves nothing', async () => {
    const { platform, runtime, scope } = await open();
    runtime.previews.before = async (what) => {
      if (what === 'restore') throw new TypeError('connection reset');
    };
    expect(await refusal(make(platform, { scope: scope.id }))).toMatchObject({
      ...{ status: 502, reason: 'preview_not_made' },
    });
    expect([await list(platform), runtime.previews.running.size]).toEqual([[], 0]);
    expect((await platform.adminLog({ action: 'previews.create' })).at(-1)).toMatchObject({
      outcome: 'failed',
    });
  });
});

describe('a preview whose making was interrupted', () => {
  const outcomes = async (platform: Platform) =>
    (await platform.adminLog({ action: 'previews.create' })).map(({ outcome, intent }) => [
      outcome,
      intent !== null,
    ]);

  test.each(['of a scope', 'without a scope'])(
    '%s is settled by the next attempt, once its call is over',
    async (which) => {
      const { platform, runtime, scope } = await open();
      const body = which === 'of a scope' ? { scope: scope.id } : {};
      const never = new Promise<void>(() => undefined);
      runtime.previews.before = async (what) => (what === 'provision' ? never : undefined);
      void make(platform, body).catch(() => undefined);
      await expect.poll(() => runtime.previews.running.size).toBe(1);
      runtime.previews.before = async () => undefined;
      await made(platform, body);
      expect(await outcomes(platform)).toEqual([
        ['intent', false],
        ['intent', false],
        ['done', true],
      ]);
      platform.clock.ms += 3 * 60 * 1000;
      await made(platform, { ...body, branch: 'another' });
      expect((await outcomes(platform)).at(-1)).toEqual(['done', true]);
      await made(platform, body);
      expect((await outcomes(platform)).slice(-2)).toEqual([
        ['done', true],
        ['superseded', true],
      ]);
    },
  );
});

describe('a preview', () => {
  test('without a scope begins empty, under ids of its own', async () => {
    const { platform, runtime, acme, as } = await open();
    const { preview, copied } = await made(platform, {}, { as });
    expect([preview.scope, copied, preview.tenant]).toEqual([null, null, acme.id]);
    expect(runtime.previews.running.get(preview.id)).toEqual(['provision']);
  });

  test('is opened by a link for its first owner, and by its address once there is one', async () => {
    const { platform, runtime } = await open();
    const { preview } = await made(platform);
    const origin = `http://${preview.hostname}:8787`;
    const link = () => platform.value('previews.open', ofPreview(preview));
    expect(await link()).toMatchObject({ url: `${origin}/?claim=token` });
    runtime.previews.isClaimed = true;
    expect(await link()).toEqual({ url: `${origin}/`, expiresAt: null });
    expect(JSON.stringify(await platform.adminLog())).not.toContain('claim=token');
  });

  test('ends when its builder says so, and its name leads nowhere then', async () => {
    const { platform, runtime, as, outsider } = await open();
    const { preview } = await made(platform, {}, { as });
    expect(
      await refusal(platform.call('previews.end', { ...ofPreview(preview), as: outsider })),
    ).toMatchObject({ status: 404 });
    let rerouted = 0;
    platform.admin.onRoutesChanged(() => rerouted++);
    await platform.call('previews.end', { ...ofPreview(preview), as });
    expect([rerouted, runtime.previews.running.size, await list(platform)]).toEqual([1, 0, []]);
    expect(await platform.admin.route(preview.hostname)).toBeNull();
    expect(await refusal(platform.call('previews.end', ofPreview(preview)))).toMatchObject({
      reason: 'unknown_preview',
    });
  });

  test('is not served after its time, and is removed by the platform itself', async () => {
    const { platform, runtime } = await open();
    const { preview } = await made(platform, { days: 1 });
    const { preview: later } = await made(platform, { days: 2 });
    platform.clock.ms += DAY_MS - 1;
    expect(await platform.admin.previews.endExpired(forever)).toBe(0);
    platform.clock.ms += 1;
    expect(await platform.admin.route(preview.hostname)).toBeNull();
    expect(await platform.admin.previews.endExpired(forever)).toBe(1);
    expect([...runtime.previews.running.keys()]).toEqual([later.id]);
    expect(await platform.admin.previews.ids()).toEqual([later.id]);
    expect((await platform.adminLog({ action: 'previews.end' })).at(-1)).toMatchObject({
      actor: { kind: 'system', id: 'previews' },
      outcome: 'done',
    });
  });

  test('that cannot be ended now is ended by the next run', async () => {
    const { platform, runtime } = await open();
    await made(platform, { days: 1 });
    platform.clock.ms += DAY_MS;
    runtime.previews.before = async () => {
      throw new PlatformError('unavailable', 'Busy.');
    };
    await expect(platform.admin.previews.endExpired(forever)).rejects.toMatchObject({ code: 'unavailable' });
    runtime.previews.before = async () => undefined;
    expect(await platform.admin.previews.endExpired(forever)).toBe(1);
  });

  test('beyond the tenth of a vertical is refused', async () => {
    const { platform } = await open();
    for (let i = 0; i < 10; i++) await make(platform);
    expect(await refusal(make(platform))).toMatchObject({ status: 409, reason: 'too_many_previews' });
  });

  test('is not made by a runtime that has none', async () => {
    const { previews: _, ...runtime } = makeMemoryRuntime();
    const platform = await openPlatform({ runtime });
    await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
    expect(await refusal(make(platform))).toMatchObject({ status: 501, reason: 'no_previews' });
  });
});

describe('a copy does not outlive what it was made of', () => {
  const running = async (platform: Platform, scope: string) => (await made(platform, { scope })).preview.id;

  test('an erased person ends the previews of the scope', async () => {
    const { platform, runtime, scope, foreign } = await open();
    await running(platform, scope.id);
    const other = await running(platform, foreign.id);
    await platform.admin.previews.endOf({ scope: scope.id });
    expect([...runtime.previews.running.keys()]).toEqual([other]);
  });

  test('a reaped scope ends them', async () => {
    const { platform, runtime, scope, foreign } = await open();
    await running(platform, scope.id);
    const other = await running(platform, foreign.id);
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
    expect([...runtime.previews.running.keys()]).toEqual([other]);
  });

  test('a reaped tenant ends those of its scopes, and of its applications', async () => {
    const { platform, runtime, acme, scope, foreign } = await open();
    await running(platform, scope.id);
    await running(platform, foreign.id);
    const params = { tenant: acme.id };
    await platform.call('tenants.set-status', { params, body: { status: 'deleting' } });
    await platform.finish(platform.call('tenants.reap', { params, body: {} }));
    expect([...runtime.previews.running.keys()]).toEqual([]);
  });
});

describe('a preview ends with those who made it: they may have an account in it', () => {
  const makerOf = async (platform: Platform, tenant: string, as?: typeof STAFF) => {
    const { token, secret } = await platform.value<{ token: { id: string }; secret: string }>(
      'push-tokens.create',
      { body: { name: 'ci', tenant, kind: 'deploy' }, ...(as ? { as } : {}) },
    );
    return { token, actor: (await platform.admin.authenticate(secret)) as typeof STAFF };
  };
  const routesOf = (platform: Platform, previews: readonly PreviewRecord[]) =>
    Promise.all(
      previews.map(async ({ hostname }) => (await platform.admin.route(hostname))?.preview?.id ?? null),
    );

  test('a revoked push token ends its own, and no other', async () => {
    const { platform, runtime, acme } = await open();
    const [one, other] = [await makerOf(platform, acme.id), await makerOf(platform, acme.id)];
    const { preview } = await made(platform, {}, { as: one.actor });
    const { preview: stays } = await made(platform, {}, { as: other.actor });
    let rerouted = 0;
    platform.admin.onRoutesChanged(() => rerouted++);
    await platform.call('push-tokens.revoke', { params: { token: one.token.id } });
    // Its name leads nowhere at once; what the runtime has of it goes with the next round.
    expect([rerouted, await routesOf(platform, [preview, stays])]).toEqual([1, [null, stays.id]]);
    expect((await platform.adminLog({ action: 'push-tokens.revoke' })).at(-1)).toMatchObject({
      after: { previews: [preview.id] },
    });
    expect(await platform.admin.previews.endExpired(forever)).toBe(1);
    expect([...runtime.previews.running.keys()]).toEqual([stays.id]);
  });

  test('a member who is removed ends theirs, and those of their push tokens; the plan counts them', async () => {
    const { platform, acme } = await open();
    const body = { email: 'bo@example.test', name: 'Bo', role: 'admin' };
    const { id } = await platform.value<{ id: string }>('staff.put', { body });
    const as = { kind: 'staff', id, name: 'Bo', role: 'admin' } as typeof STAFF;
    const { actor } = await makerOf(platform, acme.id, as);
    const own = [
      (await made(platform, {}, { as })).preview,
      (await made(platform, {}, { as: actor })).preview,
    ];
    const { preview: stays } = await made(platform);
    const params = { member: id };
    const plan = await platform.value('staff.remove', { params, query: { dryRun: true } });
    expect(plan).toMatchObject({ previews: 2 });
    await platform.call('staff.remove', { params });
    expect(await routesOf(platform, [...own, stays])).toEqual([null, null, stays.id]);
    expect((await platform.adminLog({ action: 'staff.remove' })).at(-1)).toMatchObject({
      before: { previews: own.map((each) => each.id) },
    });
  });
});

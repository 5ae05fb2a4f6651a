/** Spec C-04, C-13: a wave moves the scopes of a deployed vertical, a builder's own too, and no failure moves one half. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { manifestOf, migrationOf } from '../../test/registry.ts';
import type { OperationRecord, ScopeRecord, ScopeVersionRecord } from '../admin-operations.ts';

const SLUG = 'app';
const MODULES = [
  { name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('export default 1') },
];

async function open(scopes: number) {
  const runtime = makeMemoryRuntime();
  const platform = await openPlatform({ runtime });
  platform.ownVerticals.add(SLUG);
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: SLUG, name: 'App', ownerTenant: tenant.id } });
  await deploy(platform, '1.0.0');
  const made: ScopeRecord[] = [];
  for (let i = 0; i < scopes; i++)
    made.push(
      await platform.value<ScopeRecord>('scopes.provision', {
        params: { tenant: tenant.id },
        body: { slug: `s${i}`, name: `Scope ${i}`, vertical: SLUG },
      }),
    );
  platform.fieldwork.requests.length = 0;
  return { platform, runtime, tenant, scopes: made };
}

const deploy = (platform: Platform, version: string, migrations: ReturnType<typeof migrationOf>[] = []) =>
  platform.call('verticals.deploy', {
    params: { slug: SLUG },
    body: {
      ...{ manifest: manifestOf(SLUG, version), modules: MODULES, migrations },
      ...{ admit: true, promote: true, acknowledgeMigrations: true },
    },
  });

const move = (platform: Platform, body: Record<string, unknown> = {}) =>
  platform.finish(platform.call('verticals.move', { params: { slug: SLUG }, body }));

const counts = async (platform: Platform) =>
  (await platform.value<{ items: object[] }>('fleet-migrations.get', { query: { vertical: SLUG } })).items;

/** Makes every move of these scopes fail. */
function breaks(runtime: ReturnType<typeof makeMemoryRuntime>, scopes: readonly ScopeRecord[]): void {
  runtime.before = async (what) => {
    if (!scopes.some(({ id }) => what.startsWith(`move ${id} `))) return;
    throw new PlatformError('runtime_fault', 'Migration 1 failed.', { reason: 'migration_failed' });
  };
}

describe('a wave', () => {
  test('moves every scope that follows prod, with a snapshot where the migrations differ', async () => {
    const { platform, runtime, scopes } = await open(3);
    await deploy(platform, '1.1.0', [migrationOf(1)]);
    expect(await move(platform, { waveSize: 2 })).toMatchObject({
      state: 'done',
      result: { applied: 3, failed: 0 },
    });
    expect([...runtime.moved]).toEqual(scopes.map(({ id }) => [id, 'app--1.1.0']));
    for (const { tenant, id: scope } of scopes) {
      const params = { tenant, scope };
      const { items } = await platform.value<{ items: object[] }>('snapshots.list', { params });
      expect(items).toMatchObject([{ name: 'before 1.1.0' }]);
    }
    expect(await counts(platform)).toMatchObject([{ version: '1.1.0', applied: 3, pending: 0, failed: 0 }]);
  });

  test('takes no snapshot where the migrations are the same, and moves none again', async () => {
    const { platform, runtime, scopes } = await open(2);
    await deploy(platform, '1.0.1');
    await move(platform);
    const asked: string[] = [];
    runtime.before = async (what) => void asked.push(what);
    expect(await move(platform)).toMatchObject({ result: { applied: 0, failed: 0 } });
    expect(asked).toEqual([]);
    const [{ tenant, id: scope } = { tenant: '', id: '' }] = scopes;
    const params = { tenant, scope };
    expect(await platform.value('snapshots.list', { params })).toMatchObject({ items: [] });
  });

  test('stops after the group with a failure, names the scope, and goes on with those that are left', async () => {
    const { platform, runtime, scopes } = await open(3);
    await deploy(platform, '1.1.0', [migrationOf(1)]);
    breaks(runtime, scopes.slice(0, 1));
    expect(await move(platform, { waveSize: 1 })).toMatchObject({
      state: 'failed',
      problem: { reason: 'wave_failed', detail: expect.stringContaining(String(scopes[0]?.id)) },
    });
    expect(runtime.moved.size).toBe(0);
    expect(await counts(platform)).toMatchObject([
      {
        applied: 0,
        pending: 2,
        failed: 1,
        failures: [{ scope: scopes[0]?.id, detail: 'Migration 1 failed.' }],
      },
    ]);
    runtime.before = async () => undefined;
    expect(await move(platform)).toMatchObject({ state: 'done', result: { applied: 3 } });
    // Its data may have changed since the first try.
    const params = { tenant: String(scopes[0]?.tenant), scope: String(scopes[0]?.id) };
    const { items } = await platform.value<{ items: object[] }>('snapshots.list', { params });
    expect(items).toMatchObject([{ name: 'before 1.1.0' }, { name: 'before 1.1.0' }]);
  });

  test('takes up a version that is promoted while it runs, whose own wave is refused', async () => {
    const { platform, runtime, scopes } = await open(2);
    await deploy(platform, '1.1.0');
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    runtime.before = async (what) => {
      if (!what.startsWith('move')) return;
      reached.resolve();
      await gate.promise;
    };
    const running = await platform.call('verticals.move', { params: { slug: SLUG }, body: { waveSize: 1 } });
    await reached.promise;
    await deploy(platform, '1.2.0');
    const second = platform.call('verticals.move', { params: { slug: SLUG }, body: {} });
    expect(await refusal(second)).toMatchObject({ status: 409, reason: 'operation_running' });
    gate.resolve();
    expect(await platform.finish(running)).toMatchObject({ state: 'done' });
    expect([...runtime.moved.values()]).toEqual(scopes.map(() => 'app--1.2.0'));
  });

  test('that is called off leaves the scopes that were not moved at their version, and the next one moves them', async () => {
    const { platform, runtime, scopes } = await open(3);
    await deploy(platform, '1.1.0');
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    runtime.before = async (what) => {
      if (!what.startsWith('move')) return;
      reached.resolve();
      await gate.promise;
    };
    const running = await platform.call('verticals.move', { params: { slug: SLUG }, body: { waveSize: 1 } });
    await reached.promise;
    const params = { operation: (running.value as OperationRecord).id };
    await platform.call('operations.cancel', { params, body: {} });
    gate.resolve();
    expect(await platform.finish(running)).toMatchObject({ state: 'cancelled' });
    // The one that was being moved went on to its end.
    expect([...runtime.moved]).toEqual([[scopes[0]?.id, 'app--1.1.0']]);
    runtime.before = async () => undefined;
    expect(await move(platform)).toMatchObject({ state: 'done' });
    expect([...runtime.moved.keys()]).toEqual(scopes.map(({ id }) => id));
    expect(await counts(platform)).toMatchObject([{ version: '1.1.0', applied: 3, pending: 0, failed: 0 }]);
  });

  test('is its owner’s to begin and to watch, and not another builder’s', async () => {
    const { platform, tenant } = await open(1);
    await deploy(platform, '1.1.0');
    const other = await platform.tenant('other');
    const call = { params: { slug: SLUG }, body: {} };
    const theirs = platform.call('verticals.move', { ...call, as: platform.builder(other.id) });
    expect(await refusal(theirs)).toMatchObject({ status: 404 });
    const as = platform.builder(tenant.id);
    const { value } = await platform.call('verticals.move', { ...call, as });
    const params = { operation: (value as OperationRecord).id };
    const state = async () => (await platform.value<OperationRecord>('operations.get', { params, as })).state;
    await expect.poll(state).toBe('done');
    const watched = platform.call('operations.get', { params, as: platform.builder(other.id) });
    expect(await refusal(watched)).toMatchObject({ status: 404, reason: 'unknown_operation' });
  });
});

describe('a scope that is bound to a version', () => {
  const bind = (platform: Platform, { tenant, id }: ScopeRecord, version: string) =>
    platform.call('scope-version.set', { params: { tenant, scope: id }, body: { version } });
  const boundTo = async (platform: Platform, { tenant, id }: ScopeRecord) =>
    platform.value<ScopeVersionRecord>('scope-version.get', { params: { tenant, scope: id } });

  test('is moved to it first, and no wave moves it away', async () => {
    const { platform, runtime, scopes } = await open(2);
    await deploy(platform, '1.1.0');
    const [first, second] = scopes as [ScopeRecord, ScopeRecord];
    await bind(platform, first, '1.0.0');
    expect([...runtime.moved]).toEqual([[first.id, 'app--1.0.0']]);
    await move(platform);
    expect(Object.fromEntries(runtime.moved)).toEqual({
      [first.id]: 'app--1.0.0',
      [second.id]: 'app--1.1.0',
    });
  });

  test('is not bound where it cannot run it', async () => {
    const { platform, runtime, scopes } = await open(1);
    const [scope] = scopes as [ScopeRecord];
    await deploy(platform, '1.1.0');
    breaks(runtime, scopes);
    expect(await refusal(bind(platform, scope, '1.1.0'))).toMatchObject({ reason: 'migration_failed' });
    expect(await boundTo(platform, scope)).toMatchObject({ bound: false });
  });
});

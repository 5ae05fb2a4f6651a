/** Versions of a scope: moved, kept where a move fails, held meanwhile; due work; rest and start. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BOLT, openPlace, type Place } from './place.ts';

type Migrations = Parameters<typeof notes>[1];

const TAGS = { version: 2, name: 'tags', sql: 'CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT' };
const BROKEN = { version: 2, name: 'broken', sql: 'CREATE TABLE notes (id TEXT PRIMARY KEY) STRICT' };

let place: Place;

/** The main module of a version, which answers at `/slow` after 300 ms, and at `/version` at once. */
const bundleOf = (version: string, migrations: Migrations): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const { Instance: Plain, Declaration } = hostedApp(notes('${version}', ${JSON.stringify(migrations)}));
  export { Declaration };
  export class Instance extends Plain {
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 300));
      return pathname === '/slow' || pathname === '/version' ? new Response('${version}') : super.fetch(request);
    }
    async work() {
      console.log('worked');
      return super.work();
    }
  }`;

const deploy = (version: string, migrations: Migrations = []): Promise<string> =>
  place.upload(notes(version, migrations), bundleOf(version, migrations));

beforeAll(async () => {
  place = openPlace({ vertical: 'notes', limits: { recoverMs: 2_000 } });
  await place.runtime.serve({ vertical: 'notes', archiveScript: await deploy('1.0.0') });
  for (const instance of [ACME, BOLT]) expect((await place.provision(instance)).status).toBe(200);
}, 60_000);

afterAll(() => place.close());

const versionOf = async (instance = ACME): Promise<string> =>
  (await place.visit('/version', instance)).text();
const move = (script: string, { tenant, scope } = ACME) =>
  place.runtime.move({ vertical: 'notes', tenant, scope, script });

test('a bundle that differs from what was submitted is refused, and named', async () => {
  await expect(place.upload(notes('1.0.9', [TAGS]), bundleOf('1.0.9', []))).rejects.toMatchObject({
    code: 'validation_failed',
    reason: 'manifest_differs',
    errors: [{ path: 'migrations' }],
  });
  await expect(place.upload(notes('1.0.9', []), bundleOf('1.0.8', []))).rejects.toMatchObject({
    reason: 'manifest_differs',
    errors: [{ path: 'manifest.version' }],
  });
  await expect(place.upload(notes('1.0.9', []), 'export const nothing = 1;')).rejects.toMatchObject({
    reason: 'bundle_broken',
  });
});

test('a host that is not declared is refused and counted, where declared ones alone may be called', async () => {
  const strict = openPlace({ vertical: 'notes', declaredOnly: ['api.example.com', '*.example.org'] });
  try {
    const script = await strict.upload(notes('1.0.0', []), 'hostile.ts');
    await strict.runtime.serve({ vertical: 'notes', archiveScript: script });
    await strict.provision(ACME);
    const call = async (url: string) =>
      (await strict.visit(`/fetch?url=${encodeURIComponent(url)}`, ACME)).json() as Promise<object>;
    expect(await call('https://elsewhere.example/')).toMatchObject({ answer: { status: 403 } });
    expect(await call('https://example.org/')).toMatchObject({ answer: { status: 403 } });
    expect(await call('https://api.example.com.invalid/')).toMatchObject({ answer: { status: 403 } });
    const refusals = () =>
      strict.lines.flatMap((line) => (line.kind === 'egress' && line.refused ? [line.host] : []));
    await expect
      .poll(refusals, { timeout: 10_000 })
      .toEqual(expect.arrayContaining(['elsewhere.example', 'example.org']));
  } finally {
    await strict.close();
  }
}, 30_000);

test('promotion alone moves no scope: a wave does, one by one', async () => {
  const script = await deploy('1.1.0', [TAGS]);
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  expect(await versionOf()).toBe('1.0.0');
  expect(await move(script)).toMatchObject({ failure: null });
  expect([await versionOf(ACME), await versionOf(BOLT)]).toEqual(['1.1.0', '1.0.0']);
});

test('a scope whose migration fails stays at its version, and serves', async () => {
  const script = await deploy('1.2.0', [BROKEN]);
  const { failure, running } = await move(script, BOLT);
  expect(failure).toMatchObject({ code: 'runtime_fault', reason: 'migration_failed' });
  expect(running).not.toBeNull();
  expect(await versionOf(BOLT)).toBe('1.0.0');
});

test('an older version does not open what a newer one migrated', async () => {
  expect(await move('notes--1.0.0')).toMatchObject({ failure: { reason: 'migration_unknown' } });
  expect(await versionOf()).toBe('1.1.0');
});

test('a request finishes on the version that took it, and the next one waits for the move', async () => {
  const script = await deploy('1.3.0', [TAGS]);
  const taken = place.visit('/slow', ACME);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const moving = move(script);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const next = versionOf();
  expect(await (await taken).text()).toBe('1.1.0');
  expect([(await moving).failure, await next]).toEqual([null, '1.3.0']);
});

test('a version that no scope runs is forgotten, and no other', async () => {
  const all = [ACME, BOLT];
  const discard = (script: string, dryRun = false) =>
    place.runtime.discard({ vertical: 'notes', script, scopes: all, dryRun });
  for (const script of ['notes--1.0.0', 'notes--1.1.0', 'notes--1.3.0'])
    await expect(discard(script)).rejects.toMatchObject({ code: 'conflict', reason: 'version_in_use' });
  const planned = await discard('notes--1.2.0', true);
  expect(planned).toEqual({ files: 1, bytes: expect.any(Number) });
  // A move that is on its way is over before the files go: its failure is that of the migration.
  const moving = move('notes--1.2.0', BOLT);
  expect(await discard('notes--1.2.0')).toEqual(planned);
  expect((await moving).failure).toMatchObject({ reason: 'migration_failed' });
  expect([await discard('notes--1.2.0'), await versionOf(BOLT)]).toEqual([{ files: 0, bytes: 0 }, '1.0.0']);
  await expect(move('notes--1.2.0', BOLT)).rejects.toMatchObject({ reason: 'unknown_script' });
});

test('the version serves that the directory names; where it names none that is here, none does', async () => {
  const serving = () => place.runtime.serving('notes')?.version ?? null;
  await place.runtime.follow('notes', '1.1.0');
  expect([serving(), await versionOf()]).toEqual(['1.1.0', '1.3.0']);
  await place.runtime.follow('notes', '9.0.0');
  expect(serving()).toBeNull();
  await expect(versionOf()).rejects.toMatchObject({ status: 503, reason: 'nothing_deployed' });
  // Also after a start; and the next version that is promoted finds everything as it was.
  await place.reopen();
  expect(serving()).toBeNull();
  await place.runtime.serve({ vertical: 'notes', archiveScript: 'notes--1.3.0' });
  expect(await versionOf()).toBe('1.3.0');
});

test('a vertical whose bundles cannot be read is reported, and the others are served', async () => {
  await place.runtime.close();
  place.incidents.length = 0;
  const { engine } = place;
  const unreadable = new Error('this file is no database');
  place.runtime = place.open({
    unit: (unit, key, options) => {
      if (key === 'broken') throw unreadable;
      return engine.unit(unit, key, options);
    },
  });
  await place.runtime.open(['broken', 'notes']);
  expect(place.incidents).toEqual([unreadable]);
  expect(await versionOf()).toBe('1.3.0');
});

test('a scope of another tenant is not moved', async () => {
  const script = await deploy('1.3.0', [TAGS]);
  expect(await move(script, { tenant: ACME.tenant, scope: BOLT.scope })).toMatchObject({
    failure: { code: 'not_found' },
  });
  expect(await versionOf(BOLT)).toBe('1.0.0');
});

test('after a kill, work that may have been enqueued is looked for by itself', async () => {
  await place.visit('/version', ACME, { method: 'POST' });
  const [{ pid } = { pid: null }] = place.runtime.processes();
  process.kill(pid as number, 'SIGKILL');
  await expect.poll(() => place.faults.at(-1)).toMatchObject({ reason: 'died' });
  place.lines.length = 0;
  await place.reopen();
  const worked = () => place.lines.some((line) => line.kind === 'console' && line.text === 'worked');
  await expect.poll(worked, { timeout: 15_000 }).toBe(true);
}, 20_000);

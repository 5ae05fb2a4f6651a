/** An instance whose database is damaged: the operator is told, and a copy is laid down again. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { putAside } from '../src/copies/damage.ts';
import { objectsIn } from '../src/copies/object-files.ts';
import { objectIdOf, putBackUnfinished } from '../src/index.ts';
import { notes } from './bundles/plain.ts';
import { ACME, openPlace, type Place, SECOND } from './place.ts';

let place: Place;
let copy: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  place = openPlace({ vertical: 'notes' });
  const script = await place.upload(
    notes('1.0.0', []),
    `import { hostedApp } from '@freehold/app/worker/hosted';
    import { notes } from './plain.ts';
    export const { Instance, Declaration } = hostedApp(notes('1.0.0', []));`,
  );
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  for (const instance of [ACME, SECOND]) expect((await place.provision(instance)).status).toBe(200);
  copy = new Uint8Array(await (await ask('export', 'GET')).arrayBuffer());
}, 60_000);
afterAll(() => place.close());

/** The platform's own request with a query: a copy is taken, or laid down. */
function ask(path: string, method: 'GET' | 'POST', body?: Uint8Array<ArrayBuffer>): Promise<Response> {
  const { tenant, scope } = ACME;
  const query = new URLSearchParams({ tenantId: tenant, scopeId: scope, format: 'ndjson' });
  return place.runtime.manage(
    'notes',
    new Request(`http://vertical.internal/internal/${path}?${query}`, {
      method,
      headers: {
        [MANAGED_TENANT_HEADER]: tenant,
        [MANAGED_SCOPE_HEADER]: scope,
        ...(body ? { 'content-type': 'application/x-ndjson' } : {}),
      },
      ...(body ? { body } : {}),
    }),
  );
}

const objects = () => join(place.folder, 'notes/objects/scopes');
const database = () => join(objects(), `${objectIdOf(ACME.scope)}.1.sqlite`);
const aside = () => readdirSync(objects()).filter((name) => name.includes('.damaged-'));
const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;

/** Damages a part of a file, while no process has it open. */
async function damage(path: string, fromPage: number, toPage = Number.POSITIVE_INFINITY): Promise<void> {
  await place.runtime.end('notes');
  const bytes = readFileSync(path);
  bytes.fill(0xab, fromPage * 4_096, Math.min(toPage * 4_096, bytes.length));
  writeFileSync(path, bytes);
}

test('the operator is told, the others are served, and a copy takes its place; one that is refused does not', async () => {
  await damage(database(), 1);
  const damaged = readFileSync(database());
  expect(await reasonOf(await place.visit('/api/me', ACME))).toBe('instance_failed');
  await expect.poll(() => place.runtime.unreadable()).toBe(1);
  await expect(place.visit('/api/me', ACME)).rejects.toMatchObject({ reason: 'unit_unreadable' });
  expect(place.incidents.map(String)).toEqual([
    expect.stringMatching(/The database of the instance scp_\w+ of notes is damaged.*recover deployed\/scp_/),
  ]);
  expect((await place.visit('/api/me', SECOND)).status).toBe(200);
  const { tenant, scope } = ACME;
  const failed = { kind: 'failed', tenant, scope, method: 'fetch', text: expect.stringContaining('Error: ') };
  await expect.poll(() => place.lines).toContainEqual(failed);

  // The platform itself learns of it by its first question.
  expect(await reasonOf(await ask('bookmarks', 'GET'))).toBe('unit_unreadable');
  const refused = await ask('restore', 'POST', new TextEncoder().encode('{"no":"copy"}\n'));
  expect([refused.status, aside()]).toEqual([400, []]);
  // A dry run changes nothing either.
  const looked = await ask('examine-copy', 'POST', copy);
  expect([await looked.json(), aside()]).toEqual([expect.objectContaining({ format: 'ndjson' }), []]);
  expect(readFileSync(database()).equals(damaged)).toBe(true);
  // A copy of the files that were tried meanwhile would take the place of its own.
  expect(place.paused).toEqual({ now: new Set(), times: 2 });

  const restored = await ask('restore', 'POST', copy);
  expect(restored.status).toBe(200);
  const { setAside } = (await restored.json()) as { setAside: string };
  expect(setAside).toMatch(/^[0-9a-f]{64}\.1\.sqlite\.damaged-\d{8}T\d{6}Z$/);
  expect(readFileSync(join(objects(), setAside)).equals(damaged)).toBe(true);
  expect(place.runtime.unreadable()).toBe(0);
  expect((await place.visit('/api/me', ACME)).status).toBe(200);
}, 30_000);

test.each([
  ['one page of it is damaged, and it opens', () => damage(database(), 12, 13)],
  ['the supervisor’s own database is damaged', () => damage(database().replace('.1.', '.'), 1)],
])(
  'a copy takes its place where %s',
  async (_how, spoil) => {
    await spoil();
    expect((await ask('restore', 'POST', copy)).status).toBe(200);
    expect((await place.visit('/api/me', ACME)).status).toBe(200);
  },
  30_000,
);

test('a restore of a sound instance puts nothing aside, and a damaged one can be deleted, with what was put aside', async () => {
  const before = aside();
  expect(await (await ask('restore', 'POST', copy)).json()).not.toHaveProperty('setAside');
  expect(aside()).toEqual(before);
  writeFileSync(`${database()}.damaged-20260101T000000Z`, 'of an earlier day');
  await damage(database(), 1);
  const { tenant: tenantId, scope: scopeId } = ACME;
  const deleted = await place.manage('delete-scope', ACME, { tenantId, scopeId });
  expect([200, 404]).toContain(deleted.status);
  expect([aside(), existsSync(database())]).toEqual([[], false]);
  expect(place.runtime.unreadable()).toBe(0);
}, 30_000);

test('one whose database is gone is not served as one that never was, and a copy takes its place', async () => {
  await place.runtime.end('notes');
  for (const name of readdirSync(objects()))
    if (name.startsWith(objectIdOf(ACME.scope))) rmSync(join(objects(), name));
  place.incidents.splice(0);
  // A page that is not there is another matter.
  expect((await place.visit('/api/nothing-of-the-kind', SECOND)).status).toBe(404);
  await expect(place.visit('/api/me', ACME)).rejects.toMatchObject({
    status: 503,
    reason: 'unit_unreadable',
  });
  expect(place.incidents.map(String)).toEqual([
    expect.stringMatching(/The database of the instance scp_\w+01 of notes is gone.*freehold scopes restore/),
  ]);
  expect(place.runtime.unreadable()).toBe(1);
  await expect(place.visit('/api/me', ACME)).rejects.toMatchObject({
    status: 503,
    reason: 'unit_unreadable',
  });
  expect((await place.visit('/api/me', SECOND)).status).toBe(200);
  expect(await reasonOf(await ask('bookmarks', 'GET'))).toBe('unit_unreadable');
  expect((await ask('restore', 'POST', copy)).status).toBe(200);
  expect((await place.visit('/api/me', ACME)).status).toBe(200);
  expect(place.runtime.unreadable()).toBe(0);
}, 30_000);

/** A folder of a process with a damaged instance, whose files were put aside for a copy. */
function putAsideForCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-aside-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const directory = objectsIn(folder);
  mkdirSync(directory, { recursive: true });
  const object = objectIdOf(ACME.scope);
  const write = (end: string, text: string) => writeFileSync(join(directory, object + end), text);
  for (const end of ['.1.sqlite', '.1.sqlite-wal', '.sqlite']) write(end, `of before ${end}`);
  const aside = putAside(folder, ACME.scope, 0);
  const files = () =>
    readdirSync(directory)
      .sort()
      .map((name) => `${name.slice(object.length)}: ${readFileSync(join(directory, name), 'utf8')}`);
  return { folder, write, aside, files, path: (end: string) => join(directory, object + end) };
}

const WHOLE = ['.1.sqlite', '.1.sqlite-wal', '.sqlite'].map((end) => `${end}: of before ${end}`);

test('a start puts back what a crash left aside, at each step, and nothing that a copy took the place of', () => {
  const cut = putAsideForCopy();
  // The copy had begun.
  for (const end of ['.1.sqlite', '.1.sqlite-shm', '.sqlite']) cut.write(end, 'of the copy');
  putBackUnfinished(cut.folder);
  expect(cut.files()).toEqual(WHOLE);
  putBackUnfinished(cut.folder);
  expect(cut.files()).toEqual(WHOLE);

  // Not all of them had been put aside, or some were back already.
  const half = putAsideForCopy();
  renameSync(half.path('.sqlite.damaged-19700101T000000Z'), half.path('.sqlite'));
  putBackUnfinished(half.folder);
  expect(half.files()).toEqual(WHOLE);

  const restored = putAsideForCopy();
  restored.write('.1.sqlite', 'of the copy');
  restored.aside.done();
  const before = restored.files();
  putBackUnfinished(restored.folder);
  expect(restored.files()).toEqual(before);
});

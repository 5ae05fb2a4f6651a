/** An instance whose database is damaged: the operator is told, and a copy is laid down again. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { objectIdOf } from '../src/index.ts';
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

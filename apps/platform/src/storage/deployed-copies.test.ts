/** Databases of deployed instances after a restore of the data directory, and when one of them is damaged. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openNodeEngine } from '@freehold/engine-node';
import { bundleUnit, DatabaseCopies, objectIdOf } from '@freehold/runtime-workerd';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { layOutRestored } from './deployed-copies.ts';
import { recover } from './recover.ts';
import { findMissing } from './restore-check.ts';

const [SCOPE, OTHER] = ['scp_01j00000000000000000000001', 'scp_01j00000000000000000000002'] as const;

let data: string;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'freehold-deployed-'));
  mkdirSync(objects(), { recursive: true });
  const instance = openDatabase(join(objects(), `${objectIdOf(SCOPE)}.1.sqlite`));
  instance.exec(`CREATE TABLE _spine_scope (scope_id TEXT, latecomers TEXT);
    CREATE TABLE _spine_attachments (id TEXT, entity_type TEXT, entity_id TEXT, digest TEXT, removed_at TEXT);
    INSERT INTO _spine_attachments VALUES ('att_1', 'item', 'itm_1', '${'a'.repeat(64)}', NULL)`);
  instance.prepare('INSERT INTO _spine_scope VALUES (?, NULL)').run(SCOPE);
  instance.close();
  const onIncident = (error: unknown) => {
    throw error;
  };
  const engine = openNodeEngine({ dataDirectory: data, historyMs: 0, openUnitsMax: 4, onIncident });
  await engine.unit(bundleUnit, 'notes', { create: true }).serving({});
  const folder = join(data, 'runtime');
  const copies = new DatabaseCopies({
    folder,
    engine,
    changeOlder: () => undefined,
    now: Date.now,
    onIncident,
  });
  copies.look('notes');
  await copies.flush();
  await engine.close();
  mkdirSync(join(data, 'directory'));
  const directory = new DatabaseSync(join(data, 'directory', 'main.sqlite'));
  directory.exec(`CREATE TABLE scopes (id TEXT, vertical TEXT, status TEXT);
    CREATE TABLE verticals (slug TEXT, built_in TEXT)`);
  for (const id of [SCOPE, OTHER])
    directory.prepare("INSERT INTO scopes VALUES (?, 'notes', 'live')").run(id);
  directory.close();
});
afterEach(() => rmSync(data, { recursive: true }));

const objects = () => join(data, 'runtime', 'notes', 'objects', 'scopes');

function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL');
  return database;
}

test('they are laid out, ask the vault first, look for due work, and what is missing is named', async () => {
  rmSync(join(data, 'runtime'), { recursive: true });
  expect(await layOutRestored(data)).toEqual({ laidOut: 1, failed: [] });
  const instance = new DatabaseSync(join(objects(), `${objectIdOf(SCOPE)}.1.sqlite`), { readOnly: true });
  expect(instance.prepare('SELECT latecomers AS mark FROM _spine_scope').get()?.mark).toMatch(
    /^[0-9a-f-]{36}$/,
  );
  instance.close();
  const alarms = new DatabaseSync(join(objects(), 'metadata.sqlite'), { readOnly: true });
  expect(alarms.prepare('SELECT actor_id, actor_name FROM _cf_ALARM').all()).toEqual([
    { actor_id: objectIdOf(SCOPE), actor_name: SCOPE },
  ]);
  alarms.close();
  const none = () => ({ list: async function* list() {} });
  expect(await findMissing(data, none)).toEqual([
    {
      what: `scope ${SCOPE}: attachment att_1 of item itm_1`,
      path: join('blobs', SCOPE, 'aa', 'a'.repeat(64)),
    },
    { what: `scope ${OTHER}: its database`, path: expect.stringContaining(objectIdOf(OTHER)) },
  ]);
  expect(await layOutRestored(data)).toEqual({ laidOut: 0, failed: [] });
});

test('one that is damaged is put aside, for the next start to make it again', async () => {
  const settings = { archive: null, dataDirectory: data };
  const said = await recover([`deployed/${SCOPE}`], settings);
  expect(said).toEqual([
    expect.stringContaining('makes the databases'),
    expect.stringContaining('Put aside: '),
  ]);
  expect(readdirSync(objects())).toEqual([expect.stringMatching(/\.1\.sqlite\.damaged-\d{8}T\d{6}Z$/)]);
  expect((await layOutRestored(data)).laidOut).toBe(1);
  await expect(recover([`deployed/${OTHER}`], settings)).rejects.toMatchObject({ reason: 'no_copy' });
});

/** Faults of the disk and damaged files: the callers' problem, the operator's one report, and what goes on working. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnit } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { makeNodeBlobStore, openNodeEngine, type StorageFault, storageFaultOf } from '../src/index.ts';
import { ledgerUnit } from './ledger-unit.ts';

const create = { create: true };
const START_MS = Date.parse('2026-11-24T08:00:00Z');

/** A unit whose contents its callers can make again. */
const marksUnit = defineUnit({
  kind: 'marks',
  copies: 'derived',
  migrations: [
    {
      name: 'marks',
      migrations: [{ version: 1, name: 'marks', sql: 'CREATE TABLE mark (name TEXT, fill BLOB)' }],
    },
  ],
  queries: ['count', 'read'],
  open: ({ db }) => ({
    add: ({ name }: { readonly name: string }): null => {
      db.run('INSERT INTO mark VALUES (?, zeroblob(2000))', name);
      return null;
    },
    count: () => db.get<{ n: number }>('SELECT count(*) AS n FROM mark')?.n ?? 0,
    read: () => db.all('SELECT name, length(fill) FROM mark').length,
    clear: (): null => {
      db.run("UPDATE mark SET fill = zeroblob(1) WHERE name > ''");
      return null;
    },
  }),
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-faults-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function open(dataDirectory = newDirectory()) {
  const incidents: unknown[] = [];
  const renewed: string[] = [];
  const clock = { nowMs: START_MS };
  const disk: { fault: StorageFault | null } = { fault: null };
  const engine = openNodeEngine({
    dataDirectory,
    now: () => clock.nowMs,
    probeStorage: () => disk.fault,
    onIncident: (error) => void incidents.push(error),
    onRenew: ({ kind, key }) => void renewed.push(`${kind}/${key}`),
  });
  onTestFinished(() => engine.close());
  return { engine, dataDirectory, incidents, renewed, clock, disk };
}

test('a full disk that lasts is told until a write works again, also where the failing unit is left alone', async () => {
  const { engine, clock, disk, incidents } = open();
  const full = engine.unit(ledgerUnit, 'a', create);
  await full.add();
  await full.limitPages({ pages: 10 });
  await expect(full.add({ bytes: 300_000 })).rejects.toMatchObject({ status: 503, reason: 'storage_full' });
  // The disk has room for others: their writes say nothing about this one's.
  await engine.unit(ledgerUnit, 'b', create).add();
  expect(engine.storageStatus().fault?.detail).toMatch(/is full: .* Make room/);
  disk.fault = 'storage_full';
  clock.nowMs += 20_000;
  expect(engine.storageStatus().fault?.reason).toBe('storage_full');
  disk.fault = null;
  clock.nowMs += 20_000;
  expect(engine.storageStatus().fault).toBeNull();
  expect(await full.ids()).toEqual([1]);
  expect(incidents).toHaveLength(1);
});

test('an error of SQLite that may have any cause is told by a write that is tried', async () => {
  const { engine, dataDirectory, disk } = open();
  // SQLite says only that it cannot open this.
  mkdirSync(join(dataDirectory, 'ledger', 'a.sqlite'), { recursive: true });
  disk.fault = 'storage_read_only';
  const call = () => engine.unit(ledgerUnit, 'a', create).add();
  await expect(call()).rejects.toMatchObject({ status: 503, reason: 'storage_read_only' });
  disk.fault = null;
  await expect(call()).rejects.toMatchObject({ reason: 'unit_unreadable' });
});

test.each([
  ['ENOSPC', 'storage_full'],
  ['EDQUOT', 'storage_full'],
  ['EROFS', 'storage_read_only'],
  ['EMFILE', 'too_many_open_files'],
  ['EIO', null],
] as const)('%s means %s', (code, fault) => {
  const error = Object.assign(new Error('it failed'), { code });
  expect(storageFaultOf(new Error('behind', { cause: error }))).toBe(fault);
});

test('an attachment for which there is no room is refused as a full disk', async () => {
  const blobs = makeNodeBlobStore({ dataDirectory: newDirectory(), scopeId: 'a', now: Date.now });
  const body = new ReadableStream<Uint8Array>({
    pull: () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' })),
  });
  await expect(blobs.put(body, { bytesMax: 10 })).rejects.toMatchObject({ reason: 'storage_full' });
});

test('damage that a call meets in an open unit is 503 with the file for the operator, once', async () => {
  const first = open();
  const path = join(first.dataDirectory, 'ledger', 'a.sqlite');
  const written = first.engine.unit(ledgerUnit, 'a', create);
  await Promise.all(Array.from({ length: 30 }, () => written.add({ bytes: 2_000 })));
  await first.engine.close();
  const { engine, incidents } = open(first.dataDirectory);
  const unit = engine.unit(ledgerUnit, 'a');
  // Opening reads the schema and the migrations, and not the rows.
  writeFileSync(path, readFileSync(path).fill(0x5a, 6 * 4_096));
  const refused = { status: 503, reason: 'unit_unreadable', message: expect.not.stringContaining(path) };
  await expect(unit.ids()).rejects.toMatchObject(refused);
  await expect(unit.add()).rejects.toMatchObject(refused);
  expect(incidents).toMatchObject([{ message: expect.stringContaining(path) }]);
  expect(engine.storageStatus().unreadable).toMatchObject([{ kind: 'ledger', key: 'a' }]);
});

test('a damaged unit that is removed is unreadable no more', async () => {
  const first = open();
  await first.engine.unit(ledgerUnit, 'a', create).add();
  await first.engine.close();
  writeFileSync(join(first.dataDirectory, 'ledger', 'a.sqlite'), 'no database');
  const { engine } = open(first.dataDirectory);
  await expect(engine.unit(ledgerUnit, 'a').ids()).rejects.toMatchObject({ reason: 'unit_unreadable' });
  expect(engine.storageStatus().unreadable).toHaveLength(1);
  await engine.tools(ledgerUnit, 'a').remove();
  expect(engine.storageStatus().unreadable).toEqual([]);
});

test('a derived unit that is damaged is put aside under the time and made anew, and its callers notice nothing', async () => {
  const first = open();
  await first.engine.unit(marksUnit, 'main', create).add({ name: 'one' });
  await first.engine.close();
  const path = join(first.dataDirectory, 'marks', 'main.sqlite');
  writeFileSync(path, 'no database');
  const { engine, renewed, incidents } = open(first.dataDirectory);
  expect(await engine.unit(marksUnit, 'main').count()).toBe(0);
  expect(renewed).toEqual(['marks/main']);
  expect(incidents).toHaveLength(1);
  expect(engine.storageStatus().unreadable).toEqual([]);
  const aside = `${path}.damaged-20261124T080000Z`;
  expect(readFileSync(aside, 'utf8')).toBe('no database');
});

test('damage in the middle of a derived unit is met by a read or a write, and by many callers at once', async () => {
  for (const method of ['read', 'clear'] as const) {
    const first = open();
    const marks = first.engine.unit(marksUnit, 'main', create);
    for (let each = 0; each < 20; each++) await marks.add({ name: `n${each}` });
    await first.engine.close();
    const path = join(first.dataDirectory, 'marks', 'main.sqlite');
    const { engine, renewed } = open(first.dataDirectory);
    const unit = engine.unit(marksUnit, 'main', create);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x5a, 6 * 4_096));
    await Promise.all([unit[method](), unit[method](), unit.add({ name: 'new' })]);
    expect(renewed).toEqual(['marks/main']);
    expect(await unit.count()).toBe(1);
    expect(
      readdirSync(join(first.dataDirectory, 'marks')).filter((name) => name.includes('damaged')),
    ).not.toEqual([]);
  }
});

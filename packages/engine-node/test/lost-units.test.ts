/** A unit whose database is damaged or missing is restored from its copies, and what was there is put aside. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openNodeEngine } from '../src/index.ts';
import { checkedLine } from '../src/lib/durable-file.ts';
import { type HistoryFixture, openHistory } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';

const LOST = { evenIfLost: true };
const ASIDE = 'a.sqlite.damaged-20270115T080000Z';

const bytesOf = async (body: ReadableStream<Uint8Array>) =>
  new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
const blob = (bytes: Uint8Array) => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
const fileOf = (dataDirectory: string) => join(dataDirectory, historyUnit.kind, 'a.sqlite');
const namesIn = (dataDirectory: string) => readdirSync(dirname(fileOf(dataDirectory))).sort();

const garbage = (path: string): void => writeFileSync(path, Buffer.alloc(20_000, 'x'));
/** Spoils the first page of the schema, and leaves the header: SQLite opens the file, and then finds it malformed. */
const malformed = (path: string): void => {
  const bytes = readFileSync(path);
  bytes.fill(0xff, 100, 400);
  writeFileSync(path, bytes);
};

/** A closed unit with one entry, a copy of it and a snapshot, and a second entry since. */
async function closedWithCopy(): Promise<{ dataDirectory: string; copy: Uint8Array }> {
  const { engine, unit, tools, dataDirectory } = openHistory();
  await unit.add({ note: 'one' });
  const copy = await bytesOf((await tools.export('ndjson')).body);
  await tools.snapshot({ id: 'snp_1' });
  await unit.add({ note: 'two' });
  await engine.close();
  return { dataDirectory, copy };
}

const notesOf = async ({ unit }: { unit: Pick<HistoryFixture['unit'], 'contents'> }) =>
  (await unit.contents()).split(' ').map((entry) => entry.split(':')[1]);

test.each([
  ['is garbage', garbage, ASIDE],
  ['is malformed', malformed, ASIDE],
  ['was emptied', (path: string) => truncateSync(path), ASIDE],
  ['is gone', (path: string) => rmSync(path), undefined],
] as const)('a unit whose database %s is restored', async (_how, spoil, setAside) => {
  const { dataDirectory, copy } = await closedWithCopy();
  const path = fileOf(dataDirectory);
  spoil(path);
  const spoilt = setAside === undefined ? null : readFileSync(path);
  const opened = openHistory(dataDirectory);
  const stub = opened.engine.unit(historyUnit, 'a');
  await expect(stub.count()).rejects.toMatchObject({
    reason: expect.stringMatching(/^unit_unreadable$|^unknown_unit$/),
  });
  // Without the word of the caller, nothing is laid over what may be whole.
  await expect(opened.tools.restore('ndjson', blob(copy))).rejects.toMatchObject({
    reason: expect.stringMatching(/^unit_unreadable$|^unknown_unit$|^storage_failed$/),
  });

  const restored = await opened.tools.restore('ndjson', blob(copy), undefined, undefined, LOST);
  expect(restored.setAside).toBe(setAside);
  expect(await notesOf(opened)).toEqual(['one']);
  if (setAside && spoilt?.length)
    expect(readFileSync(join(dirname(path), setAside)).equals(spoilt as Buffer)).toBe(true);

  // The history was in no need of the file: it leads on to the last commit before.
  await opened.unit.add({ note: 'three' });
  await opened.tools.rewind({ bookmark: restored.undo ?? '' });
  expect(await notesOf(opened)).toEqual(['one', 'two']);
  await opened.engine.close();
  const again = openHistory(dataDirectory);
  expect(await notesOf(again)).toEqual(['one', 'two']);
  expect(again.incidents).toEqual([]);
});

test('a snapshot is opened although the database beside it is lost', async () => {
  const { dataDirectory } = await closedWithCopy();
  rmSync(fileOf(dataDirectory));
  const opened = openHistory(dataDirectory);
  expect(await opened.tools.snapshots()).toHaveLength(1);
  const snapshot = await bytesOf((await opened.tools.openSnapshot('snp_1')).body);
  await opened.tools.restore('sqlite', blob(snapshot), undefined, undefined, LOST);
  expect(await notesOf(opened)).toEqual(['one']);
});

test('a sound database is replaced, not put aside', async () => {
  const { unit, tools, dataDirectory } = openHistory();
  await unit.add({ note: 'one' });
  const copy = await bytesOf((await tools.export('sqlite')).body);
  await unit.add({ note: 'two' });
  const restored = await tools.restore('sqlite', blob(copy), undefined, undefined, LOST);
  expect(restored.setAside).toBeUndefined();
  expect(namesIn(dataDirectory).filter((name) => name.includes('damaged'))).toEqual([]);
});

/** A disk that fails to read one database while `fails` is true. */
function failingReads(path: string): { fails: boolean } {
  const state = { fails: true };
  const exec = DatabaseSync.prototype.exec;
  const double = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    sql: string,
  ) {
    // SQLite, "Result and Error Codes": SQLITE_IOERR_READ.
    if (state.fails && this.location() === path)
      throw Object.assign(new Error('disk I/O error'), { errcode: 266 });
    return exec.call(this, sql);
  });
  onTestFinished(() => double.mockRestore());
  return state;
}

test('a database that the disk could not read for a moment is not taken for lost: nothing replaces it', async () => {
  const { dataDirectory, copy } = await closedWithCopy();
  const disk = failingReads(fileOf(dataDirectory));
  const opened = openHistory(dataDirectory);
  const failed = { status: 503, reason: 'storage_failed' };
  await expect(opened.engine.unit(historyUnit, 'a').count()).rejects.toMatchObject(failed);
  const refused = opened.tools.restore('ndjson', blob(copy), undefined, undefined, LOST);
  await expect(refused).rejects.toMatchObject(failed);
  disk.fails = false;
  expect(await notesOf(opened)).toEqual(['one', 'two']);
  expect(namesIn(dataDirectory).filter((name) => name.includes('damaged-'))).toEqual([]);
});

test('a database that is damaged within, and opens, is restored too', async () => {
  const { engine, unit, tools, dataDirectory } = openHistory();
  await unit.add({ note: 'one', rows: 2_000, bytes: 500 });
  const copy = await bytesOf((await tools.export('ndjson')).body);
  await engine.close();
  const bytes = readFileSync(fileOf(dataDirectory));
  bytes.fill(0xee, bytes.length / 2);
  writeFileSync(fileOf(dataDirectory), bytes);
  const opened = openHistory(dataDirectory);
  await opened.tools.restore('ndjson', blob(copy), undefined, undefined, LOST);
  expect(await opened.unit.count()).toBe(2_000);
});

test('a copy that is refused leaves a damaged database where it is', async () => {
  const { dataDirectory, copy } = await closedWithCopy();
  garbage(fileOf(dataDirectory));
  const opened = openHistory(dataDirectory);
  const refusing = () => {
    throw new Error('not this one');
  };
  await expect(opened.tools.restore('ndjson', blob(copy), refusing, undefined, LOST)).rejects.toThrow(
    'not this one',
  );
  expect(namesIn(dataDirectory).filter((name) => name.includes('damaged-'))).toEqual([]);
});

test('what was put aside goes with its unit, and with no other', async () => {
  const { dataDirectory, copy } = await closedWithCopy();
  garbage(fileOf(dataDirectory));
  const opened = openHistory(dataDirectory);
  await opened.tools.restore('ndjson', blob(copy), undefined, undefined, LOST);
  writeFileSync(join(dirname(fileOf(dataDirectory)), 'ab.sqlite.damaged-20270115T080000Z'), '');
  await opened.tools.remove();
  expect(namesIn(dataDirectory)).toEqual(['ab.sqlite.damaged-20270115T080000Z']);
});

test('examining a copy needs no unit, and makes none', async () => {
  const { dataDirectory, copy } = await closedWithCopy();
  garbage(fileOf(dataDirectory));
  const opened = openHistory(dataDirectory);
  const before = namesIn(dataDirectory);
  const seen: unknown[] = [];
  const examined = await opened.tools.examine('ndjson', blob(copy), (staged) => {
    seen.push(staged.get('SELECT count(*) AS n FROM entry'));
  });
  expect(examined.tables).toBeGreaterThan(0);
  expect(seen).toEqual([{ n: 1 }]);
  await expect(opened.tools.examine('ndjson', blob(copy.slice(0, -90)))).rejects.toMatchObject({
    reason: 'copy_damaged',
  });
  expect(namesIn(dataDirectory)).toEqual(before);
});

/** A process that died after the intent was durable: at the start, or with some of its files moved. */
test.each([0, 1, 2, 3])('after a crash at step %i, the next start finishes the restore', async (step) => {
  const { dataDirectory } = await closedWithCopy();
  const path = fileOf(dataDirectory);
  const swaps = join(dataDirectory, '.swaps');
  const payload = join(swaps, `${historyUnit.kind}.a.sqlite`);
  const aside = join(dirname(path), ASIDE);
  mkdirSync(swaps);
  renameSync(path, payload);
  garbage(path);
  writeFileSync(`${path}-wal`, 'the log');
  const intent = { kind: historyUnit.kind, key: 'a', act: 'replace', base: null, aside };
  writeFileSync(join(swaps, `${historyUnit.kind}.a.json`), checkedLine(intent));
  if (step >= 1) renameSync(`${path}-wal`, `${aside}-wal`);
  if (step >= 2) renameSync(path, aside);
  if (step >= 3) renameSync(payload, path);

  const engine = openNodeEngine({ dataDirectory, onIncident: () => undefined });
  expect(await notesOf({ unit: engine.unit(historyUnit, 'a') })).toEqual(['one', 'two']);
  await engine.close();
  expect(readFileSync(aside).equals(Buffer.alloc(20_000, 'x'))).toBe(true);
  expect(readFileSync(`${aside}-wal`, 'utf8')).toBe('the log');
  new DatabaseSync(path, { readOnly: true }).close();
});

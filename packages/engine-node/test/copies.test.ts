/** Promises of the embedded engine about copies, beyond the contract of tools. */
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openNodeEngine } from '../src/index.ts';
import { currentOf, newPlace, openHistory } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';
import { ledgerUnit } from './ledger-unit.ts';

const work = (dataDirectory: string): string[] => {
  const directory = join(dataDirectory, '.work');
  return existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
    : [];
};
const bytesOf = async (body: ReadableStream<Uint8Array>) =>
  new Uint8Array(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
const blob = (bytes: Uint8Array) => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();

test('a copy leaves nothing behind, whether it is read, cancelled, never begun or refused', async () => {
  const { unit, tools, dataDirectory } = openHistory();
  await unit.add({ note: 'one', rows: 500, bytes: 1_000 });
  for (const format of ['sqlite', 'ndjson'] as const) {
    const bytes = await bytesOf((await tools.export(format)).body);
    await (await tools.export(format)).body.cancel();
    const reader = (await tools.export(format)).body.getReader();
    await reader.read();
    await reader.cancel();
    await tools.restore(format, blob(bytes));
    await expect(tools.restore(format, blob(bytes.subarray(0, 5_000)))).rejects.toMatchObject({
      reason: 'copy_damaged',
    });
  }
  await tools.snapshot({ id: 'snp_1' });
  await tools.rewind({ bookmark: await currentOf({ tools }) });
  expect(work(dataDirectory)).toEqual([]);
});

test('a copy is read only as fast as its consumer asks', async () => {
  const { unit, tools, dataDirectory } = openHistory();
  await unit.addRandom({ bytes: 8_000_000 });
  const { body } = await tools.export('sqlite');
  const reader = body.getReader();
  let bytes = (await reader.read()).value?.length ?? 0;
  expect(bytes).toBeLessThanOrEqual(256 * 1024);
  // Its file is there until the end of the stream, and no longer.
  expect(work(dataDirectory)).toHaveLength(1);
  for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.length;
  expect(bytes).toBeGreaterThan(8_000_000);
  expect(work(dataDirectory)).toEqual([]);
});

test('a copy as sqlite is a plain database that any SQLite opens', async () => {
  const { unit, tools } = openHistory();
  await unit.add({ note: 'one' });
  const path = `${newPlace()}.sqlite`;
  writeFileSync(path, await bytesOf((await tools.export('sqlite')).body));
  const database = new DatabaseSync(path, { readOnly: true });
  expect(database.prepare('SELECT note FROM entry').all()).toEqual([{ note: 'one' }]);
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' });
  database.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test('a unit without a history is copied and restored too, while it is written to', async () => {
  const dataDirectory = newPlace();
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error) => {
      throw error;
    },
  });
  const unit = engine.unit(ledgerUnit, 'a', { create: true });
  const tools = engine.tools(ledgerUnit, 'a');
  for (let i = 0; i < 20; i++) await unit.add({ bytes: 20_000 });
  const copying = tools.export('sqlite');
  const writing = (async () => {
    for (let i = 0; i < 400; i++) await unit.add({ bytes: 20_000 });
  })();
  const copy = await copying;
  expect(copy.bookmark).toBeNull();
  const bytes = await bytesOf(copy.body);
  await writing;
  expect(await tools.restore('sqlite', blob(bytes))).toMatchObject({ undo: null });
  const ids = await unit.ids();
  expect(ids).toEqual(ids.map((_, i) => i + 1));
  expect(ids.length).toBeGreaterThanOrEqual(20);
  await engine.close();
  expect(readdirSync(join(dataDirectory, 'ledger'))).toEqual(['a.sqlite']);
});

test('calls go on while a copy is put in place: each sees the old state or the new one', async () => {
  const { unit, tools } = openHistory();
  await unit.add({ note: 'copied' });
  const bytes = await bytesOf((await tools.export('sqlite')).body);
  await unit.add({ note: 'more' });
  const seen: number[] = [];
  let isDone = false;
  const calling = (async () => {
    while (!isDone) {
      await unit.add({ note: 'meanwhile' });
      seen.push(await unit.count());
    }
  })();
  await tools.restore('sqlite', blob(bytes));
  isDone = true;
  await calling;
  const falls = seen.filter((count, i) => i > 0 && count < (seen[i - 1] ?? 0));
  expect(falls.length).toBeLessThanOrEqual(1);
  expect(await unit.count()).toBeGreaterThanOrEqual(1);
});

describe('a snapshot that was damaged', () => {
  test.each<readonly [what: string, file: string, spoil: (path: string) => void]>([
    [
      'in its bytes',
      'snp_1.sqlite.zst',
      (path) =>
        writeFileSync(
          path,
          readFileSync(path).map((byte, i) => (i === 50 ? byte ^ 1 : byte)),
        ),
    ],
    ['at its end', 'snp_1.sqlite.zst', (path) => truncateSync(path, 60)],
    [
      'in its description',
      'snp_1.json',
      (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('snp_1', 'snp_2')),
    ],
  ])('%s is named, refused, and left as it is', async (_what, file, spoil) => {
    const { unit, tools, dataDirectory, incidents } = openHistory();
    await unit.add({ note: 'one' });
    await tools.snapshot({ id: 'snp_0' });
    await tools.snapshot({ id: 'snp_1' });
    const path = join(dataDirectory, 'scope-history', 'a.snapshots', file);
    spoil(path);
    const before = readFileSync(path);
    await expect(tools.openSnapshot('snp_1')).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'snapshot_damaged',
      message: expect.stringContaining(file),
    });
    const ids = (await tools.snapshots()).map(({ id }) => id);
    expect(ids).toContain('snp_0');
    expect(ids.includes('snp_1')).toBe(file.endsWith('.zst'));
    expect(incidents.length).toBeGreaterThan(0);
    expect(readFileSync(path)).toEqual(before);
    await (await tools.openSnapshot('snp_0')).body.cancel();
  });
});

test('a unit that is being copied or inspected is not closed for want of room, and the others go on', async () => {
  const { engine, unit, tools } = openHistory(newPlace(), { openUnitsMax: 1 });
  await unit.addRandom({ bytes: 3_000_000 });
  const limits = { rowsMax: 10, bytesMax: 1_000, timeMs: 300 };
  const forever = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
  const inspecting = expect(tools.inspect({ sql: forever, params: [], ...limits })).rejects.toMatchObject({
    reason: 'time_limit',
  });
  const copying = tools.export('sqlite');
  const others = ['b', 'c', 'd'].map((key) =>
    engine.unit(historyUnit, key, { create: true }).add({ note: key }),
  );
  await Promise.all(others);
  await inspecting;
  await (await copying).body.cancel();
  expect(await unit.count()).toBe(1);
  await engine.unit(historyUnit, 'b').add({ note: 'again' });
  expect(engine.openUnits).toBe(1);
});

test('closing ends read-only statements, and waits for copies in progress', async () => {
  const { engine, unit, tools, dataDirectory } = openHistory();
  await unit.addRandom({ bytes: 1_000_000 });
  const limits = { rowsMax: 10, bytesMax: 1_000, timeMs: 600_000 };
  const forever = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
  const inspecting = expect(tools.inspect({ sql: forever, params: [], ...limits })).rejects.toMatchObject({
    reason: 'shutting_down',
  });
  const copying = tools.snapshot({ id: 'snp_1' });
  await Promise.resolve();
  await Promise.resolve();
  await Promise.all([inspecting, copying.catch(() => undefined), engine.close()]);
  await expect(tools.inspect({ sql: 'SELECT 1', params: [], ...limits })).rejects.toMatchObject({
    reason: 'shutting_down',
  });
  expect(readdirSync(join(dataDirectory, 'scope-history')).filter((name) => /-wal|-shm/.test(name))).toEqual(
    [],
  );
});

test('a recorded swap that was not carried out is carried out at the next start', async () => {
  const { unit, dataDirectory, engine } = openHistory();
  await unit.add({ note: 'one' });
  await engine.close();
  const swaps = join(dataDirectory, '.swaps');
  mkdirSync(swaps);
  writeFileSync(join(swaps, 'scope-history.a.sqlite'), 'a state without a recorded swap');
  const again = openHistory(dataDirectory);
  expect(await again.unit.count()).toBe(1);
  expect(existsSync(swaps)).toBe(false);
  await again.engine.close();
  mkdirSync(swaps);
  writeFileSync(join(swaps, 'scope-history.a.json'), 'half a decision');
  expect(() => openNodeEngine({ dataDirectory, onIncident: () => undefined })).toThrow(
    expect.objectContaining({ code: 'unavailable', reason: 'swap_damaged' }),
  );
  expect(existsSync(join(swaps, 'scope-history.a.json'))).toBe(true);
});

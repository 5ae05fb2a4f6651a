/** Promises of the embedded engine beyond the unit contract. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnit } from '@freehold/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hooks, ledgerUnit } from '../test/ledger-unit.ts';
import { type NodeEngine, openNodeEngine } from './index.ts';

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-engine-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

interface Opened {
  readonly engine: NodeEngine;
  readonly directory: string;
  readonly incidents: { error: unknown; method: string }[];
}

function open(openUnitsMax = 256, directory = newDirectory()): Opened {
  const incidents: { error: unknown; method: string }[] = [];
  const engine = openNodeEngine({
    dataDirectory: directory,
    openUnitsMax,
    onIncident: (error, { method }) => void incidents.push({ error, method }),
  });
  onTestFinished(() => engine.close());
  return { engine, directory, incidents };
}

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const create = { create: true };

describe('the bound on open units', () => {
  test('holds while every unit stays reachable with all it has', async () => {
    const { engine } = open(3);
    for (let round = 1; round <= 3; round++) {
      for (let i = 0; i < 10; i++) {
        expect(await engine.unit(ledgerUnit, `unit-${i}`, create).add()).toBe(round);
        expect(engine.openUnits).toBeLessThanOrEqual(3);
      }
    }
    for (let i = 0; i < 10; i++) expect(await engine.unit(ledgerUnit, `unit-${i}`).ids()).toEqual([1, 2, 3]);
  });

  test('holds when more units than that are busy at once, and loses no call', async () => {
    const { engine, incidents } = open(2);
    const units = Array.from({ length: 9 }, (_, i) => engine.unit(ledgerUnit, `unit-${i}`, create));
    const calls: Promise<unknown>[] = [];
    for (let round = 0; round < 4; round++) {
      for (const unit of units) {
        calls.push(unit.add(), unit.ids(), unit.key());
        expect(engine.openUnits).toBeLessThanOrEqual(2);
      }
    }
    await Promise.all(calls);
    expect(incidents).toEqual([]);
    for (const [i, unit] of units.entries()) {
      expect(await unit.ids()).toEqual([1, 2, 3, 4]);
      expect(await unit.key()).toBe(`unit-${i}`);
    }
  });

  test('of one still lets a unit work', async () => {
    const { engine } = open(1);
    const [a, b] = ['a', 'b'].map((key) => engine.unit(ledgerUnit, key, create));
    expect(await Promise.all([a?.add(), b?.add(), a?.add(), b?.add(), a?.ids()])).toEqual([
      1,
      1,
      2,
      2,
      [1, 2],
    ]);
    expect(engine.openUnits).toBe(1);
  });

  test('never closes the unit whose call is running', async () => {
    const { engine, incidents } = open(1);
    const a = engine.unit(ledgerUnit, 'a', create);
    const others: Promise<number>[] = [];
    for (const method of ['addDuring', 'addThen'] as const) {
      hooks.set(method, () => {
        others.push(engine.unit(ledgerUnit, `other-${method}`, create).add());
      });
      await a[method]({ hook: method });
    }
    expect(await Promise.all(others)).toEqual([1, 1]);
    expect(await a.ids()).toEqual([1, 2]);
    expect(incidents).toEqual([]);
  });
});

describe('a call that is made from inside a call of the same unit', () => {
  test('waits until the outer one is committed, a query too', async () => {
    const { engine } = open();
    const unit = engine.unit(ledgerUnit, 'a', create);
    const seen: Promise<number[]>[] = [];
    hooks.set('read', () => void seen.push(unit.ids()));
    hooks.set('fail', () => {
      seen.push(unit.ids());
      throw new Error('rolled back');
    });
    await unit.addDuring({ hook: 'read' });
    await expect(unit.addDuring({ hook: 'fail' })).rejects.toMatchObject({ code: 'internal' });
    expect(await Promise.all(seen)).toEqual([[1], [1]]);
  });
});

describe('close', () => {
  test('keeps what was accepted before it, and leaves no write-ahead log behind', async () => {
    const { engine, directory } = open();
    const unit = engine.unit(ledgerUnit, 'a', create);
    const accepted = [unit.add(), unit.add()];
    await engine.close();
    expect(await Promise.all(accepted)).toEqual([1, 2]);
    expect(readdirSync(join(directory, 'ledger'))).toEqual(['a.sqlite']);
    await expect(unit.add()).rejects.toMatchObject({ code: 'unavailable', reason: 'shutting_down' });
    expect(await open(256, directory).engine.unit(ledgerUnit, 'a').ids()).toEqual([1, 2]);
  });

  test('that is asked for in the middle of a call lets the call finish', async () => {
    const { engine, directory, incidents } = open();
    const unit = engine.unit(ledgerUnit, 'a', create);
    let closed: Promise<void> | undefined;
    hooks.set('close', () => {
      closed = engine.close();
    });
    expect(await unit.addDuring({ hook: 'close' })).toBe(1);
    await closed;
    expect(incidents).toEqual([]);
    expect(await open(256, directory).engine.unit(ledgerUnit, 'a').ids()).toEqual([1]);
  });

  test('gives the directory back', async () => {
    const { engine, directory } = open();
    const again = () => openNodeEngine({ dataDirectory: directory, onIncident: () => undefined });
    expect(again).toThrow(expect.objectContaining({ reason: 'data_directory_in_use' }));
    await engine.close();
    await again().close();
  });
});

describe('the file system', () => {
  test('a directory that cannot be made or written is named, and refused at the start', () => {
    const file = join(newDirectory(), 'file');
    writeFileSync(file, '');
    for (const dataDirectory of [file, join(file, 'below')]) {
      expect(() => openNodeEngine({ dataDirectory, onIncident: () => undefined })).toThrow(
        expect.objectContaining({
          code: 'unavailable',
          reason: 'data_directory_unusable',
          message: expect.stringContaining(`The data directory ${dataDirectory} cannot be written.`),
        }),
      );
    }
  });

  test('a file that is no database keeps its unit closed, is reported, and is left as it was', async () => {
    const { engine, directory, incidents } = open();
    mkdirSync(join(directory, 'ledger'));
    const path = join(directory, 'ledger', 'damaged.sqlite');
    writeFileSync(path, 'this is no database, and it was the operator’s only copy '.repeat(100));
    const before = digest(path);
    for (const options of [{}, create]) {
      await expect(engine.unit(ledgerUnit, 'damaged', options).ids()).rejects.toMatchObject({
        code: 'unavailable',
        reason: 'unit_unreadable',
      });
    }
    expect(digest(path)).toBe(before);
    expect(readdirSync(join(directory, 'ledger'))).toEqual(['damaged.sqlite']);
    // Once, however many calls meet it; the operator's text names the file, and the callers' does not.
    const message = `The database ${path} cannot be read: file is not a database.`;
    expect(incidents).toMatchObject([{ error: { message } }]);
    expect(engine.storageStatus().unreadable).toEqual([{ kind: 'ledger', key: 'damaged', path }]);
  });

  test.each([
    // The file header has 100 bytes; behind it lies the root page of the schema.
    ['the first pages', 100, 4096],
    ['the tables', 4096, Number.POSITIVE_INFINITY],
  ])(
    'a database of which %s were damaged keeps its unit closed and is left as it was',
    async (_part, from, to) => {
      const first = open();
      await first.engine.unit(ledgerUnit, 'a', create).add();
      await first.engine.close();
      const path = join(first.directory, 'ledger', 'a.sqlite');
      const bytes = readFileSync(path);
      bytes.fill(0x5a, from, Math.min(to, bytes.length));
      writeFileSync(path, bytes);
      const before = digest(path);
      const { engine, incidents } = open(256, first.directory);
      await expect(engine.unit(ledgerUnit, 'a').ids()).rejects.toMatchObject({ reason: 'unit_unreadable' });
      expect(incidents).toHaveLength(1);
      await engine.close();
      expect(digest(path)).toBe(before);
    },
  );

  test('asking for a unit that was never created makes no file', async () => {
    const { engine, directory } = open();
    await expect(engine.unit(ledgerUnit, 'absent').ids()).rejects.toMatchObject({ reason: 'unknown_unit' });
    expect(existsSync(join(directory, 'ledger'))).toBe(false);
  });

  test('an empty file that a crash left behind is no unit, and can become one', async () => {
    const { engine, directory } = open();
    mkdirSync(join(directory, 'ledger'));
    writeFileSync(join(directory, 'ledger', 'a.sqlite'), '');
    await expect(engine.unit(ledgerUnit, 'a').ids()).rejects.toMatchObject({ reason: 'unknown_unit' });
    expect(await engine.unit(ledgerUnit, 'a', create).add()).toBe(1);
  });
});

test('a commit is in the log of the file system before it is acknowledged, and keys are checked', async () => {
  const { engine } = open();
  const unit = engine.unit(ledgerUnit, 'a', create);
  // SQLite, "PRAGMA synchronous": 2 is FULL, which in this journal mode synchronises the log at every commit.
  expect(await unit.pragma({ name: 'synchronous' })).toBe(2);
  expect(await unit.pragma({ name: 'journal_mode' })).toBe('wal');
  expect(await unit.pragma({ name: 'foreign_keys' })).toBe(1);
});

describe('a full disk', () => {
  const fill = 300_000;
  const unavailable = { code: 'unavailable', reason: 'storage_full', headers: { 'retry-after': '30' } };

  test.each(['add', 'addRegardless', 'addBareRegardless', 'addInstead'] as const)(
    'fails the whole group of the call that met it (%s), keeps nothing of it, and passes',
    async (method) => {
      const { engine, directory, incidents } = open();
      const unit = engine.unit(ledgerUnit, 'a', create);
      await unit.add();
      await unit.limitPages({ pages: 20 });
      const group = [unit.add(), unit[method]({ bytes: fill }), unit.add()];
      for (const call of group) await expect(call).rejects.toMatchObject(unavailable);
      expect(await unit.ids()).toEqual([1]);
      await expect(unit.add({ bytes: fill })).rejects.toMatchObject(unavailable);
      expect(incidents).toHaveLength(1);
      expect(String(incidents[0]?.error)).toContain(`The disk of the data directory ${directory} is full`);
      expect(engine.storageStatus().fault?.reason).toBe('storage_full');
      await unit.limitPages({ pages: 10_000 });
      expect(await Promise.all([unit.add(), unit.add({ bytes: fill })])).toEqual([2, 3]);
      expect(await unit.ids()).toEqual([1, 2, 3]);
      expect(engine.storageStatus().fault).toBeNull();
    },
  );

  test('while a unit is created leaves it uncreated', async () => {
    const { engine } = open();
    const big = defineUnit({
      kind: 'big',
      migrations: [
        {
          name: 'big',
          migrations: [
            {
              version: 1,
              name: 'too big',
              sql: `PRAGMA max_page_count = 4; CREATE TABLE big (fill BLOB); INSERT INTO big VALUES (zeroblob(${fill}))`,
            },
          ],
        },
      ],
      queries: [],
      open: () => ({ ok: () => true }),
    });
    await expect(engine.unit(big, 'a', create).ok()).rejects.toMatchObject(unavailable);
    await expect(engine.unit(big, 'a').ok()).rejects.toMatchObject({ reason: 'unknown_unit' });
  });
});

test('more texts than are kept prepared still work, each with its own answer', async () => {
  const { engine } = open();
  const unit = engine.unit(ledgerUnit, 'a', create);
  await unit.add();
  const texts = 700;
  expect(await unit.sum({ texts })).toBe(2 * ((texts * (texts - 1)) / 2 + texts));
  expect(await unit.ids()).toEqual([1]);
});

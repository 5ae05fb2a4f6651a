/** Survival, cost and end of a unit's history. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type HistoryDisk, historyDisk } from '../src/lib/durable-file.ts';
import { copyOf, currentOf, newPlace, openHistory } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const historyOf = (dataDirectory: string) => join(dataDirectory, 'scope-history', 'a.history');
const filesOf = (dataDirectory: string, ending: string) =>
  readdirSync(historyOf(dataDirectory))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(historyOf(dataDirectory), name));
const diskFull = Object.assign(new Error('no space left'), { code: 'ENOSPC' });

describe('after the power was cut', () => {
  test('a torn last frame costs the last commit, and nothing before it', async () => {
    const fixture = openHistory();
    await fixture.unit.add({ note: 'one' });
    const one = await currentOf(fixture);
    const contents = await fixture.unit.contents();
    await fixture.unit.add({ note: 'two' });
    const two = await currentOf(fixture);
    const after = copyOf(fixture.dataDirectory);
    const wal = join(after, 'scope-history', 'a.sqlite-wal');
    truncateSync(wal, statSync(wal).size - 100);
    const again = openHistory(after);
    expect(await again.unit.contents()).toBe(contents);
    expect(await currentOf(again)).toBe(one);
    await again.unit.add({ note: 'another two' });
    const another = await currentOf(again);
    expect(another).not.toBe(two);
    expect(another.slice(0, 14)).toBe(two.slice(0, 14));
    await expect(again.tools.rewind({ bookmark: two })).rejects.toMatchObject({ reason: 'unknown_bookmark' });
    await again.tools.rewind({ bookmark: one });
    expect(await again.unit.contents()).toBe(contents);
    expect(again.incidents).toEqual([]);
  });

  test('the times of commits are known that were written down, and the others are estimated', async () => {
    const fixture = openHistory();
    await fixture.unit.add({ note: 'one' });
    fixture.clock.nowMs += 5_000;
    await fixture.unit.add({ note: 'two' });
    const times = join(historyOf(fixture.dataDirectory), 'times');
    await expect.poll(() => existsSync(times)).toBe(true);
    fixture.clock.nowMs += 5_000;
    const before = (await fixture.tools.bookmarks({ limit: 10 })).items;
    const known = openHistory(copyOf(fixture.dataDirectory));
    expect((await known.tools.bookmarks({ limit: 10 })).items.slice(0, 2)).toEqual(before.slice(0, 2));
    const unknown = copyOf(fixture.dataDirectory);
    rmSync(join(historyOf(unknown), 'times'));
    utimesSync(join(unknown, 'scope-history', 'a.sqlite-wal'), 1_900_000_000, 1_900_000_000);
    const guessing = await openHistory(unknown).tools.bookmarks({ limit: 10 });
    expect(guessing.items.map(({ bookmark }) => bookmark)).toEqual(before.map(({ bookmark }) => bookmark));
    expect(guessing.current?.atMs).toBe(1_900_000_000_000);
  });

  test('a segment that was stored while its frames are still in the log is not stored twice', async () => {
    const fixture = openHistory();
    for (let i = 0; i < 5; i++) await fixture.unit.add({ note: `n${i}` });
    // A rewind stores the log first; a refused one leaves the log as it is.
    const refuse = (): never => {
      throw new Error('not now');
    };
    await expect(fixture.tools.rewind({ bookmark: await currentOf(fixture) }, refuse)).rejects.toThrow(
      'not now',
    );
    await fixture.unit.add({ note: 'more' });
    const expected = await fixture.tools.bookmarks({ limit: 100 });
    const again = openHistory(copyOf(fixture.dataDirectory));
    await again.unit.add({ note: 'even more' });
    const found = await again.tools.bookmarks({ limit: 100 });
    expect(found.items.slice(1).map(({ bookmark }) => bookmark)).toEqual(
      expected.items.map(({ bookmark }) => bookmark),
    );
    for (const { bookmark } of expected.items.slice(0, 6)) await again.tools.rewind({ bookmark });
    expect(again.incidents).toEqual([]);
  });
});

describe('a damaged history', () => {
  const oldFixture = async () => {
    const fixture = openHistory();
    const states = new Map<string, string>();
    for (let i = 0; i < 4; i++) {
      await fixture.unit.addRandom({ bytes: 300_000 });
      states.set(await currentOf(fixture), await fixture.unit.contents());
      await fixture.engine.sweepHistory(historyUnit, 'a');
    }
    await fixture.engine.close();
    expect(filesOf(fixture.dataDirectory, '.fhs').length).toBe(4);
    return { dataDirectory: fixture.dataDirectory, states };
  };

  test.each<readonly [what: string, spoil: (path: string, next: string) => void]>([
    ['is missing', (path) => rmSync(path)],
    [
      'has another byte',
      (path) =>
        writeFileSync(
          path,
          readFileSync(path).map((byte, i) => (i === 5_000 ? byte ^ 1 : byte)),
        ),
    ],
    [
      'says something else of itself',
      (path) =>
        writeFileSync(
          path,
          readFileSync(path).map((byte, i) => (i === 100 ? byte ^ 1 : byte)),
        ),
    ],
    ['lacks its end', (path) => truncateSync(path, statSync(path).size - 1)],
    ['is empty', (path) => truncateSync(path, 0)],
    [
      'changed places with the next',
      (path, next) => {
        renameSync(path, `${path}.x`);
        renameSync(next, path);
        renameSync(`${path}.x`, next);
      },
    ],
  ])('is reported by name when a segment %s; the unit and the commits before go on', async (_what, spoil) => {
    const { dataDirectory, states } = await oldFixture();
    const [, second = '', third = ''] = filesOf(dataDirectory, '.fhs');
    spoil(second, third);
    const before = filesOf(dataDirectory, '.fhs').map(digest);
    const { unit, tools, incidents } = openHistory(dataDirectory);
    const [first, , , last] = [...states.entries()];
    expect(await unit.contents()).toBe(last?.[1]);
    await expect(tools.rewind({ bookmark: last?.[0] ?? '' })).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'history_damaged',
      message: expect.stringMatching(/seg-0000000[23]|part 2 is missing/),
    });
    expect(incidents.length).toBeGreaterThan(0);
    expect(filesOf(dataDirectory, '.fhs').map(digest)).toEqual(before);
    expect(await unit.contents()).toBe(last?.[1]);
    await tools.rewind({ bookmark: first?.[0] ?? '' });
    expect(await unit.contents()).toBe(first?.[1]);
  });

  test('is reported by name when its base is damaged', async () => {
    const { dataDirectory, states } = await oldFixture();
    const [base = ''] = filesOf(dataDirectory, '.zst');
    for (const bytes of [
      Buffer.from('this is no base'),
      readFileSync(base).map((byte, i) => (i === 20 ? byte ^ 1 : byte)),
    ]) {
      writeFileSync(base, bytes);
      const { unit, tools, engine } = openHistory(dataDirectory);
      const contents = await unit.contents();
      await expect(tools.rewind({ bookmark: [...states.keys()][1] ?? '' })).rejects.toMatchObject({
        reason: 'history_damaged',
        message: expect.stringContaining('base-000000000001.zst'),
      });
      expect(await unit.contents()).toBe(contents);
      expect(readFileSync(base).equals(bytes)).toBe(true);
      await engine.close();
    }
  });

  test('begins anew when its newest file cannot be read, and gives no number twice', async () => {
    const { dataDirectory, states } = await oldFixture();
    truncateSync(filesOf(dataDirectory, '.fhs').at(-1) ?? '', 10);
    const fixture = openHistory(dataDirectory);
    await fixture.unit.add({ note: 'goes on' });
    expect(fixture.incidents).toHaveLength(1);
    const bookmark = await currentOf(fixture);
    expect([...states.keys()].every((each) => each < bookmark)).toBe(true);
    const contents = await fixture.unit.contents();
    await fixture.unit.add({ note: 'more' });
    await fixture.tools.rewind({ bookmark });
    expect(await fixture.unit.contents()).toBe(contents);
  });
});

test('a database that another process changed meanwhile begins its history anew, and keeps the history before', async () => {
  const first = openHistory();
  await first.unit.add({ note: 'one' });
  const one = await currentOf(first);
  const contents = await first.unit.contents();
  await first.engine.close();
  const path = join(first.dataDirectory, 'scope-history', 'a.sqlite');
  const database = new DatabaseSync(path);
  database.exec("INSERT INTO entry (note) VALUES ('by hand')");
  database.close();
  const fixture = openHistory(first.dataDirectory);
  const changed = await fixture.unit.contents();
  expect(changed).toContain('by hand');
  await fixture.unit.add({ note: 'two' });
  expect(fixture.incidents).toHaveLength(1);
  const { items } = await fixture.tools.bookmarks({ limit: 10 });
  await fixture.tools.rewind({ bookmark: items[1]?.bookmark ?? '' });
  expect(await fixture.unit.contents()).toBe(changed);
  await fixture.tools.rewind({ bookmark: one });
  expect(await fixture.unit.contents()).toBe(contents);
});

test('a unit that had no history gets one from its present state on', async () => {
  const first = openHistory(newPlace(), { historyMs: 0 });
  await first.unit.add({ note: 'before' });
  const off = { code: 'unsupported', reason: 'history_off' };
  await expect(first.tools.bookmarks({ limit: 1 })).rejects.toMatchObject(off);
  await expect(first.tools.rewind({ atMs: 0 })).rejects.toMatchObject(off);
  expect((await first.tools.snapshot({ id: 'snp_1' })).bookmark).toBeNull();
  expect(existsSync(historyOf(first.dataDirectory))).toBe(false);
  const contents = await first.unit.contents();
  await first.engine.close();
  const fixture = openHistory(first.dataDirectory);
  await fixture.unit.add({ note: 'after' });
  const { earliest, items } = await fixture.tools.bookmarks({ limit: 10 });
  expect(items).toHaveLength(2);
  await fixture.tools.rewind({ bookmark: earliest?.bookmark ?? '' });
  expect(await fixture.unit.contents()).toBe(contents);
});

test('where a unit writes faster than the background stores, no commit stores more than its share of the log', async () => {
  const frames: number[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const slow: HistoryDisk = {
    ...historyDisk,
    stage: async (path, parts) => {
      if (basename(path).startsWith('segment')) await released;
      await historyDisk.stage(path, parts);
    },
    stageSync: (path, parts) => {
      // The description of the new part stands before its frames.
      const { first, last } = JSON.parse(
        /\{.*\}/.exec(Buffer.from(parts.at(-2) ?? []).toString())?.[0] ?? '',
      );
      frames.push(last - first + 1);
      historyDisk.stageSync(path, parts);
    },
  };
  const fixture = openHistory(newPlace(), { logFramesMax: 100, historyDisk: slow });
  await fixture.unit.add({ note: 'one' });
  const one = await currentOf(fixture);
  frames.length = 0;
  for (let i = 0; i < 300; i++) await fixture.unit.add({ note: `n${i}`, bytes: 3_000 });
  // The background goes on, also where this fails.
  release();
  expect(frames.length).toBeGreaterThan(10);
  expect(Math.max(...frames)).toBeLessThanOrEqual(25);
  await fixture.tools.rewind({ bookmark: one });
  expect(await fixture.unit.count()).toBe(1);
  expect(fixture.incidents).toEqual([]);
});

describe('a call that no person waits for', () => {
  /** A unit whose log is due to be emptied, which waits for a release. */
  const dueFixture = async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow: HistoryDisk = {
      ...historyDisk,
      stage: async (path, parts) => {
        if (basename(path).startsWith('segment')) await released;
        await historyDisk.stage(path, parts);
      },
    };
    const fixture = openHistory(newPlace(), { logFramesMax: 100, historyDisk: slow });
    await fixture.unit.add({ note: 'much', rows: 150, bytes: 3_000 });
    const settled: string[] = [];
    const later = fixture.unit.addLater({ note: 'later' }).then(
      () => settled.push('made'),
      ({ reason }) => settled.push(reason),
    );
    // Others come first, though they called after it.
    for (let n = 0; n < 3; n++) await fixture.unit.add({ note: `n${n}` });
    expect(settled).toEqual([]);
    return { ...fixture, settled, later, release };
  };

  test('comes after the log was emptied', async () => {
    const { unit, later, release, settled, incidents } = await dueFixture();
    release();
    await later;
    expect(settled).toEqual(['made']);
    expect(await unit.count()).toBe(154);
    expect(incidents).toEqual([]);
  });

  test('waits no longer than a second', async () => {
    const { unit, later, release, settled } = await dueFixture();
    vi.advanceTimersByTime(1_000);
    await later;
    expect(settled).toEqual(['made']);
    expect(await unit.count()).toBe(154);
    release();
  });

  test('is refused when the engine closes meanwhile', async () => {
    const { engine, later, release, settled } = await dueFixture();
    const closed = engine.close();
    release();
    await Promise.all([closed, later]);
    expect(settled).toEqual(['shutting_down']);
  });
});

describe('a disk that is full', () => {
  test('for the history holds no caller up, and nothing is lost when there is room again', async () => {
    const fixture = openHistory(newPlace(), { logFramesMax: 10 });
    await fixture.unit.add({ note: 'one' });
    fixture.disk.fails = diskFull;
    const states = new Map<string, string>();
    for (let i = 0; i < 40; i++) await fixture.unit.add({ note: `n${i}`, rows: 3 });
    await expect.poll(() => fixture.incidents.length).toBeGreaterThan(0);
    await expect(fixture.tools.bookmarks({ limit: 1 })).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'storage_full',
    });
    expect(filesOf(fixture.dataDirectory, '.fhs')).toEqual([]);
    fixture.disk.fails = null;
    for (let i = 0; i < 20; i++) {
      await fixture.unit.add({ note: `m${i}`, rows: 3 });
      states.set(await currentOf(fixture), await fixture.unit.contents());
    }
    const { items } = await fixture.tools.bookmarks({ limit: 1_000 });
    expect(items.length).toBe(63);
    for (const [bookmark, contents] of states) {
      await fixture.tools.rewind({ bookmark });
      expect(await fixture.unit.contents()).toBe(contents);
    }
  });

  test('when a unit is closed leaves its log behind, for the next opening to store', async () => {
    const fixture = openHistory();
    for (let i = 0; i < 5; i++) await fixture.unit.add({ note: `n${i}` });
    const contents = await fixture.unit.contents();
    const { items } = await fixture.tools.bookmarks({ limit: 10 });
    fixture.disk.fails = diskFull;
    await fixture.engine.close();
    expect(fixture.incidents).toHaveLength(1);
    expect(existsSync(join(fixture.dataDirectory, 'scope-history', 'a.sqlite-wal'))).toBe(true);
    const again = openHistory(fixture.dataDirectory);
    expect(await again.unit.contents()).toBe(contents);
    expect((await again.tools.bookmarks({ limit: 10 })).items.map(({ bookmark }) => bookmark)).toEqual(
      items.map(({ bookmark }) => bookmark),
    );
    await again.tools.rewind({ bookmark: items[2]?.bookmark ?? '' });
    await again.engine.close();
    expect(existsSync(join(fixture.dataDirectory, 'scope-history', 'a.sqlite-wal'))).toBe(false);
    expect(again.incidents).toEqual([]);
  });

  test('while a unit is to be replaced leaves it as it was', async () => {
    const fixture = openHistory();
    await fixture.unit.add({ note: 'one' });
    const one = await currentOf(fixture);
    await fixture.unit.add({ note: 'two' });
    const contents = await fixture.unit.contents();
    fixture.disk.fails = diskFull;
    await expect(fixture.tools.rewind({ bookmark: one })).rejects.toMatchObject({ reason: 'storage_full' });
    expect(await fixture.unit.contents()).toBe(contents);
    fixture.disk.fails = null;
    await fixture.tools.rewind({ bookmark: one });
    expect(await fixture.unit.count()).toBe(1);
  });
});

test('a transaction that is larger than any part is stored, and rewound, whole', {
  timeout: 60_000,
}, async () => {
  const fixture = openHistory();
  await fixture.unit.add({ note: 'small' });
  const small = await currentOf(fixture);
  const before = await fixture.unit.contents();
  for (let i = 0; i < 3; i++) await fixture.unit.addRandom({ bytes: 9_000_000 });
  await fixture.unit.add({ note: 'large', rows: 3_000, bytes: 9_000 });
  const large = await currentOf(fixture);
  const contents = await fixture.unit.contents();
  await fixture.unit.add({ note: 'last' });
  await fixture.engine.close();
  const again = openHistory(fixture.dataDirectory);
  await again.tools.rewind({ bookmark: small });
  expect(await again.unit.contents()).toBe(before);
  await again.tools.rewind({ bookmark: large });
  expect(await again.unit.contents()).toBe(contents);
  expect(again.incidents).toEqual([]);
});

describe('history ends', () => {
  test('where its window begins: what is older is gone, what is younger is all there', async () => {
    const fixture = openHistory(newPlace(), { historyMs: 4 * DAY_MS });
    const states: { readonly bookmark: string; readonly contents: string; readonly atMs: number }[] = [];
    for (let day = 0; day < 12; day++) {
      await fixture.unit.add({ note: `day ${day}` });
      states.push({
        bookmark: await currentOf(fixture),
        contents: await fixture.unit.contents(),
        atMs: fixture.clock.nowMs,
      });
      await fixture.engine.sweepHistory(historyUnit, 'a');
      fixture.clock.nowMs += DAY_MS;
    }
    const { earliest } = await fixture.tools.bookmarks({ limit: 1 });
    expect(earliest?.atMs).toBeLessThanOrEqual(fixture.clock.nowMs - 4 * DAY_MS);
    expect(earliest?.atMs).toBeGreaterThanOrEqual(fixture.clock.nowMs - 6 * DAY_MS);
    const oldest =
      filesOf(fixture.dataDirectory, '.zst').length + filesOf(fixture.dataDirectory, '.fhs').length;
    expect(oldest).toBeLessThan(16);
    for (const { bookmark, contents, atMs } of states) {
      const rewound = fixture.tools.rewind({ bookmark });
      if (atMs < (earliest?.atMs ?? 0))
        await expect(rewound).rejects.toMatchObject({ reason: 'unknown_bookmark' });
      else {
        await rewound;
        expect(await fixture.unit.contents()).toBe(contents);
      }
    }
  });

  test('also of an idle unit: only the present is left', async () => {
    const fixture = openHistory(newPlace(), { historyMs: 4 * DAY_MS });
    await fixture.unit.add({ note: 'secret' });
    await fixture.unit.remove({ every: 1 });
    fixture.clock.nowMs += 5 * DAY_MS;
    await fixture.engine.sweepHistory(historyUnit, 'a');
    expect((await fixture.tools.bookmarks({ limit: 10 })).items).toHaveLength(1);
    expect(filesOf(fixture.dataDirectory, '.fhs')).toEqual([]);
    const again = await fixture.tools.bookmarks({ limit: 10 });
    await fixture.engine.sweepHistory(historyUnit, 'a');
    expect(await fixture.tools.bookmarks({ limit: 10 })).toEqual(again);
  });

  test('where it would take more room than its limit', async () => {
    const fixture = openHistory(newPlace(), { historyBytesMax: 3_000_000 });
    for (let i = 0; i < 12; i++) {
      await fixture.unit.addRandom({ bytes: 400_000 });
      await fixture.unit.remove({ every: 1 });
      await fixture.engine.sweepHistory(historyUnit, 'a');
      const bytes = readdirSync(historyOf(fixture.dataDirectory)).reduce(
        (sum, name) => sum + statSync(join(historyOf(fixture.dataDirectory), name)).size,
        0,
      );
      expect(bytes).toBeLessThan(4_500_000);
    }
    const { items, earliest } = await fixture.tools.bookmarks({ limit: 100 });
    expect(items.length).toBeLessThan(20);
    expect(items.at(-1)).toEqual(earliest);
    await fixture.tools.rewind({ bookmark: items[1]?.bookmark ?? '' });
    expect(await fixture.unit.count()).toBe(1);
  });
});

/** One damaged database comes back from its own history and log, or from the archive, while no engine runs. */
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { appendCommitTimes } from '../src/history/commit-times.ts';
import { readWrittenLog } from '../src/history/written-log.ts';
import { type RecoverOptions, recoverUnit, restoreDataDirectory } from '../src/index.ts';
import { breakableArchive, openFixture, openPlain, restored } from './archive-fixture.ts';
import { copyOf, currentOf, newPlace, openHistory } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';

const NOW_MS = Date.parse('2026-11-24T08:00:00Z');

const pathOf = (dataDirectory: string): string => join(dataDirectory, 'scope-history', 'a.sqlite');

const recoverIn = (dataDirectory: string, more: Partial<RecoverOptions> = {}) =>
  recoverUnit({ dataDirectory, kind: 'scope-history', key: 'a', nowMs: NOW_MS, archive: null, ...more });

function damage(dataDirectory: string): string {
  const path = pathOf(dataDirectory);
  writeFileSync(path, readFileSync(path).fill(0x5a));
  return path;
}

test.each(['a kill', 'an orderly stop'])(
  'after %s every commit is back, and the history goes on',
  async (end) => {
    const fixture = openHistory(undefined, { logFramesMax: 10 });
    for (let each = 0; each < 30; each++) await fixture.unit.add({ note: `n${each}`, rows: 3 });
    // From here on the log holds a few pages alone, so that it does not make up for the damage by itself.
    await fixture.engine.sweepHistory(historyUnit, 'a');
    await fixture.unit.add({ note: 'in the log alone' });
    const [contents, current] = [await fixture.unit.contents(), await currentOf(fixture)];
    if (end === 'an orderly stop') await fixture.engine.close();
    const place = copyOf(fixture.dataDirectory);
    const path = damage(place);
    const aside = `${path}.damaged-20261124T080000Z`;
    const bytes = readFileSync(path);
    expect(await recoverIn(place)).toEqual({ from: 'history', missing: null, aside });
    expect(readFileSync(aside).equals(bytes)).toBe(true);
    const again = openHistory(place);
    expect(await again.unit.contents()).toBe(contents);
    expect(await currentOf(again)).toBe(current);
    expect(again.incidents).toEqual([]);
    await again.unit.add({ note: 'after' });
    await again.tools.rewind({ bookmark: current });
    expect(await again.unit.contents()).toBe(contents);
  },
);

test('a database that was deleted comes back too, and one that is whole is left alone', async () => {
  const fixture = openHistory();
  await fixture.unit.add({ note: 'one' });
  const contents = await fixture.unit.contents();
  await fixture.engine.close();
  const { dataDirectory } = fixture;
  await expect(recoverIn(dataDirectory)).rejects.toMatchObject({ code: 'conflict', reason: 'unit_is_whole' });
  rmSync(pathOf(dataDirectory));
  expect(await recoverIn(dataDirectory)).toEqual({ from: 'history', missing: null, aside: null });
  expect(await openHistory(dataDirectory).unit.contents()).toBe(contents);
});

test('without a whole history it comes from the archive, and without both nothing is changed', async () => {
  const { engine, archive, dataDirectory } = openFixture(breakableArchive());
  const unit = engine.unit(historyUnit, 'a', { create: true });
  await unit.add({ note: 'one' });
  await engine.flushArchive();
  const contents = await unit.contents();
  await engine.close();
  const path = damage(dataDirectory);
  rmSync(join(dataDirectory, 'scope-history', 'a.history'), { recursive: true });
  const bytes = readFileSync(path);
  await expect(recoverIn(dataDirectory)).rejects.toMatchObject({ status: 503, reason: 'unit_lost' });
  expect(readFileSync(path).equals(bytes)).toBe(true);
  expect(existsSync(join(dataDirectory, 'scope-history', '.recovering-a'))).toBe(false);
  expect(await recoverIn(dataDirectory, { archive })).toMatchObject({ from: 'archive' });
  const again = openFixture(archive, dataDirectory);
  expect(await again.engine.unit(historyUnit, 'a').contents()).toBe(contents);
  await again.engine.unit(historyUnit, 'a').add({ note: 'two' });
  await again.engine.flushArchive();
  expect(again.incidents).toEqual([]);
});

test('an unknown database, and a data directory in use, are refused', async () => {
  const { dataDirectory, unit, engine } = openHistory();
  await unit.add({ note: 'one' });
  await expect(recoverIn(dataDirectory)).rejects.toMatchObject({ reason: 'data_directory_in_use' });
  await engine.close();
  await expect(recoverIn(dataDirectory, { key: 'b' })).rejects.toMatchObject({ reason: 'unknown_unit' });
});

const flip = (path: string, at: number): void => {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
};

/** Frames of earlier logs follow. */
const endOf = (wal: string): number => 32 + 4_120 * (readWrittenLog(wal)?.last ?? 0);

/** As the engine does a few times a second. */
function noteTime(wal: string): void {
  const { header, last = 0 } = readWrittenLog(wal) ?? {};
  const history = wal.replace('.sqlite-wal', '.history');
  appendCommitTimes(history, header?.salt ?? '', [{ frame: last, atMs: NOW_MS }]);
}

const spoilers: readonly (readonly [string, (wal: string) => void])[] = [
  ['is gone', (wal) => rmSync(wal)],
  ['is empty', (wal) => truncateSync(wal)],
  ['is cut', (wal) => truncateSync(wal, endOf(wal) - 100)],
  [
    'is cut between two frames',
    (wal) => {
      noteTime(wal);
      truncateSync(wal, 32 + 4_120 * 2);
    },
  ],
  ['has a flipped bit', (wal) => flip(wal, endOf(wal) - 10)],
  ['has a flipped bit in the salt of its last frame', (wal) => flip(wal, endOf(wal) - 4_120 + 9)],
  ['has a flipped bit in its header', (wal) => flip(wal, 17)],
];

/** A killed unit with commits in the log alone, and its archive. */
async function killedWithArchive() {
  const archive = breakableArchive();
  const { engine, dataDirectory } = openFixture(archive);
  const unit = engine.unit(historyUnit, 'a', { create: true });
  // The log holds a few pages alone, so that it does not make up for the damage by itself.
  await unit.add({ note: 'n', rows: 30, bytes: 2_000 });
  await engine.sweepHistory(historyUnit, 'a');
  for (let each = 0; each < 6; each++) await unit.add({ note: `n${each}` });
  await engine.flushArchive();
  for (let each = 0; each < 6; each++) await unit.add({ note: `m${each}` });
  await engine.flushArchive();
  return { archive, unit, place: copyOf(dataDirectory), contents: await unit.contents() };
}

describe.each(spoilers)('a log that %s', (_how, spoil) => {
  test('is told, and new commits reach the archive', async () => {
    const { archive, unit, contents, place } = await killedWithArchive();
    await unit.add({ note: 'not archived' });
    const wal = `${damage(place)}-wal`;
    spoil(wal);
    // Here the archive is left aside, as when the settings name none.
    expect(await recoverIn(place)).toMatchObject({ from: 'history', missing: expect.any(String) });
    const { engine } = openFixture(archive, place);
    const again = engine.unit(historyUnit, 'a');
    expect(contents.startsWith(await again.contents())).toBe(true);
    await again.add({ note: 'after' });
    await engine.flushArchive();
    const back = openPlain(await restored(archive)).unit(historyUnit, 'a');
    expect(await back.contents()).toBe(await again.contents());
  });

  test('gives way to the archive, which goes further', async () => {
    const { archive, contents, place } = await killedWithArchive();
    spoil(`${damage(place)}-wal`);
    // The names in the archive suffice.
    rmSync(join(place, 'scope-history', 'a.history', 'times'), { force: true });
    expect(await recoverIn(place, { archive })).toMatchObject({ from: 'archive' });
    const { engine } = openFixture(archive, place);
    const again = engine.unit(historyUnit, 'a');
    expect(await again.contents()).toBe(contents);
    await again.add({ note: 'after' });
    await engine.flushArchive();
    const back = openPlain(await restored(archive)).unit(historyUnit, 'a');
    expect(await back.contents()).toBe(await again.contents());
  });
});

test('an archive that another directory continued is not taken', async () => {
  const { archive, place } = await killedWithArchive();
  const heir = join(newPlace(), 'heir');
  await restoreDataDirectory({ archive, into: heir });
  const path = damage(place);
  spoilers[0]?.[1](`${path}-wal`);
  expect(await recoverIn(copyOf(place), { archive })).toMatchObject({ from: 'history' });
  rmSync(join(place, 'scope-history', 'a.history'), { recursive: true });
  await expect(recoverIn(place, { archive })).rejects.toMatchObject({ reason: 'archive_not_ours' });
  expect(existsSync(path)).toBe(true);
});

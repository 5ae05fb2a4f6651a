/** One damaged database comes back from its own history and log, or from the archive, while no engine runs. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type RecoverOptions, recoverUnit } from '../src/index.ts';
import { breakableArchive, openFixture } from './archive-fixture.ts';
import { copyOf, currentOf, openHistory } from './history-fixture.ts';
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
    expect(await recoverIn(place)).toEqual({ from: 'history', aside });
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
  expect(await recoverIn(dataDirectory)).toEqual({ from: 'history', aside: null });
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

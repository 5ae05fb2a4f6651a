/** Bases of a history are written one at a time. */
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { historyDisk } from '../src/lib/durable-file.ts';
import { currentOf, newPlace, openHistory } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Opens an engine and records the names that its history's files get. */
function openRecorded(options: { readonly historyMs?: number; readonly logFramesMax?: number } = {}) {
  const names: string[] = [];
  const rename = (staged: string, path: string): void => {
    names.push(basename(path));
    historyDisk.rename(staged, path);
  };
  const fixture = openHistory(newPlace(), { ...options, historyDisk: { ...historyDisk, rename } });
  return { ...fixture, basesWritten: () => names.filter((name) => /^base-.*\.zst$/.test(name)) };
}

test('a unit that closes while its history begins writes one base', async () => {
  const fixture = openRecorded({ logFramesMax: 20 });
  // The commit fills the log, so that the history begins in a later turn: while the unit closes.
  await fixture.unit.add({ note: 'one', bytes: 200_000 });
  await fixture.engine.close();
  expect(fixture.basesWritten()).toHaveLength(1);
  const again = openHistory(fixture.dataDirectory);
  await again.tools.rewind({ bookmark: await currentOf(again) });
  expect([...fixture.incidents, ...again.incidents]).toEqual([]);
});

test('two calls that find a new base due write one', async () => {
  const fixture = openRecorded({ historyMs: 4 * DAY_MS });
  const { engine, unit } = fixture;
  await unit.add({ note: 'one' });
  await engine.sweepHistory(historyUnit, 'a');
  await unit.add({ note: 'two' });
  fixture.clock.nowMs += 5 * DAY_MS;
  const before = fixture.basesWritten().length;
  await Promise.all([engine.sweepHistory(historyUnit, 'a'), engine.sweepHistory(historyUnit, 'a')]);
  expect(fixture.basesWritten()).toHaveLength(before + 1);
  await fixture.tools.rewind({ bookmark: await currentOf(fixture) });
});

test('while another process reads the database, no base is made of a file that has only a part of the log', async () => {
  const fixture = openRecorded({ historyMs: 4 * DAY_MS });
  const { engine, unit, tools } = fixture;
  await unit.add({ note: 'one' });
  await engine.sweepHistory(historyUnit, 'a');
  const one = await currentOf(fixture);
  const contents = await unit.contents();
  await unit.add({ note: 'two' });
  const reader = new DatabaseSync(join(fixture.dataDirectory, 'scope-history', 'a.sqlite'), {
    readOnly: true,
  });
  reader.exec('BEGIN; SELECT count(*) FROM entry');
  fixture.clock.nowMs += 5 * DAY_MS;
  await unit.add({ note: 'three' });
  const before = fixture.basesWritten().length;
  await engine.sweepHistory(historyUnit, 'a');
  expect(fixture.basesWritten()).toHaveLength(before);
  reader.close();
  await unit.add({ note: 'four' });
  await engine.sweepHistory(historyUnit, 'a');
  expect(fixture.basesWritten()).toHaveLength(before + 1);
  await tools.rewind({ bookmark: one });
  expect(await unit.contents()).toBe(contents);
  expect(fixture.incidents).toEqual([]);
});

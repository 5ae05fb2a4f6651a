/** Closing an engine: everything that its units wrote is kept, and few waits for the disk come one after the other. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeDurableWrites } from '../../../tests/support/durable-writes.ts';
import { type NodeEngine, openNodeEngine } from '../src/index.ts';
import { type HistoryDisk, historyDisk } from '../src/lib/durable-file.ts';
import { newPlace } from './history-fixture.ts';
import { historyUnit } from './history-unit.ts';

const UNITS = 20;

function open(dataDirectory: string, disk: HistoryDisk = historyDisk): NodeEngine {
  return openNodeEngine({
    dataDirectory,
    historyDisk: disk,
    onIncident: (error) => {
      throw error;
    },
  });
}

const each = async (engine: NodeEngine, work: (unit: ReturnType<typeof unitOf>) => Promise<unknown>) => {
  for (let key = 0; key < UNITS; key++) await work(unitOf(engine, key));
};
const unitOf = (engine: NodeEngine, key: number) => engine.unit(historyUnit, `u${key}`, { create: true });

/** Returns the waits for the disk of one closing, for each unit. */
async function costOfClosing(engine: NodeEngine) {
  takeDurableWrites();
  await engine.close();
  const { commits, checkpoints, files, background } = takeDurableWrites();
  expect(commits).toBe(0);
  return { checkpoints: checkpoints / UNITS, files: files / UNITS, background: background / UNITS };
}

test('a written unit is closed with one emptied log; its history is synchronised side by side with that of others', {
  timeout: 60_000,
}, async () => {
  const dataDirectory = newPlace();
  const first = open(dataDirectory);
  await each(first, (unit) => unit.add({ note: 'first' }));
  // The directory of the history is new; the base, its description and the segment are written in the background.
  expect(await costOfClosing(first)).toEqual({ checkpoints: 1, files: 1, background: 6 });

  const second = open(dataDirectory);
  await each(second, (unit) => unit.add({ note: 'second' }));
  expect(await costOfClosing(second)).toEqual({ checkpoints: 1, files: 0, background: 2 });

  const third = open(dataDirectory);
  await each(third, async (unit) => expect(await unit.contents()).toContain('1:first'));
  await each(third, async (unit) => expect(await unit.contents()).toContain('2:second'));
  expect(await third.tools(historyUnit, 'u0').bookmarks({ limit: 10 })).toMatchObject({
    items: { length: 4 },
  });
  expect(await costOfClosing(third)).toEqual({ checkpoints: 0, files: 0, background: 0 });
});

test('a unit whose log is empty is closed without a wait for the disk', {
  timeout: 60_000,
}, async () => {
  const dataDirectory = newPlace();
  const engine = open(dataDirectory);
  await each(engine, (unit) => unit.add({ note: 'stored' }));
  for (let key = 0; key < UNITS; key++) await engine.sweepHistory(historyUnit, `u${key}`);
  expect(await costOfClosing(engine)).toEqual({ checkpoints: 0, files: 0, background: 0 });
});

test('an engine of which one unit cannot be closed closes the others, returns the directory and fails', async () => {
  const dataDirectory = newPlace();
  const refuse = (path: string): void => {
    if (path.includes('u0.history')) throw new Error('no space left');
  };
  const engine = open(dataDirectory, {
    ...historyDisk,
    stage: async (path, parts) => {
      refuse(path);
      await historyDisk.stage(path, parts);
    },
    stageSync: (path, parts) => {
      refuse(path);
      historyDisk.stageSync(path, parts);
    },
  });
  await each(engine, (unit) => unit.add({ note: 'kept' }));
  // The sink of this engine throws what it is told.
  await expect(engine.close()).rejects.toThrow('no space left');
  const logs = readdirSync(join(dataDirectory, 'scope-history')).filter((name) => name.endsWith('-wal'));
  expect(logs).toEqual(['u0.sqlite-wal']);
  const again = open(dataDirectory);
  await each(again, async (unit) => expect(await unit.contents()).toContain('kept'));
  await again.close();
});

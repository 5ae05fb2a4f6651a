/** The intake by itself: how often it writes, and what it does when it cannot. */
import { expect, test } from 'vitest';
import { makeIncidentIntake } from './incident-intake.ts';
import type { CountedIncident } from './ingest.ts';

const where = { kind: 'scope', method: 'invoke' };
const letters = [...'abcdefghijklmnopqrstuvwxyz'];

function open() {
  const world = { ms: 0, broken: false, batches: [] as (readonly CountedIncident[])[] };
  const { intake, flush } = makeIncidentIntake({
    now: () => world.ms,
    directory: {
      ingestIncidents: async ({ incidents }) => {
        if (world.broken) throw new Error('the disk is full');
        world.batches.push(incidents);
        return null;
      },
    },
  });
  const see = (message: string) => intake.ingestIncident({ error: { name: 'Error', message }, where });
  const written = () => world.batches.flat().reduce((sum, { count }) => sum + count, 0);
  return { world, see, flush, written };
}

test('a storm is written in twenty batches at once, then one a second; nothing is lost', async () => {
  const { world, see, flush, written } = open();
  for (let i = 0; i < 5000; i++) await see('it broke');
  expect(world.batches).toHaveLength(20);
  world.ms += 1000;
  for (let i = 0; i < 100; i++) await see('it broke');
  expect(world.batches).toHaveLength(21);
  await flush();
  expect(world.batches).toHaveLength(22);
  expect(written()).toBe(5100);
});

test('one batch is written at a time, and what comes meanwhile goes with the next', async () => {
  const { world, see, written } = open();
  await Promise.all(Array.from({ length: 300 }, () => see('it broke')));
  expect(world.batches.length).toBeLessThanOrEqual(3);
  expect(written()).toBe(300);
});

test('what waits is bounded too: beyond 200 kinds they are counted, and not told apart', async () => {
  const { world, see, flush, written } = open();
  // The twenty batches are used up first.
  for (let i = 0; i < 20; i++) await see('first');
  world.batches.length = 0;
  const words = letters.flatMap((a) => letters.map((b) => `${a}${b}`));
  for (const word of words) await see(`customer ${word}`);
  expect(world.batches).toEqual([]);
  await flush();
  expect(world.batches.flat()).toHaveLength(201);
  expect(written()).toBe(words.length);
});

test('a directory that cannot write makes no storm of its own, and gets everything later', async () => {
  const { world, see, flush, written } = open();
  world.broken = true;
  await expect(Promise.all([see('a'), see('b'), flush()])).resolves.toBeDefined();
  expect(world.batches).toEqual([]);
  world.broken = false;
  await flush();
  expect(written()).toBe(2);
});

test('a clock that is set back does not stop the writing for good', async () => {
  const { world, see, written } = open();
  world.ms = 10_000_000;
  for (let i = 0; i < 25; i++) await see('it broke');
  world.ms = 0;
  await see('it broke');
  world.ms = 1000;
  await see('it broke');
  expect(written()).toBe(27);
});

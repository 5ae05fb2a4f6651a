/** The everyday runs: a few fixed seeds, and the properties of a seed. */
import { describe, expect, test } from 'vitest';
import { type RunResult, simulate } from './simulation.ts';

const SEEDS = [1, 2, 3, 4, 5, 6];
const STEPS = 1_200;

describe('the simulated engine', () => {
  const results: RunResult[] = [];

  test.each(SEEDS)('everything holds in the run of seed %i', async (seed) => {
    const result = await simulate({ seed, steps: STEPS });
    expect(result.violation).toBeNull();
    expect(result.steps).toBe(STEPS);
    results.push(result);
  });

  test('the runs did all kinds of actions', () => {
    const counts = new Map<string, number>();
    for (const [what, count] of results.flatMap((result) => Object.entries(result.counts)))
      counts.set(what, (counts.get(what) ?? 0) + count);
    const expected = {
      answered: 1_000,
      rewound: 10,
      restored: 5,
      exported: 10,
      erased: 20,
      'ended by death': 5,
      'ended by power during a commit': 5,
      'ended by shutdown': 6,
      'fault: full at method': 5,
      'fault: broken at written': 5,
      'failed: unavailable/commit_failed': 20,
      'failed: unavailable/unit_unreadable': 1,
      'failed: permission_denied/order_work': 20,
      'failed: conflict/idempotency_key_reused': 5,
      'failed: precondition_failed/': 20,
      'failed: validation_failed/copy_foreign': 1,
    };
    const missing = Object.entries(expected).filter(([what, count]) => (counts.get(what) ?? 0) < count);
    expect(missing).toEqual([]);
  });
});

test('a seed gives the same run, line by line', async () => {
  const run = async (): Promise<{ lines: string[]; result: RunResult }> => {
    const lines: string[] = [];
    const result = await simulate({ seed: 7, steps: 600, onLine: (line) => lines.push(line) });
    return { lines, result };
  };
  const [first, second] = [await run(), await run()];
  expect(second.lines).toEqual(first.lines);
  expect(second.result.digest).toBe(first.result.digest);
  expect(first.lines.length).toBeGreaterThan(1_000);
});

test('another seed gives another run', async () => {
  const digests = await Promise.all([8, 9].map(async (seed) => (await simulate({ seed, steps: 50 })).digest));
  expect(new Set(digests).size).toBe(2);
});

test('a feature that is left out does not happen', async () => {
  const { counts } = await simulate({
    seed: 10,
    steps: 600,
    without: ['death', 'power', 'disk', 'rewind', 'copies', 'shred'],
  });
  // The end of a run is a shutdown.
  const unwanted = Object.keys(counts).filter((what) =>
    /^(ended by (death|power)|fault:|rewound|restored|exported|erased)/.test(what),
  );
  expect(unwanted).toEqual([]);
});

/** The command line: what it says is what is done, and what it cannot do is said. */
import { expect, test } from 'vitest';
import { STRICT } from './known.ts';
import { OptionsError, parseOptions } from './options.ts';
import { replayCommand, reportOf } from './report.ts';
import type { RunResult } from './simulation.ts';
import { Violation } from './violation.ts';

const result: RunResult = {
  seed: 42,
  steps: 17,
  violation: new Violation('rewind', 'it led elsewhere'),
  digest: '',
  tail: ['17 rewind'],
  counts: {},
};

test('without options, a run has a random seed and 5,000 steps', () => {
  expect(parseOptions([])).toMatchObject({ seed: null, seconds: null, run: { steps: 5_000, engine: 'sim' } });
});

test('every option arrives', () => {
  const args =
    '--seed 7 --steps 10 --seconds 5 --engine node --without death,power --verify-every 3 --strict --shrink --trace t --json';
  expect(parseOptions(args.split(' '))).toEqual({
    seed: 7,
    seconds: 5,
    shrink: true,
    traceFile: 't',
    json: true,
    run: { steps: 10, engine: 'node', without: ['death', 'power'], verifyEvery: 3, lenience: STRICT },
  });
});

test.each([['--seed', 'x'], ['--steps', '0'], ['--engine', 'workerd'], ['--without', 'gravity'], ['--fast']])(
  '%s %s is refused with words',
  (...args) => {
    expect(() => parseOptions(args)).toThrow(OptionsError);
  },
);

test('the command that repeats a failure leads to the same run', () => {
  const options = parseOptions(['--engine', 'node', '--without', 'death', '--verify-every', '5', '--strict']);
  if (options === 'help') throw new Error('no help was asked for');
  const command = replayCommand({ ...options.run, seed: 42 }, result);
  expect(command).toBe(
    'npm run sim -- --seed 42 --steps 17 --engine node --without death --verify-every 5 --strict',
  );
  expect(parseOptions(command.split(' ').slice(4))).toMatchObject({
    seed: 42,
    run: { ...options.run, steps: 17 },
  });
});

test('a report says what was violated, where, and how to see it again', () => {
  const report = reportOf({ seed: 42, steps: 100 }, result);
  for (const part of ['VIOLATED: rewind', 'it led elsewhere', 'seed 42, step 17', '17 rewind', '--steps 17'])
    expect(report).toContain(part);
});

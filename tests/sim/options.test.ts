/** The command line of the simulator. */
import { expect, test } from 'vitest';
import { Violation } from './lib/violation.ts';
import { OptionsError, parseOptions } from './options.ts';
import { replayCommand, reportOf } from './report.ts';
import type { RunResult } from './simulation.ts';

const result: RunResult = {
  seed: 42,
  steps: 17,
  violation: new Violation('rewind', 'it led elsewhere'),
  digest: '',
  tail: ['17 rewind'],
  counts: {},
};

test('without options, there is one run with a random seed and 5,000 steps', () => {
  expect(parseOptions([])).toMatchObject({
    seed: null,
    steps: 5_000,
    forMs: Infinity,
    run: { engine: 'sim' },
  });
});

test.each([
  ['90s', 90_000],
  ['10m', 600_000],
  ['2h', 7_200_000],
])('for %s, runs follow one another until the time is over', (text, forMs) => {
  expect(parseOptions(['--for', text])).toMatchObject({ steps: Infinity, forMs });
});

test('every option arrives', () => {
  const args =
    '--seed 7 --steps 10 --for 5s --engine node --without death,power --often disk --verify-every 3 --shrink --trace t --json';
  expect(parseOptions(args.split(' '))).toEqual({
    seed: 7,
    steps: 10,
    forMs: 5_000,
    shrink: true,
    traceFile: 't',
    json: true,
    run: { engine: 'node', without: ['death', 'power'], often: ['disk'], verifyEvery: 3 },
  });
});

test.each([
  ['--seed', 'x'],
  ['--often', 'gravity'],
  ['--steps', '0'],
  ['--for', '10'],
  ['--for', '0m'],
  ['--engine', 'workerd'],
  ['--without', 'gravity'],
  ['--fast'],
])('%s %s is refused with words', (...args) => {
  expect(() => parseOptions(args)).toThrow(OptionsError);
});

test('the command that repeats a failure leads to the same run', () => {
  const options = parseOptions('--engine node --without death --often disk --verify-every 5'.split(' '));
  if (options === 'help') throw new Error('no help was asked for');
  const command = replayCommand({ ...options.run, seed: 42, steps: 5_000 }, result);
  expect(command).toBe(
    'npm run sim -- --seed 42 --steps 17 --engine node --without death --often disk --verify-every 5',
  );
  expect(parseOptions(command.split(' ').slice(4))).toMatchObject({
    seed: 42,
    steps: 17,
    run: options.run,
  });
});

test('a report names the violation, its place, and the command that repeats it', () => {
  const report = reportOf({ seed: 42, steps: 100 }, result);
  for (const part of ['VIOLATED: rewind', 'it led elsewhere', 'seed 42, step 17', '17 rewind', '--steps 17'])
    expect(report).toContain(part);
});

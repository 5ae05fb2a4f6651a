/** `freehold new` and what it refuses; `tests/scaffold` has what is made. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands } from '../src/commands.ts';
import { runLine, scratchDirectory } from './world.ts';

const makeProject = (cwd: string, ...inputs: string[]) => runLine(commands, ['new', ...inputs], { cwd });

/** A directory with a file, below which nothing can be made. */
function occupiedDirectory(): string {
  const cwd = scratchDirectory();
  writeFileSync(join(cwd, 'paper-trail'), '');
  return cwd;
}

describe('a project that cannot be made is refused in one sentence, and nothing is left behind', () => {
  test.each([
    [2, [], /^<name> is missing\.$/],
    [2, ['Paper'], /^<name> cannot be used: it must be lower-case letters/],
    [2, ['../paper'], /^<name> cannot be used/],
    [2, ['p'.repeat(64)], /^<name> cannot be used: it must have at most 63 characters\.$/],
    [2, ['zod'], /^<name> cannot be used: the project itself depends on the package zod\.$/],
    [2, ['paper', '--title', 'two\nlines'], /^--title cannot be used: it must be one line of text\.$/],
    [2, ['paper', '--packages', '.'], /^--packages cannot be used: .* has no packages of Freehold\.$/],
    [2, ['paper', '--template', 'vue'], /^--template cannot be used: .*empty.*react/],
    [5, ['paper-trail'], /^There is something at .*paper-trail already/],
    [1, ['paper', '--directory', 'paper-trail/x'], / cannot be written: not a directory \(ENOTDIR\)\.$/],
  ] as const)('exit code %i: %j', async (status, inputs, sentence) => {
    const cwd = occupiedDirectory();
    const ended = await makeProject(cwd, ...inputs);
    expect(ended).toMatchObject({ status, stdout: '' });
    expect(ended.stderr.trim()).toMatch(sentence);
    expect(readdirSync(cwd)).toEqual(['paper-trail']);
  });

  test('as JSON, the same sentence is the detail', async () => {
    const ended = await makeProject(occupiedDirectory(), 'zod', '--json');
    expect([ended.status, ended.stdout]).toEqual([2, '']);
    expect(JSON.parse(ended.stderr)).toMatchObject({
      detail: expect.stringMatching(/^<name> cannot be used/),
      errors: [{ path: '<name>', message: 'is that of a dependency' }],
    });
  });
});

test('without a folder of packages the answer says that the packages are not published yet', async () => {
  const cwd = scratchDirectory();
  const ended = await makeProject(cwd, 'plain', '--directory', 'some/where');
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  expect(ended.stdout).toMatch(/^Made Plain in some\/where \(\d+ files\)\.\n/);
  expect(ended.stdout).toContain('  cd some/where\n  npm install\n');
  expect(ended.stdout).toContain('not published yet');
  const { dependencies } = JSON.parse(readFileSync(join(cwd, 'some/where/package.json'), 'utf8'));
  expect(dependencies['@freehold/app']).toBe('0.1.0');
});

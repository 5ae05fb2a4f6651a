/** Guarantees of every command line, for any command. */

import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runLine } from '../../test/world.ts';
import { commands } from '../commands.ts';
import { command } from './command.ts';
import type { CommandTable } from './command-line.ts';

/** Two sample commands: one of a verb alone, one of a noun and a verb. */
const greet = command({
  path: ['greet'],
  summary: 'Greet a person',
  description: 'Greets.',
  examples: [{ line: 'freehold greet ada', does: 'greets ada' }],
  arguments: [{ name: 'person', summary: 'Whom' }],
  options: { withWords: { summary: 'How', placeholder: 'words' } },
  input: z.strictObject({
    person: z.string().regex(/^[a-z]+$/, 'must be lower-case letters'),
    withWords: z.string().optional(),
  }),
  run: ({ person, withWords = 'Hello' }) => {
    if (person === 'grace') throw new PlatformError('conflict', 'Grace is away.');
    if (person === 'bug') throw new TypeError('cannot greet a bug');
    return { value: { greeted: person }, text: `${withWords}, ${person}.` };
  },
});
const listGreetings = command({
  path: ['greetings', 'list'],
  summary: 'List greetings',
  description: 'Lists.',
  examples: [{ line: 'freehold greetings list', does: 'lists them' }],
  arguments: [],
  options: {},
  input: z.strictObject({}),
  run: () => ({ value: { items: [] }, text: 'None.' }),
});
const table: CommandTable = { commands: [greet, listGreetings], nouns: { greetings: 'What was said' } };

async function type(inputs: readonly string[], used: CommandTable = table) {
  const { status, stdout, stderr } = await runLine(used, inputs);
  return { status, stdout, stderr };
}

describe('every command', () => {
  test('is in the help of freehold itself', async () => {
    const { stdout } = await type(['--help'], commands);
    for (const { path, summary } of commands.commands) {
      expect(stdout).toContain(path[0]);
      if (path.length === 1) expect(stdout).toContain(summary);
    }
  });
});

describe('an answer', () => {
  test('is text for people, and one line of JSON with --json', async () => {
    expect(await type(['greet', 'ada'])).toEqual({ status: 0, stdout: 'Hello, ada.\n', stderr: '' });
    const { status, stdout, stderr } = await type(['greet', 'ada', '--json']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toBe('{"greeted":"ada"}\n');
  });

  test('of a noun and its verb is found', async () => {
    expect(await type(['greetings', 'list'])).toMatchObject({ status: 0, stdout: 'None.\n' });
    expect((await type(['greetings'])).stdout).toContain('List greetings');
  });

  test('takes options in kebab case, before or after the arguments', async () => {
    for (const inputs of [
      ['greet', '--with-words', 'Hi', 'ada'],
      ['greet', 'ada', '--with-words=Hi'],
    ]) {
      expect((await type(inputs)).stdout).toBe('Hi, ada.\n');
    }
  });
});

describe('a command line that cannot be used is one sentence on stderr and exit code 2', () => {
  test.each([
    [['greeet', 'ada'], 'There is no command "greeet"; did you mean greet?'],
    [['-z'], 'There is no option -z here.'],
    [['greet'], '<person> is missing.'],
    [['greet', '-q', '-z'], 'There is no option -q.'],
    [['greet', 'ada', 'grace'], '"grace" is one argument too many.'],
    [['greet', 'ada', '--with-word', 'x'], 'There is no option --with-word; did you mean --with-words?'],
    [['greet', 'ada', '-q'], 'There is no option -q.'],
    [['greet', 'ada', '--with-words'], '--with-words needs a value.'],
    [['greet', 'ada', '--with-words', 'a', '--with-words', 'b'], '--with-words is given twice.'],
    [['greet', 'ada', '--json=maybe'], '--json does not take the value "maybe".'],
    [['greet', 'ADA'], '<person> cannot be used: it must be lower-case letters.'],
    [['greet', '--', '--json'], '<person> cannot be used: it must be lower-case letters.'],
  ])('%j', async (inputs, sentence) => {
    expect(await type(inputs)).toEqual({ status: 2, stdout: '', stderr: `${sentence}\n` });
  });

  test('is a problem document with --json', async () => {
    for (const inputs of [
      ['greet', '--json'],
      ['greet', 'ADA', '--json'],
      ['nothing', '--json'],
    ]) {
      const { status, stdout, stderr } = await type(inputs);
      expect([status, stdout]).toEqual([2, '']);
      expect(JSON.parse(stderr)).toMatchObject({ code: 'validation_failed', status: 400 });
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});

describe('a failing command', () => {
  test('prints its sentence, or its problem document', async () => {
    expect(await type(['greet', 'grace'])).toEqual({ status: 5, stdout: '', stderr: 'Grace is away.\n' });
    const { status, stderr } = await type(['greet', 'grace', '--json']);
    expect(status).toBe(5);
    expect(JSON.parse(stderr)).toMatchObject({ code: 'conflict', detail: 'Grace is away.' });
  });

  test('says so when the failure is a bug', async () => {
    const { status, stderr } = await type(['greet', 'bug']);
    expect(status).toBe(1);
    expect(stderr).toBe('This is a bug of freehold, please report it: TypeError: cannot greet a bug\n');
    expect(JSON.parse((await type(['greet', 'bug', '--json'])).stderr)).toMatchObject({ code: 'internal' });
  });
});

describe('help', () => {
  test('freehold alone, help, --help and -h print the same', async () => {
    const { status, stdout, stderr } = await type([]);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Greet a person');
    for (const inputs of [['help'], ['--help'], ['-h']]) expect((await type(inputs)).stdout).toBe(stdout);
  });

  test('help and --help print the help of one command', async () => {
    const { status, stdout } = await type(['greetings', 'list', '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('EXAMPLES\n  freehold greetings list\n    lists them');
    expect((await type(['help', 'greetings', 'list'])).stdout).toBe(stdout);
    expect((await type(['help', 'nothing'])).status).toBe(2);
  });
});

test('a noun without a description is a bug of the table', async () => {
  await expect(type([], { ...table, nouns: {} })).rejects.toThrow('the noun greetings is not described');
});

test('--version prints the version alone', async () => {
  expect(await type(['--version'])).toEqual({ status: 0, stdout: '1.2.3\n', stderr: '' });
});

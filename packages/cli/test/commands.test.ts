/** Checks every command of the tree. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { generateHelpTextForAllCommands } from '@stricli/core';
import { describe, expect, test } from 'vitest';
import { fieldsOf } from '../src/admin/fields.ts';
import { ADMIN_NOUNS } from '../src/admin/nouns.ts';
import { commands } from '../src/commands.ts';
import { makeApplication } from '../src/lib/application.ts';
import { type Command, optionName, type RawInput } from '../src/lib/command.ts';
import { runLine, scratchDirectory, testWorld, wordsOf } from './world.ts';

const place = { version: '0', stdout: { write: () => {} }, world: testWorld() };
const help = new Map(generateHelpTextForAllCommands(makeApplication(commands, place, { asJson: false })));
const all = commands.commands.map((each): [string, Command] => [each.path.join(' '), each]);

test('spec C-33: every admin operation is a command', () => {
  const paths = new Set(all.map(([path]) => path));
  for (const name of Object.keys(adminOperations)) expect(paths).toContain(name.replace('.', ' '));
  expect(paths.size).toBe(all.length);
});

test('every family of operations is described, and no other noun', () => {
  const families = new Set(Object.keys(adminOperations).map((name) => name.split('.')[0]));
  expect(Object.keys(ADMIN_NOUNS).sort()).toEqual([...families].sort());
});

test('operations that take a key or a condition have the option, and no others', () => {
  const options = new Map(all.map(([path, { options: each }]) => [path.replace(' ', '.'), each]));
  for (const { name, method, audit, etag } of Object.values<AdminOperation>(adminOperations)) {
    const given = options.get(name) ?? {};
    expect([name, 'idempotencyKey' in given]).toEqual([name, method !== 'GET' && audit === 'audit']);
    expect([name, 'ifMatch' in given]).toEqual([name, method !== 'GET' && etag === true]);
  }
});

test('the help of --from shows each of its forms', () => {
  expect(help.get('freehold scopes restore')).toContain(
    '{"snapshot":"<id>"} or {"backup":"<id>"} or {"export":"<id>"}',
  );
});

test('no field of an operation hides another, or an option that every command has', () => {
  for (const operation of Object.values(adminOperations)) {
    const names = fieldsOf(operation).map(({ name }) => name);
    expect(new Set(names).size, operation.name).toBe(names.length);
    for (const taken of [
      'json',
      'help',
      'profile',
      'body',
      'file',
      'out',
      'force',
      'all',
      'noWait',
      'ifMatch',
      'idempotencyKey',
      'mediaType',
    ])
      expect(names, operation.name).not.toContain(taken);
  }
});

describe.each(all)('%s', (path, command) => {
  test('has help with every argument and option, an example, and --json', () => {
    const text = help.get(`freehold ${path}`) ?? '';
    expect(text).toContain(command.description.split('\n')[0]);
    expect(text).toContain('--json');
    expect(command.examples.length).toBeGreaterThan(0);
    for (const { line, does } of command.examples) {
      expect(`${line} `).toContain(`freehold ${path} `);
      expect(text).toContain(`  ${line}\n    ${does}`);
    }
    for (const option of Object.keys(command.options)) expect(text).toContain(optionName(option));
    for (const { name, summary } of command.arguments) {
      expect(text).toContain(name);
      expect(summary).not.toBe('');
    }
  });

  test('never prompts without a terminal: without input it is refused in one sentence', async () => {
    const readStdin = () => new Promise<string>(() => {});
    const scratch = scratchDirectory();
    const over = { readStdin, cwd: scratch, configDirectory: scratch };
    const ended = await runLine(commands, path.split(' '), over);
    if (path === 'profile list') return expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(ended).toMatchObject({ status: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^[^\n]+\.\n$/);
    const asJson = await runLine(commands, [...path.split(' '), '--json'], over);
    expect(asJson).toMatchObject({ status: 2, stdout: '' });
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      code: 'validation_failed',
      detail: ended.stderr.trim(),
    });
  });
});

describe('every option that help names', () => {
  const typed = all.flatMap(([path, command]) =>
    Object.entries(command.options).map(([name, option]) => ({ path, command, name, option })),
  );

  test.each(typed.map((each) => ({ ...each, shown: `${each.path} ${optionName(each.name)}` })))(
    '$shown is read by the parser',
    async ({ command, name, option: { kind = 'value' } }) => {
      const given: unknown[] = [];
      const run = async (raw: RawInput) => {
        given.push(raw[name]);
        return { value: null, text: '' };
      };
      const table = { ...commands, commands: [{ ...command, run }] };
      const words = [...command.path, ...command.arguments.map(() => 'word')];
      const isValued = kind === 'value' || kind === 'list';
      const forms = isValued ? [[optionName(name), 'x'], [`${optionName(name)}=x`]] : [[optionName(name)]];
      if (kind === 'choice') forms.push([optionName(name).replace('--', '--no-')]);
      for (const form of forms)
        expect((await runLine(table, [...words, ...form])).stderr, form.join(' ')).toBe('');
      const value = { value: 'x', list: ['x'], flag: true, choice: true }[kind];
      expect(given).toEqual(kind === 'choice' ? [true, false] : forms.map(() => value));
    },
  );
});

describe('an example of an admin operation', () => {
  const derived = all.filter(([path]) => path.replace(' ', '.') in adminOperations);

  test.each(derived)('%s is a call that its declaration accepts', async (path, command) => {
    const cwd = scratchDirectory();
    mkdirSync(join(cwd, 'dist'));
    for (const [file, text] of Object.entries(FILES)) writeFileSync(join(cwd, file), text);
    const env = { FREEHOLD_URL: 'http://api.localhost:1', FREEHOLD_TOKEN: 'fh_none' };
    if (path === 'imports create') writeFileSync(join(cwd, 'copy.sqlite'), 'SQLite format 3\0');
    for (const { line } of command.examples) {
      const sent: Request[] = [];
      const fetch = async (request: Request) => {
        sent.push(request);
        return Response.json({}, { status: 418 });
      };
      const ended = await runLine(commands, wordsOf(line).slice(1), { cwd, env, fetch });
      expect(sent.length, `${line}: ${ended.stderr}`).toBe(1);
      expect(sent[0]?.method).toBe(
        adminOperations[path.replace(' ', '.') as keyof typeof adminOperations].method,
      );
    }
  });

  const manifest = {
    slug: 'fieldwork',
    name: 'Fieldwork',
    version: '1.4.0',
    permissions: { 'job.read': 'Read jobs' },
    roles: { owner: { name: 'Owner', permissions: ['job.read'] } },
    ownerRole: 'owner',
    entities: {},
    env: {},
  };
  const FILES = {
    'key.txt': 'a-key-that-is-long-enough\n',
    'config.json': '{"currency":"EUR"}',
    'from.json': '{"backup":"bkp_01jd0000000000000000000000"}',
    'manifest.json': JSON.stringify(manifest),
    'module.json': JSON.stringify({ name: 'main.js', mediaType: 'text/javascript', base64: '' }),
    'dist/manifest.json': JSON.stringify(manifest),
    'dist/main.js': 'export {}',
  };
});

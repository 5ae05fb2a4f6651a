/** Completion offers words, options and values, as a shell asks for them. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runLine, scratchDirectory } from '../../test/world.ts';
import { commands } from '../commands.ts';
import { completionScript, SHELLS } from './scripts.ts';

/** Returns what bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const directory = scratchDirectory();
  const script = join(directory, 'completion.bash');
  writeFileSync(script, completionScript(commands, 'bash'));
  const typed = ['freehold', ...words].map((word) => `'${word}'`).join(' ');
  const program = `source ${script}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _freehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program], {
    encoding: 'utf8',
    cwd: directory,
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

test('words: nouns, then their verbs', () => {
  expect(offered('ten')).toEqual(['tenants', 'tenant-provisioner']);
  expect(offered('tenants', 'set')).toEqual(['set-status']);
  expect(offered('log')).toEqual(['logs', 'login', 'logout']);
});

test('options of the command, with both forms of a choice', () => {
  expect(offered('tenants', 'create', '--n')).toEqual(['--name']);
  expect(offered('scopes', 'reap', 'x', 'y', '--')).toEqual(
    expect.arrayContaining(['--backup', '--no-backup', '--dry-run', '--no-wait', '--json']),
  );
  expect(offered('login', '--d')).toEqual(['--device']);
});

test('values of an option, and of an argument', () => {
  expect(offered('tenants', 'list', '--status', 's')).toEqual(['suspended']);
  expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
});

test('files are offered where one can be named, and nowhere else', () => {
  expect(offered('tenants', 'create', '--name', 'comp')).toEqual([]);
  expect(offered('tenants', 'get', '')).toEqual([]);
  expect(offered('scopes', 'export', 'a', 'b', '--out', 'comp')).toEqual(['completion.bash']);
  expect(offered('query', 'run', 'a', 'b', '--sql', '@comp')).toEqual(['@completion.bash']);
  expect(offered('scope', 'open', 'comp')).toEqual(['completion.bash']);
});

test.each(SHELLS)('%s has every command', async (shell) => {
  const { status, stdout } = await runLine(commands, ['completion', shell]);
  expect(status).toBe(0);
  for (const { path } of commands.commands) for (const word of path) expect(stdout).toContain(word);
});

test('another shell is refused', async () => {
  const ended = await runLine(commands, ['completion', 'tcsh']);
  expect(ended).toMatchObject({
    status: 2,
    stderr: '<shell> cannot be used: it must be one of bash, zsh, fish.\n',
  });
});

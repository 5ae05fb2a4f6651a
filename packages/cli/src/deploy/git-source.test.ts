/** Spec C-13: the commit of a deployment is that of the builder's folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gitSource } from './git-source.ts';

let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freehold-git-'));
  // Neither the settings of this machine nor a repository around the folder play a part.
  env = {
    ...{ PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_CEILING_DIRECTORIES: folder },
    ...{ GIT_AUTHOR_NAME: 'Builder', GIT_AUTHOR_EMAIL: 'builder@example.com' },
    ...{ GIT_COMMITTER_NAME: 'Builder', GIT_COMMITTER_EMAIL: 'builder@example.com' },
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, env }).toString().trim();

test('names commit, branch and whether a file differs; a detached commit has no branch', async () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  expect(await gitSource(project, env)).toBeNull();
  git(project, 'init', '--quiet', '--initial-branch', 'next');
  // Before its first commit there is nothing to name.
  expect(await gitSource(project, env)).toBeNull();
  git(project, 'commit', '--quiet', '--allow-empty', '--message', 'Begin');
  const commit = git(project, 'rev-parse', 'HEAD');
  expect(await gitSource(project, env)).toEqual({ commit, ref: 'next', dirty: false });
  writeFileSync(join(project, 'new.ts'), '');
  expect(await gitSource(project, env)).toEqual({ commit, ref: 'next', dirty: true });
  git(project, 'checkout', '--quiet', '--detach');
  expect(await gitSource(project, env)).toMatchObject({ commit, ref: null });
});

test('without Git there is no commit', async () => {
  expect(await gitSource(folder, { PATH: folder })).toBeNull();
});

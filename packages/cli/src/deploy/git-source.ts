/** The commit of a builder's folder, for the record of who deployed what. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { VersionSource } from '@freehold/directory/declarations';
import type { World } from '../lib/world.ts';

const run = promisify(execFile);

/** Enough for the names of all files of a large repository. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** The longest name that a version keeps. */
const REF_CHARS_MAX = 200;

/** Returns the commit of a folder; null outside of a Git repository, before its first commit, and without Git. */
export async function gitSource(folder: string, env: World['env']): Promise<VersionSource | null> {
  // Nothing is locked: a commit that runs at the same time must not fail.
  const options = {
    cwd: folder,
    env: { ...env, GIT_OPTIONAL_LOCKS: '0' },
    maxBuffer: OUTPUT_BYTES_MAX,
  };
  const git = async (...args: readonly string[]): Promise<string | null> => {
    try {
      return (await run('git', args, options)).stdout.trim();
    } catch {
      return null;
    }
  };
  const commit = await git('rev-parse', '--verify', 'HEAD');
  if (commit === null) return null;
  const [ref, changed] = await Promise.all([
    git('symbolic-ref', '--short', '--quiet', 'HEAD'),
    git('status', '--porcelain'),
  ]);
  // Files that cannot be compared may differ.
  return { commit, ref: ref?.slice(0, REF_CHARS_MAX) ?? null, dirty: changed !== '' };
}

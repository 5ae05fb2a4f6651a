/** Runs commands one after the other, and prints each command and its end. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

/** Runs a step in the repository's root with the project's own Node and tools first in the path. Returns whether it succeeded. */
export function runStep({ name, command }: Step): boolean {
  console.log(`\n— ${name}: ${command.join(' ')}`);
  const [file, ...args] = command;
  const { status, error } = spawnSync(file, args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      WRANGLER_SEND_METRICS: 'false',
    },
  });
  if (error) console.error(`${name}: ${error.message}`);
  if (status !== 0) console.error(`— ${name} failed`);
  return status === 0;
}

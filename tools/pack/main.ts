/**
 * `npm run pack`: makes a tarball of every package, with JavaScript, declarations and source maps, that npm installs in a
 * folder without this repository. `--into FOLDER` says where (`dist/packages`); `--check` has publint and attw examine
 * them.
 */
import { globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runStep, type Step } from '../run.ts';
import { buildPackages } from './build.ts';
import { readPackageJson } from './workspaces.ts';

const { values } = parseArgs({
  options: {
    into: { type: 'string', default: 'dist/packages' },
    check: { type: 'boolean', default: false },
  },
});

async function requireStep(step: Step): Promise<void> {
  if (!(await runStep(step))) throw new Error(`${step.name} failed.`);
}

async function pack(into: string, scratch: string): Promise<void> {
  const folders = await buildPackages(scratch);
  mkdirSync(into, { recursive: true });
  for (const old of globSync('freehold-*.tgz', { cwd: into })) rmSync(join(into, old));
  await requireStep({
    name: 'pack',
    command: ['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', into, ...folders],
  });
  if (!values.check) return;
  for (const folder of folders) {
    await requireStep({
      name: 'publint',
      command: ['publint', 'run', folder, '--strict', '--pack', 'false'],
    });
    const { name, version, exports } = readPackageJson(join(folder, 'package.json'));
    // A program has no entry that is imported.
    if (exports === undefined) continue;
    const tarball = join(into, `${name.slice(1).replace('/', '-')}-${version}.tgz`);
    await requireStep({ name: 'attw', command: ['attw', tarball, '--profile', 'esm-only'] });
  }
}

const scratch = mkdtempSync(join(tmpdir(), 'freehold-pack-'));
try {
  const into = resolve(root, values.into);
  await pack(into, scratch);
  console.log(`${globSync('*.tgz', { cwd: into }).length} packages in ${into}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

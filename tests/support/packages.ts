/** The packages as a builder gets them: tarballs, which are installed in a folder without this repository. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type PackageJson, readPackageJson, readWorkspaces } from '../../tools/pack/workspaces.ts';

export const root = join(import.meta.dirname, '../..');
export const workspaces = readWorkspaces(root);

/** Entries that no program of Node imports: what runs in workerd needs modules that only workerd has, and one has types alone. */
const NOT_IMPORTED = ['@freehold/app/worker', '@freehold/app/worker/hosted', '@freehold/app/pages'];

/** The other entries of all packages, as they are imported. */
export const ENTRIES = workspaces
  .filter(({ packageJson }) => packageJson.name !== '@freehold/engine-workerd')
  .flatMap(({ packageJson: { name, exports = {} } }) =>
    Object.entries(exports)
      .filter(([, source]) => source.endsWith('.ts'))
      .map(([key]) => name + key.slice(1)),
  )
  .filter((entry) => !NOT_IMPORTED.includes(entry));

/** Returns the folder of the tarballs: the one that this run of `npm test` made, or one that is made below `home`. */
export function packagesFolder(home: string): string {
  const { FREEHOLD_PACKAGES } = process.env;
  if (FREEHOLD_PACKAGES) return FREEHOLD_PACKAGES;
  packInto(join(home, 'packages'));
  return join(home, 'packages');
}

/** Makes the tarballs of all packages. */
export function packInto(folder: string, ...options: string[]): void {
  execFileSync(process.execPath, [join(root, 'tools/pack/main.ts'), '--into', folder, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * Does the work of `npm install` without a network: unpacks the tarballs, and takes the libraries of other projects from
 * the repository, each by itself.
 */
export function unpackInto(project: string, tarballs: string): void {
  const modules = join(project, 'node_modules');
  for (const { directory, packageJson } of workspaces) {
    const { name, dependencies = {} } = packageJson;
    const folder = join(modules, name);
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(modules, '.bin'), { recursive: true });
    const tarball = `${name.slice(1).replace('/', '-')}-${packageJson.version}.tgz`;
    execFileSync('tar', ['-xzf', join(tarballs, tarball), '-C', folder, '--strip-components', '1']);
    const { bin = {} } = readPackageJson(join(folder, 'package.json'));
    for (const [program, file] of Object.entries(bin)) {
      const path = join(folder, file);
      chmodSync(path, 0o755);
      symlinkSync(path, join(modules, '.bin', program));
    }
    for (const library of Object.keys(dependencies)) {
      if (library.startsWith('@freehold/') || existsSync(join(modules, library))) continue;
      const found = [directory, root].map((at) => join(at, 'node_modules', library)).find(existsSync);
      if (found === undefined) throw new Error(`${name} needs ${library}, which is not installed.`);
      mkdirSync(dirname(join(modules, library)), { recursive: true });
      symlinkSync(found, join(modules, library));
    }
  }
}

/** Gives a project, beside our packages, everything else that the repository has, with the programs. */
export function installWithoutNetwork(project: string, tarballs: string): void {
  unpackInto(project, tarballs);
  const [from, to] = [join(root, 'node_modules'), join(project, 'node_modules')];
  const entries = readdirSync(from).flatMap((entry) =>
    /^(?:@|\.bin$)/.test(entry) ? readdirSync(join(from, entry)).map((each) => join(entry, each)) : [entry],
  );
  for (const entry of entries.filter((each) => !existsSync(join(to, each)))) {
    mkdirSync(dirname(join(to, entry)), { recursive: true });
    symlinkSync(join(from, entry), join(to, entry));
  }
}

/** Imports every entry in a project, and returns those that give nothing, with the reason. */
export function importEntries(project: string, node: string): readonly string[] {
  const program = join(project, 'import-entries.mjs');
  writeFileSync(
    program,
    `const failed = [];
    for (const entry of ${JSON.stringify(ENTRIES)})
      await import(entry).then(
        (found) => Object.keys(found).length > 0 || failed.push(entry + ' exports nothing'),
        (error) => failed.push(entry + ': ' + error.message),
      );
    console.log(JSON.stringify(failed));`,
  );
  return JSON.parse(execFileSync(node, [program], { cwd: project, encoding: 'utf8' }));
}

/** A package as it was unpacked. */
export interface Unpacked {
  readonly packageJson: PackageJson & { readonly peerDependencies?: Readonly<Record<string, string>> };
  /** Paths below the package, with `/`. */
  readonly files: readonly string[];
  readonly read: (path: string) => string;
}

export function unpacked(project: string, name: string): Unpacked {
  const folder = join(project, 'node_modules', name);
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
  const files = globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith('node_modules/'));
  return { packageJson: JSON.parse(read('package.json')), files, read };
}

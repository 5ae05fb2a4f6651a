/**
 * Checks that the lock file decides what an installation fetches: every package has the digest of its archive, and the
 * optional packages of every system are in it. `--fix` asks the registry, through npm, for what npm left out.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.ts';

export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** A workspace: a link to a folder of the repository. */
  readonly link?: boolean;
  /** It comes inside the archive of the package that depends on it. */
  readonly inBundle?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export type LockedPackages = Readonly<Record<string, LockedPackage>>;

interface Named {
  readonly where: string;
  readonly name: string;
  readonly version: string;
}

/** Optional packages that are not in the lock file: npm leaves out those of other systems, and `npm ci` refuses that. */
export function missingPackages(packages: LockedPackages): readonly Named[] {
  return Object.entries(packages).flatMap(([where, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(
        ([name]) => !(`node_modules/${name}` in packages) && !(`${where}/node_modules/${name}` in packages),
      )
      .map(([name, version]) => ({ where: `node_modules/${name}`, name, version })),
  );
}

/** Packages that are fetched although nothing says which bytes must arrive. */
export function unpinnedPackages(packages: LockedPackages): readonly Named[] {
  return Object.entries(packages)
    .filter(
      ([where, entry]) => isFetched(where, entry) && !/^sha(?:256|384|512)-\S+$/.test(entry.integrity ?? ''),
    )
    .map(([where, { version = '' }]) => ({ where, name: nameAt(where), version }));
}

/** The faults of a lock file, a sentence each. */
export function lockFaults(packages: LockedPackages): readonly string[] {
  return [
    ...missingPackages(packages).map(
      ({ name, version }) => `package-lock.json lacks ${name}@${version}: run \`npm run fix\`.`,
    ),
    ...unpinnedPackages(packages).map(
      ({ where, version }) =>
        `package-lock.json has no integrity for ${where} (${version}): run \`npm run fix\`.`,
    ),
    ...Object.entries(packages)
      .filter(
        ([where, { link, resolved }]) => where.includes('node_modules/') && !link && resolved !== undefined,
      )
      .map(
        ([where, { resolved }]) =>
          `package-lock.json fetches ${where} from ${resolved}: leave the address to each machine's registry.`,
      ),
  ];
}

/** Folders of the repository and what lies in another package's archive are not fetched. */
function isFetched(where: string, { link, inBundle }: LockedPackage): boolean {
  return where.includes('node_modules/') && link !== true && inBundle !== true;
}

function nameAt(where: string): string {
  return where.slice(where.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** The digest and the systems of a version, as the registry publishes them. */
function published({ name, version }: Named): LockedPackage {
  const fields = ['dist.integrity', 'os', 'cpu', 'libc', 'engines', 'license'];
  const said = execFileSync('npm', ['view', `${name}@${version}`, ...fields, '--json'], { encoding: 'utf8' });
  const { 'dist.integrity': integrity, os, cpu, libc, engines, license } = JSON.parse(said);
  return Object.fromEntries(
    Object.entries({ version, integrity, cpu, libc, license, os, engines }).filter(([, value]) => value),
  );
}

function main(): void {
  const path = join(root, 'package-lock.json');
  const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, LockedPackage> };
  if (process.argv.includes('--fix')) {
    const { packages } = lock;
    for (const each of missingPackages(packages))
      packages[each.where] = { ...published(each), dev: true, optional: true };
    for (const each of unpinnedPackages(packages))
      packages[each.where] = { ...packages[each.where], ...published(each) };
    const sorted = Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
  }
  for (const fault of lockFaults(lock.packages)) {
    console.error(fault);
    process.exitCode = 1;
  }
}

if (import.meta.main) main();

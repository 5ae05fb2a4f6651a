/**
 * Checks that the lock file names every optional package of every system; `npm ci` refuses it otherwise. npm leaves out
 * the packages of other systems. `--fix` adds them without an integrity hash, which is known only after a download.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.ts';

interface LockedPackage {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const path = join(root, 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, LockedPackage> };

/** Words in package names that say for which system a binary is. */
const SYSTEMS: Readonly<Record<string, string>> = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  openharmony: 'openharmony',
  win32: 'win32',
  windows: 'win32',
};
const PROCESSORS: Readonly<Record<string, string>> = {
  arm: 'arm',
  arm64: 'arm64',
  ia32: 'ia32',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  x64: 'x64',
  '64': 'x64',
};

const missing = Object.entries(lock.packages).flatMap(([where, { optionalDependencies = {} }]) =>
  Object.entries(optionalDependencies)
    .filter(
      ([name]) =>
        !(`node_modules/${name}` in lock.packages) && !(`${where}/node_modules/${name}` in lock.packages),
    )
    .map(([name, version]) => ({ name, version })),
);
const foreign = Object.entries(lock.packages).filter(
  ([, { resolved }]) => typeof resolved === 'string' && /^https?:/.test(resolved),
);

if (process.argv.includes('--fix')) {
  for (const { name, version } of missing) lock.packages[`node_modules/${name}`] = entryFor(name, version);
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
} else {
  for (const { name, version } of missing)
    console.error(`package-lock.json lacks ${name}@${version}; run \`npm run fix\`.`);
  for (const [where] of foreign) console.error(`package-lock.json names a registry's host for ${where}.`);
  process.exitCode = missing.length + foreign.length > 0 ? 1 : 0;
}

function entryFor(name: string, version: string): LockedPackage {
  const parts = name.split(/[/-]/);
  const os = parts.flatMap((part) => SYSTEMS[part] ?? []);
  const cpu = parts.flatMap((part) => PROCESSORS[part] ?? []);
  if (os.length === 0 || cpu.length === 0)
    throw new Error(`cannot tell from its name for which system ${name} is`);
  const libc = parts.some((part) => part.startsWith('musl'))
    ? ['musl']
    : parts.some((part) => part.startsWith('gnu'))
      ? ['glibc']
      : [];
  return {
    version,
    cpu,
    dev: true,
    ...(libc.length > 0 && os[0] === 'linux' ? { libc } : {}),
    optional: true,
    os,
  };
}

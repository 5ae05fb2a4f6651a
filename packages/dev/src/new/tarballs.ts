/** Reads a folder of Freehold's packages: projects install them from there until they are published. */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DevError } from '../lib/dev-error.ts';
import { isSystemError } from '../lib/file-failure.ts';

/** `npm pack` makes the name of the file of the package's name and version. */
const TARBALL = /^freehold-(?<name>[a-z\d-]+?)-\d+\.\d+\.\d+\S*\.tgz$/;

export interface Tarballs {
  /** The absolute path of the folder. */
  readonly folder: string;
  /** `@freehold/kernel` → the entry of a project's package.json that installs its tarball. */
  readonly entries: ReadonlyMap<string, string>;
}

/** @throws DevError `validation_failed` for a folder without packages, or with two versions of one. */
export function readTarballs(path: string): Tarballs {
  const folder = resolve(path);
  const entries = new Map<string, string>();
  for (const file of filesIn(folder).sort()) {
    const found = TARBALL.exec(file)?.groups?.name;
    if (found === undefined) continue;
    const name = `@freehold/${found}`;
    if (entries.has(name)) throw unusable(folder, `has two versions of ${name}`);
    entries.set(name, `file:${join(folder, file)}`);
  }
  if (entries.size === 0) throw unusable(folder, 'has no packages of Freehold');
  return { folder, entries };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}

function unusable(folder: string, why: string): DevError {
  return new DevError('validation_failed', `--packages cannot be used: ${folder} ${why}.`, {
    reason: 'no_packages',
    errors: [{ path: '--packages', message: why }],
  });
}

/**
 * Returns the fields of a package.json that make npm install our packages from the folder: those that the project
 * itself depends on, and as overrides those that they depend on.
 * @throws DevError `validation_failed` when the folder lacks one of the former.
 */
export function fromTarballs<Fields extends 'dependencies' | 'devDependencies'>(
  { folder, entries }: Tarballs,
  tables: Readonly<Record<Fields, Readonly<Record<string, string>>>>,
): Record<Fields | 'overrides', Record<string, string>> {
  const others = new Map(entries);
  const install = ([name, version]: [string, string]): [string, string] => {
    if (!name.startsWith('@freehold/')) return [name, version];
    const entry = entries.get(name);
    if (entry === undefined) throw unusable(folder, `has no ${name}`);
    others.delete(name);
    return [name, entry];
  };
  const own = Object.entries<Readonly<Record<string, string>>>(tables).map(([field, table]) => [
    field,
    Object.fromEntries(Object.entries(table).map(install)),
  ]);
  return { ...Object.fromEntries(own), overrides: Object.fromEntries(others) };
}

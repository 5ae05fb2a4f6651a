/** Lists the packages of the repository that are packed. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The fields of a package.json that packing reads. */
export interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  /** The files of the package beside its code, its README and its licence. */
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface Workspace {
  /** Its folder, absolute. */
  readonly directory: string;
  readonly packageJson: PackageJson;
}

const PLACES = ['packages/*', 'apps/*', 'examples/fieldwork'];
/** Suites for the tests of this repository. */
const UNPACKED = new Set(['@freehold/testkit']);

export function readWorkspaces(root: string): readonly Workspace[] {
  return PLACES.flatMap((place) => globSync(`${place}/package.json`, { cwd: root }))
    .sort()
    .map((path) => ({ directory: join(root, dirname(path)), packageJson: readPackageJson(join(root, path)) }))
    .filter(({ packageJson }) => !UNPACKED.has(packageJson.name));
}

export function readPackageJson(path: string): PackageJson {
  return JSON.parse(readFileSync(path, 'utf8')) as PackageJson;
}

/**
 * The files of an instance below the folder of its process, as workerd names them: the supervisor's own database, one for
 * each of its facets, and the list of the facets' names.
 */
import { createHash, createHmac } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The unique key of the objects (`config.ts`). workerd derives their ids and their folder from it. */
const UNIQUE_KEY = 'scopes';
const ID_BYTES = 16;
const FILE = /^([0-9a-f]{64})(?:\.(\d+))?\.(sqlite|facets)$/;

/** The files of one object. */
export interface ObjectFiles {
  /** Its id. */
  readonly object: string;
  readonly directory: string;
  /** Its databases, in the order in which they are copied: facets before the supervisor. */
  readonly databases: readonly string[];
  /** The list of its facets; null for none. */
  readonly facets: string | null;
}

/** The id of a scope's object: that of `getByName`. */
export function objectIdOf(scope: string): string {
  const key = createHash('sha256').update(UNIQUE_KEY).digest();
  const sign = (value: string | Uint8Array): Buffer =>
    createHmac('sha256', key).update(value).digest().subarray(0, ID_BYTES);
  const name = sign(scope);
  return Buffer.concat([name, sign(name)]).toString('hex');
}

/** @param folder that of the process. */
export function objectsIn(folder: string): string {
  return join(folder, 'objects', UNIQUE_KEY);
}

/** The objects that have files in a process's folder. */
export function listObjects(folder: string): readonly ObjectFiles[] {
  const directory = objectsIn(folder);
  const found = new Map<string, { databases: [facet: number, name: string][]; facets: string | null }>();
  for (const name of namesIn(directory)) {
    const [, object, facet, type] = FILE.exec(name) ?? [];
    if (object === undefined) continue;
    const files = found.get(object) ?? { databases: [], facets: null };
    found.set(object, files);
    if (type === 'sqlite') files.databases.push([Number(facet ?? 0), name]);
    else files.facets = name;
  }
  return [...found].map(([object, { databases, facets }]) => ({
    object,
    directory,
    databases: databases.sort(([one], [other]) => other - one).map(([, name]) => name),
    facets,
  }));
}

/** Whether the instance's own database is there, beside the supervisor's. Without it the scope was deleted, or a file was lost. */
export function hasInstance({ object, databases }: ObjectFiles): boolean {
  return databases.some((name) => name !== `${object}.sqlite`);
}

/** With less there is no table of an instance in it: workerd made it when it was asked about a database that was gone. */
const EMPTY_BYTES_MAX = 16_384;

/** Whether the database of an instance is gone, or empty. Opens nothing. @param folder that of its process. */
export function isGone(folder: string, scope: string): boolean {
  return isEmpty(join(objectsIn(folder), `${objectIdOf(scope)}.1.sqlite`));
}

/** Whether a database is gone, or empty, of which a copy has more. */
export function isEmptied(
  directory: string,
  { name, pages, pageSize }: { readonly name: string; readonly pages: number; readonly pageSize: number },
): boolean {
  return pages * pageSize > EMPTY_BYTES_MAX && isEmpty(join(directory, name));
}

function isEmpty(path: string): boolean {
  return (sizeOf(path) ?? 0) + (sizeOf(`${path}-wal`) ?? 0) <= EMPTY_BYTES_MAX;
}

/** The number of instances that have a database in a process's folder. */
export function countInstances(folder: string): number {
  return listObjects(folder).filter(hasInstance).length;
}

/** The size of a scope's databases on the disk, their logs included; null where it has none. Opens nothing. */
export function databaseBytes(folder: string, scope: string): number | null {
  const object = objectIdOf(scope);
  const sizes = ['.1.sqlite', '.sqlite'].flatMap((end) =>
    ['', '-wal'].map((log) => sizeOf(join(objectsIn(folder), `${object}${end}${log}`))),
  );
  return sizes[0] === null ? null : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Whether a name is one that {@link listObjects} gives to a file of this object. */
export function isFileOf(object: string, name: string): boolean {
  return FILE.exec(name)?.[1] === object;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

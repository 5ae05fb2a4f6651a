/** The paths of a unit's files under the data directory. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface UnitFiles {
  readonly kind: string;
  readonly key: string;
  readonly database: string;
  /** SQLite's write-ahead log; its name follows from the database's. */
  readonly wal: string;
  readonly shm: string;
  /** The directory of base copies and archived segments. */
  readonly history: string;
  /** The directory of named copies. */
  readonly snapshots: string;
}

export function unitFiles(dataDirectory: string, kind: string, key: string): UnitFiles {
  const database = join(dataDirectory, kind, `${key}.sqlite`);
  return {
    kind,
    key,
    database,
    wal: `${database}-wal`,
    shm: `${database}-shm`,
    history: join(dataDirectory, kind, `${key}.history`),
    snapshots: join(dataDirectory, kind, `${key}.snapshots`),
  };
}

/**
 * Returns the units that have a database in a data directory. Folders that cannot be read hold none of this process, as
 * `lost+found` of a disk does.
 */
export function unitsIn(dataDirectory: string): readonly Pick<UnitFiles, 'kind' | 'key'>[] {
  return readdirSync(dataDirectory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && KIND.test(entry.name))
    .flatMap(({ name: kind }) =>
      readableNames(join(dataDirectory, kind)).flatMap((file) => {
        const key = DATABASE.exec(file)?.[1];
        return key ? [{ kind, key }] : [];
      }),
    );
}

const KIND = /^[a-z][a-z0-9-]*$/;
const DATABASE = /^([a-zA-Z0-9_-]+)\.sqlite$/;

function readableNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw error;
  }
}

const ASIDE = '.damaged-';

/**
 * Returns the path under which a database is put aside that cannot be read: beside its place, with the moment (UTC) at
 * the end, such as `scp_….sqlite.damaged-20261124T142153Z`. SQLite finds its log beside it.
 */
export function asidePath({ database }: Pick<UnitFiles, 'database'>, atMs: number): string {
  const stamp = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const taken = (path: string): boolean => existsSync(path) || existsSync(`${path}-wal`);
  let path = `${database}${ASIDE}${stamp}`;
  for (let more = 2; taken(path); more++) path = `${database}${ASIDE}${stamp}-${more}`;
  return path;
}

/** Returns the files of a unit that were put aside: they hold its data, and are removed with it. */
export function asideFiles({ database }: Pick<UnitFiles, 'database'>): readonly string[] {
  const directory = dirname(database);
  const prefix = `${basename(database)}${ASIDE}`;
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(directory, name));
}

/** The directory of unfinished files. A start empties it. A kind cannot begin with a dot. */
export function workDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.work');
}

/** The directory of recorded swaps, which the next start finishes: see `units/swap.ts`. */
export function swapDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.swaps');
}

/** Where everything of a unit lies under the data directory. */
import { join } from 'node:path';

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

/** Files in the making. Nothing in it outlives the process: a start empties it. A kind cannot begin with a dot. */
export function workDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.work');
}

/** What was decided and is to be finished, also by the next start: see `copies/swap.ts`. */
export function swapDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.swaps');
}

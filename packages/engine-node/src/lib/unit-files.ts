/** The paths of a unit's files under the data directory. */
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

/** The directory of unfinished files. A start empties it. A kind cannot begin with a dot. */
export function workDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.work');
}

/** The directory of recorded swaps, which the next start finishes: see `units/swap.ts`. */
export function swapDirectory(dataDirectory: string): string {
  return join(dataDirectory, '.swaps');
}

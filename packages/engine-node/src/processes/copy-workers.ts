/** Functions for work on copies in another process, and the names of unfinished files. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CompressedCopy } from '../history/base-writer.ts';
import type { Way } from '../history/commits.ts';
import { workDirectory } from '../lib/unit-files.ts';
import type { CaptureRequest } from './capture.ts';
import type { Examined } from './examine.ts';
import type { Dumped, DumpRequest } from './ndjson-dump.ts';
import type { LoadRequest } from './ndjson-load.ts';
import { makeProcessPool } from './process-pool.ts';

export interface CopyWorkers {
  capture(request: CaptureRequest): Promise<null>;
  /** Compresses a file that does not change meanwhile into a durable file in the work directory. */
  compress(from: string): Promise<CompressedCopy>;
  examine(database: string): Promise<Examined>;
  materialise(way: Way, to: string): Promise<null>;
  dump(request: DumpRequest): Promise<Dumped>;
  load(request: LoadRequest): Promise<null>;
  /** Returns an unused path for a file that does not outlive this process. */
  newPath(): string;
  close(): void;
}

/** The number of copies at once: each keeps a disk and a processor busy. */
const PROCESSES_MAX = 2;
const WAITING_MAX = 1_000;
/** A row is in memory as text, as values and as bytes. */
const HEAP_MIB = 1_024;

/**
 * Makes the workers, and empties the work directory of files of earlier processes. A worker of a killed process may
 * still be running, so new files have unpredictable names.
 */
export function makeCopyWorkers(dataDirectory: string, newName: () => string): CopyWorkers {
  rmSync(workDirectory(dataDirectory), { recursive: true, force: true, maxRetries: 5 });
  const directory = join(workDirectory(dataDirectory), newName());
  const pool = makeProcessPool({
    script: new URL('./copy-process.ts', import.meta.url),
    processesMax: PROCESSES_MAX,
    waitingMax: WAITING_MAX,
    heapMax: HEAP_MIB,
  });
  let paths = 0;

  const newPath = (): string => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    paths += 1;
    return join(directory, String(paths));
  };

  return {
    capture: (input) => pool.run({ task: 'capture', input }),
    compress: (from) => pool.run({ task: 'compress', input: { from, to: newPath() } }),
    examine: (database) => pool.run({ task: 'examine', input: { database } }),
    materialise: (way, to) => pool.run({ task: 'materialise', input: { way, to } }),
    dump: (input) => pool.run({ task: 'dump', input }),
    load: (input) => pool.run({ task: 'load', input }),
    newPath,
    close: () => pool.close(),
  };
}

/** Removes a file of the work directory, with SQLite's files beside it. */
export function discard(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) rmSync(each, { force: true });
}

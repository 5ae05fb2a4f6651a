/** Notes what keeps the engine from storing or reading: reported when it begins, and listed while it lasts. */
import { statSync } from 'node:fs';
import { PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import { isDamaged, isUnreadable } from '../lib/sqlite-errors.ts';
import {
  probeStorage,
  type StorageFault,
  storageAdvice,
  storageFaultOf,
  storageProblem,
} from '../lib/storage-faults.ts';
import type { UnitFiles } from '../lib/unit-files.ts';

/** A unit that cannot be read, with the path of its database. */
export interface UnreadableUnit {
  readonly kind: string;
  readonly key: string;
  readonly path: string;
}

export interface StorageStatus {
  /** The fault that writes met, and the operator's sentence about it; null while they work. */
  readonly fault: { readonly reason: StorageFault; readonly detail: string } | null;
  readonly unreadable: readonly UnreadableUnit[];
}

/** The cause of `unit_unreadable`: it names the file, for the operator. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
  readonly unit: UnreadableUnit;

  constructor({ kind, key, database }: UnitFiles, cause: unknown) {
    const why = cause instanceof Error ? cause.message : 'it failed';
    super(`The database ${database} cannot be read: ${why}.`, { cause });
    this.unit = { kind, key, path: database };
  }
}

const MONITORED = new Set<string | undefined>([
  'unit_unreadable',
  'storage_full',
  'storage_read_only',
  'too_many_open_files',
]);

/** Whether the monitor has reported the fault that this error is about. */
export function isMonitored(error: unknown): boolean {
  return error instanceof PlatformError && MONITORED.has(error.reason);
}

/** A fault counts for so long after a write met it. From then on a probe tells whether it lasts. */
const RECENT_MS = 10_000;

export interface StorageMonitorOptions {
  readonly dataDirectory: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Tries to write. Default: {@link probeStorage}. For tests. */
  readonly probe?: (directory: string) => StorageFault | null;
}

/** State: the units whose last write failed, the fault they met, and the units that cannot be read. */
export class StorageMonitor {
  readonly #options: StorageMonitorOptions;
  /** The databases whose last write failed. */
  readonly failing: Set<string> = new Set();
  #fault: StorageFault | null = null;
  #metAtMs = 0;
  /** By path: the damaged file where a call met the damage, which another opening does not; null for a failed opening. */
  readonly #unreadable = new Map<string, { readonly unit: UnreadableUnit; readonly inode: number | null }>();

  constructor(options: StorageMonitorOptions) {
    this.#options = options;
  }

  get status(): StorageStatus {
    this.#checkAgain();
    return {
      fault: this.#fault && {
        reason: this.#fault,
        detail: storageAdvice(this.#fault, this.#options.dataDirectory),
      },
      unreadable: [...this.#unreadable.values()].map(({ unit }) => unit),
    };
  }

  /**
   * Returns the problem for the caller of a write or an opening that failed by a fault of the disk or a damaged file, and
   * notes it. Returns every other error as it is.
   */
  judge(files: UnitFiles, error: unknown): unknown {
    if (error instanceof PlatformError) return error;
    if (isDamaged(error)) return this.unreadable(files, error, inodeOf(files.database));
    const fault = this.#faultOf(error);
    if (fault === null) return error;
    this.failing.add(files.database);
    this.#metAtMs = this.#options.now();
    if (this.#fault !== fault) {
      this.#fault = fault;
      const detail = storageAdvice(fault, this.#options.dataDirectory);
      this.#report(new PlatformError('unavailable', detail, { reason: fault, cause: error }));
    }
    return storageProblem(fault, error);
  }

  /**
   * As {@link judge}, for an opening or a reading. A disk that could not be read says nothing about the file on it:
   * `unavailable`, reason `storage_failed`.
   */
  judgeRead(files: UnitFiles, error: unknown): unknown {
    const judged = this.judge(files, error);
    if (judged !== error || !isUnreadable(error)) return judged;
    return new PlatformError(
      'unavailable',
      'The disk of this platform could not be read. Try again in a moment. If that does not help, ask the operator: the log names the cause.',
      { reason: 'storage_failed', headers: { 'retry-after': '30' }, cause: error },
    );
  }

  /** A unit stored something. Called after a commit while something is {@link failing}. */
  wrote({ database }: Pick<UnitFiles, 'database'>): void {
    this.failing.delete(database);
    if (this.failing.size === 0) this.#fault = null;
  }

  /**
   * Notes a database that cannot be read, and returns the problem for its callers.
   * @param inode the damaged file of an open unit; null where the unit could not be opened.
   */
  unreadable(files: UnitFiles, cause: unknown, inode: number | null = null): PlatformError {
    const file = new UnreadableFile(files, cause);
    const known = this.#unreadable.get(files.database);
    this.#unreadable.set(files.database, { unit: file.unit, inode });
    const problem = new PlatformError(
      'unavailable',
      `The database of this ${files.kind} cannot be read, and was left untouched. Ask the operator of the platform: the log names the file, and the command that brings it back.`,
      { reason: 'unit_unreadable', cause: file },
    );
    if (!known) this.#options.onIncident(file, { kind: files.kind, key: files.key, method: 'open' });
    return problem;
  }

  isUnreadable({ database }: UnitFiles): boolean {
    return this.#unreadable.has(database);
  }

  /** A unit was opened. A file that is damaged in its middle can be opened, so only another file counts as whole. */
  opened({ database }: UnitFiles): void {
    const known = this.#unreadable.get(database);
    if (known && known.inode !== inodeOf(database)) this.#unreadable.delete(database);
  }

  /** A unit was removed: nothing of it is left to read or to write. */
  removed({ database }: UnitFiles): void {
    this.#unreadable.delete(database);
    this.wrote({ database });
  }

  #faultOf(error: unknown): StorageFault | null {
    const fault = storageFaultOf(error);
    if (fault !== 'unclear') return fault;
    const { probe = probeStorage, dataDirectory } = this.#options;
    return probe(dataDirectory);
  }

  /** Units that are not written to again would count as failing for ever. */
  #checkAgain(): void {
    const { probe = probeStorage, dataDirectory, now } = this.#options;
    if (this.#fault === null || Math.abs(now() - this.#metAtMs) < RECENT_MS) return;
    this.#metAtMs = now();
    this.#fault = probe(dataDirectory);
    if (this.#fault === null) this.failing.clear();
  }

  #report(error: PlatformError): void {
    this.#options.onIncident(error, { kind: 'platform', key: 'storage', method: 'write' });
  }
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

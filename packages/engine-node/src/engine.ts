/** The embedded engine: one SQLite file a unit under a data directory, all in one process. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { stat } from 'node:fs/promises';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  type Engine,
  type EngineTools,
  failureOf,
  type IncidentSink,
  makeStub,
  type Outcome,
  type UnitDefinition,
  type UnitMethods,
  type UnitOptions,
} from '@freehold/store';
import { requireFinished } from './archive/restore-data-directory.ts';
import { type ArchiveOptions, type ArchiveStatus, makeShipper, type Shipper } from './archive/shipper.ts';
import type { HistoryLimits } from './history/retention.ts';
import { makeInspectors } from './inspect/inspect-unit.ts';
import { type HistoryDisk, historyDisk } from './lib/durable-file.ts';
import { fileBudgetOf, openFilesLimit } from './lib/open-files.ts';
import { shuttingDown } from './lib/shutting-down.ts';
import type { StorageFault } from './lib/storage-faults.ts';
import { unitFiles } from './lib/unit-files.ts';
import { lockDirectory } from './lock.ts';
import { makeCopyWorkers } from './processes/copy-workers.ts';
import { makeUnitTools } from './unit-tools.ts';
import { type AnyUnit, type EngineParts, isWithoutCopies } from './units/engine-parts.ts';
import { makeOpenUnits, type OpenUnits } from './units/open-units.ts';
import { isMonitored, StorageMonitor, type StorageStatus } from './units/storage-monitor.ts';
import { openSwaps } from './units/swap.ts';
import { makeUnitAccess } from './units/unit-access.ts';

/** A diagnostics channel: each call of a unit with its kind, key and method, so that subscribers can count calls. */
const unitCalls = channel('freehold.unit.call');

const DAY_MS = 24 * 60 * 60 * 1_000;
const HISTORY_MS = 7 * DAY_MS;
const HISTORY_BYTES_MAX = 1024 * 1024 * 1024;
/** The longest wait of a shutdown for the archive. */
const SHIP_LAST_MS = 5_000;
const NO_ARCHIVE: ArchiveStatus = {
  state: 'off',
  units: 0,
  lagMs: 0,
  shippedAtMs: null,
  failures: 0,
  lastError: null,
};
/** About eight megabytes: twice SQLite's own default, since emptying the log is more work here. */
const LOG_FRAMES_MAX = 2_000;

export interface NodeEngineOptions {
  /** The directory that holds everything; it is made when it is missing. One process at a time may use it. */
  readonly dataDirectory: string;
  /**
   * Default: 256, or as many as the limit of open files allows (`fileBudgetOf`). The least recently used unit is closed
   * first; it reopens on its next call. A busy unit finishes its accepted calls before it is closed, so that the bound
   * holds under load too.
   */
  readonly openUnitsMax?: number;
  /** The length of the history of a unit, in milliseconds. Default 7 days; 0 keeps no history. */
  readonly historyMs?: number;
  /** The largest size of one unit's history in bytes: beyond it, the window becomes shorter. Default 1 GiB. */
  readonly historyBytesMax?: number;
  /** Whether a kind has a history. Default: `directory`, `identity`, and kinds that begin with `scope-`. */
  readonly hasHistory?: (kind: string) => boolean;
  /**
   * A second place for every unit, updated a moment after each commit. Default: none. It must belong to this data
   * directory, or have no owner.
   */
  readonly archive?: ArchiveOptions;
  /** The number of pages after which the log of a unit with a history is moved into its file. Default 2,000. */
  readonly logFramesMax?: number;
  /** Default: the system's clock, in milliseconds. */
  readonly now?: () => number;
  /** Default: the system's cryptographic source. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Receives unexpected errors. */
  readonly onIncident: IncidentSink;
  /** Writes the files of the history. For tests of a failing disk. */
  readonly historyDisk?: HistoryDisk;
  /** Tries to write into the data directory, and returns the fault. For tests of a failing disk. */
  readonly probeStorage?: (directory: string) => StorageFault | null;
  /** Receives a derived unit whose damaged file was put aside: it begins empty. It must not throw. */
  readonly onRenew?: (unit: { readonly kind: string; readonly key: string }) => void;
}

/** The embedded engine, with the tools of its operator. */
export interface NodeEngine extends Engine, EngineTools {
  /** The number of open databases. */
  readonly openUnits: number;
  /** Returns the state of the archive. */
  archiveStatus(): ArchiveStatus;
  /**
   * Whether the archive is known to be this data directory's, checked anew every few seconds. Nothing in it may be
   * changed or deleted otherwise. False without an archive; rejects with errors of the archive.
   */
  ownsArchive(): Promise<boolean>;
  /** Returns what keeps the engine from storing or reading at the moment. May write a small file to find out. */
  storageStatus(): StorageStatus;
  /** Ships all changes that the archive lacks. Rejects on a failure, which is retried in the background. */
  flushArchive(): Promise<void>;
  /**
   * Resolves once the archive has the commits that a unit without copies had at the call. Also resolves without an
   * archive, and when it is unavailable.
   */
  archived<M extends UnitMethods>(definition: UnitDefinition<M>, key: string): Promise<void>;
  /**
   * Removes the history of a unit that has left its window, also of an idle unit. Called for every unit about once a
   * day.
   */
  sweepHistory<M extends UnitMethods>(definition: UnitDefinition<M>, key: string): Promise<void>;
  /**
   * Returns the size of a unit's database file in bytes, without opening the unit; null for one that was never
   * created. The size excludes recent writes in the log (at most about eight megabytes), history and snapshots.
   */
  databaseBytes<M extends UnitMethods>(definition: UnitDefinition<M>, key: string): Promise<number | null>;
}

/**
 * Opens the engine on a data directory.
 * @throws PlatformError `unavailable`, reason `data_directory_in_use` or `data_directory_unusable`.
 */
export function openNodeEngine(options: NodeEngineOptions): NodeEngine {
  const { dataDirectory, onIncident } = options;
  const { openUnitsMax = fileBudgetOf(openFilesLimit()).openUnits } = options;
  requireFinished(dataDirectory);
  const unlock = lockDirectory(dataDirectory);
  const inspectors = makeInspectors();
  const random = options.random ?? makeRandomBytes();
  const parts: EngineParts = {
    dataDirectory,
    now: options.now ?? Date.now,
    random,
    onIncident,
    workers: makeCopyWorkers(dataDirectory, () => Buffer.from(randomBytes(8)).toString('hex')),
    swaps: orElse(() => openSwaps(dataDirectory), unlock),
    disk: options.historyDisk ?? historyDisk,
    storage: new StorageMonitor({
      dataDirectory,
      now: options.now ?? Date.now,
      onIncident,
      ...(options.probeStorage === undefined ? {} : { probe: options.probeStorage }),
    }),
    logFramesMax: options.logFramesMax ?? LOG_FRAMES_MAX,
    historyOf: makeHistoryOf(options),
    onChange: (files) => shipper?.touch(files),
    wasShipped: (files) => shipper?.wasShipped(files) ?? false,
    onRemove: (files) => shipper?.remove(files),
    onRenew: ({ kind, key }) => options.onRenew?.({ kind, key }),
  };
  const units = makeOpenUnits(parts, openUnitsMax);
  const shipper = options.archive && startShipper(parts, units, options.archive);
  let closing: Promise<void> | undefined;
  let isClosing = false;
  const closeTasks: (() => Promise<void>)[] = [];

  const requireOpen = (): void => {
    if (isClosing) throw shuttingDown();
  };

  const call = (
    definition: AnyUnit,
    key: string,
    unitOptions: UnitOptions,
    { method, input }: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    const { kind } = definition;
    try {
      requireOpen();
      if (unitCalls.hasSubscribers) unitCalls.publish({ kind, key, method });
      return units.find(definition, key, unitOptions).unit.call(method, input);
    } catch (error) {
      // The operator must learn of a unit that cannot be opened, though its caller gets a public text.
      const isExpected = error instanceof PlatformError && (error.status < 500 || isClosing);
      if (!isExpected && !isMonitored(error)) onIncident(causeOf(error), { kind, key, method });
      return Promise.resolve({ ok: false, failure: failureOf(error) });
    }
  };

  /** A derived unit that a call finds damaged is made anew, once, and the call is made again. */
  const callDerived = async (
    definition: AnyUnit,
    key: string,
    unitOptions: UnitOptions,
    what: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    const outcome = await call(definition, key, unitOptions, what);
    if (outcome.ok || outcome.failure.reason !== 'unit_unreadable') return outcome;
    return units.putAside(definition, key) ? call(definition, key, { create: true }, what) : outcome;
  };

  /** A call that no person waits for is put off while the log of its unit is emptied: others would wait for both. */
  const callInBackground = async (
    ...[definition, key, ...rest]: Parameters<typeof call>
  ): Promise<Outcome> => {
    const emptied = units.peek(unitFiles(dataDirectory, definition.kind, key))?.history?.caughtUp();
    if (emptied) await emptied;
    return call(definition, key, ...rest);
  };

  const closeAll = async (): Promise<void> => {
    if (closeTasks.length > 0) await Promise.allSettled(closeTasks.map((task) => task()));
    isClosing = true;
    // The shutdown does not wait for read-only statements.
    inspectors.close();
    await shipLast(shipper);
    try {
      await units.closeAll();
    } finally {
      parts.workers.close();
      unlock();
    }
  };

  const accessTo = (definition: AnyUnit, key: string) => {
    assertUnitKey(key);
    shipper?.know(definition);
    return makeUnitAccess(parts, units, {
      definition,
      files: unitFiles(dataDirectory, definition.kind, key),
    });
  };

  return {
    capabilities: { name: 'node', rewind: true },
    get openUnits() {
      return units.size;
    },
    unit: (definition, key, unitOptions = {}) => {
      assertUnitKey(key);
      shipper?.know(definition);
      const way = definition.copies === 'derived' ? callDerived : call;
      return makeStub((method, input) => {
        const chosen = definition.background?.includes(method) ? callInBackground : way;
        return chosen(definition, key, unitOptions, { method, input });
      });
    },
    tools: (definition, key) => makeUnitTools(accessTo(definition, key), { inspectors, requireOpen }),
    archiveStatus: () => shipper?.status ?? NO_ARCHIVE,
    ownsArchive: async () => (await shipper?.isOwned()) ?? false,
    storageStatus: () => parts.storage.status,
    flushArchive: async () => shipper?.flush(),
    archived: async (definition, key) => {
      assertUnitKey(key);
      shipper?.know(definition);
      await shipper?.shipped(unitFiles(dataDirectory, definition.kind, key));
    },
    sweepHistory: async (definition, key) => {
      requireOpen();
      await accessTo(definition, key).open().history?.sweep();
    },
    databaseBytes: async ({ kind }, key) => {
      requireOpen();
      assertUnitKey(key);
      return sizeOf(unitFiles(dataDirectory, kind, key).database);
    },
    beforeClose: (task) => void closeTasks.push(task),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(orMissing))?.size ?? null;
}

function orMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Runs `open`, and returns the directory when it fails. */
function orElse<T>(open: () => T, giveUp: () => void): T {
  try {
    return open();
  } catch (error) {
    giveUp();
    throw error;
  }
}

function makeHistoryOf(options: NodeEngineOptions): (definition: AnyUnit) => HistoryLimits | null {
  const {
    historyMs = HISTORY_MS,
    historyBytesMax = HISTORY_BYTES_MAX,
    hasHistory = (kind) => kind === 'directory' || kind === 'identity' || kind.startsWith('scope-'),
  } = options;
  return (definition) => {
    if (isWithoutCopies(definition)) return null;
    if (historyMs > 0 && hasHistory(definition.kind)) return { historyMs, historyBytesMax };
    // An archive consists of the same files; only the history that leads to the present is kept.
    return options.archive ? { historyMs: 0, historyBytesMax } : null;
  };
}

function startShipper(parts: EngineParts, units: OpenUnits, options: ArchiveOptions): Shipper {
  const random = (bytes: number): Buffer => Buffer.from(parts.random(bytes));
  return makeShipper({
    ...options,
    dataDirectory: parts.dataDirectory,
    now: parts.now,
    jitter: () => random(4).readUInt32BE() / 2 ** 32,
    newId: () => random(16).toString('hex'),
    accessTo: (definition, files) => makeUnitAccess(parts, units, { definition, files }),
    report: (error, { kind, key }) => parts.onIncident(error, { kind, key, method: 'archive' }),
  });
}

/** Changes that do not arrive in time are shipped after the next start. */
async function shipLast(shipper: Shipper | undefined): Promise<void> {
  if (!shipper) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, SHIP_LAST_MS);
  await Promise.race([shipper.flush().catch(() => undefined), late]);
  await Promise.race([shipper.stop(), late]);
  clearTimeout(timer);
}

function causeOf(error: unknown): unknown {
  return error instanceof PlatformError ? (error.cause ?? error) : error;
}

/** Randomness in small pieces, drawn from the system in large ones: a draw costs more than the bytes. */
const DRAWN_BYTES = 4_096;
/** Larger pieces are drawn separately. */
const PIECE_BYTES_MAX = 64;

/** Builds a cryptographic source of bytes. Each byte is given out once, and then cleared here. */
export function makeRandomBytes(): (bytes: number) => Uint8Array {
  const drawn = new Uint8Array(DRAWN_BYTES);
  let used = DRAWN_BYTES;
  return (bytes) => {
    if (bytes > PIECE_BYTES_MAX) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > DRAWN_BYTES) {
      randomFillSync(drawn);
      used = 0;
    }
    const piece = drawn.slice(used, used + bytes);
    // It may become a key.
    drawn.fill(0, used, used + bytes);
    used += bytes;
    return piece;
  };
}

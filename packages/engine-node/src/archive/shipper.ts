/**
 * Keeps an archive up to date in the background: decides which units are shipped and when, and counts failures. It
 * holds names, not bytes, so a store that is away for days costs only the delay.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { type UnitFiles, unitFiles } from '../lib/unit-files.ts';
import { type AnyUnit, isWithoutCopies } from '../units/engine-parts.ts';
import type { UnitAccess } from '../units/unit-access.ts';
import type { Archive } from './archive.ts';
import { requireOwnership } from './ownership.ts';
import { makeRemovals } from './removals.ts';
import {
  type RemoteUnit,
  readRemote,
  type SealArchive,
  shipPresent,
  shipUnit,
  UnitMoved,
} from './ship-unit.ts';

export interface ArchiveOptions {
  readonly archive: Archive;
  /** The delay between a commit and its shipping, in milliseconds. Default 1,000. */
  readonly intervalMs?: number;
  /** Encrypts the contents of units without copies. Default: no encryption. */
  readonly sealArchive?: SealArchive;
}

/** The state of the archive, for the operator. */
export interface ArchiveStatus {
  /** `refused`: the archive belongs to another data directory, and nothing is sent. */
  readonly state: 'off' | 'current' | 'shipping' | 'failing' | 'refused';
  /** The number of units with changes that the archive lacks. */
  readonly units: number;
  /** The age of the oldest such change, in milliseconds. */
  readonly lagMs: number;
  /** When a unit was last brought up to date. */
  readonly shippedAtMs: number | null;
  /** The number of failures in a row, and the last message. */
  readonly failures: number;
  readonly lastError: string | null;
}

export interface ShipperParts extends ArchiveOptions {
  readonly dataDirectory: string;
  readonly now: () => number;
  /** Returns a number from 0 to 1, to spread retries. */
  readonly jitter: () => number;
  readonly newId: () => string;
  readonly accessTo: (definition: AnyUnit, files: UnitFiles) => UnitAccess;
  readonly report: (error: unknown, files: UnitFiles) => void;
}

export interface Shipper {
  readonly status: ArchiveStatus;
  /** Registers a kind, so that its units are shipped which were not used yet. */
  know(definition: AnyUnit): void;
  /** Marks a unit as changed. Costs next to nothing. */
  touch(files: UnitFiles): void;
  /** Marks a unit as about to be removed. */
  remove(files: UnitFiles): void;
  /** Ships all changes; rejects with the first failure. */
  flush(): Promise<void>;
  /**
   * Resolves once the archive has the commits that a unit had at the call, and also when the archive is unavailable:
   * people must be able to work while it is away.
   */
  shipped(files: UnitFiles): Promise<void>;
  /** Starts no more work, and resolves when all of it has ended. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 1_000;
/** The first and the longest delay of a retry; it doubles in between. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** Number of units that are sent at once. */
const CONCURRENCY = 4;
/** Number of units whose archived objects are cached; the others are listed again. */
const REMEMBERED_MAX = 1_000;
/** The time for which the ownership is trusted. An operator may have restored the archive elsewhere and continue there. */
const OWNED_MS = 60_000;

export function makeShipper(parts: ShipperParts): Shipper {
  const { intervalMs = INTERVAL_MS, sealArchive = (bytes) => bytes, dataDirectory, now } = parts;
  const definitions = new Map<string, AnyUnit>();
  /** The units with changes, and the time of the first one, oldest first. */
  const waiting = new Map<string, { readonly files: UnitFiles; readonly sinceMs: number }>();
  /** For units without copies: the number of changes, and the number that the archive has. */
  const touches = new Map<string, { touched: number; shipped: number }>();
  const remotes = new Map<string, RemoteUnit>();
  const removals = makeRemovals(dataDirectory);
  /** The store itself failed in this round, rather than one unit: the others would only wait for it too. */
  let isDown = false;
  const archive = watched(parts.archive, () => {
    isDown = true;
  });
  let ownedAtMs: number | null = null;
  let isRefused = false;
  let isStopped = false;
  let failures = 0;
  let lastError: string | null = null;
  let shippedAtMs: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;

  const countOf = (files: UnitFiles): { touched: number; shipped: number } => {
    const known = touches.get(files.database) ?? { touched: 0, shipped: 0 };
    touches.set(files.database, known);
    return known;
  };

  const touch = (files: UnitFiles): void => {
    if (isWithoutCopiesOf(files)) countOf(files).touched += 1;
    if (waiting.has(files.database)) return;
    waiting.set(files.database, { files, sinceMs: now() });
    schedule(intervalMs);
  };

  const isWithoutCopiesOf = ({ kind }: UnitFiles): boolean => {
    const definition = definitions.get(kind);
    return definition !== undefined && isWithoutCopies(definition);
  };

  const schedule = (delayMs: number): void => {
    if (isStopped || isRefused || round) return;
    timer ??= setTimeout(() => void ship().catch(() => undefined), delayMs).unref();
  };

  /** One round after another, never two at once. */
  const ship = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    round ??= shipWaiting().finally(() => {
      round = undefined;
      if (waiting.size > 0) schedule(failures === 0 ? intervalMs : retryMs());
    });
    return round;
  };

  const retryMs = (): number =>
    Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (failures - 1)) * (0.5 + parts.jitter() / 2);

  const shipWaiting = async (): Promise<void> => {
    isDown = false;
    try {
      if (ownedAtMs === null || now() - ownedAtMs >= OWNED_MS) {
        await requireOwnership(archive, dataDirectory, parts.newId);
        ownedAtMs = now();
      }
    } catch (error) {
      isRefused = error instanceof PlatformError && error.reason === 'archive_not_ours';
      throw noteFailure(error, unitFiles(dataDirectory, 'archive', 'owner'));
    }
    const batch = [...waiting.values()];
    const errors: unknown[] = [];
    const lanes = Array.from({ length: CONCURRENCY }, async () => {
      for (let next = batch.shift(); next && !isDown; next = batch.shift())
        await shipOne(next.files, next.sinceMs).catch((error: unknown) => errors.push(error));
    });
    await Promise.all(lanes);
    if (errors.length > 0) throw errors[0];
    failures = 0;
    lastError = null;
  };

  const shipOne = async (files: UnitFiles, sinceMs: number): Promise<void> => {
    // Later changes are not part of this, and wait for the next round.
    waiting.delete(files.database);
    try {
      await bringUpToDate(files);
      shippedAtMs = now();
    } catch (error) {
      const newer = waiting.get(files.database);
      waiting.set(files.database, { files, sinceMs });
      if (error instanceof UnitMoved) return;
      if (error instanceof PlatformError && error.reason === 'unknown_unit') {
        if (!newer) waiting.delete(files.database);
        return;
      }
      throw noteFailure(error, files);
    }
  };

  const bringUpToDate = async (files: UnitFiles): Promise<void> => {
    if (removals.has(files)) {
      remotes.delete(files.database);
      await removals.carryOut(archive, files);
    }
    const definition = definitions.get(files.kind);
    if (!definition || !existsSync(files.database)) return;
    const unit = parts.accessTo(definition, files);
    if (isWithoutCopies(definition)) {
      const count = countOf(files);
      const { touched } = count;
      await shipPresent(archive, unit, sealArchive);
      count.shipped = touched;
      return;
    }
    const remote = remotes.get(files.database) ?? (await readRemote(archive, unit));
    // After any failure from here on, the archived objects are listed again.
    remotes.delete(files.database);
    await shipUnit(archive, unit, remote);
    remotes.set(files.database, remote);
    const [oldest] = remotes.keys();
    if (remotes.size > REMEMBERED_MAX && oldest !== undefined) remotes.delete(oldest);
  };

  const noteFailure = (error: unknown, files: UnitFiles): unknown => {
    if (failures === 0 || isRefused) parts.report(error, files);
    failures += 1;
    lastError = error instanceof Error ? error.message : 'it failed';
    return error;
  };

  const know = (definition: AnyUnit): void => {
    if (definitions.has(definition.kind)) return;
    definitions.set(definition.kind, definition);
    const directory = dirname(unitFiles(dataDirectory, definition.kind, 'any').database);
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      const key = /^([a-zA-Z0-9_-]+)\.sqlite$/.exec(name)?.[1];
      if (key) touch(unitFiles(dataDirectory, definition.kind, key));
    }
  };

  for (const files of removals.all()) touch(files);
  return {
    get status(): ArchiveStatus {
      const [oldest] = [...waiting.values()].map(({ sinceMs }) => sinceMs).sort((a, b) => a - b);
      return {
        state: stateOf({ isRefused, failures, waiting: waiting.size + (round ? 1 : 0) }),
        units: waiting.size,
        lagMs: oldest === undefined ? 0 : Math.max(0, now() - oldest),
        shippedAtMs,
        failures,
        lastError,
      };
    },
    know,
    touch,
    remove: (files) => {
      removals.add(files);
      touch(files);
    },
    flush: async () => {
      while (waiting.size > 0 || round) await ship();
    },
    shipped: async (files) => {
      const count = countOf(files);
      const { touched } = count;
      while (count.shipped < touched && !isStopped && !isRefused) {
        // Changes from before the kind was registered, or from after the start of the round, wait for the next round.
        if (!waiting.has(files.database) && !round) touch(files);
        try {
          await ship();
        } catch {
          // The unit may have arrived although another one did not.
          if (count.shipped < touched) return;
        }
      }
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await round?.catch(() => undefined);
    },
  };
}

/** Wraps an archive and reports every call that failed. */
function watched(archive: Archive, onFailure: () => void): Archive {
  const fail = (error: unknown): never => {
    onFailure();
    throw error;
  };
  return {
    put: (key, bytes) => archive.put(key, bytes).catch(fail),
    get: (key) => archive.get(key).catch(fail),
    list: async function* list(prefix) {
      try {
        yield* archive.list(prefix);
      } catch (error) {
        fail(error);
      }
    },
    delete: (key) => archive.delete(key).catch(fail),
  };
}

function stateOf(what: {
  readonly isRefused: boolean;
  readonly failures: number;
  readonly waiting: number;
}): ArchiveStatus['state'] {
  if (what.isRefused) return 'refused';
  if (what.failures > 0) return 'failing';
  return what.waiting > 0 ? 'shipping' : 'current';
}

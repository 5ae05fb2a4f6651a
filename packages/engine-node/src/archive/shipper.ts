/**
 * Keeps an archive up to date in the background: decides which units are shipped and when, and counts failures. It
 * holds names, not bytes, so a store that is away for days costs only the delay.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { type UnitFiles, unitFiles } from '../lib/unit-files.ts';
import { type AnyUnit, isDerived, isWithoutCopies } from '../units/engine-parts.ts';
import type { UnitAccess } from '../units/unit-access.ts';
import type { Archive } from './archive.ts';
import { unitPrefix } from './objects.ts';
import { makeOwnership, type Ownership } from './ownership.ts';
import { makeRemovals, type Removals } from './removals.ts';
import {
  type RemoteUnit,
  readRemote,
  type SealArchive,
  shipPresent,
  shipUnit,
  UnitMoved,
} from './ship-unit.ts';
import { openShippedUnits, type ShippedUnits } from './shipped-units.ts';

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
  /** Whether the archive has a copy of the unit from here, and its removal was not asked for. */
  wasShipped(files: UnitFiles): boolean;
  /**
   * Whether the archive is known to be this data directory's. False before the first round, and once it is refused.
   * Rejects with errors of the archive.
   */
  isOwned(): Promise<boolean>;
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
/** The time for which the ownership is trusted: the archive may have been restored elsewhere, and be continued there. */
const OWNED_MS = 5_000;

/** A unit with changes that the archive lacks. */
interface WaitingUnit {
  readonly files: UnitFiles;
  /** The time of the first change. */
  readonly sinceMs: number;
  /** Failures of this unit in a row, while the others went through. It waits by itself, and delays none of them. */
  readonly failures: number;
  readonly notBeforeMs: number;
}

export function makeShipper(parts: ShipperParts): Shipper {
  return new UnitShipper(parts);
}

class UnitShipper implements Shipper {
  readonly #parts: ShipperParts;
  readonly #intervalMs: number;
  readonly #archive: Archive;
  readonly #ownership: Ownership;
  readonly #removals: Removals;
  readonly #shippedUnits: ShippedUnits;
  readonly #definitions = new Map<string, AnyUnit>();
  /** By database, the longest waiting first. */
  readonly #waiting = new Map<string, WaitingUnit>();
  /** For units without copies: the number of changes, and the number that the archive has. */
  readonly #touches = new Map<string, { touched: number; shipped: number }>();
  readonly #remotes = new Map<string, RemoteUnit>();
  /** The store itself failed in this round, rather than one unit: the others would only wait for it too. */
  #isDown = false;
  #ownedAtMs: number | null = null;
  #isRefused = false;
  #isStopped = false;
  /** Rounds in a row that the store failed. */
  #failures = 0;
  #reported: 'outage' | 'refusal' | null = null;
  #lastError: string | null = null;
  #shippedAtMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;

  constructor(parts: ShipperParts) {
    const { dataDirectory, newId, intervalMs = INTERVAL_MS } = parts;
    this.#parts = parts;
    this.#intervalMs = intervalMs;
    this.#archive = watched(parts.archive, () => {
      this.#isDown = true;
    });
    this.#ownership = makeOwnership(this.#archive, dataDirectory, newId);
    this.#shippedUnits = openShippedUnits(dataDirectory);
    this.#removals = makeRemovals(dataDirectory);
    for (const files of this.#removals.all()) this.touch(files);
  }

  get status(): ArchiveStatus {
    const waiting = [...this.#waiting.values()];
    const oldestMs = Math.min(...waiting.map(({ sinceMs }) => sinceMs));
    const failures = Math.max(this.#failures, ...waiting.map((unit) => unit.failures));
    return {
      state: stateOf({
        isRefused: this.#isRefused,
        failures,
        waiting: waiting.length + (this.#round ? 1 : 0),
      }),
      units: waiting.length,
      lagMs: waiting.length === 0 ? 0 : Math.max(0, this.#parts.now() - oldestMs),
      shippedAtMs: this.#shippedAtMs,
      failures,
      lastError: failures > 0 || this.#isRefused ? this.#lastError : null,
    };
  }

  know(definition: AnyUnit): void {
    const { kind } = definition;
    if (this.#definitions.has(kind)) return;
    this.#definitions.set(kind, definition);
    const { dataDirectory } = this.#parts;
    const directory = dirname(unitFiles(dataDirectory, kind, 'any').database);
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      const key = /^([a-zA-Z0-9_-]+)\.sqlite$/.exec(name)?.[1];
      if (!key) continue;
      const files = unitFiles(dataDirectory, kind, key);
      if (!isDerived(definition)) this.touch(files);
      // Earlier versions archived these too.
      else if (this.#shippedUnits.has(files)) this.remove(files);
    }
  }

  touch(files: UnitFiles): void {
    const definition = this.#definitions.get(files.kind);
    if (definition && isDerived(definition) && !this.#removals.has(files)) return;
    if (definition && isWithoutCopies(definition)) this.#countOf(files).touched += 1;
    if (this.#waiting.has(files.database)) return;
    this.#waiting.set(files.database, { files, sinceMs: this.#parts.now(), failures: 0, notBeforeMs: 0 });
    this.#schedule(this.#intervalMs);
  }

  remove(files: UnitFiles): void {
    this.#removals.add(files);
    this.#shippedUnits.delete(files);
    this.touch(files);
  }

  wasShipped(files: UnitFiles): boolean {
    return this.#shippedUnits.has(files) && !this.#removals.has(files);
  }

  async isOwned(): Promise<boolean> {
    if (this.#ownedAtMs === null || this.#isRefused) return false;
    await this.#requireOwned().catch((error: unknown) => {
      if (!this.#isRefused) throw error;
    });
    return !this.#isRefused;
  }

  async flush(): Promise<void> {
    while (this.#waiting.size > 0 || this.#round) await this.#ship(true);
  }

  async shipped(files: UnitFiles): Promise<void> {
    const count = this.#countOf(files);
    const { touched } = count;
    while (count.shipped < touched && !this.#isStopped && !this.#isRefused) {
      // Changes from before the kind was registered, or from after the start of the round, wait for the next round.
      if (!this.#waiting.has(files.database) && !this.#round) this.touch(files);
      try {
        await this.#ship(true);
      } catch {
        // The unit may have arrived although another one did not.
        if (count.shipped < touched) return;
      }
      // A database that is gone has nothing left to send, and each round would end at once.
      if (!this.#waiting.has(files.database) && !existsSync(files.database)) return;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#round?.catch(() => undefined);
  }

  #countOf(files: UnitFiles): { touched: number; shipped: number } {
    const known = this.#touches.get(files.database) ?? { touched: 0, shipped: 0 };
    this.#touches.set(files.database, known);
    return known;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped || this.#isRefused || this.#round) return;
    this.#timer ??= setTimeout(() => void this.#ship(false).catch(() => undefined), delayMs).unref();
  }

  /** One round after another, never two at once. @param isAll true includes the units that wait after a failure. */
  #ship(isAll: boolean): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#round ??= this.#shipWaiting(isAll).finally(() => {
      this.#round = undefined;
      if (this.#waiting.size > 0)
        this.#schedule(this.#failures === 0 ? this.#intervalMs : this.#retryMs(this.#failures));
    });
    return this.#round;
  }

  #retryMs(failures: number): number {
    return Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (failures - 1)) * (0.5 + this.#parts.jitter() / 2);
  }

  async #shipWaiting(isAll: boolean): Promise<void> {
    const nowMs = this.#parts.now();
    const batch = [...this.#waiting.values()].filter(({ notBeforeMs }) => isAll || notBeforeMs <= nowMs);
    if (batch.length === 0) return;
    this.#isDown = false;
    const errors: unknown[] = [];
    try {
      await this.#requireOwned();
      const lanes = Array.from({ length: CONCURRENCY }, async () => {
        for (let next = batch.shift(); next && !this.#isDown && !this.#isRefused; next = batch.shift())
          await this.#shipOne(next).catch((error: unknown) => errors.push(error));
      });
      await Promise.all(lanes);
    } finally {
      if (this.#isDown || this.#isRefused) this.#failures += 1;
      else [this.#failures, this.#reported] = [0, null];
    }
    if (errors.length > 0) throw errors[0];
  }

  async #requireOwned(): Promise<void> {
    const { now, dataDirectory } = this.#parts;
    // A clock that was set back must not make the trust last.
    if (this.#ownedAtMs !== null && Math.abs(now() - this.#ownedAtMs) < OWNED_MS) return;
    try {
      await this.#ownership.require();
      this.#ownedAtMs = now();
    } catch (error) {
      this.#isRefused ||= error instanceof PlatformError && error.reason === 'archive_not_ours';
      this.#noteOutage(error, unitFiles(dataDirectory, 'archive', 'owner'));
      throw error;
    }
  }

  async #shipOne(unit: WaitingUnit): Promise<void> {
    const { files, sinceMs } = unit;
    await this.#requireOwned();
    // Later changes are not part of this, and wait for the next round.
    this.#waiting.delete(files.database);
    try {
      await this.#bringUpToDate(files);
      this.#shippedAtMs = this.#parts.now();
    } catch (error) {
      const newer = this.#waiting.get(files.database);
      this.#waiting.set(files.database, { ...unit, sinceMs });
      if (error instanceof UnitMoved) return;
      if (error instanceof PlatformError && error.reason === 'unknown_unit') {
        if (!newer) this.#waiting.delete(files.database);
        return;
      }
      if (this.#isDown) this.#noteOutage(error, files);
      else this.#noteFailure(error, unit);
      throw error;
    }
  }

  async #bringUpToDate(files: UnitFiles): Promise<void> {
    if (this.#removals.has(files)) {
      this.#remotes.delete(files.database);
      await this.#removals.carryOut(this.#archive, files);
    }
    const definition = this.#definitions.get(files.kind);
    if (!definition || isDerived(definition) || !existsSync(files.database)) return;
    const unit = this.#parts.accessTo(definition, files);
    const remote = this.#remotes.get(files.database);
    if (!this.#shippedUnits.has(files)) {
      const { names } = await readRemote(this.#archive, unit);
      if (names.size > 0 && !this.#shippedUnits.wasLeftOut(files)) throw notFollowed(files);
      for (const name of names) await this.#archive.delete(unitPrefix(files) + name);
      this.#shippedUnits.add(files);
    }
    if (isWithoutCopies(definition)) {
      const count = this.#countOf(files);
      const { touched } = count;
      await shipPresent(this.#archive, unit, this.#parts.sealArchive ?? ((bytes) => bytes));
      count.shipped = touched;
    } else await this.#shipHistory(unit, remote ?? (await readRemote(this.#archive, unit)));
  }

  async #shipHistory(unit: UnitAccess, remote: RemoteUnit): Promise<void> {
    const { database } = unit.files;
    // After any failure from here on, the archived objects are listed again.
    this.#remotes.delete(database);
    await shipUnit(this.#archive, unit, remote);
    this.#remotes.set(database, remote);
    const [oldest] = this.#remotes.keys();
    if (this.#remotes.size > REMEMBERED_MAX && oldest !== undefined) this.#remotes.delete(oldest);
  }

  /** An outage is reported once, however many units and rounds meet it; so is a refusal. */
  #noteOutage(error: unknown, files: UnitFiles): void {
    const what = this.#isRefused ? 'refusal' : 'outage';
    if (this.#reported !== what) this.#parts.report(error, files);
    this.#reported = what;
    this.#lastError = messageOf(error);
  }

  #noteFailure(error: unknown, unit: WaitingUnit): void {
    if (unit.failures === 0) this.#parts.report(error, unit.files);
    const failures = unit.failures + 1;
    const notBeforeMs = this.#parts.now() + this.#retryMs(failures);
    this.#waiting.set(unit.files.database, { ...unit, failures, notBeforeMs });
    this.#lastError = messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it failed';
}

function notFollowed({ kind, key }: UnitFiles): PlatformError {
  return new PlatformError(
    'conflict',
    `The archive has a copy of ${kind} ${key} that this database does not continue. The copy stays as it is, and this database is not archived: restore from the archive, or move the copy (${unitPrefix({ kind, key })}) out of it.`,
    { reason: 'archive_not_followed' },
  );
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
    tidy: async () => archive.tidy?.().catch(fail),
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

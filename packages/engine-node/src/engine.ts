/** The embedded engine: one SQLite file a unit under a data directory, all in one process. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  type Engine,
  failureOf,
  type IncidentSink,
  makeStub,
  type Outcome,
  openUnit,
  type RunningUnit,
  type UnitDefinition,
  type UnitMethods,
  type UnitOptions,
  unknownUnit,
} from '@freehold/store';
import { lockDirectory } from './lock.ts';
import { type NodeDatabase, openNodeDatabase } from './node-database.ts';
import { isDamaged } from './sqlite-errors.ts';

/** How many databases stay open unless told otherwise: each costs about two file handles and its page cache. */
const OPEN_UNITS_MAX = 256;

export interface NodeEngineOptions {
  /** The directory that holds everything; it is made when it is missing. One process at a time may use it. */
  readonly dataDirectory: string;
  /**
   * Default 256. The least recently used unit is closed first; it reopens on its next call. A busy one finishes
   * what it was asked before it is closed, so that the bound holds under load too.
   */
  readonly openUnitsMax?: number;
  /** Default: the system's clock, in milliseconds. */
  readonly now?: () => number;
  /** Default: the system's cryptographic source. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Receives errors that nobody expected. */
  readonly onIncident: IncidentSink;
}

interface OpenUnit {
  readonly database: NodeDatabase;
  readonly unit: RunningUnit;
}

/** The embedded engine, with what its operator may ask of it. */
export interface NodeEngine extends Engine {
  /** How many databases are open at this moment. */
  readonly openUnits: number;
}

/**
 * Opens the engine on a data directory.
 * @throws PlatformError `unavailable`, reason `data_directory_in_use` or `data_directory_unusable`.
 */
export function openNodeEngine(options: NodeEngineOptions): NodeEngine {
  const {
    dataDirectory,
    openUnitsMax = OPEN_UNITS_MAX,
    now = Date.now,
    random = randomBytes,
    onIncident,
  } = options;
  const unlock = lockDirectory(dataDirectory);
  /** In order of use: the first is the least recently used. */
  const open = new Map<string, OpenUnit>();
  let closing: Promise<void> | undefined;

  const find = <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    path: string,
    unitOptions: UnitOptions,
  ): OpenUnit => {
    const found = open.get(path);
    if (found) {
      open.delete(path);
      open.set(path, found);
      return found;
    }
    if (!unitOptions.create && !existsSync(path)) throw unknownUnit(definition.kind);
    const opened = openFile(definition, key, path, unitOptions);
    makeRoom();
    open.set(path, opened);
    return opened;
  };

  const openFile = <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    path: string,
    unitOptions: UnitOptions,
  ): OpenUnit => {
    const database = openOrRefuse(path, definition.kind, unitOptions);
    try {
      const unit = openUnit(
        definition,
        {
          key,
          db: database.db,
          guarded: (guard) => database.guarded(guard),
          transact: (work) => database.transact(work),
          schedule: (task) => void setImmediate(task),
          now,
          random,
          onIncident,
        },
        unitOptions,
      );
      return { database, unit };
    } catch (error) {
      database.close();
      throw isDamaged(error) ? unreadable(definition.kind, error) : error;
    }
  };

  const makeRoom = (): void => {
    for (const [path, { unit, database }] of open) {
      if (open.size < openUnitsMax) return;
      unit.drain();
      // Only a unit whose call is on the stack right now is not idle after this.
      if (!unit.idle) continue;
      open.delete(path);
      database.close();
    }
  };

  const call = <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    path: string,
    unitOptions: UnitOptions,
    { method, input }: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    try {
      if (closing) throw shuttingDown();
      return find(definition, key, path, unitOptions).unit.call(method, input);
    } catch (error) {
      // A unit that cannot be opened is for the operator to know too, though its caller is told in our words.
      const isExpected = error instanceof PlatformError && (error.status < 500 || closing !== undefined);
      if (!isExpected) onIncident(causeOf(error), { kind: definition.kind, key, method });
      return Promise.resolve({ ok: false, failure: failureOf(error) });
    }
  };

  const closeAll = async (): Promise<void> => {
    // A transaction is synchronous: after one turn of the queue, none is on the stack.
    await Promise.resolve();
    for (const { unit, database } of open.values()) {
      unit.drain();
      database.close();
    }
    open.clear();
    unlock();
  };

  return {
    capabilities: { name: 'node', rewind: false },
    get openUnits() {
      return open.size;
    },
    unit: (definition, key, unitOptions = {}) => {
      assertUnitKey(key);
      const path = join(dataDirectory, definition.kind, `${key}.sqlite`);
      return makeStub((method, input) => call(definition, key, path, unitOptions, { method, input }));
    },
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof PlatformError ? (error.cause ?? error) : error;
}

function openOrRefuse(path: string, kind: string, { create }: UnitOptions): NodeDatabase {
  try {
    if (create) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openNodeDatabase(path);
  } catch (cause) {
    throw unreadable(kind, cause);
  }
}

function unreadable(kind: string, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The database of this ${kind} cannot be opened. It was left untouched.`,
    { reason: 'unit_unreadable', cause },
  );
}

function shuttingDown(): PlatformError {
  return new PlatformError('unavailable', 'The platform is shutting down. Try again in a moment.', {
    reason: 'shutting_down',
    headers: { 'retry-after': '5' },
  });
}

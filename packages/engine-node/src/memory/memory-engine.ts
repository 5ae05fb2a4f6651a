/**
 * The engine of a test: each unit is a SQLite database in memory, gone when it is closed. It has the rules of the
 * embedded engine (order of calls, transactions, guards) and none of its files: no history, copies or archive.
 */
import { createHash } from 'node:crypto';
import {
  assertUnitKey,
  type Engine,
  failureOf,
  type IncidentSink,
  makeStub,
  type Outcome,
  openUnit,
  type RunningUnit,
  type SqlRow,
  type SqlValue,
  type UnitDefinition,
  type UnitMethods,
  unknownUnit,
} from '@freehold/store';
import { type NodeDatabase, openNodeDatabase } from '../lib/node-database.ts';
import { shuttingDown } from '../lib/shutting-down.ts';

export interface MemoryEngineOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Receives unexpected errors. */
  readonly onIncident: IncidentSink;
}

export interface MemoryEngine extends Engine {
  /**
   * Runs one reading statement on a unit's database, the platform's own tables included.
   * @throws PlatformError `not_found`, reason `unknown_unit`; StatementRefused for a statement that writes.
   */
  query<M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    sql: string,
    ...params: readonly SqlValue[]
  ): SqlRow[];
}

/** Migrated databases by the digest of their migrations: applying them again costs 20 ms for each new unit. */
const images = new Map<string, Uint8Array>();
/** The number of migrated databases that a process keeps. */
const IMAGES_MAX = 64;

interface MemoryUnit {
  readonly unit: RunningUnit;
  readonly database: NodeDatabase;
}

// biome-ignore lint/suspicious/noExplicitAny: the engine moves the calls of every kind of unit; each types its own.
type AnyUnit = UnitDefinition<any>;

/** Opens an engine without a data directory. Several may be open at a time; none knows of another. */
export function openMemoryEngine({ now, random, onIncident }: MemoryEngineOptions): MemoryEngine {
  const units = new Map<string, MemoryUnit>();
  const closeTasks: (() => Promise<void>)[] = [];
  let isClosed = false;

  const find = (definition: AnyUnit, key: string, create: boolean): MemoryUnit => {
    const name = `${definition.kind}/${key}`;
    const found = units.get(name);
    if (found) return found;
    if (isClosed) throw shuttingDown();
    if (!create) throw unknownUnit(definition.kind);
    const opened = openMigrated(definition, (database) =>
      openUnit(
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
        { create: true },
      ),
    );
    opened.database.db.run('UPDATE _spine_migrations SET applied_at = ?', now());
    units.set(name, opened);
    return opened;
  };

  const call = async (
    definition: AnyUnit,
    key: string,
    create: boolean,
    { method, input }: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    try {
      return await find(definition, key, create).unit.call(method, input);
    } catch (error) {
      return { ok: false, failure: failureOf(error) };
    }
  };

  return {
    capabilities: { name: 'node', rewind: false },
    unit: (definition, key, { create = false } = {}) => {
      assertUnitKey(key);
      return makeStub((method, input) => call(definition, key, create, { method, input }));
    },
    query: (definition, key, sql, ...params) => {
      const { unit, database } = find(definition, key, false);
      unit.drain();
      return database.guarded({ protectedPrefix: '_spine_', readOnly: true }).all(sql, ...params);
    },
    beforeClose: (task) => void closeTasks.push(task),
    close: async () => {
      await Promise.allSettled(closeTasks.splice(0).map((task) => task()));
      isClosed = true;
      for (const { unit, database } of units.values()) {
        unit.drain();
        unit.end();
        database.close();
      }
      units.clear();
    },
  };
}

/** Opens a unit on a database that begins as a copy of a migrated one, where there is one. */
function openMigrated(definition: AnyUnit, open: (database: NodeDatabase) => RunningUnit): MemoryUnit {
  const digest = createHash('sha256')
    .update(JSON.stringify([definition.kind, definition.migrations]))
    .digest('hex');
  const image = images.get(digest);
  const database = openNodeDatabase(':memory:', image === undefined ? {} : { image });
  try {
    const unit = open(database);
    database.keepTempInMemory();
    if (image === undefined) {
      if (images.size >= IMAGES_MAX) images.delete(images.keys().next().value as string);
      images.set(digest, database.image());
    }
    return { unit, database };
  } catch (error) {
    database.close();
    throw error;
  }
}

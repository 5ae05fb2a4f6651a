/**
 * An engine whose every move the simulation chooses: units of `@freehold/store` over real SQLite files, with group
 * commit as in production and tools that copy files. The directory has the layout of the Node engine.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import {
  type Admission,
  type Admit,
  admissionOf,
  assertUnitKey,
  failureOf,
  makeStub,
  migrate,
  type Outcome,
  openUnit,
  type Replacing,
  type RunningUnit,
  type Swap,
  type UnitDefinition,
  type UnitMethods,
  type UnitOptions,
  type UnitTools,
  unknownUnit,
} from '@freehold/store';
import { type NodeDatabase, openNodeDatabase } from '../../../packages/engine-node/src/lib/node-database.ts';
import type { EngineParts, EngineUnderTest } from './engine-under-test.ts';

/** Disk faults that a unit cannot foresee. */
export interface DiskFaults {
  /** The disk fails while a group is committed, after all of its calls have run. */
  commitFails(kind: string, key: string): boolean;
  openFails(kind: string, key: string): boolean;
}

export interface SimEngineOptions extends EngineParts {
  /** Adds a task to those that may run now. */
  readonly schedule: (label: string, task: () => void) => void;
  readonly faults: DiskFaults;
  /** Wraps the disk of a unit with a defect, to show that the simulator finds it. */
  readonly tamper?: (database: NodeDatabase) => NodeDatabase;
}

interface OpenUnit {
  readonly database: NodeDatabase;
  readonly unit: RunningUnit;
}

export function openSimEngine(options: SimEngineOptions): EngineUnderTest {
  const { dataDirectory, now, random, schedule, faults, openUnitsMax } = options;
  const { tamper = (database) => database } = options;
  const open = new Map<string, OpenUnit>();
  let isClosed = false;
  let stages = 0;
  const stageDirectory = join(dataDirectory, 'staged');
  // Files that a crash left here were never in use.
  rmSync(stageDirectory, { recursive: true, force: true });
  mkdirSync(stageDirectory, { recursive: true });

  const pathOf = (kind: string, key: string) => join(dataDirectory, kind, `${key}.sqlite`);

  const close = (path: string, { unit, database }: OpenUnit): void => {
    unit.drain();
    if (!unit.idle) return;
    open.delete(path);
    database.close();
  };

  const openOne = <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    unitOptions: UnitOptions,
  ): RunningUnit => {
    const { kind } = definition;
    const path = pathOf(kind, key);
    const found = open.get(path);
    if (found) return found.unit;
    if (!unitOptions.create && !existsSync(path)) throw unknownUnit(kind);
    if (faults.openFails(kind, key))
      throw new PlatformError('unavailable', 'The disk failed.', { reason: 'unit_unreadable' });
    const first = open.entries().next().value;
    if (first && open.size >= openUnitsMax) close(...first);
    mkdirSync(dirname(path), { recursive: true });
    const database = tamper(openNodeDatabase(path));
    try {
      const unit = openUnit(
        definition,
        {
          key,
          db: database.db,
          guarded: (guard) => database.guarded(guard),
          transact: (work) =>
            database.transact(() => {
              work();
              if (faults.commitFails(kind, key)) throw new Error('the disk failed');
            }),
          schedule: (task) => schedule(`flush ${kind}/${key.slice(-4)}`, task),
          now,
          random,
          onIncident: () => undefined,
        },
        unitOptions,
      );
      open.set(path, { database, unit });
      return unit;
    } catch (error) {
      database.close();
      throw error;
    }
  };

  const call = async <M extends UnitMethods>(
    definition: UnitDefinition<M>,
    key: string,
    unitOptions: UnitOptions,
    { method, input }: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    try {
      if (isClosed) throw new PlatformError('unavailable', 'Shutting down.', { reason: 'shutting_down' });
      return await openOne(definition, key, unitOptions).call(method, input);
    } catch (error) {
      return { ok: false, failure: failureOf(error) };
    }
  };

  return {
    capabilities: { name: 'node', rewind: true },
    isPaced: true,
    hasSnapshots: false,
    unit: (definition, key, unitOptions = {}) => {
      assertUnitKey(key);
      return makeStub((method, input) => call(definition, key, unitOptions, { method, input }));
    },
    tools: (definition, key) =>
      makeSimTools({
        definition,
        key,
        path: pathOf(definition.kind, key),
        directory: join(dataDirectory, COPIES, definition.kind, key),
        now,
        newStage: () => {
          stages += 1;
          return join(stageDirectory, `${stages}.sqlite`);
        },
        turn: (label) => new Promise((resolve) => schedule(`${label} ${key.slice(-4)}`, resolve)),
        quiesce: () => {
          const path = pathOf(definition.kind, key);
          const found = open.get(path);
          if (found) close(path, found);
          if (open.has(path)) throw new Error('a tool ran inside of a call');
        },
      }),
    evict: (kind, key) => {
      const found = open.get(pathOf(kind, key));
      if (found) close(pathOf(kind, key), found);
    },
    abandon: async () => {
      isClosed = true;
      for (const { database } of open.values()) database.close();
      open.clear();
    },
    close: async () => {
      isClosed = true;
      for (const entry of open) close(...entry);
    },
  };
}

/** The number of copies that are kept of a unit: more than the model remembers. */
const COPIES_KEPT = 40;
const COPIES = 'copies';

/** Whether a file of the data directory is immutable. */
export function isSimCopy(dataDirectory: string, path: string): boolean {
  return path.startsWith(join(dataDirectory, COPIES, '/'));
}

interface CopyRecord {
  readonly bookmark: string;
  readonly atMs: number;
}

/** Makes the tools of one unit. Each closes the unit and works on its file between two calls. */
function makeSimTools<M extends UnitMethods>(parts: {
  readonly definition: UnitDefinition<M>;
  readonly key: string;
  readonly path: string;
  /** The directory of its copies. */
  readonly directory: string;
  readonly now: () => number;
  /** Returns a new staging file each time: several copies may be staged at once. */
  readonly newStage: () => string;
  readonly turn: (label: string) => Promise<void>;
  readonly quiesce: () => void;
}): UnitTools {
  const { definition, key, path, directory, now, newStage, turn, quiesce } = parts;
  const copyPath = (bookmark: string) => join(directory, `${bookmark}.sqlite`);

  const begin = async (label: string): Promise<void> => {
    await turn(label);
    if (!existsSync(path)) throw unknownUnit(definition.kind);
    quiesce();
    // A crash left a log behind, and the unit was not opened since.
    if (existsSync(`${path}-wal`)) openNodeDatabase(path).close();
  };
  const storedCopies = (): CopyRecord[] =>
    existsSync(directory)
      ? readdirSync(directory)
          .filter((name) => name.endsWith('.json'))
          .sort()
          .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as CopyRecord)
      : [];

  /** Stores a named copy of the unit. The unit is closed, so the file is complete. */
  const keep = (): CopyRecord => {
    mkdirSync(directory, { recursive: true });
    const before = storedCopies();
    const last = Number(before.at(-1)?.bookmark.slice(1) ?? 0);
    for (const { bookmark } of before.slice(0, -COPIES_KEPT)) {
      rmSync(join(directory, `${bookmark}.json`));
      rmSync(copyPath(bookmark));
    }
    const record = { bookmark: `b${String(last + 1).padStart(8, '0')}`, atMs: now() };
    copyFileSync(path, copyPath(record.bookmark));
    writeFileSync(join(directory, `${record.bookmark}.json`), JSON.stringify(record));
    return record;
  };

  /** Judges a staged file, while calls go on. */
  const judge = async (file: string, admit: Admit | Admission | undefined): Promise<void> => {
    let database: NodeDatabase;
    try {
      database = openNodeDatabase(file);
    } catch (cause) {
      throw damaged(cause);
    }
    try {
      const [check] = database.db.all<{ integrity_check: string }>('PRAGMA integrity_check');
      if (check?.integrity_check !== 'ok') throw damaged(null);
      const admission = admissionOf(admit);
      let seen: unknown;
      database.transact(() => {
        for (const set of definition.migrations) migrate(database.db, set, { nowMs: now() });
        definition.admit?.(database.db, key);
        seen = admission.look(database.db);
      });
      await admission.prepare(seen);
      database.transact(() => admission.admit(database.db));
    } finally {
      database.close();
    }
  };

  /** Replaces the unit's file between two calls. Returns the copy that leads back. */
  const takePlace = async (file: string, require: Parameters<Swap<unknown>>[0]): Promise<CopyRecord> => {
    await begin('take place');
    if (require) {
      const database = openNodeDatabase(path);
      try {
        require(database.db);
      } finally {
        database.close();
      }
    }
    const undo = keep();
    renameSync(file, path);
    return undo;
  };

  const unsupported = (): never => {
    throw new PlatformError('unsupported', 'Not in a simulation.', { reason: 'engine_cannot' });
  };

  return {
    examine: unsupported,
    export: async (format) => {
      if (format !== 'sqlite') unsupported();
      await begin('export');
      const bytes = readFileSync(path);
      return { format, bookmark: keep().bookmark, body: streamOf(bytes) };
    },
    restore: async (format, body, admit, replacing = atOnce) => {
      if (format !== 'sqlite') unsupported();
      const bytes = await bytesOf(body);
      await begin('restore');
      const file = newStage();
      writeFileSync(file, bytes);
      await judge(file, admit);
      const { bookmark: undo } = await replacing((require) => takePlace(file, require));
      return { tables: 0, rows: 0, undo };
    },
    bookmarks: async ({ limit }) => {
      await begin('bookmarks');
      const current = keep();
      const items = storedCopies().reverse().slice(0, limit);
      return { items, nextCursor: null, current, earliest: storedCopies()[0] ?? null };
    },
    rewind: async (target, admit, replacing = atOnce) => {
      await begin('rewind');
      const records = storedCopies();
      const record =
        'bookmark' in target
          ? records.find(({ bookmark }) => bookmark === target.bookmark)
          : records.findLast(({ atMs }) => atMs <= target.atMs);
      if (!record)
        throw new PlatformError('not_found', 'There is no such bookmark.', { reason: 'unknown_bookmark' });
      const file = newStage();
      copyFileSync(copyPath(record.bookmark), file);
      await judge(file, admit);
      const { bookmark: undo } = await replacing((require) => takePlace(file, require));
      return { ...record, undo };
    },
    remove: async () => {
      await turn('remove');
      quiesce();
      rmSync(path, { force: true });
      rmSync(directory, { recursive: true, force: true });
    },
    snapshot: unsupported,
    snapshots: unsupported,
    openSnapshot: unsupported,
    removeSnapshot: unsupported,
    inspect: unsupported,
  };
}

const atOnce: Replacing = (swap) => swap();

function damaged(cause: unknown): PlatformError {
  return new PlatformError('validation_failed', 'This copy is damaged.', { reason: 'copy_damaged', cause });
}

export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(new Uint8Array(bytes));
      controller.close();
    },
  });
}

export async function bytesOf(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

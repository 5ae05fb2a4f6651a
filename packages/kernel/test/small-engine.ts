/**
 * A small engine for property tests: each unit is a database file, and a process can die between any two steps of what
 * it is asked. It has the tools that the kernel uses, without processes of its own, so that thousands of sequences run
 * in a minute.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Admission,
  type Admit,
  admissionOf,
  type Engine,
  type EngineTools,
  makeStub,
  migrate,
  type Outcome,
  openUnit,
  type Replacing,
  type RunningUnit,
  type UnitDefinition,
  type UnitMethods,
  type UnitTools,
} from '@freehold/store';
import { type NodeDatabase, openNodeDatabase } from '../../engine-node/src/lib/node-database.ts';

/** The surroundings of a process of the platform. */
export interface World {
  readonly directory: string;
  now(): number;
  random(bytes: number): Uint8Array;
}

/** One process, which may die: from then on nothing that it waits for comes. */
export interface Life {
  isDead: boolean;
  /** After so many steps more it dies; null: it does not. */
  stepsLeft: number | null;
  readonly died: Promise<void>;
  die(): void;
}

export function newLife(stepsLeft: number | null): Life {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const life: Life = {
    isDead: false,
    stepsLeft,
    died,
    die: () => {
      life.isDead = true;
      resolve();
    },
  };
  return life;
}

/** A step of a process: it may die before it, and then never comes to it. */
export async function step(life: Life): Promise<void> {
  if (life.stepsLeft !== null) {
    life.stepsLeft -= 1;
    if (life.stepsLeft < 0) life.die();
  }
  if (life.isDead) await new Promise<never>(() => undefined);
}

interface Open {
  readonly database: NodeDatabase;
  readonly running: RunningUnit;
}

// biome-ignore lint/suspicious/noExplicitAny: it opens every kind of unit; each types its own.
type AnyUnit = UnitDefinition<any>;

export type SmallEngine = Engine &
  EngineTools & {
    /** Puts units away as they are: what they have in memory is gone, and what they committed is there. */
    crash(): void;
    readonly incidents: unknown[];
    /** Copies what a unit has committed. */
    copyOf(definition: { readonly kind: string }, key: string, to: string): void;
    /** Closes a unit in order, when it is open. */
    evict(definition: { readonly kind: string }, key: string): void;
  };

export function openSmallEngine(world: World, life: Life): SmallEngine {
  const open = new Map<string, Open>();
  const incidents: unknown[] = [];
  const closeTasks: (() => Promise<void>)[] = [];

  const find = (definition: AnyUnit, key: string, create: boolean): Open => {
    const path = unitPath(world, definition.kind, key);
    const found = open.get(path);
    if (found) return found;
    mkdirSync(dirname(path), { recursive: true });
    const isNew = !existsSync(path);
    const database = openNodeDatabase(path);
    try {
      const running = openUnit(
        definition,
        {
          key,
          db: database.db,
          guarded: (guard) => database.guarded(guard),
          transact: database.transact,
          schedule: (task) => void setImmediate(task),
          now: world.now,
          random: world.random,
          onIncident: (error) => incidents.push(error),
        },
        { create },
      );
      open.set(path, { database, running });
      return { database, running };
    } catch (error) {
      database.close();
      if (isNew) rmSync(path, { force: true });
      throw error;
    }
  };

  const put = (path: string): void => {
    const found = open.get(path);
    if (!found) return;
    open.delete(path);
    found.running.drain();
    found.running.end();
    found.database.close();
  };

  const call = async (
    definition: AnyUnit,
    key: string,
    create: boolean,
    { method, input }: { readonly method: string; readonly input: unknown },
  ): Promise<Outcome> => {
    await step(life);
    let outcome: Outcome;
    try {
      outcome = await find(definition, key, create).running.call(method, input);
    } catch (error) {
      const { toFailure, publicError } = await import('@freehold/contracts');
      outcome = { ok: false, failure: toFailure(publicError(error)) };
    }
    // It was done; whether the one who asked hears of it is another question.
    await step(life);
    return outcome;
  };

  return {
    capabilities: { name: 'node', rewind: true },
    incidents,
    copyOf: ({ kind }, key, to) => {
      const path = unitPath(world, kind, key);
      mkdirSync(dirname(to), { recursive: true });
      open.get(path)?.database.emptyLog('truncate');
      copyFileSync(path, to);
    },
    evict: ({ kind }, key) => put(unitPath(world, kind, key)),
    unit: <M extends UnitMethods>(definition: UnitDefinition<M>, key: string, options = {}) =>
      makeStub<M>((method, input) =>
        call(definition, key, (options as { create?: boolean }).create === true, { method, input }),
      ),
    tools: (definition, key) =>
      toolsOf(world, {
        life,
        definition,
        key,
        find: () => find(definition, key, false),
        put: () => put(unitPath(world, definition.kind, key)),
      }),
    beforeClose: (task) => void closeTasks.push(task),
    close: async () => {
      await Promise.all(closeTasks.map((task) => task()));
      life.die();
      for (const path of [...open.keys()]) put(path);
    },
    crash: () => {
      life.die();
      for (const { database } of open.values()) database.close();
      open.clear();
    },
  };
}

interface ToolParts {
  readonly life: Life;
  readonly definition: AnyUnit;
  readonly key: string;
  find(): Open;
  put(): void;
}

let copies = 0;

/** A copy is a file, and so is a bookmark: its name is the bookmark. */
function toolsOf(world: World, { life, definition, key, find, put }: ToolParts): UnitTools {
  const path = unitPath(world, definition.kind, key);
  const copy = (): string => {
    const { running, database } = find();
    running.drain();
    database.emptyLog('truncate');
    copies += 1;
    const to = join(world.directory, 'copies', String(copies));
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(path, to);
    return to;
  };
  const takePlace = async (
    from: string,
    admit: Admit | Admission | undefined,
    replacing: Replacing = (swap) => swap(),
  ): Promise<string> => {
    // Another file each time: a process that died has left its own as it was, log and all.
    copies += 1;
    const staged = `${from}-staged-${copies}`;
    copyFileSync(from, staged);
    const database = openNodeDatabase(staged);
    const admission = admissionOf(admit);
    try {
      let seen: unknown;
      database.transact(() => {
        for (const set of definition.migrations) migrate(database.db, set, { nowMs: world.now() });
        definition.admit?.(database.db, key);
        seen = admission.look(database.db);
      });
      await step(life);
      await admission.prepare(seen);
      await step(life);
      database.transact(() => admission.admit(database.db));
    } finally {
      database.close();
    }
    return replacing(async (require) => {
      await step(life);
      const undo = copy();
      require?.(find().database.db);
      put();
      copyFileSync(staged, path);
      await step(life);
      return undo;
    });
  };
  const unsupported = (): never => {
    throw new TypeError('the small engine has no such tool');
  };

  return {
    examine: unsupported,
    export: async (format) => {
      await step(life);
      const bytes = readFileSync(copy());
      return { format, bookmark: null, body: new Response(bytes).body as ReadableStream<Uint8Array> };
    },
    restore: async (_format, body, admit, replacing) => {
      copies += 1;
      const received = join(world.directory, 'copies', `received-${copies}`);
      mkdirSync(dirname(received), { recursive: true });
      writeFileSync(received, new Uint8Array(await new Response(body).arrayBuffer()));
      return { tables: 0, rows: 0, undo: await takePlace(received, admit, replacing) };
    },
    snapshot: async ({ id, name = null }) => {
      await step(life);
      return { id, name, bytes: 0, digest: '', bookmark: copy(), atMs: world.now() };
    },
    rewind: async (target, admit, replacing) => {
      const { bookmark } = target as { bookmark: string };
      return { bookmark, atMs: world.now(), undo: await takePlace(bookmark, admit, replacing) };
    },
    remove: async () => {
      await step(life);
      put();
      rmSync(path, { force: true });
    },
    snapshots: unsupported,
    openSnapshot: unsupported,
    removeSnapshot: unsupported,
    bookmarks: unsupported,
    inspect: unsupported,
  };
}

export function unitPath({ directory }: Pick<World, 'directory'>, kind: string, key: string): string {
  return join(directory, kind, `${key}.sqlite`);
}

/**
 * A history of objects, as Cloudflare keeps one and workerd does not: every state after a call, restored as the object
 * restarts. It is in the memory of the isolate, which the tests and the objects share.
 */
import type { PointInTime } from '../src/index.ts';

interface State {
  readonly bookmark: string;
  readonly atMs: number;
  readonly schema: readonly string[];
  readonly rows: readonly {
    readonly table: string;
    readonly rows: readonly Record<string, SqlStorageValue>[];
  }[];
}

interface Remembered {
  readonly states: State[];
  pending: State | null;
}

const objects = new Map<string, Remembered>();

function rememberedOf(name: string): Remembered {
  const found = objects.get(name) ?? { states: [], pending: null };
  objects.set(name, found);
  return found;
}

/** Remembers the present state, if there is a unit and it has changed. */
export function remember({ id, storage }: DurableObjectState, nowMs: number): void {
  const { states } = rememberedOf(id.name ?? '');
  const schema = storage.sql
    .exec<{ name: string; type: string; sql: string }>(
      `SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY rowid`,
    )
    .toArray();
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => name);
  if (tables.length === 0) return;
  const state = {
    schema: schema.map(({ sql }) => sql),
    rows: tables.map((table) => ({ table, rows: storage.sql.exec(`SELECT * FROM "${table}"`).toArray() })),
  };
  const last = states.at(-1);
  if (last && JSON.stringify([last.schema, last.rows]) === JSON.stringify([state.schema, state.rows])) return;
  states.push({ ...state, bookmark: String(states.length + 1).padStart(8, '0'), atMs: nowMs });
}

/** Restores the requested state, as the runtime does before the object is made. */
export function startAnew({ id, storage }: DurableObjectState): void {
  const remembered = rememberedOf(id.name ?? '');
  const { pending } = remembered;
  if (!pending) return;
  remembered.pending = null;
  storage.transactionSync(() => {
    storage.sql.exec('PRAGMA defer_foreign_keys = on');
    const named = (type: string): string[] =>
      storage.sql
        .exec<{ name: string }>(
          `SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
          type,
        )
        .toArray()
        .map(({ name }) => name);
    for (const type of ['view', 'trigger'])
      for (const name of named(type)) storage.sql.exec(`DROP ${type} "${name}"`);
    for (const name of named('table')) storage.sql.exec(`DELETE FROM "${name}"`);
    for (const name of named('table')) storage.sql.exec(`DROP TABLE "${name}"`);
    const isTable = (sql: string): boolean => sql.startsWith('CREATE TABLE');
    for (const sql of pending.schema.filter(isTable)) storage.sql.exec(sql);
    for (const { table, rows } of pending.rows)
      for (const row of rows)
        storage.sql.exec(
          `INSERT INTO "${table}" VALUES (${Object.keys(row)
            .map(() => '?')
            .join(', ')})`,
          ...Object.values(row),
        );
    for (const sql of pending.schema.filter((each) => !isTable(each))) storage.sql.exec(sql);
  });
}

/** The port to the simulated history. */
export function simulatedHistory(_storage: DurableObjectStorage, key: string): PointInTime {
  const remembered = rememberedOf(key);
  const newest = (): State => remembered.states.at(-1) as State;
  return {
    current: async () => newest().bookmark,
    at: async (ms) => {
      const found = remembered.states.findLast(({ atMs }) => atMs <= ms);
      if (!found) throw new Error('before the window');
      return found.bookmark;
    },
    restoreOnNextStart: async (bookmark) => {
      const found = remembered.states.find((state) => state.bookmark === bookmark);
      if (!found) throw new Error('no such bookmark');
      const before = newest();
      remembered.pending = found;
      // A rewind is a step forward in the history: the older state is its newest from then on.
      remembered.states.push({
        ...found,
        bookmark: String(remembered.states.length + 1).padStart(8, '0'),
        atMs: before.atMs,
      });
      return before.bookmark;
    },
  };
}

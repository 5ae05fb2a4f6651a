/**
 * The memory of a model: maps that can be rolled back to a mark, as a savepoint is, and copied and replaced, as a unit
 * is rewound. Values are never changed in place.
 */

export interface Table<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): void;
  readonly size: number;
  /** In the order of their keys. */
  values(): V[];
  keys(): string[];
}

/** The contents of every table at one moment. */
export type Contents = ReadonlyMap<string, ReadonlyMap<string, unknown>>;

export interface Tables {
  table<V>(name: string): Table<V>;
  /** Marks the current state for a rollback. */
  mark(): number;
  /** Undoes all changes since the mark. */
  rollback(mark: number): void;
  /** Makes all changes so far permanent. */
  commit(): void;
  readonly isDirty: boolean;
  /** Returns the tables themselves; {@link snapshot} copies them. */
  live(): Contents;
  /** Returns a copy of the contents. */
  snapshot(): Contents;
  /** Replaces the contents; that cannot be rolled back. */
  load(contents: Contents): void;
}

export function makeTables(): Tables {
  const maps = new Map<string, Map<string, unknown>>();
  let undo: { readonly map: Map<string, unknown>; readonly key: string; readonly before: unknown }[] = [];

  const mapOf = (name: string): Map<string, unknown> => {
    const map = maps.get(name) ?? new Map<string, unknown>();
    maps.set(name, map);
    return map;
  };

  return {
    table: <V>(name: string): Table<V> => {
      const map = mapOf(name) as Map<string, V>;
      const sorted = () => [...map.keys()].sort();
      return {
        get: (key) => map.get(key),
        has: (key) => map.has(key),
        set: (key, value) => {
          undo.push({ map, key, before: map.get(key) });
          map.set(key, value);
        },
        delete: (key) => {
          undo.push({ map, key, before: map.get(key) });
          map.delete(key);
        },
        get size() {
          return map.size;
        },
        values: () => sorted().map((key) => map.get(key) as V),
        keys: sorted,
      };
    },
    mark: () => undo.length,
    rollback: (mark) => {
      while (undo.length > mark) {
        const { map, key, before } = undo.pop() as (typeof undo)[number];
        if (before === undefined) map.delete(key);
        else map.set(key, before);
      }
    },
    commit: () => {
      undo = [];
    },
    get isDirty() {
      return undo.length > 0;
    },
    live: () => maps,
    snapshot: () => new Map([...maps].map(([name, map]) => [name, new Map(map)])),
    load: (contents) => {
      for (const [name, map] of maps) {
        map.clear();
        for (const [key, value] of contents.get(name) ?? []) map.set(key, value);
      }
      undo = [];
    },
  };
}

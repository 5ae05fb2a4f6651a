/**
 * The memory of a model: maps whose changes can be taken back to a mark, as a savepoint is rolled back, and whose
 * whole contents can be kept and put back, as a unit is rewound. Values are never changed in place.
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
  /** A place to come back to. */
  mark(): number;
  /** Takes back everything since then. */
  rollback(mark: number): void;
  /** From here on nothing before can be taken back. */
  commit(): void;
  readonly isDirty: boolean;
  /** The contents now. They are those of the tables themselves: see {@link snapshot}. */
  live(): Contents;
  /** A copy of the contents, that stays as it is. */
  snapshot(): Contents;
  /** Replaces the contents; that cannot be taken back. */
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

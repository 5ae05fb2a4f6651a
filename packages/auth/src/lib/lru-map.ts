/** A map that forgets the entry that was used least recently when it is full. */
export interface LruMap<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  /** Forgets the entries whose keys are meant. */
  deleteWhere(isMeant: (key: string) => boolean): void;
}

/** @param sizeMax how many entries are kept; at least one. */
export function makeLruMap<T>(sizeMax: number): LruMap<T> {
  // A Map keeps the order of insertion: what is used is inserted again, and the first is the oldest.
  const entries = new Map<string, T>();
  const set = (key: string, value: T): void => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size > Math.max(1, sizeMax)) entries.delete(entries.keys().next().value as string);
  };
  return {
    set,
    get: (key) => {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    deleteWhere: (isMeant) => {
      for (const key of entries.keys()) if (isMeant(key)) entries.delete(key);
    },
  };
}

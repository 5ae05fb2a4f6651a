/** The archive port: a second place for a data directory, with the few calls that every object store has. */

/**
 * Keys are paths of letters, digits, `_`, `-`, `.` and `/`. Each member may reject; the caller retries. An object is
 * complete or absent, and {@link list} and {@link get} find it as soon as {@link put} has resolved.
 */
export interface Archive {
  /** Stores an object, replacing the one under its key. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Returns null when there is none. */
  get(key: string): Promise<Uint8Array | null>;
  /** Yields every key with this prefix, in no particular order. */
  list(prefix: string): AsyncIterable<string>;
  /** Deletes an object; does nothing when it is absent. */
  delete(key: string): Promise<void>;
}

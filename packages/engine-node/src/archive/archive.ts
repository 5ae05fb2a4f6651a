/** Where a data directory is kept a second time: a few calls that every object store has. */

/**
 * Keys are paths of letters, digits, `_`, `-`, `.` and `/`. Each member may reject, and is then tried again. An object
 * is whole or not there, and is found by {@link list} and {@link get} as soon as {@link put} has resolved.
 */
export interface Archive {
  /** Stores an object, in place of whatever had its key. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is none. */
  get(key: string): Promise<Uint8Array | null>;
  /** Every key that begins so, in no particular order. */
  list(prefix: string): AsyncIterable<string>;
  /** Deletes an object; one that is not there is no error. */
  delete(key: string): Promise<void>;
}

/** The port to where backups lie: outside of the platform's own data, so that one outlives the other. */

export interface StoredBackup {
  readonly address: string;
  readonly bytes: number;
}

/**
 * A place for backups. An address is made by the platform: segments of lower-case letters, digits, `_`, `-` and `.`,
 * separated by `/`, such as `scopes/scp_…/bkp_….ndjson`. Members reject with a `PlatformError` `unavailable` when the
 * place cannot be reached or is full.
 */
export interface BackupStore {
  /**
   * Takes the bytes in as they come. They are there, durably, once it resolves, and not at all before; what was at the
   * address is replaced. A body that fails leaves nothing.
   */
  put(address: string, body: ReadableStream<Uint8Array>): Promise<StoredBackup>;
  /** The bytes, or null when there are none at this address. Cancelling it frees what it holds. */
  open(address: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Deleting what is not there is done. */
  delete(address: string): Promise<void>;
  /** Every backup whose address begins with this text. */
  list(prefix: string): AsyncIterable<StoredBackup>;
}

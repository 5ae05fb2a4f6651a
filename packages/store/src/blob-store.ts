/** The port to where the bytes of attachments lie: addressed by their content, one store for each scope. */

/** The checks of bytes while they come in. */
export interface BlobLimits {
  readonly bytesMax: number;
  /** Their number and SHA-256 (hexadecimal), when the sender said: what arrives must be that. */
  readonly bytes?: number | undefined;
  readonly digest?: string | undefined;
}

export interface StoredBlob {
  /** SHA-256, hexadecimal. */
  readonly digest: string;
  readonly bytes: number;
}

/** One blob as {@link BlobStore.list} tells of it. */
export interface BlobEntry extends StoredBlob {
  /** When its bytes last came in, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** The bytes of one scope. Members reject with a `PlatformError`, `unavailable` when the store cannot be reached. */
export interface BlobStore {
  /**
   * Takes bytes in as they come, and keeps them once they are whole and right: the same bytes twice are kept once.
   * @throws PlatformError `payload_too_large`; `validation_failed`, reason `digest_mismatch` or `length_mismatch`.
   */
  put(body: ReadableStream<Uint8Array>, limits: BlobLimits): Promise<StoredBlob>;
  /**
   * The bytes, checked against their digest while they leave: the stream fails at its end when they were damaged.
   * Null when there are none.
   */
  open(digest: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Deleting what is not there is done. */
  delete(digest: string): Promise<void>;
  list(): AsyncIterable<BlobEntry>;
  /** Removes everything of the scope. */
  clear(): Promise<void>;
}

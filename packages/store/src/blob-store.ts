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

/** A part of a blob, in bytes from its beginning. It lies in the blob, and is not empty. */
export interface ByteRange {
  readonly start: number;
  /** The byte after the last. */
  readonly end: number;
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
   * The bytes, or a range of them, checked before they leave (see `blob-chunks.ts`). Null when there are none.
   * @throws PlatformError `unavailable`, reason `blob_damaged`: at once where the first bytes are damaged, and as a
   * failure of the stream, before the first damaged byte, where later ones are.
   */
  open(digest: string, range?: ByteRange): Promise<ReadableStream<Uint8Array> | null>;
  /** Deleting what is not there is done. */
  delete(digest: string): Promise<void>;
  list(): AsyncIterable<BlobEntry>;
  /** Removes everything of the scope. */
  clear(): Promise<void>;
}

/** The port to a bucket, as far as attachments need it. R2 and S3 implement it. */

import type { ByteRange } from '@freehold/store';

/** An object in a listing. */
export interface BucketObject {
  readonly key: string;
  readonly bytes: number;
  /** The time of the last put by the bucket's clock, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** An upload of a large object. The object is absent until the upload is complete. */
export interface BucketUpload {
  /** Parts come in their order; all but the last have {@link PART_BYTES} bytes. */
  part(bytes: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  abort(): Promise<void>;
}

/** Objects by their keys. Members reject when the bucket is unavailable or refuses; their errors are for operators. */
export interface Bucket {
  /** Puts a whole object, or replaces it. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  upload(key: string): Promise<BucketUpload>;
  /** Copies an object of so many bytes. */
  copy(from: string, to: string, bytes: number): Promise<void>;
  /**
   * Returns an object, or the part that a range covers of it, and the size of the whole. The range begins in the object,
   * and may end beyond it.
   */
  get(
    key: string,
    range?: ByteRange,
  ): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly bytes: number } | null>;
  /** Does nothing when there is no such object. */
  delete(key: string): Promise<void>;
  /** Yields every object with this prefix, in the order of their keys. Objects that are put or deleted meanwhile may be missing. */
  list(prefix: string): AsyncIterable<BucketObject>;
}

/** R2 takes parts of one size, and neither R2 nor S3 one below 5 MiB but the last. */
export const PART_BYTES = 8 * 1_024 * 1_024;

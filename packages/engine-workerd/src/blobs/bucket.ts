/** The port to a bucket, as far as attachments need one. R2 and S3 are two of them. */

/** An object as a listing tells of it. */
export interface BucketObject {
  readonly key: string;
  readonly bytes: number;
  /** When it was last put there, by the bucket's clock: milliseconds since the epoch. */
  readonly atMs: number;
}

/** A large object on its way: nothing of it is there before it is complete. */
export interface BucketUpload {
  /** Parts come in their order; all but the last have {@link PART_BYTES} bytes. */
  part(bytes: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  abort(): Promise<void>;
}

/** Objects by their keys. Members reject when the bucket cannot be reached, or says no; what it says is for operators. */
export interface Bucket {
  /** Puts a whole object, or replaces it. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  upload(key: string): Promise<BucketUpload>;
  /** Copies an object of so many bytes. */
  copy(from: string, to: string, bytes: number): Promise<void>;
  get(key: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Deleting what is not there is done. */
  delete(key: string): Promise<void>;
  /** Every object whose key begins so. Objects that are put or deleted meanwhile may be missing. */
  list(prefix: string): AsyncIterable<BucketObject>;
}

/** R2 takes parts of one size, and neither R2 nor S3 one below 5 MiB but the last. */
export const PART_BYTES = 8 * 1_024 * 1_024;

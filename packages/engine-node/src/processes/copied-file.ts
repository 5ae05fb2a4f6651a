/** Copies files as streams, compressed or not, with their length and digest. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';

/** The length and the digest of a stream. */
export interface Counted {
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK_BYTES = 256 * 1024;

/** Compresses a file into a new one, which is durable when this resolves. */
export async function compressFile(
  from: string,
  to: string,
): Promise<{ readonly raw: Counted; readonly stored: Counted }> {
  const [raw, stored] = [meter(), meter()];
  const source = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  await pipeline(
    source,
    raw.stream,
    createZstdCompress(),
    stored.stream,
    createWriteStream(to, { flags: 'wx', mode: 0o600 }),
  );
  await syncClosed(to);
  return { raw: raw.counted(), stored: stored.counted() };
}

/** Decompresses a file into a new one; returns the counts of both. Does not synchronise. */
export async function expandFile(
  from: string,
  to: string,
): Promise<{ readonly raw: Counted; readonly stored: Counted }> {
  const [raw, stored] = [meter(), meter()];
  const source = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  await pipeline(
    source,
    stored.stream,
    createZstdDecompress(),
    raw.stream,
    createWriteStream(to, { flags: 'wx', mode: 0o600 }),
  );
  return { raw: raw.counted(), stored: stored.counted() };
}

export async function digestFile(path: string): Promise<Counted> {
  const counting = meter();
  await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), counting.stream, async (source) => {
    for await (const _ of source);
  });
  return counting.counted();
}

export async function syncClosed(path: string): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r+');
    await file.sync();
  } finally {
    await file?.close();
  }
}

function meter(): { readonly stream: Transform; counted(): Counted } {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => {
      bytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, counted: () => ({ bytes, sha256: hash.digest('hex') }) };
}

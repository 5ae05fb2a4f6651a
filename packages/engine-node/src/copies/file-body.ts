/** Streams a file of the work directory, and removes it when it was read or cancelled. */
import { open } from 'node:fs/promises';
import { discard } from './copy-workers.ts';

/**
 * Each piece passes the thread pool, two generators and a stream: with pieces of 64 KB that took as long as reading.
 */
const CHUNK_BYTES = 256 * 1024;

/** Text before and after the file's bytes. */
export interface Frame {
  readonly before?: string;
  readonly after?: string;
}

/** Reads as fast as the consumer asks. The file stays until the stream has ended, failed or been cancelled. */
export function fileBody(path: string, { before = '', after = '' }: Frame = {}): ReadableStream<Uint8Array> {
  const pieces = chunksOf(path, before, after);
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await pieces.return(undefined);
        // A generator that was never started runs no `finally`.
        discard(path);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* chunksOf(
  path: string,
  before: string,
  after: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  try {
    const file = await open(path, 'r');
    try {
      if (before !== '') yield new TextEncoder().encode(before);
      for (;;) {
        const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES);
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
      if (after !== '') yield new TextEncoder().encode(after);
    } finally {
      await file.close();
    }
  } finally {
    discard(path);
  }
  return undefined;
}

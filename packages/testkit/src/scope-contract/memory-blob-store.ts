/** A blob store that forgets everything with its process: for environments under test that have none of their own. */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { BlobStore } from '@freehold/store';

interface Held {
  readonly bytes: Uint8Array;
  readonly atMs: number;
}

/** The store of one scope. `now` is in milliseconds since the epoch. */
export function makeMemoryBlobStore(now: () => number): BlobStore {
  const held = new Map<string, Held>();
  return {
    put: async (body, { bytesMax, bytes, digest }) => {
      const all = await bytesOf(body, bytesMax);
      const found = createHash('sha256').update(all).digest('hex');
      if (bytes !== undefined && bytes !== all.length) throw refused('length_mismatch');
      if (digest !== undefined && digest !== found) throw refused('digest_mismatch');
      held.set(found, { bytes: all, atMs: now() });
      return { digest: found, bytes: all.length };
    },
    open: async (digest, range) => {
      const found = held.get(requireDigest(digest));
      return found ? streamOf(found.bytes.slice(range?.start, range?.end)) : null;
    },
    delete: async (digest) => void held.delete(requireDigest(digest)),
    list: async function* () {
      for (const [digest, { bytes, atMs }] of held) yield { digest, bytes: bytes.length, atMs };
    },
    clear: async () => held.clear(),
  };
}

function requireDigest(digest: string): string {
  if (/^[0-9a-f]{64}$/.test(digest)) return digest;
  throw new TypeError('a digest is 64 hexadecimal characters');
}

async function bytesOf(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of unbroken(body)) {
    length += chunk.length;
    if (length > bytesMax)
      throw new PlatformError('payload_too_large', `An attachment has at most ${bytesMax} bytes.`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** The sender is out of reach when a stream breaks off. */
async function* unbroken(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch((cause: unknown) => {
        throw new PlatformError('unavailable', 'The bytes broke off.', {
          reason: 'blob_store_failed',
          cause,
        });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
}

/** A stream of bytes, a few at a time: its reader must put them together. */
export function streamOf(bytes: Uint8Array | string, chunk = 64): ReadableStream<Uint8Array> {
  const all = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= all.length) return controller.close();
      controller.enqueue(all.slice(at, at + chunk));
      at += chunk;
    },
  });
}

function refused(reason: string): PlatformError {
  return new PlatformError('validation_failed', 'This is not what was announced.', { reason });
}

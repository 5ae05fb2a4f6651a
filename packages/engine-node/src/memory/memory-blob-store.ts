/** The bytes of attachments in memory, for tests. */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { BlobLimits, BlobStore, StoredBlob } from '@freehold/store';

/** Makes an empty store of one scope. */
export function makeMemoryBlobStore({ now }: { readonly now: () => number }): BlobStore {
  const blobs = new Map<string, { readonly bytes: Uint8Array<ArrayBuffer>; readonly atMs: number }>();
  return {
    put: async (body, limits) => {
      const bytes = await readAll(body, limits.bytesMax);
      const stored = { digest: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
      requireStated(stored, limits);
      blobs.set(stored.digest, { bytes, atMs: now() });
      return stored;
    },
    open: async (digest, range) => {
      const bytes = blobs.get(digest)?.bytes;
      return bytes === undefined ? null : new Blob([bytes.slice(range?.start, range?.end)]).stream();
    },
    delete: async (digest) => void blobs.delete(digest),
    list: async function* () {
      for (const [digest, { bytes, atMs }] of [...blobs]) yield { digest, bytes: bytes.length, atMs };
    },
    clear: async () => blobs.clear(),
  };
}

async function readAll(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax)
      throw new PlatformError('payload_too_large', `This is larger than ${bytesMax} bytes.`);
    chunks.push(new Uint8Array(chunk));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function requireStated(stored: StoredBlob, { bytes, digest }: BlobLimits): void {
  if (bytes !== undefined && bytes !== stored.bytes)
    throw new PlatformError('validation_failed', 'The bytes are not as many as was said.', {
      reason: 'length_mismatch',
    });
  if (digest !== undefined && digest !== stored.digest)
    throw new PlatformError('validation_failed', 'The bytes are not those that were promised.', {
      reason: 'digest_mismatch',
    });
}

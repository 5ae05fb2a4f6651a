/**
 * The bytes of attachments in the archive, beside the databases that the engine ships there: under
 * `blobs/<scope id>/<digest>`, sent a moment after they came in, and gone from there before they are gone from here.
 */
import type { Archive } from '@freehold/engine-node';
import type { BlobStore, IncidentSink } from '@freehold/store';

export interface BlobArchiveOptions {
  readonly archive: Archive;
  /** The local store of a scope. */
  readonly storeOf: (scopeId: string) => BlobStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether the archive is known to be this data directory's. Until then nothing is written to it or deleted from it. */
  readonly isOurs: () => boolean;
  readonly onIncident: IncidentSink;
}

/** How far the archive of attachments is. */
export interface BlobArchiveStatus {
  /** How many have not arrived there. */
  readonly waiting: number;
  /** How long the oldest of those has been waiting, in milliseconds. */
  readonly lagMs: number;
}

export interface BlobArchive {
  status(): BlobArchiveStatus;
  /** A scope's store whose bytes are archived too. */
  blobs(scopeId: string): BlobStore;
  /** Sends what never arrived, and deletes what belongs to no scope any more. For every scope there is. */
  reconcile(scopeIds: AsyncIterable<string>): Promise<void>;
  /** Sends what waits, once. What does not arrive is tried again by itself, also after the next start. */
  flush(): Promise<void>;
}

/** How long after a failure, or before the archive is known to be ours, it is tried again. */
const RETRY_MS = 15_000;
const PREFIX = 'blobs/';
const KEY = /^blobs\/([a-zA-Z0-9_-]+)\/([0-9a-f]{64})$/;
const keyOf = (scopeId: string, digest: string): string => `${PREFIX}${scopeId}/${digest}`;

export function makeBlobArchive(options: BlobArchiveOptions): BlobArchive {
  const { archive, storeOf, now, isOurs, onIncident } = options;
  const waiting = new Map<
    string,
    { readonly scopeId: string; readonly digest: string; readonly sinceMs: number }
  >();
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failed = false;

  const ship = async (): Promise<void> => {
    if (!isOurs()) return;
    // One after the other, so that one attachment is in memory at a time.
    for (const [key, blob] of waiting) {
      // One that fails stands at the end of the line from here on, so that it holds nobody back.
      waiting.delete(key);
      waiting.set(key, blob);
      const body = await storeOf(blob.scopeId).open(blob.digest);
      // Deleted since: there is nothing to keep.
      if (body) await archive.put(key, await bytesOf(body));
      waiting.delete(key);
      failed = false;
    }
  };
  const run = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running ??= ship()
      .catch((error: unknown) => {
        // Told once: a store that is away stays away for a while.
        if (!failed) onIncident(error, { kind: 'archive', key: 'attachments', method: 'put' });
        failed = true;
      })
      .finally(() => {
        running = undefined;
        const delayMs = failed || !isOurs() ? RETRY_MS : 0;
        if (waiting.size > 0) timer ??= setTimeout(() => void run(), delayMs).unref();
      });
    return running;
  };
  const enqueue = (scopeId: string, digest: string): void => {
    const key = keyOf(scopeId, digest);
    waiting.set(key, { scopeId, digest, sinceMs: waiting.get(key)?.sinceMs ?? now() });
    void run();
  };

  const clearArchived = async (scopeId: string): Promise<void> => {
    if (!isOurs()) return;
    for await (const key of archive.list(`${PREFIX}${scopeId}/`)) await archive.delete(key);
  };

  return {
    status: () => {
      const oldestMs = waiting.values().reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), now());
      return { waiting: waiting.size, lagMs: now() - oldestMs };
    },

    blobs: (scopeId) => {
      const store = storeOf(scopeId);
      return {
        ...store,
        put: async (body, limits) => {
          const stored = await store.put(body, limits);
          enqueue(scopeId, stored.digest);
          return stored;
        },
        delete: async (digest) => {
          // The archive first: what is still here is looked at again, and nothing remembers what was here.
          if (isOurs()) await archive.delete(keyOf(scopeId, digest));
          await store.delete(digest);
        },
        clear: async () => {
          await store.clear();
          await clearArchived(scopeId).catch((error: unknown) =>
            onIncident(error, { kind: 'archive', key: scopeId, method: 'clear' }),
          );
        },
      };
    },

    reconcile: async (scopeIds) => {
      if (!isOurs()) return;
      const archived = new Map<string, Set<string>>();
      for await (const key of archive.list(PREFIX)) {
        const [, scopeId, digest] = KEY.exec(key) ?? [];
        if (scopeId && digest) archived.set(scopeId, (archived.get(scopeId) ?? new Set()).add(digest));
      }
      for await (const scopeId of scopeIds) {
        for await (const { digest } of storeOf(scopeId).list())
          if (!archived.get(scopeId)?.has(digest)) enqueue(scopeId, digest);
        archived.delete(scopeId);
      }
      for (const scopeId of archived.keys()) await clearArchived(scopeId);
      await run();
    },

    flush: run,
  };
}

/** Fetches every attachment of an archive into the local stores. Answers how many there were. */
export async function restoreBlobs(
  archive: Archive,
  storeOf: (scopeId: string) => BlobStore,
): Promise<{ readonly restored: number; readonly damaged: number }> {
  const counts = { restored: 0, damaged: 0 };
  for await (const key of archive.list(PREFIX)) {
    const [, scopeId, digest] = KEY.exec(key) ?? [];
    const bytes = scopeId && digest ? await archive.get(key) : null;
    if (!bytes || !scopeId || !digest) continue;
    const body = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
    const isWhole = await storeOf(scopeId)
      .put(body, { bytesMax: bytes.length, digest })
      .then(() => true, isDamage);
    counts[isWhole ? 'restored' : 'damaged'] += 1;
  }
  return counts;
}

async function bytesOf(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Bytes that are not those of their name are left out; a full disk is not the archive's fault. */
function isDamage(error: unknown): false {
  if ((error as { reason?: unknown }).reason === 'digest_mismatch') return false;
  throw error;
}

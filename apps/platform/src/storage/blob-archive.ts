/**
 * Copies the bytes of attachments to the archive, beside the databases that the engine ships: under
 * `blobs/<scope id>/<digest>`, a moment after they are stored. A deletion deletes the copy first.
 */
import type { Archive } from '@freehold/engine-node';
import type { BlobStore, IncidentSink } from '@freehold/store';

export interface BlobArchiveOptions {
  readonly archive: Archive;
  /** The local store of a scope. */
  readonly storeOf: (scopeId: string) => BlobStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether the archive is known to be this data directory's. Otherwise it is not changed. May reject. */
  readonly isOurs: () => Promise<boolean>;
  readonly onIncident: IncidentSink;
}

export interface BlobArchiveStatus {
  /** The number of attachments that have not arrived. */
  readonly waiting: number;
  /** The age of the oldest of those, in milliseconds. */
  readonly lagMs: number;
}

/** The delay after a failure, or while the archive is not known to be ours. */
const RETRY_MS = 15_000;
const PREFIX = 'blobs/';
const KEY = /^blobs\/([a-zA-Z0-9_-]+)\/([0-9a-f]{64})$/;
const keyOf = (scopeId: string, digest: string): string => `${PREFIX}${scopeId}/${digest}`;

interface WaitingBlob {
  readonly scopeId: string;
  readonly digest: string;
  readonly sinceMs: number;
}

/** The archive of attachments. State: the attachments that have not arrived, by key, and the run or timer that sends them. */
export class BlobArchive {
  readonly #options: BlobArchiveOptions;
  readonly #waiting = new Map<string, WaitingBlob>();
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isDelayed = false;

  constructor(options: BlobArchiveOptions) {
    this.#options = options;
  }

  status(): BlobArchiveStatus {
    const nowMs = this.#options.now();
    const oldestMs = this.#waiting.values().reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), nowMs);
    return { waiting: this.#waiting.size, lagMs: nowMs - oldestMs };
  }

  /** A scope's store, which archives its bytes too. */
  readonly blobs = (scopeId: string): BlobStore => {
    const { archive, storeOf, isOurs, onIncident } = this.#options;
    const store = storeOf(scopeId);
    return {
      ...store,
      put: async (body, limits) => {
        const stored = await store.put(body, limits);
        this.#enqueue(scopeId, stored.digest);
        return stored;
      },
      delete: async (digest) => {
        // The archive first: after a failure the local bytes are still known, and are deleted again.
        if (await isOurs()) await archive.delete(keyOf(scopeId, digest));
        await store.delete(digest);
      },
      clear: async () => {
        await store.clear();
        await this.#clearArchived(scopeId).catch((error: unknown) =>
          onIncident(error, { kind: 'archive', key: scopeId, method: 'clear' }),
        );
      },
    };
  };

  /** Sends missing attachments, and deletes those of other scopes. @param scopeIds all scopes. */
  async reconcile(scopeIds: AsyncIterable<string>): Promise<void> {
    const { archive, storeOf, isOurs } = this.#options;
    if (!(await isOurs())) return;
    const archived = new Map<string, Set<string>>();
    for await (const key of archive.list(PREFIX)) {
      const [, scopeId, digest] = KEY.exec(key) ?? [];
      if (scopeId && digest) archived.set(scopeId, (archived.get(scopeId) ?? new Set()).add(digest));
    }
    for await (const scopeId of scopeIds) {
      for await (const { digest } of storeOf(scopeId).list())
        if (!archived.get(scopeId)?.has(digest)) this.#enqueue(scopeId, digest);
      archived.delete(scopeId);
    }
    for (const scopeId of archived.keys()) await this.#clearArchived(scopeId);
    await this.flush();
  }

  /** Sends the waiting attachments once. Failed ones are retried by themselves, also after the next start. */
  flush(): Promise<void> {
    const { onIncident } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#ship()
      .catch((error: unknown) => {
        // Reported once: an unreachable store stays so for a while.
        if (!this.#hasFailed) onIncident(error, { kind: 'archive', key: 'attachments', method: 'put' });
        this.#hasFailed = true;
        this.#isDelayed = true;
      })
      .finally(() => {
        this.#running = undefined;
        const delayMs = this.#isDelayed ? RETRY_MS : 0;
        if (this.#waiting.size > 0) this.#timer ??= setTimeout(() => void this.flush(), delayMs).unref();
      });
    return this.#running;
  }

  async #ship(): Promise<void> {
    const { archive, storeOf, isOurs } = this.#options;
    this.#isDelayed = !(await isOurs());
    if (this.#isDelayed) return;
    // One after the other, so that only one attachment is in memory.
    for (const [key, blob] of this.#waiting) {
      // Moves to the end of the queue, so that a failing one does not block the others.
      this.#waiting.delete(key);
      this.#waiting.set(key, blob);
      const body = await storeOf(blob.scopeId).open(blob.digest);
      // Null for one that was deleted since.
      if (body) await archive.put(key, await bytesOf(body));
      this.#waiting.delete(key);
      this.#hasFailed = false;
    }
  }

  #enqueue(scopeId: string, digest: string): void {
    const key = keyOf(scopeId, digest);
    const sinceMs = this.#waiting.get(key)?.sinceMs ?? this.#options.now();
    this.#waiting.set(key, { scopeId, digest, sinceMs });
    void this.flush();
  }

  async #clearArchived(scopeId: string): Promise<void> {
    const { archive, isOurs } = this.#options;
    if (!(await isOurs())) return;
    for await (const key of archive.list(`${PREFIX}${scopeId}/`)) await archive.delete(key);
  }
}

/** Fetches every attachment of an archive into the local stores. Returns the counts. */
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

/** Damaged bytes are left out; a full disk is not the archive's fault, and throws. */
function isDamage(error: unknown): false {
  if ((error as { reason?: unknown }).reason === 'digest_mismatch') return false;
  throw error;
}

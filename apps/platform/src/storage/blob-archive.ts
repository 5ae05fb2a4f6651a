/**
 * Copies the bytes of attachments to the archive, beside the databases that the engine ships: under
 * `blobs/<scope id>/<digest>`, as soon as they are stored. A deletion deletes the copy first.
 */
import { PlatformError } from '@freehold/contracts';
import type { Archive } from '@freehold/engine-node';
import type { BlobStore, IncidentSink } from '@freehold/store';
import type { BlobJournal, OwedBlob } from './blob-journal.ts';

export interface BlobArchiveOptions {
  readonly archive: Archive;
  /** The name of the archive: with each one, everything local is compared once. */
  readonly name: string;
  readonly journal: BlobJournal;
  /** The local store of a scope. */
  readonly storeOf: (scopeId: string) => BlobStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether the archive is known to be this data directory's. Otherwise it is not changed. May reject. */
  readonly isOurs: () => Promise<boolean>;
  readonly onIncident: IncidentSink;
}

export interface BlobArchiveStatus {
  /** The number of attachments that have not arrived or are yet to be deleted, and of scopes with such attachments. */
  readonly waiting: number;
  /** The age of the oldest of those, in milliseconds. */
  readonly lagMs: number;
}

/** The delay after a failure, or while the archive is not known to be ours. */
const RETRY_MS = 15_000;
/** Number of attachments that are sent at once. */
const CONCURRENCY = 4;
/** Of larger attachments one at a time is in memory. */
const SMALL_BYTES = 8 * 1024 * 1024;
type Deletion = Pick<OwedBlob, 'isDeleted'>;
const PREFIX = 'blobs/';
const KEY = /^blobs\/([a-zA-Z0-9_-]+)\/([0-9a-f]{64})$/;
const keyOf = (scopeId: string, digest: string | null): string => `${PREFIX}${scopeId}/${digest ?? ''}`;

/** The archive of attachments. State: what waits, by key, also on disk; the work on each key; the run or timer that sends. */
export class BlobArchive {
  readonly #options: BlobArchiveOptions;
  readonly #waiting: Map<string, OwedBlob>;
  readonly #sending = new Map<string, Promise<void>>();
  readonly #large = makeLock();
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isDelayed = false;

  constructor(options: BlobArchiveOptions) {
    this.#options = options;
    this.#waiting = new Map(options.journal.found.map((owed) => [keyOf(owed.scopeId, owed.digest), owed]));
  }

  status(): BlobArchiveStatus {
    const nowMs = this.#options.now();
    const oldestMs = this.#waiting.values().reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), nowMs);
    return { waiting: this.#waiting.size, lagMs: nowMs - oldestMs };
  }

  /** A scope's store, which archives its bytes too. */
  readonly blobs = (scopeId: string): BlobStore => {
    const { archive, storeOf, isOurs } = this.#options;
    const store = storeOf(scopeId);
    return {
      ...store,
      put: async (body, limits) => {
        const stored = await store.put(body, limits);
        await this.#enqueue(scopeId, stored.digest);
        void this.flush();
        return stored;
      },
      delete: (digest) => {
        const key = keyOf(scopeId, digest);
        return this.#exclusive(key, async () => {
          // The archive first: after a failure the local bytes are still known, and are deleted again.
          const owns = await isOurs();
          await (owns ? archive.delete(key) : this.#enqueue(scopeId, digest, { isDeleted: true }));
          await store.delete(digest);
          if (owns) this.#waiting.delete(key);
        }).then(() => void this.flush());
      },
      clear: async () => {
        await this.#enqueue(scopeId, null);
        for (const [key, { digest, ...owed }] of this.#waiting)
          if (owed.scopeId === scopeId && digest !== null) this.#waiting.delete(key);
        await store.clear();
        // A round that ran meanwhile found the bytes still here, and left their copies.
        this.#wait(scopeId, null);
        await this.flush();
        // The first may have been the end of that round.
        await this.flush();
      },
    };
  };

  /**
   * Sends what an earlier process left, and compares everything local with an archive that is new to this directory.
   * @param scopeIds all scopes.
   */
  async begin(scopeIds: AsyncIterable<string>): Promise<void> {
    const { journal, name, onIncident } = this.#options;
    await this.flush();
    if (!journal.isComparedWith(name))
      await this.reconcile(scopeIds).catch((error: unknown) =>
        onIncident(error, { kind: 'archive', key: 'attachments', method: 'list' }),
      );
  }

  /** Sends missing attachments, and deletes those of other scopes. @param scopeIds all scopes. */
  async reconcile(scopeIds: AsyncIterable<string>): Promise<void> {
    const { archive, storeOf, isOurs, journal, name } = this.#options;
    if (!(await isOurs())) return;
    const archived = new Map<string, Set<string>>();
    for await (const key of archive.list(PREFIX)) {
      const [, scopeId, digest] = KEY.exec(key) ?? [];
      if (scopeId && digest) archived.set(scopeId, (archived.get(scopeId) ?? new Set()).add(digest));
    }
    for await (const scopeId of scopeIds) {
      for await (const { digest } of storeOf(scopeId).list())
        if (!archived.get(scopeId)?.has(digest)) this.#wait(scopeId, digest);
      archived.delete(scopeId);
    }
    for (const scopeId of archived.keys()) this.#wait(scopeId, null);
    await journal.compared(name, () => [...this.#waiting.values()]);
    await this.flush();
  }

  /** Sends the waiting attachments once. Failed ones are retried by themselves, also after the next start. */
  flush(): Promise<void> {
    const { onIncident, journal } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#ship()
      .then(() => journal.settle(() => [...this.#waiting.values()]))
      .catch((error: unknown) => {
        // Reported once: an unreachable store stays so for a while.
        if (!this.#hasFailed) onIncident(error, { kind: 'archive', key: 'attachments', method: 'put' });
        this.#hasFailed = true;
        this.#isDelayed = true;
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#waiting.size > 0)
          this.#timer ??= setTimeout(() => void this.flush(), this.#isDelayed ? RETRY_MS : 0).unref();
      });
    return this.#running;
  }

  async #ship(): Promise<void> {
    while (this.#waiting.size > 0) {
      this.#isDelayed = !(await this.#options.isOurs());
      if (this.#isDelayed) return;
      const queue = [...this.#waiting];
      const lanes = Array.from({ length: CONCURRENCY }, async () => {
        for (let next = queue.shift(); next; next = queue.shift()) await this.#shipOne(...next);
      });
      for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason;
    }
  }

  async #shipOne(key: string, owed: OwedBlob): Promise<void> {
    if (this.#waiting.get(key) !== owed) return;
    // Moves to the end of the queue, so that a failing one does not block the others.
    this.#waiting.delete(key);
    this.#waiting.set(key, owed);
    await this.#exclusive(key, () => this.#send(key, owed));
    if (this.#waiting.get(key) === owed) this.#waiting.delete(key);
    this.#hasFailed = false;
  }

  /** Runs one thing at a time for a key: a copy on its way would arrive after its deletion. */
  #exclusive(key: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#sending.get(key) ?? Promise.resolve()).then(work);
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#sending.get(key) === settled) this.#sending.delete(key);
      });
    this.#sending.set(key, settled);
    return done;
  }

  async #send(key: string, { scopeId, digest, isDeleted }: OwedBlob): Promise<void> {
    const { archive, storeOf } = this.#options;
    if (digest === null) return this.#clearArchived(scopeId);
    const body = await storeOf(scopeId).open(digest);
    // Bytes that are missing here do not count as deleted.
    if (!body) return isDeleted && archive.delete(key);
    const release: { large?: () => void } = {};
    try {
      const bytes = await bytesOf(body, async () => {
        release.large = await this.#large();
      });
      if (this.#waiting.has(key)) await archive.put(key, bytes);
    } finally {
      release.large?.();
    }
  }

  /** Resolves when it is on the disk that the archive has yet to receive it. */
  async #enqueue(scopeId: string, digest: string | null, how: Deletion = {}): Promise<void> {
    await this.#options.journal.add(this.#wait(scopeId, digest, how)).catch((cause: unknown) => {
      throw new PlatformError('unavailable', 'The attachments are not available right now.', {
        reason: 'blob_store_failed',
        cause,
      });
    });
  }

  #wait(scopeId: string, digest: string | null, how: Deletion = {}): OwedBlob {
    const key = keyOf(scopeId, digest);
    const owed = { scopeId, digest, ...how, sinceMs: this.#waiting.get(key)?.sinceMs ?? this.#options.now() };
    this.#waiting.set(key, owed);
    return owed;
  }

  /** Deletes the archived attachments of a scope that are not here. Those on their way arrive before. */
  async #clearArchived(scopeId: string): Promise<void> {
    const { archive, storeOf } = this.#options;
    const prefix = keyOf(scopeId, null);
    for (const [key, sending] of this.#sending) if (key !== prefix && key.startsWith(prefix)) await sending;
    const present = new Set<string>();
    for await (const { digest } of storeOf(scopeId).list()) present.add(keyOf(scopeId, digest));
    for await (const key of archive.list(prefix)) if (!present.has(key)) await archive.delete(key);
  }
}

/** Returns a function that waits until the ones before have released. */
function makeLock(): () => Promise<() => void> {
  let last = Promise.resolve();
  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    return resolve;
  };
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

/** @param onLarge awaited once, before more than the small part of a large body is read. */
async function bytesOf(body: ReadableStream<Uint8Array>, onLarge: () => Promise<void>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    if (bytes <= SMALL_BYTES && bytes + chunk.byteLength > SMALL_BYTES) await onLarge();
    chunks.push(chunk);
    bytes += chunk.byteLength;
  }
  return Buffer.concat(chunks);
}

/** Damaged bytes are left out; a full disk is not the archive's fault, and throws. */
function isDamage(error: unknown): false {
  if ((error as { reason?: unknown }).reason === 'digest_mismatch') return false;
  throw error;
}

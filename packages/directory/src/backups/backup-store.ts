/**
 * The port to the place of backups, outside the platform's own data, so that one outlives the other; and moving copies
 * there: each is written, read back and compared.
 */
import { createHash } from 'node:crypto';
import { PlatformError, type ScopeExport } from '@freehold/contracts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { LongRun } from '../long-work/effects.ts';

export interface StoredBackup {
  readonly address: string;
  readonly bytes: number;
}

/**
 * A place for backups. The platform makes the addresses: segments of lower-case letters, digits, `_`, `-` and `.`,
 * separated by `/`, such as `scopes/scp_…/bkp_….ndjson`. Members reject with a `PlatformError` `unavailable` when the place
 * cannot be reached or is full.
 */
export interface BackupStore {
  /**
   * Stores the bytes as they come, and replaces those at the address. Once it resolves they are durable; before that none
   * is visible. A body that fails leaves nothing.
   */
  put(address: string, body: ReadableStream<Uint8Array>): Promise<StoredBackup>;
  /** The bytes, or null when there are none at this address. Cancelling the stream frees its resources. */
  open(address: string): Promise<ReadableStream<Uint8Array> | null>;
  /** Deletes the bytes; without any, it resolves too. */
  delete(address: string): Promise<void>;
  /** Every backup whose address begins with this text. */
  list(prefix: string): AsyncIterable<StoredBackup>;
}

/** The means of an effect that writes or reads backups. */
export interface BackupDeps extends EffectDeps {
  /** Null without a place for backups. */
  readonly backups: BackupStore | null;
}

/** Decided before a backup is made, so that a second attempt makes the same one. */
export interface BackupOrder {
  readonly id: string;
  readonly address: string;
}

export type WrittenBackup = BackupOrder & Pick<BackupRecord, 'format' | 'bytes' | 'sha256' | 'bookmark'>;

/** Reports the progress; throws when the work is to stop. */
type Progress = Pick<LongRun, 'progress'>;

/**
 * Writes a copy and reads it back. A failure leaves nothing at the address.
 * @throws PlatformError the error of the copy or of the store; `runtime_fault`, reason `backup_damaged`.
 */
export async function writeBackup(
  store: BackupStore,
  { id, address }: BackupOrder,
  { format, bookmark, body }: ScopeExport,
  run: Progress,
): Promise<WrittenBackup> {
  const meter = makeMeter();
  let failure: unknown;
  const counted = passThrough(body, {
    onBytes: (chunk) => {
      meter.add(chunk);
      run.progress({ done: meter.bytes, unit: 'bytes' });
    },
    // The caller is told the error of the body, and not the one that the store makes of it.
    onError: (error) => {
      failure = error;
    },
  });
  try {
    await store.put(address, counted);
    if (failure !== undefined) throw failure;
    const written = { id, address, format, bookmark, bytes: meter.bytes, sha256: meter.digest() };
    await verifyBackup(store, written, run);
    return written;
  } catch (error) {
    await store.delete(address).catch(() => undefined);
    throw failure ?? error;
  } finally {
    await body.cancel().catch(() => undefined);
  }
}

/**
 * Reads a backup from beginning to end.
 * @throws PlatformError `runtime_fault`, reason `backup_damaged`, when its bytes are missing or not those that were written.
 */
export async function verifyBackup(
  store: BackupStore,
  backup: Pick<BackupRecord, 'address' | 'bytes' | 'sha256'>,
  run: Progress,
): Promise<void> {
  const meter = makeMeter();
  for await (const chunk of await openBackup(store, backup)) {
    meter.add(chunk);
    run.progress({ done: meter.bytes, total: backup.bytes, unit: 'bytes' });
  }
  if (meter.bytes !== backup.bytes || meter.digest() !== backup.sha256) throw damaged();
}

/** The bytes of a backup. @throws PlatformError `runtime_fault`, reason `backup_damaged`, when there are none. */
export async function openBackup(
  store: BackupStore,
  { address }: Pick<BackupRecord, 'address'>,
): Promise<ReadableStream<Uint8Array>> {
  const body = await store.open(address);
  if (!body) throw damaged();
  return body;
}

/** @throws PlatformError `unsupported` (501), reason `no_backup_store`. */
export function requireStore(store: BackupStore | null, hint = ''): BackupStore {
  if (store) return store;
  throw new PlatformError('unsupported', `This platform has no place to keep backups in.${hint}`, {
    reason: 'no_backup_store',
  });
}

function damaged(): PlatformError {
  return new PlatformError('runtime_fault', 'The backup is not there as it was written.', {
    reason: 'backup_damaged',
  });
}

function makeMeter() {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    add: (chunk: Uint8Array): void => {
      hash.update(chunk);
      bytes += chunk.byteLength;
    },
    get bytes() {
      return bytes;
    },
    digest: (): string => hash.digest('hex'),
  };
}

/** The same bytes, watched. */
function passThrough(
  source: ReadableStream<Uint8Array>,
  watch: {
    readonly onBytes: (chunk: Uint8Array) => void;
    readonly onError?: (error: unknown) => void;
  },
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          watch.onBytes(value);
          controller.enqueue(value);
        } catch (error) {
          watch.onError?.(error);
          reader.cancel(error).catch(() => undefined);
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

interface WatchedStore {
  readonly store: BackupStore;
  /** Counts the calls that the place itself has failed so far, without those whose body failed. */
  readonly faults: () => number;
}

/** Counts the failures of the place: a copy can fail for reasons that are not its own. */
export function watchStore(store: BackupStore): WatchedStore {
  let faults = 0;
  const counting = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      faults += 1;
      throw error;
    });
  return {
    faults: () => faults,
    store: {
      put: async (address, body) => {
        let bodyFailed = false;
        const onError = (): void => {
          bodyFailed = true;
        };
        const watched = passThrough(body, { onBytes: () => undefined, onError });
        return store.put(address, watched).catch((error: unknown) => {
          if (!bodyFailed) faults += 1;
          throw error;
        });
      },
      open: (address) => counting(store.open(address)),
      delete: (address) => counting(store.delete(address)),
      list: (prefix) => store.list(prefix),
    },
  };
}

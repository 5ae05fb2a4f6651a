/** Attachments from outside of the scope: bytes first, then their row; and the sweep of unused bytes. */

import {
  type ActorId,
  type AttachmentMeta,
  type AttachmentRecord,
  attachmentMeta,
  type EntityRef,
  type OpenAttachment,
  PlatformError,
  parseInput,
  type ScopeId,
} from '@freehold/contracts';
import type { BlobStore, ByteRange } from '@freehold/store';
import type { ScopeCaller, ScopeStub } from '../contract/scope-methods.ts';

/** The default size limit of one attachment: 50 MiB. */
export const ATTACHMENT_BYTES_MAX = 50 * 1_024 * 1_024;
/** The time for which bytes may wait for their row. */
const ORPHANS_KEPT_MS = 86_400_000;
/** The number of blobs in one call of the scope. */
const SWEEP_BATCH = 200;
/** The time for which the scope's answer is valid. */
const DELETING_MS = 300_000;

/** The attachments of one vertical's scopes. Members reject with a `PlatformError`. */
export interface Attachments {
  /**
   * Takes an attachment in. The permission is checked before the first byte is read, and again with the row.
   * @throws PlatformError `permission_denied` (with a denial row), `payload_too_large`, `validation_failed` (reason
   * `no_attachments`, `digest_mismatch`, `length_mismatch`), `conflict` (reason `attachments_full`).
   */
  add(
    scopeId: ScopeId,
    by: ActorId | ScopeCaller,
    meta: AttachmentMeta,
    body: ReadableStream<Uint8Array>,
  ): Promise<AttachmentRecord>;
  /**
   * Opens the bytes, or a range of them. Damaged ones never leave: the stream fails before them.
   * @throws PlatformError `not_found`, `permission_denied`; `unavailable`, reason `blob_missing` or `blob_damaged`.
   */
  open(scopeId: ScopeId, by: ActorId | ScopeCaller, id: string, range?: ByteRange): Promise<OpenAttachment>;
  /** Returns those of one record, oldest first; at most 200. */
  list(scopeId: ScopeId, by: ActorId | ScopeCaller, entity: EntityRef): Promise<readonly AttachmentRecord[]>;
  /**
   * Removes the row at once, and the bytes when no rewind can need them: after eight days. It takes a permission of its
   * own (`attachments.remove` of the manifest), and the consent of the vertical's `requireRemovable`.
   * @throws PlatformError `not_found`, `permission_denied`; `forbidden`, reason `attachments_not_removable`, where the
   * manifest declares no such permission; what `requireRemovable` throws.
   */
  remove(scopeId: ScopeId, by: ActorId | ScopeCaller, id: string): Promise<void>;
  /**
   * Deletes bytes that no row needs, nor one that a rewind or a snapshot could bring back. Returns the numbers. Safe at
   * any time, also during uploads: an upload of the same bytes must be repeated (`unavailable`, reason `blob_leaving`).
   */
  sweep(scopeId: ScopeId): Promise<{ readonly deleted: number; readonly left: number }>;
}

export interface AttachmentsOptions {
  readonly scope: (scopeId: string) => ScopeStub;
  readonly blobs: (scopeId: string) => BlobStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default 50 MiB. */
  readonly bytesMax?: number;
  /**
   * Returns the time of the oldest copy that could replace a scope, in milliseconds since the epoch; null for none.
   * Default: none. Attachments that were removed since are kept for it.
   */
  readonly oldestCopyMs?: (scopeId: ScopeId) => Promise<number | null>;
  /** Receives each failure of the store to give bytes that a record names. Default: none. */
  readonly onIncident?: ((error: PlatformError, scopeId: ScopeId) => void) | undefined;
}

export function makeAttachments(options: AttachmentsOptions): Attachments {
  const { scope, blobs, now, bytesMax = ATTACHMENT_BYTES_MAX, oldestCopyMs, onIncident } = options;

  return {
    add: async (scopeId, by, given, body) => {
      try {
        const meta = parseInput('The attachment', attachmentMeta, given);
        requireName(meta.filename);
        if (meta.bytes !== undefined && meta.bytes > bytesMax) throw tooLarge(bytesMax);
        await scope(scopeId).checkAttach({ ...callerOf(by), entity: meta.entity });
        const { digest, bytes } = await blobs(scopeId).put(body, {
          bytesMax,
          bytes: meta.bytes,
          digest: meta.digest,
        });
        return await scope(scopeId).addAttachment({ ...callerOf(by), meta: { ...meta, digest, bytes } });
      } catch (error) {
        // The sender must not wait for a reader.
        await body.cancel().catch(() => undefined);
        throw error;
      }
    },

    open: async (scopeId, by, id, range) => {
      const record = await scope(scopeId).attachment({ ...callerOf(by), id });
      const report = (error: unknown): void => {
        if (!(error instanceof PlatformError)) return;
        const { code, message, reason } = error;
        const detail = `Attachment ${id} of scope ${scopeId} (SHA-256 ${record.digest}): ${message}`;
        onIncident?.(
          new PlatformError(code, detail, { ...(reason ? { reason } : {}), cause: error }),
          scopeId,
        );
      };
      try {
        const body = await blobs(scopeId).open(record.digest, range);
        if (!body) throw missing();
        return { record, body: watched(body, report) };
      } catch (error) {
        report(error);
        throw error;
      }
    },

    list: (scopeId, by, entity) => scope(scopeId).attachments({ ...callerOf(by), entity }),

    remove: async (scopeId, by, id) => void (await scope(scopeId).removeAttachment({ ...callerOf(by), id })),

    sweep: async (scopeId) => {
      const store = blobs(scopeId);
      const counts = { deleted: 0, left: 0 };
      let batch: string[] = [];
      const sinceMs = (await oldestCopyMs?.(scopeId)) ?? undefined;
      const flush = async (): Promise<void> => {
        const untilMs = now() + DELETING_MS;
        const question = { digests: batch, ...(sinceMs === undefined ? {} : { sinceMs }) };
        const held = new Set(await scope(scopeId).heldBlobs(question));
        for (const digest of batch) {
          if (held.has(digest) || now() >= untilMs) counts.left += 1;
          else {
            await store.delete(digest);
            counts.deleted += 1;
          }
        }
        batch = [];
      };
      // Recent bytes may wait for their row, or be a second copy of removed ones.
      const settledMs = now() - ORPHANS_KEPT_MS;
      for await (const { digest, atMs } of store.list()) {
        if (atMs > settledMs) counts.left += 1;
        else if (batch.push(digest) >= SWEEP_BATCH) await flush();
      }
      await flush();
      return counts;
    },
  };
}

function callerOf(by: ActorId | ScopeCaller): ScopeCaller {
  return typeof by === 'string' ? { principal: by } : by;
}

/** Returns a stream that reports its failure. */
function watched(
  body: ReadableStream<Uint8Array>,
  report: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          report(error);
          // A server prints the failure of an answer that it has begun: the sentence is enough there.
          throw error instanceof PlatformError ? Object.assign(error, { stack: error.message }) : error;
        });
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function missing(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The bytes of this file are missing in the store. Ask the people who run this to bring back its copy.',
    { reason: 'blob_missing' },
  );
}

/** A file name is shown to people, and stands in headers and file systems. */
function requireName(filename: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (!/[\u0000-\u001f\u007f/\\]/.test(filename) && filename.isWellFormed() && filename.trim() !== '') return;
  throw new PlatformError('validation_failed', 'The file name has characters that a file name cannot have.', {
    reason: 'filename_malformed',
  });
}

function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError('payload_too_large', `An attachment has at most ${bytesMax} bytes.`);
}

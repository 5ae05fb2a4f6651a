/** Attachments from outside of the scope: bytes first, then their record; and what nobody holds any more, away. */
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
import type { BlobStore } from '@freehold/store';
import type { ScopeStub } from '../scope-host.ts';

/** How large one attachment may be, unless the vertical says otherwise: 50 MiB. */
export const ATTACHMENT_BYTES_MAX = 50 * 1_024 * 1_024;
/** How long bytes may wait for their record: an upload takes its time. */
const ORPHANS_KEPT_MS = 86_400_000;
/** How many blobs one look into the scope asks about. */
const SWEEP_BATCH = 200;
/** How long the scope's answer may be acted upon. */
const DELETING_MS = 300_000;

/** The attachments of one vertical's scopes. Members reject with a `PlatformError`. */
export interface Attachments {
  /**
   * Takes an attachment in. The permission is asked for before the first byte is read, and again with the record.
   * @throws PlatformError `permission_denied` (with a denial row), `payload_too_large`, `validation_failed` (reason
   * `no_attachments`, `digest_mismatch`, `length_mismatch`), `conflict` (reason `attachments_full`).
   */
  add(
    scopeId: ScopeId,
    principal: ActorId,
    meta: AttachmentMeta,
    body: ReadableStream<Uint8Array>,
  ): Promise<AttachmentRecord>;
  /** @throws PlatformError `not_found`, `permission_denied`; `unavailable`, reason `blob_missing`. */
  open(scopeId: ScopeId, principal: ActorId, id: string): Promise<OpenAttachment>;
  /** Those of one record, in the order in which they came; at most 200. */
  list(scopeId: ScopeId, principal: ActorId, entity: EntityRef): Promise<readonly AttachmentRecord[]>;
  /** The record is gone at once, the bytes once no rewind could ask for them: after eight days. */
  remove(scopeId: ScopeId, principal: ActorId, id: string): Promise<void>;
  /**
   * Deletes bytes that no record holds, nor one that a rewind or a snapshot could bring back. Answers how many. Safe at
   * any time, also beside uploads: one of the same bytes is asked to come again (`unavailable`, reason `blob_leaving`).
   */
  sweep(scopeId: ScopeId): Promise<{ readonly deleted: number; readonly kept: number }>;
}

export interface AttachmentsOptions {
  readonly scope: (scopeId: string) => ScopeStub;
  readonly blobs: (scopeId: string) => BlobStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default 50 MiB. */
  readonly bytesMax?: number;
  /**
   * When the oldest copy was made that a scope could be put back to, in milliseconds since the epoch; null: there is
   * none. Default: none. What was removed since is kept for it.
   */
  readonly oldestCopyMs?: (scopeId: ScopeId) => Promise<number | null>;
}

export function makeAttachments(options: AttachmentsOptions): Attachments {
  const { scope, blobs, now, bytesMax = ATTACHMENT_BYTES_MAX, oldestCopyMs } = options;

  return {
    add: async (scopeId, principal, given, body) => {
      try {
        const meta = parseInput('The attachment', attachmentMeta, given);
        requireName(meta.filename);
        if (meta.bytes !== undefined && meta.bytes > bytesMax) throw tooLarge(bytesMax);
        await scope(scopeId).checkAttach({ principal, entity: meta.entity });
        const { digest, bytes } = await blobs(scopeId).put(body, {
          bytesMax,
          bytes: meta.bytes,
          digest: meta.digest,
        });
        return await scope(scopeId).addAttachment({ principal, meta: { ...meta, digest, bytes } });
      } catch (error) {
        // Whoever sends is not left waiting for a reader.
        await body.cancel().catch(() => undefined);
        throw error;
      }
    },

    open: async (scopeId, principal, id) => {
      const record = await scope(scopeId).attachment({ principal, id });
      const body = await blobs(scopeId).open(record.digest);
      if (!body)
        throw new PlatformError('unavailable', 'The bytes of this attachment are missing.', {
          reason: 'blob_missing',
        });
      return { record, body };
    },

    list: (scopeId, principal, entity) => scope(scopeId).attachments({ principal, entity }),

    remove: async (scopeId, principal, id) => void (await scope(scopeId).removeAttachment({ principal, id })),

    sweep: async (scopeId) => {
      const store = blobs(scopeId);
      const counts = { deleted: 0, kept: 0 };
      let batch: string[] = [];
      const sinceMs = (await oldestCopyMs?.(scopeId)) ?? undefined;
      const flush = async (): Promise<void> => {
        const untilMs = now() + DELETING_MS;
        const question = { digests: batch, ...(sinceMs === undefined ? {} : { sinceMs }) };
        const held = new Set(await scope(scopeId).heldBlobs(question));
        for (const digest of batch) {
          if (held.has(digest) || now() >= untilMs) counts.kept += 1;
          else {
            await store.delete(digest);
            counts.deleted += 1;
          }
        }
        batch = [];
      };
      // What came in lately may be waiting for its record, or be somebody's second copy of what was removed.
      const settledMs = now() - ORPHANS_KEPT_MS;
      for await (const { digest, atMs } of store.list()) {
        if (atMs > settledMs) counts.kept += 1;
        else if (batch.push(digest) >= SWEEP_BATCH) await flush();
      }
      await flush();
      return counts;
    },
  };
}

/** A name is shown to people and put into headers and file systems by others. */
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

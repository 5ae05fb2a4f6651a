/** Copies and rewinds of a scope (spec 4.3, 4.4; design: kernel, "Copies"). */
import { z } from 'zod';
import { idSchema, scopeId, timestamp } from '../ids.ts';
import { pageQuery } from '../pages.ts';
import { scopeRef } from './shared.ts';

/** `sqlite` is the database file (engines that have one); `ndjson` can be read and restored anywhere. */
export const exportFormat = z.enum(['sqlite', 'ndjson']);
export type ExportFormat = z.infer<typeof exportFormat>;

/** The media types of the two formats. */
export const EXPORT_MEDIA_TYPES = {
  sqlite: 'application/vnd.sqlite3',
  ndjson: 'application/x-ndjson',
} as const satisfies Record<ExportFormat, string>;

export const exportQuery = z.strictObject({
  ...scopeRef.shape,
  format: exportFormat.optional().describe('Default: the engine’s own'),
});

export const EXPORT_FORMAT_HEADER = 'x-export-format';
export const EXPORT_BOOKMARK_HEADER = 'x-export-bookmark';

/** An export without its bytes. A bookmark is visible ASCII, for a header. */
export const exportHead = z.object({
  format: exportFormat,
  bookmark: z
    .string()
    .regex(/^[!-~]+$/)
    .nullable(),
});

/** A consistent copy of one moment, as a stream. */
export interface ScopeExport {
  readonly format: ExportFormat;
  /** Its moment, as a bookmark where the engine has them. */
  readonly bookmark: string | null;
  readonly body: ReadableStream<Uint8Array>;
}

/** The scope that a copy replaces, and the format of the copy in the body. */
export const restoreQuery = z.strictObject({
  ...scopeRef.shape,
  format: exportFormat,
  ifMissing: z
    .literal('make')
    .optional()
    .describe('Also for a scope whose database is gone, by a copy of its own. Default: it is unknown_scope'),
});

/** The new contents of a restored scope. */
export const restoreResponse = z
  .object({
    format: exportFormat,
    tables: z.int(),
    rows: z.int(),
    /** A bookmark of the contents before, where the engine can rewind. */
    undo: z.string().nullable(),
    setAside: z
      .string()
      .optional()
      .describe(
        'The file under which the database was put aside that could not be read; absent: there was none',
      ),
    roles: z
      .enum(['kept', 'limited', 'copied'])
      .optional()
      .describe(
        'kept: the roles are those of today. limited: the database was lost, so that present members have the roles of the copy, or those that the team page gave them since. copied: nothing is known of the members, so that the roles are those of the copy',
      ),
    members: z
      .int()
      .optional()
      .describe(
        'How many members the copy of another scope brought along; absent: the members stay as they are',
      ),
    attachments: z
      .object({
        copied: z.int().describe('Files that came from the scope of the copy'),
        missing: z.int().describe('Files of the copy whose bytes are nowhere any more'),
      })
      .optional()
      .describe('Absent where there is no place for attachments'),
  })
  .meta({ id: 'Restored' });

/** The contents of a copy, found by checking it as a restore does. Nothing was changed. */
export const examinedCopy = z
  .object({
    format: exportFormat,
    tables: z.int(),
    rows: z.int(),
    scope: scopeId.nullable().describe('Whose copy it is; null: it does not say'),
    members: z.int().nullable().describe('How many members it names; null: it names none'),
    attachments: z
      .object({
        files: z.int(),
        missing: z.int().describe('Of these, files whose bytes are nowhere any more'),
      })
      .nullable()
      .describe('null where there is no place for attachments'),
  })
  .meta({ id: 'ExaminedCopy' });
export type ExaminedScopeCopy = z.infer<typeof examinedCopy>;

export const snapshotId = idSchema('snp');
export const snapshotRequest = z.strictObject({
  ...scopeRef.shape,
  name: z.string().min(1).max(200).optional(),
});
export const snapshotRecord = z
  .object({
    id: snapshotId,
    name: z.string().nullable(),
    bytes: z.int(),
    digest: z.string(),
    bookmark: z.string().nullable(),
    at: timestamp,
  })
  .meta({ id: 'Snapshot' });

/** A copy that a vertical keeps. */
export const snapshotRef = z.strictObject({ ...scopeRef.shape, snapshot: snapshotId });
export const snapshotDeleted = z.object({ snapshot: snapshotId });

/** A commit that can be rewound to. Bookmarks of one scope sort in the order of their commits. */
export const bookmarkRecord = z.object({ bookmark: z.string(), at: timestamp }).meta({ id: 'Bookmark' });
export const bookmarksQuery = z.strictObject({
  ...scopeRef.shape,
  /** The last bookmark at or before this moment comes first. */
  at: timestamp.optional(),
  ...pageQuery,
});
/** Newest first. `earliest` is the start of the window; `current` is now. */
export const bookmarksResponse = z.object({
  items: z.array(bookmarkRecord),
  nextCursor: z.string().nullable(),
  current: bookmarkRecord.nullable(),
  earliest: bookmarkRecord.nullable(),
});

/** To a bookmark, or to the last commit at or before a moment: exactly one of the two. */
export const rewindRequest = z
  .strictObject({ ...scopeRef.shape, bookmark: z.string().max(128).optional(), at: timestamp.optional() })
  .refine(
    (body) => (body.bookmark === undefined) !== (body.at === undefined),
    'names a bookmark or a moment',
  );
export const rewindResponse = z
  .object({
    /** The present commit. */
    bookmark: z.string(),
    at: timestamp,
    /** A bookmark of the commit before the rewind. */
    undo: z.string(),
  })
  .meta({ id: 'Rewound' });

export type Restored = z.infer<typeof restoreResponse>;
export type SnapshotRecord = z.infer<typeof snapshotRecord>;
export type BookmarkRecord = z.infer<typeof bookmarkRecord>;
export type BookmarksQuery = z.infer<typeof bookmarksQuery>;
export type Bookmarks = z.infer<typeof bookmarksResponse>;
export type RewindRequest = z.infer<typeof rewindRequest>;
export type Rewound = z.infer<typeof rewindResponse>;

/** The person to erase, by the opaque id that events name. */
export const shredRequest = z.strictObject({ ...scopeRef.shape, subject: z.string().min(1).max(128) });

/** The receipt of an erasure, without personal data. */
export const shredReceipt = z
  .object({
    subject: z.string(),
    /** SHA-256 of the ended key: two receipts of one erasure are equal. */
    keyDigest: z.string().nullable(),
    shreddedAt: timestamp,
  })
  .meta({ id: 'ShredReceipt' });
export type ShredReceipt = z.infer<typeof shredReceipt>;

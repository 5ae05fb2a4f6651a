/** The SQL of attachments, typed in and out. */
import { type AttachmentRecord, type EntityRef, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

interface AttachmentRow {
  readonly id: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly digest: string;
  readonly bytes: number;
  readonly mediaType: string;
  readonly filename: string;
  readonly by: string;
  readonly atMs: number;
}

const READ = `SELECT id, entity_type AS entityType, entity_id AS entityId, digest, bytes, media_type AS mediaType,
  filename, added_by AS "by", at AS atMs FROM _spine_attachments`;

export const ATTACHMENT_SQL = {
  one: `${READ} WHERE id = ? AND removed_at IS NULL`,
  ofEntity: `${READ} WHERE entity_type = ? AND entity_id = ? AND removed_at IS NULL ORDER BY id LIMIT ?`,
  // A live row has no time of removal.
  held: `SELECT 1 FROM _spine_attachments WHERE digest = ? AND (removed_at IS NULL OR removed_at > ?) LIMIT 1`,
  forgotten:
    'SELECT id FROM _spine_attachments WHERE removed_at IS NOT NULL AND removed_at <= ? ORDER BY removed_at LIMIT ? + 0',
  leaving: 'SELECT 1 FROM _spine_leaving_blobs WHERE digest = ? AND until > ?',
} as const;

export function makeAttachmentStore(db: SqlDatabase) {
  return {
    insert: (row: AttachmentRow): void =>
      db.run(
        `INSERT INTO _spine_attachments
           (id, entity_type, entity_id, digest, bytes, media_type, filename, added_by, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.id,
        row.entityType,
        row.entityId,
        row.digest,
        row.bytes,
        row.mediaType,
        row.filename,
        row.by,
        row.atMs,
      ),
    one: (id: string): AttachmentRecord | null => {
      const row = db.get<AttachmentRow>(ATTACHMENT_SQL.one, id);
      return row ? recordOf(row) : null;
    },
    of: ({ type, id }: EntityRef, limit: number): AttachmentRecord[] =>
      db.all<AttachmentRow>(ATTACHMENT_SQL.ofEntity, type, id, limit).map(recordOf),
    remove: (id: string, atMs: number): void =>
      db.run('UPDATE _spine_attachments SET removed_at = ? WHERE id = ? AND removed_at IS NULL', atMs, id),
    /** Whether bytes are needed: by a live row, or by one that was removed after a moment. */
    isHeld: (digest: string, afterMs: number): boolean =>
      db.get(ATTACHMENT_SQL.held, digest, afterMs) !== undefined,
    /** Deletes so many rows that were removed before a moment, the oldest first. */
    forget: (beforeMs: number, limit: number): void => {
      for (const { id } of db.all<{ id: string }>(ATTACHMENT_SQL.forgotten, beforeMs, limit))
        db.run('DELETE FROM _spine_attachments WHERE id = ?', id);
    },

    /** Notes that bytes are being removed until a moment; `stay` ends it. */
    leave: (digest: string, untilMs: number): void =>
      db.run('INSERT OR REPLACE INTO _spine_leaving_blobs (digest, until) VALUES (?, ?)', digest, untilMs),
    stay: (nowMs: number): void => db.run('DELETE FROM _spine_leaving_blobs WHERE until <= ?', nowMs),
    isLeaving: (digest: string, nowMs: number): boolean =>
      db.get(ATTACHMENT_SQL.leaving, digest, nowMs) !== undefined,
  };
}

function recordOf({ entityType, entityId, atMs, ...row }: AttachmentRow): AttachmentRecord {
  return { ...row, entity: { type: entityType, id: entityId }, at: toTimestamp(atMs) };
}

/** The versions of verticals in SQL. A registered version never changes; a trigger of the table enforces that too. */
import { cutPage, type Page, PlatformError, toTimestamp, type VerticalManifest } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { DeclaredMigration, VersionRecord, VersionStatus } from '../declarations/vertical-records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import type { VerticalRow } from './verticals-store.ts';

export interface VersionRow {
  readonly id: string;
  readonly vertical: string;
  readonly version: string;
  readonly digest: string;
  readonly status: VersionStatus;
  readonly reviewedBy: 'platform' | 'owner' | null;
  readonly note: string | null;
  readonly script: string;
  readonly uploadedAtMs: number | null;
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The declarations of a version. */
export interface VersionContent {
  readonly manifest: VerticalManifest;
  readonly migrations: readonly DeclaredMigration[];
  readonly egress: readonly string[];
}

const COLUMNS = `id, vertical, version, digest, status, reviewed_by AS reviewedBy, note, script,
  uploaded_at AS uploadedAtMs, revision, created_at AS createdAtMs, updated_at AS updatedAtMs`;

/** Looked up with the vertical: another vertical's version reads as not found. */
export function loadVersion(db: SqlDatabase, vertical: string, id: string): VersionRow | undefined {
  return db.get<VersionRow>(
    `SELECT ${COLUMNS} FROM vertical_versions WHERE id = ? AND vertical = ?`,
    id,
    vertical,
  );
}

export function loadVersionByNumber(
  db: SqlDatabase,
  vertical: string,
  version: string,
): VersionRow | undefined {
  return db.get<VersionRow>(
    `SELECT ${COLUMNS} FROM vertical_versions WHERE vertical = ? AND version = ?`,
    vertical,
    version,
  );
}

/** Names a version by id or by number. */
interface VersionChoice {
  readonly id?: string | undefined;
  readonly version?: string | undefined;
}

/**
 * Refuses a call that names none of the fields, or several. The declaration cannot: JSON Schema has no short form of this
 * from which a form or a command line could be made.
 * @throws PlatformError `validation_failed`.
 */
export function requireOneOf(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const given = names.filter((name) => body[name] !== undefined);
  if (given.length === 1) return;
  const message = `must name exactly one of ${names.join(', ')}`;
  throw new PlatformError('validation_failed', `The body is not valid. It ${message}.`, {
    errors: [{ path: '', message }],
  });
}

/** @throws PlatformError `not_found`, reason `unknown_version`, also for a version of another vertical. */
export function requireVersion(
  db: SqlDatabase,
  vertical: string,
  { id, version }: VersionChoice,
): VersionRow {
  const row =
    id === undefined ? loadVersionByNumber(db, vertical, version ?? '') : loadVersion(db, vertical, id);
  if (row) return row;
  throw new PlatformError('not_found', 'This vertical has no such version.', { reason: 'unknown_version' });
}

export function loadContent(db: SqlDatabase, id: string): VersionContent {
  const row = db.get<Record<keyof VersionContent, string>>(
    'SELECT manifest, migrations, egress FROM vertical_versions WHERE id = ?',
    id,
  );
  if (!row) throw new TypeError('a version that was just there is gone');
  return {
    manifest: JSON.parse(row.manifest),
    migrations: JSON.parse(row.migrations),
    egress: JSON.parse(row.egress),
  };
}

export function insertVersion(db: SqlDatabase, row: VersionRow, content: VersionContent): void {
  db.run(
    `INSERT INTO vertical_versions (id, vertical, version, digest, manifest, migrations, egress, status,
       reviewed_by, note, script, uploaded_at, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.id, row.vertical, row.version, row.digest],
    ...[content.manifest, content.migrations, content.egress].map((part) => JSON.stringify(part)),
    ...[row.status, row.reviewedBy, row.note, row.script, row.uploadedAtMs],
    ...[row.revision, row.createdAtMs, row.updatedAtMs],
  );
}

export function updateVersion(db: SqlDatabase, row: VersionRow): void {
  db.run(
    `UPDATE vertical_versions SET status = ?, reviewed_by = ?, note = ?, uploaded_at = ?, revision = ?,
       updated_at = ? WHERE id = ?`,
    ...[row.status, row.reviewedBy, row.note, row.uploadedAtMs, row.revision, row.updatedAtMs, row.id],
  );
}

/** Takes back the registration of a version that was never uploaded. */
export function forgetVersion(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM vertical_versions WHERE id = ?', id);
}

interface VersionFilter extends PageRequest {
  readonly vertical: string;
  readonly status?: VersionStatus | undefined;
}

/** Newest first: an id begins with the time at which it was made. */
export function versionsPage(filter: VersionFilter): Statement {
  const { vertical, status } = filter;
  const select = `SELECT ${COLUMNS} FROM vertical_versions`;
  return pageStatement({ select, where: { vertical, status }, key: 'id', order: 'DESC' }, filter);
}

export function listVersions(
  db: SqlDatabase,
  vertical: VerticalRow,
  filter: Omit<VersionFilter, 'vertical'>,
): Page<VersionRecord> {
  const { sql, params } = versionsPage({ ...filter, vertical: vertical.slug });
  return cutPage(
    db.all<VersionRow>(sql, ...params),
    filter.limit,
    (row) => row.id,
    (row) => versionOfRow(row, vertical),
  );
}

/** The versions of a vertical that may be running: on prod, bound by a scope, or uploaded. */
export const DEPLOYED = `SELECT version, egress FROM vertical_versions v WHERE vertical = ? AND (uploaded_at IS NOT NULL
  OR id = (SELECT serving FROM verticals WHERE slug = v.vertical)
  OR EXISTS (SELECT 1 FROM scope_versions WHERE version = v.id)) ORDER BY id DESC LIMIT ?`;

/** Finds a scope that is bound to a version. A reaped scope runs no more. */
export const BOUND = `SELECT 1 FROM scope_versions b CROSS JOIN scopes s ON s.id = b.scope
  WHERE b.version = ? AND s.status <> 'reaped' LIMIT 1`;

export function isBound(db: SqlDatabase, id: string): boolean {
  return db.get(BOUND, id) !== undefined;
}

export function versionOfRow(row: VersionRow, vertical: VerticalRow): VersionRecord {
  return {
    id: row.id,
    vertical: row.vertical,
    version: row.version,
    digest: row.digest,
    status: row.status,
    reviewedBy: row.reviewedBy,
    note: row.note,
    script: row.script,
    uploadedAt: row.uploadedAtMs === null ? null : toTimestamp(row.uploadedAtMs),
    serving: row.id === vertical.serving,
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: versionTag(row, vertical),
  };
}

/** Changes with each promotion: a verdict must not rest on an outdated comparison. */
export function versionTag(row: VersionRow, vertical: VerticalRow): string {
  return `${row.revision}.${vertical.promotion}`;
}

/** The versions of verticals in SQL. A registered version never changes; a trigger of the table enforces that too. */
import { type Page, PlatformError, type VerticalManifest } from '@freehold/contracts';
import {
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type {
  DeclaredMigration,
  VersionRecord,
  VersionSource,
  VersionStatus,
} from '../declarations/vertical-records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import type { VerticalRow } from './verticals-store.ts';

const versions = defineTable('vertical_versions', ['id'], {
  id: text(),
  vertical: text(),
  version: text(),
  digest: text(),
  manifest: unread(json<VerticalManifest>()),
  migrations: unread(json<readonly DeclaredMigration[]>()),
  egress: unread(json<readonly string[]>()),
  status: text<VersionStatus>(),
  reviewedBy: nullable(text<'platform' | 'owner'>()),
  note: nullable(text()),
  script: text(),
  uploadedAtMs: nullable(time()),
  deployedBy: nullable(json<NonNullable<VersionRecord['deployedBy']>>()),
  source: nullable(json<VersionSource>()),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: hidden(integer()),
});
export type VersionRow = RowOf<typeof versions>;

const contents = defineTable('vertical_versions', ['id'], {
  id: text(),
  manifest: json<VerticalManifest>(),
  migrations: json<readonly DeclaredMigration[]>(),
  egress: json<readonly string[]>(),
});
/** The declarations of a version. */
export type VersionContent = Omit<RowOf<typeof contents>, 'id'>;

const ofVertical = versions.finding('id', 'vertical');
const byNumber = versions.finding('vertical', 'version');
export const updateVersion = versions.updating(
  ...(['status', 'reviewedBy', 'note', 'uploadedAtMs', 'deployedBy', 'source'] as const),
  ...(['revision', 'updatedAtMs'] as const),
);
/** Takes back the registration of a version that was never uploaded. */
export const forgetVersion = versions.delete;
const shown = versions.recording<Omit<VersionRecord, 'serving' | 'etag'>>();

/** Looked up with the vertical: another vertical's version reads as not found. */
export function loadVersion(db: SqlDatabase, vertical: string, id: string): VersionRow | undefined {
  return ofVertical(db, { id, vertical });
}

export function loadVersionByNumber(
  db: SqlDatabase,
  vertical: string,
  version: string,
): VersionRow | undefined {
  return byNumber(db, { vertical, version });
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
  const row = contents.get(db, id);
  if (!row) throw new TypeError('a version that was just there is gone');
  const { id: _, ...content } = row;
  return content;
}

export function insertVersion(db: SqlDatabase, row: VersionRow, content: VersionContent): void {
  versions.insert(db, { ...row, ...content });
}

interface VersionFilter extends PageRequest {
  readonly vertical: string;
  readonly status?: VersionStatus | undefined;
}

/** Newest first: an id begins with the time at which it was made. */
const pages = definePages({
  from: versions,
  where: ({ vertical, status }: VersionFilter) => ({ vertical, status }),
  key: 'id',
  order: 'DESC',
  item: versionOfRow,
});
export const versionsPage = pages.statement;

export function listVersions(
  db: SqlDatabase,
  vertical: VerticalRow,
  filter: Omit<VersionFilter, 'vertical'>,
): Page<VersionRecord> {
  return pages.list(db, { ...filter, vertical: vertical.slug }, vertical);
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
  return { ...shown(row), serving: row.id === vertical.serving, etag: versionTag(row, vertical) };
}

/** Changes with each promotion: a verdict must not rest on an outdated comparison. */
export function versionTag(row: VersionRow, vertical: VerticalRow): string {
  return `${row.revision}.${vertical.promotion}`;
}

/** The scopes that run on a version of their own. */
const bindings = defineTable('scope_versions', ['scope'], {
  scope: unread(text()),
  version: nullable(text()),
  snapshot: nullable(text()),
  revision: integer(),
  boundAtMs: time(),
});
export const loadBinding = bindings.get;
export const saveBinding = bindings.saving('version', 'snapshot', 'revision', 'boundAtMs');

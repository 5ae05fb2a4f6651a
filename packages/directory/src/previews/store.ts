/** The previews in SQL. A row stands for one that runs, or could: its data is with the runtime. */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import {
  boolean,
  defineTable,
  hidden,
  json,
  type Migration,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { PreviewRecord, PreviewRef } from '../declarations/previews.ts';
import type { VersionSource } from '../declarations/vertical-records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const previewsMigration: Migration = {
  version: 1,
  name: 'previews',
  sql: `
    CREATE TABLE previews (
      id TEXT PRIMARY KEY,
      vertical TEXT NOT NULL REFERENCES verticals (slug),
      version TEXT NOT NULL,
      tenant TEXT NOT NULL,
      scope TEXT NOT NULL,
      copied INTEGER NOT NULL,
      hostname TEXT NOT NULL UNIQUE,
      branch TEXT,
      source TEXT,
      network INTEGER NOT NULL,
      created_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX previews_vertical ON previews (vertical, id);
    CREATE INDEX previews_tenant ON previews (tenant);
    CREATE INDEX previews_scope ON previews (scope);
    CREATE INDEX previews_expiry ON previews (expires_at);
  `,
};

export const previewMigrations = { name: 'previews', migrations: [previewsMigration] } as const;

const previews = defineTable('previews', ['id'], {
  id: text(),
  vertical: text(),
  version: text(),
  tenant: text<TenantId>(),
  scope: hidden(text<ScopeId>()),
  copied: hidden(boolean()),
  hostname: text(),
  branch: nullable(text()),
  source: nullable(json<VersionSource>()),
  network: boolean(),
  createdBy: json<PreviewRecord['createdBy']>(),
  createdAtMs: time(),
  expiresAtMs: time(),
});
export type PreviewRow = RowOf<typeof previews>;

export const insertPreview = previews.insert;
export const deletePreview = previews.delete;
const shown = previews.recording<Omit<PreviewRecord, 'scope'>>();

export function previewOfRow(row: PreviewRow): PreviewRecord {
  return { ...shown(row), scope: row.copied ? row.scope : null };
}

/** Looked up with the vertical: another vertical's preview reads as not found. @throws PlatformError `not_found`. */
export function requirePreview(
  db: SqlDatabase,
  { slug, preview }: { readonly slug: string; readonly preview: string },
): PreviewRow {
  const row = previews.get(db, preview);
  if (row?.vertical === slug) return row;
  throw new PlatformError('not_found', 'This vertical has no such preview. It may have ended.', {
    reason: 'unknown_preview',
  });
}

interface PreviewFilter extends PageRequest {
  readonly vertical: string;
  readonly branch?: string | undefined;
}

/** Newest first: an id begins with the time at which it was made. */
const pages = definePages({
  from: previews,
  where: ({ vertical, branch }: PreviewFilter) => ({ vertical, branch }),
  key: 'id',
  order: 'DESC',
  item: previewOfRow,
});
export const previewsPage = pages.statement;
export const listPreviews = pages.list;

export function countPreviews(db: SqlDatabase, vertical: string): number {
  return (
    db.get<{ count: number }>('SELECT count(*) AS count FROM previews WHERE vertical = ?', vertical)?.count ??
    0
  );
}

/** One that has expired is not served, also before it is removed. */
export const PREVIEW_ROUTE = `${previews.select} WHERE hostname = ?`;

export function previewAt(db: SqlDatabase, hostname: string): PreviewRow | undefined {
  return previews.first(db, PREVIEW_ROUTE, hostname);
}

export const PREVIEWS = {
  expired: `${previews.select} WHERE expires_at <= ? ORDER BY expires_at LIMIT 50`,
  ofScope: `${previews.select} WHERE scope = ?`,
  ofTenant: `${previews.select} WHERE tenant = ?`,
  ofOwner: `${previews.select} WHERE vertical IN (SELECT slug FROM verticals WHERE owner_tenant = ?)`,
} as const;

export function previewsBy(
  db: SqlDatabase,
  which: keyof typeof PREVIEWS,
  value: string | number,
): PreviewRow[] {
  return previews.all(db, PREVIEWS[which], value);
}

/** Those of a member or token. Few are there: a vertical has ten at most. */
export const PREVIEWS_MADE_BY = "SELECT id FROM previews WHERE created_by ->> 'id' = ? AND expires_at > ?";

/** The previews that these members and tokens made and that have not expired. */
export function previewsMadeBy(db: SqlDatabase, makers: readonly string[], nowMs: number): string[] {
  return makers.flatMap((maker) =>
    db.all<{ id: string }>(PREVIEWS_MADE_BY, maker, nowMs).map(({ id }) => id),
  );
}

/**
 * Lets the previews of makers who may do nothing any more expire: they may have an account there, which no directory knows.
 * Returns their ids. The names lead nowhere from now on, and what the runtime has goes with the next round.
 */
export function endPreviewsOf(db: SqlDatabase, makers: readonly string[], nowMs: number): string[] {
  const ids = previewsMadeBy(db, makers, nowMs);
  for (const id of ids) db.run('UPDATE previews SET expires_at = ? WHERE id = ?', nowMs, id);
  return ids;
}

export function previewIds(db: SqlDatabase): string[] {
  return db.all<{ id: string }>('SELECT id FROM previews').map(({ id }) => id);
}

/** No archive script has a name like this one: it has no full stop. */
export function previewScript(id: string): string {
  return `preview--${id}`;
}

export function refOf({ id, vertical, tenant, scope, network }: PreviewRow): PreviewRef {
  return { id, vertical, tenant, scope, network, script: previewScript(id) };
}

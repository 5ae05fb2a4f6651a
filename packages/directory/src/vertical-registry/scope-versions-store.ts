/** Which version each scope runs on, in SQL: one of its own, or what is on prod. */
import { toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { ScopeVersionRecord } from '../declarations/scope-version.ts';
import type { ScopeRow } from '../scopes/store.ts';

export interface BindingRow {
  readonly version: string | null;
  readonly snapshot: string | null;
  readonly revision: number;
  readonly boundAtMs: number;
}

export function loadBinding(db: SqlDatabase, scope: string): BindingRow | undefined {
  return db.get<BindingRow>(
    'SELECT version, snapshot, revision, bound_at AS boundAtMs FROM scope_versions WHERE scope = ?',
    scope,
  );
}

export function saveBinding(db: SqlDatabase, scope: string, row: BindingRow): void {
  db.run(
    `INSERT INTO scope_versions (scope, version, snapshot, revision, bound_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (scope) DO UPDATE SET version = excluded.version, snapshot = excluded.snapshot,
       revision = excluded.revision, bound_at = excluded.bound_at`,
    ...[scope, row.version, row.snapshot, row.revision, row.boundAtMs],
  );
}

/** What a scope runs on. Its tag changes with its binding, and with what prod serves while it follows that. */
export function scopeVersionOf(
  db: SqlDatabase,
  { id, vertical }: Pick<ScopeRow, 'id' | 'vertical'>,
): ScopeVersionRecord {
  const binding = loadBinding(db, id);
  const bound = binding !== undefined && binding.version !== null;
  const prod = db.get<{ serving: string | null; promotion: number }>(
    'SELECT serving, promotion FROM verticals WHERE slug = ?',
    vertical,
  );
  const version = db.get<{ id: string; version: string }>(
    'SELECT id, version FROM vertical_versions WHERE id = ?',
    (bound ? binding.version : prod?.serving) ?? null,
  );
  return {
    scope: id,
    vertical,
    version: version?.version ?? null,
    id: version?.id ?? null,
    bound,
    boundAt: bound ? toTimestamp(binding.boundAtMs) : null,
    snapshot: (bound ? binding.snapshot : null) as ScopeVersionRecord['snapshot'],
    etag: `${binding?.revision ?? 0}.${bound ? 0 : (prod?.promotion ?? 0)}`,
  };
}

/** Lets go of every scope of a vertical that is bound to another version than this one. @returns how many. */
export function releaseOthers(
  db: SqlDatabase,
  { vertical, keep, revision, nowMs }: { vertical: string; keep: string; revision: number; nowMs: number },
): number {
  const { count } = db.get<{ count: number }>(OTHERS_BOUND, vertical, keep) ?? { count: 0 };
  if (count > 0)
    db.run(
      `UPDATE scope_versions SET version = NULL, snapshot = NULL, revision = ?, bound_at = ? WHERE version IN
         (SELECT id FROM vertical_versions WHERE vertical = ? AND id <> ?)`,
      ...[revision, nowMs, vertical, keep],
    );
  return count;
}

/** How many scopes are bound to any version of a vertical but one. */
export const OTHERS_BOUND = `SELECT count(*) AS count FROM vertical_versions v CROSS JOIN scope_versions b
  ON b.version = v.id WHERE v.vertical = ? AND v.id <> ?`;

/** What prod serves, by vertical. */
export function servingVersions(db: SqlDatabase): Readonly<Record<string, string>> {
  return recordOf(
    db.all<KeyedVersion>(
      'SELECT v.slug AS key, r.version FROM verticals v JOIN vertical_versions r ON r.id = v.serving',
    ),
  );
}

/** What prod serves of one vertical; null for nothing. */
export function servingVersionOf(db: SqlDatabase, vertical: string): string | null {
  const row = db.get<{ version: string }>(
    'SELECT r.version FROM verticals v JOIN vertical_versions r ON r.id = v.serving WHERE v.slug = ?',
    vertical,
  );
  return row?.version ?? null;
}

/** The versions of the scopes that have one of their own. */
export function boundVersions(db: SqlDatabase): Readonly<Record<string, string>> {
  return recordOf(
    db.all<KeyedVersion>(
      'SELECT b.scope AS key, r.version FROM scope_versions b JOIN vertical_versions r ON r.id = b.version',
    ),
  );
}

interface KeyedVersion {
  readonly key: string;
  readonly version: string;
}

function recordOf(rows: readonly KeyedVersion[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map(({ key, version }) => [key, version]));
}

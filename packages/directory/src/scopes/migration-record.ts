/** The record of the last known result of a scope's migrations. Without a row the scope is pending. */
import type { Migration, SqlDatabase } from '@freehold/store';

export const scopeMigrationsMigration: Migration = {
  version: 1,
  name: 'what became of the migrations of scopes',
  sql: `
    CREATE TABLE scope_migrations (
      scope TEXT PRIMARY KEY REFERENCES scopes (id) ON DELETE CASCADE,
      version TEXT NOT NULL,
      -- applied or failed
      state TEXT NOT NULL,
      code TEXT, detail TEXT,
      at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

export interface MigrationOutcome {
  readonly scope: string;
  /** The version that served when the scope was opened. */
  readonly version: string;
  /** Null: its migrations were applied. */
  readonly problem: { readonly code: string; readonly detail: string } | null;
}

/** Replaces the record of a scope. An unknown scope is left out. */
export function recordMigration(
  db: SqlDatabase,
  { scope, version, problem }: MigrationOutcome,
  nowMs: number,
): void {
  db.run(
    `INSERT INTO scope_migrations (scope, version, state, code, detail, at)
     SELECT id, ?, ?, ?, ?, ? FROM scopes WHERE id = ?
     ON CONFLICT (scope) DO UPDATE SET version = excluded.version, state = excluded.state, code = excluded.code,
       detail = excluded.detail, at = excluded.at`,
    ...[version, problem ? 'failed' : 'applied', problem?.code ?? null, problem?.detail ?? null],
    ...[nowMs, scope],
  );
}

/** The tables of what the platform's own work came to. They are numbered by themselves, beside the directory's own. */
import type { Migration } from '@freehold/store';

const operationsLogMigration: Migration = {
  version: 1,
  name: 'operations log',
  sql: `
    CREATE TABLE ops_failures (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      operation TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT,
      subject TEXT,
      reason TEXT NOT NULL,
      detail TEXT NOT NULL
    ) STRICT;
    CREATE INDEX ops_failures_at ON ops_failures (at);
    CREATE INDEX ops_failures_tenant ON ops_failures (tenant);
    CREATE INDEX ops_failures_scope ON ops_failures (scope);
    CREATE INDEX ops_failures_operation ON ops_failures (operation);

    CREATE TABLE sweep_runs (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      run TEXT NOT NULL,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      unit TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT,
      outcome TEXT NOT NULL,
      reason TEXT
    ) STRICT;
    CREATE INDEX sweep_runs_at ON sweep_runs (at);
    CREATE INDEX sweep_runs_run ON sweep_runs (run);
    CREATE INDEX sweep_runs_tenant ON sweep_runs (tenant);
    CREATE INDEX sweep_runs_scope ON sweep_runs (scope);
    CREATE INDEX sweep_runs_kind ON sweep_runs (kind);
    CREATE INDEX sweep_runs_outcome ON sweep_runs (outcome);
  `,
};

/** The runs of each minute are kept apart from the rest, one unit is looked up, and a failure that goes on is recognised. */
const unitsMigration: Migration = {
  version: 2,
  name: 'units of sweeps',
  sql: `
    CREATE INDEX sweep_runs_tenant_kind ON sweep_runs (tenant, kind);
    CREATE INDEX sweep_runs_unit ON sweep_runs (unit);
    CREATE INDEX ops_failures_subject ON ops_failures (subject, operation, at);
  `,
};

/** The set that the directory applies after its own. */
export const operationsLogMigrations = {
  name: 'operations-log',
  migrations: [operationsLogMigration, unitsMigration],
} as const;

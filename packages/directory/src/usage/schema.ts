/** The tables of usage. They are numbered by themselves, beside the directory's own. */
import type { Migration } from '@freehold/store';

const usageMigration: Migration = {
  version: 1,
  name: 'usage',
  sql: `
    -- What was taken from where. The key is the scope's as well: a scope makes its own request ids up.
    CREATE TABLE model_usage_lines (
      scope TEXT NOT NULL,
      request TEXT NOT NULL,
      tenant TEXT NOT NULL,
      vertical TEXT NOT NULL,
      version TEXT NOT NULL,
      operation TEXT NOT NULL,
      at INTEGER NOT NULL,
      line TEXT NOT NULL,
      -- The scope knows that this line was taken, and will not show it again.
      settled INTEGER NOT NULL,
      PRIMARY KEY (scope, request)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX model_usage_lines_settled ON model_usage_lines (settled, at);

    -- The same lines, folded. A sum in dollars is two: whole millionths, and what is left in millionths of those, so
    -- that neither can grow out of an integer.
    CREATE TABLE model_usage_days (
      tenant TEXT NOT NULL,
      model TEXT NOT NULL,
      day TEXT NOT NULL,
      vertical TEXT NOT NULL,
      version TEXT NOT NULL,
      billable INTEGER NOT NULL,
      reported INTEGER NOT NULL,
      priced INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      cached_input_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      reasoning_tokens INTEGER NOT NULL,
      list_micro_usd INTEGER NOT NULL,
      list_pico_usd INTEGER NOT NULL,
      PRIMARY KEY (tenant, model, day, vertical, version, billable, reported, priced)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE meter_days (
      tenant TEXT NOT NULL,
      meter TEXT NOT NULL,
      day TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      PRIMARY KEY (tenant, meter, day)
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after its own. */
export const usageMigrations = { name: 'usage', migrations: [usageMigration] } as const;

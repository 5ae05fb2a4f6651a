/** The operations and tables of long work. Its methods need the handlers of all long work: `unit.ts`. */
import type { Migration } from '@freehold/store';
import { defineFeature } from '../lib/feature.ts';
import { cancelOperation, readOperation, readOperations } from './operations.ts';

const operationsMigration: Migration = {
  version: 1,
  name: 'long work',
  sql: `
    CREATE TABLE operations (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      state TEXT NOT NULL,
      -- What it works on: only one at a time does.
      subject TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT, other TEXT,
      actor_kind TEXT NOT NULL, actor TEXT NOT NULL, actor_name TEXT NOT NULL,
      token TEXT, request TEXT NOT NULL,
      intent INTEGER NOT NULL,
      work TEXT NOT NULL,
      done INTEGER NOT NULL, total INTEGER, unit TEXT NOT NULL,
      committed INTEGER NOT NULL,
      cancel_requested INTEGER NOT NULL,
      result TEXT, problem TEXT,
      leased_until INTEGER NOT NULL,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX operations_unfinished ON operations (subject) WHERE finished_at IS NULL;
    CREATE INDEX operations_tenant ON operations (tenant, id);
    CREATE INDEX operations_scope ON operations (scope, id);
    CREATE INDEX operations_state ON operations (state, id);
    CREATE INDEX operations_finished ON operations (finished_at);

    -- What the steps of unfinished work answered, so that none is done twice.
    CREATE TABLE operation_steps (
      operation TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
      PRIMARY KEY (operation, name)
    ) STRICT, WITHOUT ROWID;
  `,
};

const longWorkMigrations = { name: 'long-work', migrations: [operationsMigration] } as const;

export const longWorkFeature = /* @__PURE__ */ defineFeature({
  operations: [readOperations, readOperation, cancelOperation],
  migrations: [longWorkMigrations],
});

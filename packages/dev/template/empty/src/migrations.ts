/** The tables, version by version. Never edit a version that has run: add the next one. */
import type { Migration } from '@freehold/app';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'notes',
    sql: `
CREATE TABLE notes (
  id TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;
`,
  },
];

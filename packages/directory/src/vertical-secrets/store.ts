/** The secrets of builders in SQL: sealed text, which opens for its own vertical and name alone. */
import {
  defineTable,
  json,
  type Migration,
  revision,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { VerticalSecretRecord } from '../declarations/vertical-secrets.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const verticalSecretsMigration: Migration = {
  version: 1,
  name: 'secrets of builders',
  sql: `
    CREATE TABLE vertical_secrets (
      vertical TEXT NOT NULL REFERENCES verticals (slug),
      name TEXT NOT NULL,
      sealed TEXT NOT NULL,
      set_by TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (vertical, name)
    ) STRICT, WITHOUT ROWID;
  `,
};

export const verticalSecretMigrations = {
  name: 'vertical-secrets',
  migrations: [verticalSecretsMigration],
} as const;

const secrets = defineTable('vertical_secrets', ['vertical', 'name'], {
  vertical: text(),
  name: text(),
  sealed: unread(text()),
  setBy: json<VerticalSecretRecord['setBy']>(),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});

export const loadSecret = secrets.get;
export const saveSecret = secrets.saving('sealed', 'setBy', 'revision', 'updatedAtMs');
export const deleteSecret = secrets.delete;
export const secretRecord = secrets.recording<VerticalSecretRecord>();

interface SecretFilter extends PageRequest {
  readonly vertical: string;
}

const pages = definePages({
  from: secrets,
  where: ({ vertical }: SecretFilter) => ({ vertical }),
  key: 'name',
  item: secretRecord,
});
export const secretsPage = pages.statement;
export const listSecrets = pages.list;

export function countSecrets(db: SqlDatabase, vertical: string): number {
  return (
    db.get<{ count: number }>('SELECT count(*) AS count FROM vertical_secrets WHERE vertical = ?', vertical)
      ?.count ?? 0
  );
}

/** A secret as the directory stores it: unreadable without a key. */
export interface SealedSecret {
  readonly vertical: string;
  readonly name: string;
  readonly sealed: string;
}

export function sealedSecrets(db: SqlDatabase, vertical: string): SealedSecret[] {
  return db.all<SealedSecret>(
    'SELECT vertical, name, sealed FROM vertical_secrets WHERE vertical = ? ORDER BY name',
    vertical,
  );
}

export function verticalsWithSecrets(db: SqlDatabase): string[] {
  return db
    .all<{ vertical: string }>('SELECT DISTINCT vertical FROM vertical_secrets')
    .map(({ vertical }) => vertical);
}

/** Replaces sealed text by the same secret under another key, unless the secret was replaced meanwhile. */
export function replaceSealed(
  db: SqlDatabase,
  { vertical, name, sealed, before }: SealedSecret & { readonly before: string },
): void {
  db.run(
    'UPDATE vertical_secrets SET sealed = ? WHERE vertical = ? AND name = ? AND sealed = ?',
    ...[sealed, vertical, name, before],
  );
}

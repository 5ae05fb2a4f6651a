/** The SQL of settings and secrets. */
import {
  computed,
  defineTable,
  integer,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { StoredSecret } from '../lib/secret-keeper.ts';

/** The name of the tenant's session-signing secret. */
export const SESSION_SECRET = 'session';

const settings = defineTable('config', ['scopeId', 'key'], {
  scopeId: text(),
  key: text(),
  value: text(),
  sealed: integer(),
});
export type SettingRow = RowOf<typeof settings>;

export const saveSetting = settings.saving('value', 'sealed');
/** The same setting, in another stored form. */
export const saveSettingValue = settings.updating('value', 'sealed');
export const deleteSetting = settings.delete;

/** The settings of a scope, in the order of their keys. */
export function loadConfig(db: SqlDatabase, scopeId: string): SettingRow[] {
  return settings.all(db, `${settings.select} WHERE scope_id = ? ORDER BY key`, scopeId);
}

/** The settings of every scope. */
export function loadAllSettings(db: SqlDatabase): SettingRow[] {
  return settings.all(db, `${settings.select} ORDER BY scope_id, key`);
}

const versions = defineTable('config_versions', ['scopeId'], { scopeId: text(), version: text() });
export const saveConfigVersion = versions.saving('version');

const secrets = defineTable('secrets', ['name'], {
  name: text(),
  value: text(),
  sealed: integer(),
  atMs: unread(time('created_at')),
});

export const loadSecret = secrets.get;
export const saveSecret = secrets.insert;
export const replaceSecret = secrets.updating('value', 'sealed', 'atMs');
/** The same secret, in another stored form. */
export const saveSecretValue = secrets.updating('value', 'sealed');

const formers = defineTable('former_session_secrets', ['id'], {
  id: computed('id', integer()),
  value: text(),
  sealed: integer(),
  replacedAtMs: unread(time()),
  validUntilMs: time(),
});
export type FormerSecretRow = RowOf<typeof formers>;

export const saveFormerSecret = formers.insert;

/** The replaced session secrets, the newest first: all, or those that still verify after a moment. */
export function loadFormerSecrets(db: SqlDatabase, afterMs = 0): FormerSecretRow[] {
  return formers.all(db, `${formers.select} WHERE valid_until > ? ORDER BY id DESC`, afterMs);
}

/** The same secret, in another stored form. */
export function saveFormerSecretValue(db: SqlDatabase, secret: StoredSecret & { readonly id: number }): void {
  db.run(
    'UPDATE former_session_secrets SET value = ?, sealed = ? WHERE id = ?',
    secret.value,
    secret.sealed,
    secret.id,
  );
}

/** The number of replaced session secrets. */
export function countFormerSecrets(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM former_session_secrets')?.count ?? 0;
}

/** Removes the replaced session secrets that no longer verify. */
export function deleteFormerSecretsUpTo(db: SqlDatabase, validUntilMs: number): void {
  db.run('DELETE FROM former_session_secrets WHERE valid_until <= ?', validUntilMs);
}

export function deleteFormerSecrets(db: SqlDatabase): void {
  db.run('DELETE FROM former_session_secrets');
}

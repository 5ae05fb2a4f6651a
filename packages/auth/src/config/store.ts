/** The SQL of settings and secrets. */
import type { SqlDatabase } from '@freehold/store';
import type { StoredSecret } from '../lib/secret-keeper.ts';

/** The name of the tenant's session-signing secret. */
export const SESSION_SECRET = 'session';

export interface SettingRow extends StoredSecret {
  readonly scopeId: string;
  readonly key: string;
}

/** The settings of a scope, in the order of their keys. */
export function loadConfig(db: SqlDatabase, scopeId: string): SettingRow[] {
  return db.all<SettingRow>(
    'SELECT scope_id AS scopeId, key, value, sealed FROM config WHERE scope_id = ? ORDER BY key',
    scopeId,
  );
}

/** The settings of every scope. */
export function loadAllSettings(db: SqlDatabase): SettingRow[] {
  return db.all<SettingRow>(
    'SELECT scope_id AS scopeId, key, value, sealed FROM config ORDER BY scope_id, key',
  );
}

export function saveSetting(db: SqlDatabase, setting: SettingRow): void {
  db.run(
    `INSERT INTO config (scope_id, key, value, sealed) VALUES (?, ?, ?, ?)
     ON CONFLICT (scope_id, key) DO UPDATE SET value = excluded.value, sealed = excluded.sealed`,
    setting.scopeId,
    setting.key,
    setting.value,
    setting.sealed,
  );
}

/** The same setting, in another stored form. */
export function saveSettingValue(db: SqlDatabase, setting: SettingRow): void {
  db.run(
    'UPDATE config SET value = ?, sealed = ? WHERE scope_id = ? AND key = ?',
    setting.value,
    setting.sealed,
    setting.scopeId,
    setting.key,
  );
}

export function deleteSetting(db: SqlDatabase, setting: { scopeId: string; key: string }): void {
  db.run('DELETE FROM config WHERE scope_id = ? AND key = ?', setting.scopeId, setting.key);
}

export function saveConfigVersion(db: SqlDatabase, mark: { scopeId: string; version: string }): void {
  db.run(
    `INSERT INTO config_versions (scope_id, version) VALUES (?, ?)
     ON CONFLICT (scope_id) DO UPDATE SET version = excluded.version`,
    mark.scopeId,
    mark.version,
  );
}

export function loadSecret(db: SqlDatabase, name: string): StoredSecret | undefined {
  return db.get<StoredSecret>('SELECT value, sealed FROM secrets WHERE name = ?', name);
}

interface SecretRow extends StoredSecret {
  readonly name: string;
}

export function saveSecret(db: SqlDatabase, secret: SecretRow & { readonly atMs: number }): void {
  db.run(
    'INSERT INTO secrets (name, value, sealed, created_at) VALUES (?, ?, ?, ?)',
    secret.name,
    secret.value,
    secret.sealed,
    secret.atMs,
  );
}

export function replaceSecret(db: SqlDatabase, secret: SecretRow & { readonly atMs: number }): void {
  db.run(
    'UPDATE secrets SET value = ?, sealed = ?, created_at = ? WHERE name = ?',
    secret.value,
    secret.sealed,
    secret.atMs,
    secret.name,
  );
}

/** The same secret, in another stored form. */
export function saveSecretValue(db: SqlDatabase, secret: SecretRow): void {
  db.run('UPDATE secrets SET value = ?, sealed = ? WHERE name = ?', secret.value, secret.sealed, secret.name);
}

export interface FormerSecretRow extends StoredSecret {
  readonly id: number;
  readonly validUntilMs: number;
}

/** The replaced session secrets, the newest first: all, or those that still verify after a moment. */
export function loadFormerSecrets(db: SqlDatabase, afterMs = 0): FormerSecretRow[] {
  return db.all<FormerSecretRow>(
    `SELECT id, value, sealed, valid_until AS validUntilMs FROM former_session_secrets
     WHERE valid_until > ? ORDER BY id DESC`,
    afterMs,
  );
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

export function saveFormerSecret(
  db: SqlDatabase,
  secret: StoredSecret & { readonly replacedAtMs: number; readonly validUntilMs: number },
): void {
  db.run(
    'INSERT INTO former_session_secrets (value, sealed, replaced_at, valid_until) VALUES (?, ?, ?, ?)',
    secret.value,
    secret.sealed,
    secret.replacedAtMs,
    secret.validUntilMs,
  );
}

/** Removes the replaced session secrets that no longer verify. */
export function deleteFormerSecretsUpTo(db: SqlDatabase, validUntilMs: number): void {
  db.run('DELETE FROM former_session_secrets WHERE valid_until <= ?', validUntilMs);
}

export function deleteFormerSecrets(db: SqlDatabase): void {
  db.run('DELETE FROM former_session_secrets');
}

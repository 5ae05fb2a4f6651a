/** The SQL of settings and secrets. */
import type { SqlDatabase } from '@freehold/store';
import type { KeptSecret } from '../lib/secret-keeper.ts';

/** The name of the tenant's session-signing secret. */
export const SESSION_SECRET = 'session';

export interface SettingRow extends KeptSecret {
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

/** Those of every scope. */
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

/** The same setting, kept in another way. */
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

/** The mark of the last change, or undefined when nothing was ever delivered for the scope. */
export function loadConfigVersion(db: SqlDatabase, scopeId: string): string | undefined {
  return db.get<{ version: string }>('SELECT version FROM config_versions WHERE scope_id = ?', scopeId)
    ?.version;
}

export function saveConfigVersion(db: SqlDatabase, mark: { scopeId: string; version: string }): void {
  db.run(
    `INSERT INTO config_versions (scope_id, version) VALUES (?, ?)
     ON CONFLICT (scope_id) DO UPDATE SET version = excluded.version`,
    mark.scopeId,
    mark.version,
  );
}

/** Whether settings were ever delivered for a scope. */
export function isConfigured(db: SqlDatabase, scopeId: string): boolean {
  return loadConfigVersion(db, scopeId) !== undefined;
}

export function loadSecret(db: SqlDatabase, name: string): KeptSecret | undefined {
  return db.get<KeptSecret>('SELECT value, sealed FROM secrets WHERE name = ?', name);
}

interface SecretRow extends KeptSecret {
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

/** The same secret, kept in another way. */
export function saveSecretValue(db: SqlDatabase, secret: SecretRow): void {
  db.run('UPDATE secrets SET value = ?, sealed = ? WHERE name = ?', secret.value, secret.sealed, secret.name);
}

/**
 * What decides whether a kept configuration still holds: one statement, because every request asks. The secrets are
 * answered as they are kept, which tells two lists from each other as well and opens nothing.
 */
export function loadInstanceMarks(
  db: SqlDatabase,
  key: { scopeId: string; nowMs: number },
): { readonly configVersion: string | null; readonly keptSecrets: string } {
  const row = db.get<{ configVersion: string | null; secret: string | null; formers: string | null }>(
    `SELECT (SELECT version FROM config_versions WHERE scope_id = ?) AS configVersion,
       (SELECT value FROM secrets WHERE name = ?) AS secret,
       (SELECT group_concat(value, ' ') FROM
         (SELECT value FROM former_session_secrets WHERE valid_until > ? ORDER BY id DESC)) AS formers`,
    key.scopeId,
    SESSION_SECRET,
    key.nowMs,
  );
  const { configVersion = null, secret = null, formers = null } = row ?? {};
  // Neither a secret nor what is made of it by sealing has a space in it.
  return { configVersion, keptSecrets: secret === null ? '' : `${secret} ${formers ?? ''}` };
}

export interface FormerSecretRow extends KeptSecret {
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

/** The same secret, kept in another way. */
export function saveFormerSecretValue(db: SqlDatabase, secret: KeptSecret & { readonly id: number }): void {
  db.run(
    'UPDATE former_session_secrets SET value = ?, sealed = ? WHERE id = ?',
    secret.value,
    secret.sealed,
    secret.id,
  );
}

/** How many replaced session secrets are kept. */
export function countFormerSecrets(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM former_session_secrets')?.count ?? 0;
}

export function saveFormerSecret(
  db: SqlDatabase,
  secret: KeptSecret & { readonly replacedAtMs: number; readonly validUntilMs: number },
): void {
  db.run(
    'INSERT INTO former_session_secrets (value, sealed, replaced_at, valid_until) VALUES (?, ?, ?, ?)',
    secret.value,
    secret.sealed,
    secret.replacedAtMs,
    secret.validUntilMs,
  );
}

/** Forgets the replaced session secrets whose time is over. */
export function deleteFormerSecretsUpTo(db: SqlDatabase, validUntilMs: number): void {
  db.run('DELETE FROM former_session_secrets WHERE valid_until <= ?', validUntilMs);
}

export function deleteFormerSecrets(db: SqlDatabase): void {
  db.run('DELETE FROM former_session_secrets');
}

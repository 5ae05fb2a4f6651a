/** The SQL of settings and secrets. */
import type { SqlDatabase } from '@freehold/store';

export function loadConfig(db: SqlDatabase, scopeId: string): Record<string, string> {
  const rows = db.all<{ key: string; value: string }>(
    'SELECT key, value FROM config WHERE scope_id = ? ORDER BY key',
    scopeId,
  );
  return Object.fromEntries(rows.map((row) => [row.key, row.value]));
}

export function saveSetting(db: SqlDatabase, setting: { scopeId: string; key: string; value: string }): void {
  db.run(
    `INSERT INTO config (scope_id, key, value) VALUES (?, ?, ?)
     ON CONFLICT (scope_id, key) DO UPDATE SET value = excluded.value`,
    setting.scopeId,
    setting.key,
    setting.value,
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

export function loadSecret(db: SqlDatabase, name: string): string | undefined {
  return db.get<{ value: string }>('SELECT value FROM secrets WHERE name = ?', name)?.value;
}

export function saveSecret(db: SqlDatabase, secret: { name: string; value: string; atMs: number }): void {
  db.run(
    'INSERT INTO secrets (name, value, created_at) VALUES (?, ?, ?)',
    secret.name,
    secret.value,
    secret.atMs,
  );
}

export function replaceSecret(db: SqlDatabase, secret: { name: string; value: string; atMs: number }): void {
  db.run(
    'UPDATE secrets SET value = ?, created_at = ? WHERE name = ?',
    secret.value,
    secret.atMs,
    secret.name,
  );
}

/** What decides whether a kept configuration still holds: one statement, because every request asks. */
export function loadInstanceMarks(
  db: SqlDatabase,
  key: { scopeId: string; secretName: string; nowMs: number },
): { readonly configVersion: string | null; readonly sessionSecrets: readonly string[] } {
  const row = db.get<{ configVersion: string | null; secret: string | null; formers: string | null }>(
    `SELECT (SELECT version FROM config_versions WHERE scope_id = ?) AS configVersion,
       (SELECT value FROM secrets WHERE name = ?) AS secret,
       (SELECT group_concat(value, ' ') FROM
         (SELECT value FROM former_session_secrets WHERE valid_until > ? ORDER BY id DESC)) AS formers`,
    key.scopeId,
    key.secretName,
    key.nowMs,
  );
  const { configVersion = null, secret = null, formers = null } = row ?? {};
  // The secrets are base64url: there is no space in them.
  return {
    configVersion,
    sessionSecrets: secret === null ? [] : [secret, ...(formers?.split(' ') ?? [])],
  };
}

/** How many replaced session secrets are kept. */
export function countFormerSecrets(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM former_session_secrets')?.count ?? 0;
}

export function saveFormerSecret(
  db: SqlDatabase,
  secret: { value: string; replacedAtMs: number; validUntilMs: number },
): void {
  db.run(
    'INSERT INTO former_session_secrets (value, replaced_at, valid_until) VALUES (?, ?, ?)',
    secret.value,
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

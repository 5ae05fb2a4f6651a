/** The SQL of passkeys. */
import type { SqlDatabase } from '@freehold/store';

export interface PasskeyRow {
  readonly id: string;
  readonly userId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backedUp: number;
  readonly name: string;
  readonly createdAtMs: number;
  readonly usedAtMs: number | null;
}

const COLUMNS = `id, user_id AS userId, public_key AS publicKey, counter, backed_up AS backedUp, name,
  created_at AS createdAtMs, used_at AS usedAtMs`;

export const PASSKEY_SQL = `SELECT ${COLUMNS} FROM account_passkeys WHERE id = ?`;
export const PASSKEYS_SQL = `SELECT ${COLUMNS} FROM account_passkeys WHERE user_id = ? ORDER BY created_at, id`;

export function loadPasskey(db: SqlDatabase, id: string): PasskeyRow | undefined {
  return db.get<PasskeyRow>(PASSKEY_SQL, id);
}

/** The passkeys of an account, oldest first. */
export function loadPasskeys(db: SqlDatabase, userId: string): PasskeyRow[] {
  return db.all<PasskeyRow>(PASSKEYS_SQL, userId);
}

export function insertPasskey(db: SqlDatabase, row: PasskeyRow): void {
  db.run(
    `INSERT INTO account_passkeys (id, user_id, public_key, counter, backed_up, name, created_at, used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.userId,
    row.publicKey,
    row.counter,
    row.backedUp,
    row.name,
    row.createdAtMs,
    row.usedAtMs,
  );
}

export function markPasskeyUsed(
  db: SqlDatabase,
  use: { id: string; counter: number; backedUp: boolean; atMs: number },
): void {
  db.run(
    'UPDATE account_passkeys SET counter = ?, backed_up = ?, used_at = ? WHERE id = ?',
    use.counter,
    Number(use.backedUp),
    use.atMs,
    use.id,
  );
}

export function savePasskeyName(db: SqlDatabase, passkey: { id: string; name: string }): void {
  db.run('UPDATE account_passkeys SET name = ? WHERE id = ?', passkey.name, passkey.id);
}

export function deletePasskey(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM account_passkeys WHERE id = ?', id);
}

export function deletePasskeys(db: SqlDatabase, userId: string): void {
  db.run('DELETE FROM account_passkeys WHERE user_id = ?', userId);
}

/** The SQL of accounts and their recovery codes. */
import type { SqlDatabase } from '@freehold/store';
import type { StoredSecret } from '../lib/secret-keeper.ts';

export interface AccountRow {
  readonly userId: string;
  /** In its one spelling. */
  readonly email: string;
  readonly emailVerified: number;
  readonly name: string | null;
  /** A PHC string, or null when there is no password. */
  readonly passwordHash: string | null;
  readonly passwordChangedAtMs: number | null;
  /** In its stored form; null when there is no second factor. */
  readonly totpSecret: string | null;
  readonly totpSealed: number;
  readonly totpEnabled: number;
  /** The newest time step of which a code was used. */
  readonly totpStep: number;
  /** Null unless a sign-up by passkey chose one: it is derived from the id then. */
  readonly passkeyHandle: string | null;
  readonly createdAtMs: number;
}

const COLUMNS = `user_id AS userId, email, email_verified AS emailVerified, name, password_hash AS passwordHash,
  password_changed_at AS passwordChangedAtMs, totp_secret AS totpSecret, totp_sealed AS totpSealed,
  totp_enabled AS totpEnabled, totp_step AS totpStep, passkey_handle AS passkeyHandle, created_at AS createdAtMs`;

export const ACCOUNT_SQL = `SELECT ${COLUMNS} FROM accounts WHERE user_id = ?`;
export const ACCOUNT_BY_EMAIL_SQL = `SELECT ${COLUMNS} FROM accounts WHERE email = ?`;

export function loadAccount(db: SqlDatabase, userId: string): AccountRow | undefined {
  return db.get<AccountRow>(ACCOUNT_SQL, userId);
}

/** @param email in its one spelling. */
export function loadAccountByEmail(db: SqlDatabase, email: string): AccountRow | undefined {
  return db.get<AccountRow>(ACCOUNT_BY_EMAIL_SQL, email);
}

export function insertAccount(
  db: SqlDatabase,
  account: {
    userId: string;
    email: string;
    emailVerified: boolean;
    name: string | null;
    passwordHash: string | null;
    passkeyHandle: string | null;
    atMs: number;
  },
): void {
  db.run(
    `INSERT INTO accounts (user_id, email, email_verified, name, password_hash, password_changed_at, passkey_handle,
       created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    account.userId,
    account.email,
    Number(account.emailVerified),
    account.name,
    account.passwordHash,
    account.passwordHash === null ? null : account.atMs,
    account.passkeyHandle,
    account.atMs,
  );
}

/** A new password. */
export function savePassword(
  db: SqlDatabase,
  password: { userId: string; hash: string; atMs: number },
): void {
  db.run(
    'UPDATE accounts SET password_hash = ?, password_changed_at = ? WHERE user_id = ?',
    password.hash,
    password.atMs,
    password.userId,
  );
}

/** The same password under another hash. */
export function savePasswordHash(db: SqlDatabase, password: { userId: string; hash: string }): void {
  db.run('UPDATE accounts SET password_hash = ? WHERE user_id = ?', password.hash, password.userId);
}

/** An address whose holder has shown that mail to it reaches them. */
export function saveVerifiedEmail(db: SqlDatabase, account: { userId: string; email: string }): void {
  db.run(
    'UPDATE accounts SET email = ?, email_verified = 1 WHERE user_id = ?',
    account.email,
    account.userId,
  );
}

export function saveAccountName(db: SqlDatabase, account: { userId: string; name: string | null }): void {
  db.run('UPDATE accounts SET name = ? WHERE user_id = ?', account.name, account.userId);
}

/** @param totp `step`: that of the code which turned it on. */
export function saveTotp(db: SqlDatabase, totp: StoredSecret & { userId: string; step: number }): void {
  db.run(
    'UPDATE accounts SET totp_secret = ?, totp_sealed = ?, totp_enabled = 1, totp_step = ? WHERE user_id = ?',
    totp.value,
    totp.sealed,
    totp.step,
    totp.userId,
  );
}

/** The same secret, in another stored form. */
export function saveTotpSecret(db: SqlDatabase, totp: StoredSecret & { userId: string }): void {
  db.run(
    'UPDATE accounts SET totp_secret = ?, totp_sealed = ? WHERE user_id = ?',
    totp.value,
    totp.sealed,
    totp.userId,
  );
}

/** The secrets of every account that has a second factor. */
export function loadTotpSecrets(db: SqlDatabase): (StoredSecret & { readonly userId: string })[] {
  return db.all(
    `SELECT user_id AS userId, totp_secret AS value, totp_sealed AS sealed FROM accounts
     WHERE totp_secret IS NOT NULL ORDER BY user_id`,
  );
}

export function deleteTotp(db: SqlDatabase, userId: string): void {
  db.run(
    'UPDATE accounts SET totp_secret = NULL, totp_sealed = 0, totp_enabled = 0, totp_step = 0 WHERE user_id = ?',
    userId,
  );
}

export function saveTotpStep(db: SqlDatabase, totp: { userId: string; step: number }): void {
  db.run('UPDATE accounts SET totp_step = ? WHERE user_id = ?', totp.step, totp.userId);
}

export function insertRecoveryCode(db: SqlDatabase, code: { userId: string; hash: string }): void {
  db.run('INSERT INTO account_recovery_codes (user_id, code_hash) VALUES (?, ?)', code.userId, code.hash);
}

export function deleteRecoveryCodes(db: SqlDatabase, userId: string): void {
  db.run('DELETE FROM account_recovery_codes WHERE user_id = ?', userId);
}

export const USE_RECOVERY_CODE_SQL =
  'DELETE FROM account_recovery_codes WHERE user_id = ? AND code_hash = ? RETURNING user_id';

/** Uses a code up; false when the account has no such code. */
export function useRecoveryCode(db: SqlDatabase, code: { userId: string; hash: string }): boolean {
  return db.get(USE_RECOVERY_CODE_SQL, code.userId, code.hash) !== undefined;
}

export const COUNT_RECOVERY_CODES_SQL =
  'SELECT count(*) AS count FROM account_recovery_codes WHERE user_id = ?';

export function countRecoveryCodes(db: SqlDatabase, userId: string): number {
  return db.get<{ count: number }>(COUNT_RECOVERY_CODES_SQL, userId)?.count ?? 0;
}

/** Whether an account's person holds the owner seat of a scope. */
export function holdsOwnerSeat(db: SqlDatabase, subject: { issuer: string; sub: string }): boolean {
  const row = db.get(
    `SELECT 1 FROM people p JOIN bindings b ON b.person_id = p.id
       JOIN seats s ON s.scope_id = b.scope_id AND s.principal = b.principal
     WHERE p.issuer = ? AND p.sub = ?`,
    subject.issuer,
    subject.sub,
  );
  return row !== undefined;
}

/** Removes an account with its dependent rows. */
export function deleteAccountRows(db: SqlDatabase, userId: string): void {
  for (const table of [
    'account_passkeys',
    'account_recovery_codes',
    'account_links',
    'account_second_factors',
    'accounts',
  ])
    db.run(`DELETE FROM ${table} WHERE user_id = ?`, userId);
}

/** The SQL of accounts and their recovery codes. */
import {
  boolean,
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { StoredSecret } from '../lib/secret-keeper.ts';

const accounts = defineTable('accounts', ['userId'], {
  userId: text(),
  /** In its one spelling. */
  email: text(),
  emailVerified: boolean(),
  name: nullable(text()),
  /** A PHC string, or null when there is no password. */
  passwordHash: nullable(text()),
  passwordChangedAtMs: nullable(time()),
  /** In its stored form; null when there is no second factor. */
  totpSecret: nullable(text()),
  totpSealed: integer(),
  totpEnabled: boolean(),
  /** The newest time step of which a code was used. */
  totpStep: integer(),
  /** Null unless a sign-up by passkey chose one: it is derived from the id then. */
  passkeyHandle: nullable(text()),
  createdAtMs: time(),
});
export type AccountRow = RowOf<typeof accounts>;

const NO_TOTP = { totpSecret: null, totpSealed: 0, totpEnabled: false, totpStep: 0 };

export const ACCOUNT_SQL = `${accounts.select} WHERE user_id = ?`;
export const ACCOUNT_BY_EMAIL_SQL = `${accounts.select} WHERE email = ?`;

export const loadAccount = accounts.get;
/** Loads by the address in its one spelling. */
export const loadAccountByEmail = accounts.finding('email');
/** A new password. */
export const savePassword = accounts.updating('passwordHash', 'passwordChangedAtMs');
/** The same password under another hash. */
export const savePasswordHash = accounts.updating('passwordHash');
export const saveAccountName = accounts.updating('name');
export const saveTotpStep = accounts.updating('totpStep');
const updateEmail = accounts.updating('email', 'emailVerified');
const updateTotp = accounts.updating('totpSecret', 'totpSealed', 'totpEnabled', 'totpStep');
const updateTotpSecret = accounts.updating('totpSecret', 'totpSealed');

export function insertAccount(
  db: SqlDatabase,
  {
    atMs,
    ...account
  }: Omit<AccountRow, keyof typeof NO_TOTP | 'passwordChangedAtMs' | 'createdAtMs'> & {
    readonly atMs: number;
  },
): void {
  const passwordChangedAtMs = account.passwordHash === null ? null : atMs;
  accounts.insert(db, { ...account, ...NO_TOTP, passwordChangedAtMs, createdAtMs: atMs });
}

/** An address whose holder has shown that mail to it reaches them. */
export function saveVerifiedEmail(db: SqlDatabase, account: { userId: string; email: string }): void {
  updateEmail(db, { ...account, emailVerified: true });
}

/** @param totp `step`: that of the code which turned it on. */
export function saveTotp(db: SqlDatabase, totp: StoredSecret & { userId: string; step: number }): void {
  const { userId, value, sealed, step } = totp;
  updateTotp(db, { userId, totpSecret: value, totpSealed: sealed, totpEnabled: true, totpStep: step });
}

/** The same secret, in another stored form. */
export function saveTotpSecret(db: SqlDatabase, totp: StoredSecret & { userId: string }): void {
  updateTotpSecret(db, { userId: totp.userId, totpSecret: totp.value, totpSealed: totp.sealed });
}

export function deleteTotp(db: SqlDatabase, userId: string): void {
  updateTotp(db, { userId, ...NO_TOTP });
}

/** The secrets of every account that has a second factor. */
export function loadTotpSecrets(db: SqlDatabase): (StoredSecret & { readonly userId: string })[] {
  return db.all(
    `SELECT user_id AS userId, totp_secret AS value, totp_sealed AS sealed FROM accounts
     WHERE totp_secret IS NOT NULL ORDER BY user_id`,
  );
}

const recoveryCodes = defineTable('account_recovery_codes', ['userId', 'hash'], {
  userId: text(),
  hash: text('code_hash'),
});
export const insertRecoveryCode = recoveryCodes.insert;
export const deleteRecoveryCodes = recoveryCodes.deleting('userId');

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

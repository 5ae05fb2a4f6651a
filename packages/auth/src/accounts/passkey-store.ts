/** The SQL of passkeys. */
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

const passkeys = defineTable('account_passkeys', ['id'], {
  id: text(),
  userId: text(),
  publicKey: text(),
  counter: integer(),
  backedUp: boolean(),
  name: text(),
  createdAtMs: time(),
  usedAtMs: nullable(time()),
});
export type PasskeyRow = RowOf<typeof passkeys>;

export const PASSKEY_SQL = `${passkeys.select} WHERE id = ?`;
export const PASSKEYS_SQL = `${passkeys.select} WHERE user_id = ? ORDER BY created_at, id`;

export const loadPasskey = passkeys.get;
export const insertPasskey = passkeys.insert;
export const markPasskeyUsed = passkeys.updating('counter', 'backedUp', 'usedAtMs');
export const savePasskeyName = passkeys.updating('name');
export const deletePasskey = passkeys.delete;
export const deletePasskeys = passkeys.deleting('userId');

/** The passkeys of an account, oldest first. */
export function loadPasskeys(db: SqlDatabase, userId: string): PasskeyRow[] {
  return passkeys.all(db, PASSKEYS_SQL, userId);
}

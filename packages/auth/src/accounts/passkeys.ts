/** Passkeys: their records, and signing in with one. */

import { createHash } from 'node:crypto';
import type { UnitContext } from '@freehold/store';
import { refusal } from '../lib/refusals.ts';
import { refuseSignIn, requireAccount, requireHolder, signIn } from './account.ts';
import type { AccountOperations, Challenge, NewPasskey, Passkey } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { requireName, requirePasskey } from './input.ts';
import {
  deletePasskey,
  deletePasskeys,
  insertPasskey,
  loadPasskey,
  loadPasskeys,
  markPasskeyUsed,
  type PasskeyRow,
  savePasskeyName,
} from './passkey-store.ts';
import { forgetChallenges, useChallenge } from './pending-store.ts';
import type { AccountRow } from './store.ts';

const FORGOTTEN_AT_ONCE = 20;
const PASSKEYS_MAX = 20;
const NAME_DEFAULT = 'Passkey';

type PasskeyOperations = Pick<
  AccountOperations,
  'findPasskey' | 'finishPasskey' | 'addPasskey' | 'renamePasskey' | 'removePasskey'
>;

export function makePasskeyOperations(unit: UnitContext): PasskeyOperations {
  return {
    findPasskey({ id }) {
      const row = loadPasskey(unit.db, id);
      if (!row) return null;
      const { userId, publicKey } = row;
      return { id, userId, publicKey, userHandle: passkeyHandleOf(requireAccount(unit, userId)) };
    },

    finishPasskey({ scopeId, id, counter, backedUp, challenge, session }) {
      if (!takeChallenge(unit, challenge)) return { outcome: 'refused' };
      const row = loadPasskey(unit.db, id);
      if (!row) return refuseSignIn(unit, { scopeId, account: undefined, reason: 'passkey_unknown' });
      const { userId } = row;
      const account = session ? requireHolder(unit, { userId, session }) : requireAccount(unit, userId);
      if (isCounterBehind(row.counter, counter))
        return refuseSignIn(unit, { scopeId, account, reason: 'passkey_counter' });
      markPasskeyUsed(unit.db, { id, counter, backedUp, usedAtMs: unit.now() });
      return signIn(unit, account);
    },

    addPasskey(input) {
      const { scopeId, userId, passkey, challenge } = input;
      requireHolder(unit, input);
      requireFreshChallenge(unit, challenge);
      const added = storePasskey(unit, userId, passkey);
      recordAccountEvent(unit, 'passkey_added', { scopeId, userId, detail: { name: added.name } });
      return added;
    },

    renamePasskey(input) {
      requireHolder(unit, input);
      const row = requireOwnPasskey(unit, input.userId, input.id);
      const renamed = { ...row, name: requireName(input.name) ?? NAME_DEFAULT };
      savePasskeyName(unit.db, renamed);
      return toPasskey(renamed);
    },

    removePasskey(input) {
      const { scopeId, userId, id } = input;
      const hasPassword = requireHolder(unit, input).passwordHash !== null;
      const { name } = requireOwnPasskey(unit, userId, id);
      if (!hasPassword && loadPasskeys(unit.db, userId).length === 1)
        throw refusal(
          'conflict',
          'last_credential',
          'This passkey is the only way into the account. Add another first.',
        );
      deletePasskey(unit.db, id);
      recordAccountEvent(unit, 'passkey_removed', { scopeId, userId, detail: { name } });
      return null;
    },
  };
}

/** Removes every passkey of an account that has a new password instead. */
export function removePasskeys(
  unit: UnitContext,
  { scopeId, userId }: { readonly scopeId: string; readonly userId: string },
): void {
  for (const { name } of loadPasskeys(unit.db, userId))
    recordAccountEvent(unit, 'passkey_removed', { scopeId, userId, detail: { name } });
  deletePasskeys(unit.db, userId);
}

/** Returns the user handle of an account: 32 bytes that reveal nothing about it (Web Authentication, section 14.6.1). */
export function passkeyHandleOf({ passkeyHandle, userId }: AccountRow): string {
  return passkeyHandle ?? createHash('sha256').update(`passkey handle of ${userId}`).digest('base64url');
}

/** Uses a challenge up. @throws PlatformError `forbidden`, reason `passkey_refused`, when it was used before. */
export function requireFreshChallenge(unit: UnitContext, challenge: Challenge): void {
  if (!takeChallenge(unit, challenge))
    throw refusal('forbidden', 'passkey_refused', 'This passkey was not accepted.');
}

/** Whether a challenge may be used, once. Only rightly answered ones come here, so no other request writes a row. */
function takeChallenge(unit: UnitContext, challenge: Challenge): boolean {
  const nowMs = unit.now();
  forgetChallenges(unit.db, { nowMs, rowsMax: FORGOTTEN_AT_ONCE });
  return nowMs < challenge.expiresAtMs && useChallenge(unit.db, challenge);
}

/** Stores a passkey of an account. @throws PlatformError `conflict`, reason `passkey_known` or `passkeys_full`. */
export function storePasskey(unit: UnitContext, userId: string, passkey: NewPasskey): Passkey {
  const { id, publicKey, counter, backedUp, name } = requirePasskey(passkey);
  if (loadPasskey(unit.db, id))
    throw refusal('conflict', 'passkey_known', 'This passkey belongs to an account already.');
  if (loadPasskeys(unit.db, userId).length >= PASSKEYS_MAX)
    throw refusal('conflict', 'passkeys_full', `An account has at most ${PASSKEYS_MAX} passkeys.`);
  const row: PasskeyRow = {
    id,
    userId,
    publicKey,
    counter,
    backedUp,
    name: requireName(name) ?? NAME_DEFAULT,
    createdAtMs: unit.now(),
    usedAtMs: null,
  };
  insertPasskey(unit.db, row);
  return toPasskey(row);
}

export function toPasskey(row: PasskeyRow): Passkey {
  const { id, name, createdAtMs: createdMs, usedAtMs: usedMs } = row;
  return { id, name, backedUp: row.backedUp, createdMs, usedMs };
}

/**
 * Whether a signature counter did not advance: an attacker may hold a copy of the key (Web Authentication, section
 * 6.1.1). A passkey that never counted stays at zero; one that stopped is no exception, since a copy may claim
 * anything.
 */
function isCounterBehind(stored: number, presented: number): boolean {
  return stored !== 0 && !(presented > stored);
}

function requireOwnPasskey(unit: UnitContext, userId: string, id: string): PasskeyRow {
  const row = loadPasskey(unit.db, id);
  if (row?.userId !== userId) throw refusal('not_found', 'passkey_unknown', 'There is no such passkey.');
  return row;
}

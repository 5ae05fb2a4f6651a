/** Passkeys: the challenges of their ceremonies, what is kept of them, and signing in with one. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { base64url } from 'jose';
import { hashToken } from '../lib/token.ts';
import { requireAccount, toAccount } from './account.ts';
import type { AccountOperations, NewPasskey, Passkey } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { requireName, requirePasskey } from './input.ts';
import { findLiveLink, unknownLink } from './links.ts';
import {
  deletePasskey,
  insertPasskey,
  loadPasskey,
  loadPasskeys,
  markPasskeyUsed,
  type PasskeyRow,
  savePasskeyName,
} from './passkey-store.ts';
import { type ChallengeRow, forgetChallenges, insertChallenge, takeChallengeRow } from './pending-store.ts';
import { refuseSignIn } from './sign-in-steps.ts';

/** Web Authentication, section 13.4.3, asks for 16 bytes at least. */
const CHALLENGE_BYTES = 32;
const CHALLENGE_TTL_MS = 5 * 60_000;
/** Anybody may ask for a challenge: beyond this many the oldest are forgotten. */
const CHALLENGES_MAX = 10_000;
const FORGOTTEN_AT_ONCE = 20;
const PASSKEYS_MAX = 20;
const NAME_DEFAULT = 'Passkey';

type PasskeyOperations = Pick<
  AccountOperations,
  | 'beginPasskey'
  | 'takeChallenge'
  | 'findPasskey'
  | 'finishPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
>;

export function makePasskeyOperations(unit: UnitContext): PasskeyOperations {
  return {
    beginPasskey(input) {
      requireHolder(unit, input);
      const nowMs = unit.now();
      const challenge = base64url.encode(unit.random(CHALLENGE_BYTES));
      const expiresAtMs = nowMs + CHALLENGE_TTL_MS;
      forgetChallenges(unit.db, { nowMs, rowsMax: FORGOTTEN_AT_ONCE, kept: CHALLENGES_MAX - 1 });
      insertChallenge(unit.db, { ...purposeOf(input), expiresAtMs }, hashToken(challenge));
      return { challenge, expiresAtMs };
    },

    takeChallenge(input) {
      const found = takeChallengeRow(unit.db, hashToken(input.challenge));
      const wanted = purposeOf(input);
      return (
        found !== undefined &&
        unit.now() < found.expiresAtMs &&
        found.purpose === wanted.purpose &&
        found.userId === wanted.userId &&
        found.linkHash === wanted.linkHash
      );
    },

    findPasskey({ id }) {
      const row = loadPasskey(unit.db, id);
      if (!row) return null;
      const { userId, publicKey, counter } = row;
      return { id, userId, publicKey, counter, transports: JSON.parse(row.transports) };
    },

    finishPasskey({ scopeId, id, counter, backedUp }) {
      const row = loadPasskey(unit.db, id);
      if (!row) return refuseSignIn(unit, { scopeId, userId: undefined, reason: 'passkey_unknown' });
      const { userId } = row;
      if (isCounterBehind(row.counter, counter))
        return refuseSignIn(unit, { scopeId, userId, reason: 'passkey_counter' });
      markPasskeyUsed(unit.db, { id, counter, backedUp, atMs: unit.now() });
      return { outcome: 'signed_in', account: toAccount(requireAccount(unit, userId)) };
    },

    addPasskey({ scopeId, userId, passkey }) {
      requireAccount(unit, userId);
      const kept = keepPasskey(unit, userId, passkey);
      recordAccountEvent(unit, 'passkey_added', { scopeId, userId, detail: { name: kept.name } });
      return kept;
    },

    renamePasskey({ userId, id, name }) {
      const row = requireOwnPasskey(unit, userId, id);
      const renamed = { ...row, name: requireName(name) ?? NAME_DEFAULT };
      savePasskeyName(unit.db, renamed);
      return toPasskey(renamed);
    },

    removePasskey({ scopeId, userId, id }) {
      const { name } = requireOwnPasskey(unit, userId, id);
      const hasPassword = requireAccount(unit, userId).passwordHash !== null;
      if (!hasPassword && loadPasskeys(unit.db, userId).length === 1)
        throw new PlatformError(
          'conflict',
          'This passkey is the only way into the account. Add another first.',
          {
            reason: 'last_credential',
          },
        );
      deletePasskey(unit.db, id);
      recordAccountEvent(unit, 'passkey_removed', { scopeId, userId, detail: { name } });
      return null;
    },
  };
}

/** Keeps a passkey for an account. @throws PlatformError `conflict`, reason `passkey_known` or `passkeys_full`. */
export function keepPasskey(unit: UnitContext, userId: string, passkey: NewPasskey): Passkey {
  const { id, publicKey, counter, transports, backedUp, name } = requirePasskey(passkey);
  if (loadPasskey(unit.db, id))
    throw new PlatformError('conflict', 'This passkey belongs to an account already.', {
      reason: 'passkey_known',
    });
  if (loadPasskeys(unit.db, userId).length >= PASSKEYS_MAX)
    throw new PlatformError('conflict', `An account has at most ${PASSKEYS_MAX} passkeys.`, {
      reason: 'passkeys_full',
    });
  const row: PasskeyRow = {
    id,
    userId,
    publicKey,
    counter,
    transports: JSON.stringify(transports),
    backedUp: Number(backedUp),
    name: requireName(name) ?? NAME_DEFAULT,
    createdAtMs: unit.now(),
    usedAtMs: null,
  };
  insertPasskey(unit.db, row);
  return toPasskey(row);
}

export function toPasskey(row: PasskeyRow): Passkey {
  const { id, name, createdAtMs: createdMs, usedAtMs: usedMs } = row;
  return { id, name, backedUp: row.backedUp === 1, createdMs, usedMs };
}

/**
 * Whether a signature counter did not move on: somebody may hold a copy of the key (Web Authentication, section
 * 6.1.1). A passkey that never counted stays at zero; one that did and stopped is no exception, since a copy
 * may say what it likes.
 */
function isCounterBehind(stored: number, presented: number): boolean {
  return stored !== 0 && !(presented > stored);
}

type Ceremony = Parameters<AccountOperations['beginPasskey']>[0];

/**
 * A registration is for one account, or for the one that a live sign-up link stands for; a sign-in may be for anybody.
 * @throws PlatformError `validation_failed`; `not_found`, reason `account_unknown` or `link_unknown`.
 */
function requireHolder(unit: UnitContext, { purpose, userId, linkToken }: Ceremony): void {
  const holders = [userId, linkToken].filter((holder) => holder !== undefined).length;
  if (purpose === 'register' ? holders !== 1 : linkToken !== undefined)
    throw new PlatformError('validation_failed', 'A passkey is registered for one account.');
  if (userId !== undefined) requireAccount(unit, userId);
  if (linkToken !== undefined && !findLiveLink(unit, linkToken, 'sign_up')) throw unknownLink();
}

function purposeOf({ purpose, userId, linkToken }: Ceremony): Omit<ChallengeRow, 'expiresAtMs'> {
  const linkHash = linkToken === undefined ? null : hashToken(linkToken);
  return { purpose, userId: userId ?? null, linkHash };
}

function requireOwnPasskey(unit: UnitContext, userId: string, id: string): PasskeyRow {
  const row = loadPasskey(unit.db, id);
  if (row?.userId !== userId)
    throw new PlatformError('not_found', 'There is no such passkey.', { reason: 'passkey_unknown' });
  return row;
}

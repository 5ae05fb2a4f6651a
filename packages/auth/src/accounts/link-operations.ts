/** Operations by a mailed link: signing up, resetting a password, and moving an account to another address and back. */
import type { UnitContext } from '@freehold/store';
import { requireEmailAddress } from '../lib/email-address.ts';
import {
  accountExists,
  endAllOf,
  passFirstFactor,
  requireAccount,
  requireHolder,
  signIn,
  toAccount,
} from './account.ts';
import { countAttempt, forgetAttempts, mailCounters, passwordCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { requireName, requirePasswordHash } from './input.ts';
import { voidLinks, voidReverts } from './link-store.ts';
import { findLiveLink, makeLink, pretendLink, takeLink, unknownLink } from './links.ts';
import { loadPasskeys } from './passkey-store.ts';
import { removePasskeys, requireFreshChallenge, storePasskey, toPasskey } from './passkeys.ts';
import {
  type AccountRow,
  insertAccount,
  loadAccountByEmail,
  savePassword,
  saveVerifiedEmail,
} from './store.ts';

type LinkOperations = Pick<
  AccountOperations,
  | 'beginSignUp'
  | 'completeSignUp'
  | 'beginReset'
  | 'completeReset'
  | 'beginEmailChange'
  | 'completeEmailChange'
  | 'revertEmailChange'
  | 'showLink'
>;

export function makeLinkOperations(unit: UnitContext): LinkOperations {
  return {
    ...makeSignUpOperations(unit),
    ...makeResetOperations(unit),
    ...makeEmailOperations(unit),

    showLink({ token, purpose }) {
      const link = findLiveLink(unit, token, purpose);
      if (link === null) return null;
      const { email, name, userId } = link;
      const passkeys = userId === null ? [] : loadPasskeys(unit.db, userId).map(toPasskey);
      return { email, name, userId, passkeys };
    },
  };
}

function makeSignUpOperations(unit: UnitContext): Pick<LinkOperations, 'beginSignUp' | 'completeSignUp'> {
  return {
    beginSignUp(input) {
      const email = requireEmailAddress(input.email);
      const name = requireName(input.name);
      const limited = countAttempt(unit, mailCounters('sign_up', email, input.address));
      if (limited) return limited;
      const account = loadAccountByEmail(unit.db, email);
      if (!account) return makeLink(unit, { purpose: 'sign_up', email, userId: null, name });
      pretendLink(unit, { purpose: 'sign_up', email });
      return { outcome: 'known', account: toAccount(account) };
    },

    completeSignUp(input) {
      const { scopeId, credential } = input;
      const link = takeLink(unit, input.token, 'sign_up');
      const account = makeAccount(unit, {
        email: link.email,
        emailVerified: true,
        name: input.name === undefined ? link.name : requireName(input.name),
        passwordHash: credential.kind === 'password' ? requirePasswordHash(credential.hash) : null,
        passkeyHandle: credential.kind === 'passkey' ? credential.userHandle : null,
      });
      const { userId } = account;
      if (credential.kind === 'passkey') {
        requireFreshChallenge(unit, credential.challenge);
        storePasskey(unit, userId, credential.passkey);
      }
      const detail = { how: 'sign_up', credential: credential.kind };
      recordAccountEvent(unit, 'account_created', { scopeId, userId, detail });
      return signIn(unit, account);
    },
  };
}

function makeResetOperations(unit: UnitContext): Pick<LinkOperations, 'beginReset' | 'completeReset'> {
  return {
    beginReset(input) {
      const email = requireEmailAddress(input.email);
      const limited = countAttempt(unit, mailCounters('reset', email, input.address));
      if (limited) return limited;
      const account = loadAccountByEmail(unit.db, email);
      if (account) {
        const { userId, name } = account;
        return makeLink(unit, { purpose: 'reset', email, userId, name });
      }
      pretendLink(unit, { purpose: 'reset', email });
      return { outcome: 'unknown' };
    },

    completeReset(input) {
      const { scopeId, address } = input;
      const link = takeLink(unit, input.token, 'reset');
      if (link.userId === null) throw unknownLink();
      const { userId } = link;
      const atMs = endAllOf(unit, userId);
      savePassword(unit.db, {
        userId,
        passwordHash: requirePasswordHash(input.hash),
        passwordChangedAtMs: atMs,
      });
      if (input.removePasskeys === true) removePasskeys(unit, { scopeId, userId });
      // A change of address voids the links to the former one, so this address is the account's.
      saveVerifiedEmail(unit.db, { userId, email: link.email });
      // The lock of the second factor stays: it stops an attacker who has the mailbox as well.
      forgetAttempts(unit, passwordCounters(link.email, { address }));
      recordAccountEvent(unit, 'password_reset', { scopeId, userId });
      return passFirstFactor(unit, requireAccount(unit, userId));
    },
  };
}

function makeEmailOperations(
  unit: UnitContext,
): Pick<LinkOperations, 'beginEmailChange' | 'completeEmailChange' | 'revertEmailChange'> {
  return {
    beginEmailChange(input) {
      const email = requireEmailAddress(input.email);
      const { userId, name } = requireHolder(unit, input);
      const limited = countAttempt(unit, mailCounters('email_change', email, input.address));
      if (limited) return limited;
      if (!loadAccountByEmail(unit.db, email))
        return makeLink(unit, { purpose: 'email_change', email, userId, name });
      pretendLink(unit, { purpose: 'email_change', email });
      return { outcome: 'known' };
    },

    completeEmailChange(input) {
      const { scopeId, userId, token } = input;
      const former = requireHolder(unit, input);
      const live = findLiveLink(unit, token, 'email_change');
      if (live !== null && live.userId !== userId) throw unknownLink();
      const { email } = takeLink(unit, token, 'email_change');
      if (loadAccountByEmail(unit.db, email)) throw accountExists();
      // Among them a reset that is on its way to the former address.
      voidLinks(unit.db, userId);
      saveVerifiedEmail(unit.db, { userId, email });
      recordAccountEvent(unit, 'email_changed', { scopeId, userId });
      // An unverified address may belong to another person, who must not get a link.
      const order = { purpose: 'email_revert', email: former.email, userId, name: former.name } as const;
      const revert = former.emailVerified ? makeLink(unit, order) : null;
      return { account: toAccount(requireAccount(unit, userId)), formerEmail: former.email, revert };
    },

    revertEmailChange({ scopeId, token }) {
      const { userId, email, expiresAtMs } = takeLink(unit, token, 'email_revert');
      if (userId === null) throw unknownLink();
      const holder = loadAccountByEmail(unit.db, email);
      if (holder && holder.userId !== userId) throw accountExists();
      endAllOf(unit, userId);
      // Of several former addresses the oldest wins: a thief moves an account on, and its holder was there first.
      voidReverts(unit.db, { userId, expiresAtMs });
      saveVerifiedEmail(unit.db, { userId, email });
      recordAccountEvent(unit, 'email_reverted', { scopeId, userId });
      return toAccount(requireAccount(unit, userId));
    },
  };
}

export function makeAccount(
  unit: UnitContext,
  account: Omit<Parameters<typeof insertAccount>[1], 'userId' | 'atMs'>,
): AccountRow {
  if (loadAccountByEmail(unit.db, account.email)) throw accountExists();
  const userId = unit.newId('usr');
  insertAccount(unit.db, { ...account, userId, atMs: unit.now() });
  return requireAccount(unit, userId);
}

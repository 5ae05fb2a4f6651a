/** Moving an account to another address, once mail to it has reached its holder; and back again. */
import type { UnitContext } from '@freehold/store';
import { accountExists, endWhatWasBegun, requireAccount, requireHolder, toAccount } from './account.ts';
import { countAttempt, mailCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { requireEmailAddress } from '../lib/email-address.ts';
import { recordAccountEvent } from './events.ts';
import { voidLinks, voidReverts } from './link-store.ts';
import { findLiveLink, makeLink, pretendLink, takeLink, unknownLink } from './links.ts';
import { loadAccountByEmail, saveVerifiedEmail } from './store.ts';

type EmailOperations = Pick<
  AccountOperations,
  'beginEmailChange' | 'completeEmailChange' | 'revertEmailChange'
>;

export function makeEmailOperations(unit: UnitContext): EmailOperations {
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
      // Nobody has shown that mail to an unverified address reaches the holder: a link there could be anybody's.
      const order = { purpose: 'email_revert', email: former.email, userId, name: former.name } as const;
      const revert = former.emailVerified === 1 ? makeLink(unit, order) : null;
      return { account: toAccount(requireAccount(unit, userId)), formerEmail: former.email, revert };
    },

    revertEmailChange({ scopeId, token }) {
      const { userId, email, expiresAtMs } = takeLink(unit, token, 'email_revert');
      if (userId === null) throw unknownLink();
      const holder = loadAccountByEmail(unit.db, email);
      if (holder && holder.userId !== userId) throw accountExists();
      endWhatWasBegun(unit, userId);
      // Of several former addresses the oldest has the last word: a thief moves an account on, its holder is first.
      voidReverts(unit.db, { userId, expiresAtMs });
      saveVerifiedEmail(unit.db, { userId, email });
      recordAccountEvent(unit, 'email_reverted', { scopeId, userId });
      return toAccount(requireAccount(unit, userId));
    },
  };
}

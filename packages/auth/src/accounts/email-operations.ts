/** Moving an account to another address, once mail to it has reached its holder. */
import type { UnitContext } from '@freehold/store';
import { accountExists, requireAccount, toAccount } from './account.ts';
import { countAttempt, mailCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { requireEmailAddress } from './email-address.ts';
import { recordAccountEvent } from './events.ts';
import { voidLinks } from './link-store.ts';
import { makeLink, pretendLink, takeLink, unknownLink } from './links.ts';
import { loadAccountByEmail, saveVerifiedEmail } from './store.ts';

type EmailOperations = Pick<AccountOperations, 'beginEmailChange' | 'completeEmailChange'>;

export function makeEmailOperations(unit: UnitContext): EmailOperations {
  return {
    beginEmailChange(input) {
      const email = requireEmailAddress(input.email);
      const { userId, name } = requireAccount(unit, input.userId);
      const limited = countAttempt(unit, mailCounters(email, input.address));
      if (limited) return limited;
      if (!loadAccountByEmail(unit.db, email))
        return makeLink(unit, { purpose: 'email_change', email, userId, name });
      pretendLink(unit, { purpose: 'email_change', email });
      return { outcome: 'known' };
    },

    completeEmailChange(input) {
      const { scopeId } = input;
      const link = takeLink(unit, input.token, 'email_change');
      const { userId, email } = link;
      if (userId === null) throw unknownLink();
      if (loadAccountByEmail(unit.db, email)) throw accountExists();
      const { email: formerEmail } = requireAccount(unit, userId);
      // Among them a reset that is on its way to the former address.
      voidLinks(unit.db, userId);
      saveVerifiedEmail(unit.db, { userId, email });
      recordAccountEvent(unit, 'email_changed', { scopeId, userId });
      return { account: toAccount(requireAccount(unit, userId)), formerEmail };
    },
  };
}

/** Setting a password anew: by a link for who forgot it, or by who is signed in. */
import type { UnitContext } from '@freehold/store';
import { endWhatWasBegun, requireAccount, requireHolder } from './account.ts';
import { countAttempt, forgetAttempts, mailCounters, passwordCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { requireEmailAddress } from '../lib/email-address.ts';
import { recordAccountEvent } from './events.ts';
import { requirePasswordHash } from './input.ts';
import { makeLink, pretendLink, takeLink, unknownLink } from './links.ts';
import { removePasskeys } from './passkeys.ts';
import { passFirstFactor } from './sign-in-steps.ts';
import { loadAccountByEmail, savePassword, saveVerifiedEmail } from './store.ts';

type PasswordOperations = Pick<AccountOperations, 'beginReset' | 'completeReset' | 'setPassword'>;

export function makePasswordOperations(unit: UnitContext): PasswordOperations {
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
      const atMs = endWhatWasBegun(unit, userId);
      savePassword(unit.db, { userId, hash: requirePasswordHash(input.hash), atMs });
      if (input.removePasskeys === true) removePasskeys(unit, { scopeId, userId });
      // A link for an address that the account no longer has was made void when the address changed.
      saveVerifiedEmail(unit.db, { userId, email: link.email });
      // The lock of the second factor stays: it is there against somebody who has the mailbox as well.
      forgetAttempts(unit, passwordCounters(link.email, { address }));
      recordAccountEvent(unit, 'password_reset', { scopeId, userId });
      return passFirstFactor(unit, requireAccount(unit, userId));
    },

    setPassword(input) {
      const { scopeId, userId } = input;
      requireHolder(unit, input);
      // Later than what was issued under the old one, and so are the sessions and browsers of the new one.
      const sessionAtMs = endWhatWasBegun(unit, userId);
      savePassword(unit.db, { userId, hash: requirePasswordHash(input.hash), atMs: sessionAtMs });
      recordAccountEvent(unit, 'password_changed', { scopeId, userId });
      return { sessionAtMs };
    },
  };
}

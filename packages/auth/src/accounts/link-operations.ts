/** How accounts come to be: by a link that was sent to their address, or taken over from elsewhere. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { accountExists, requireAccount, signIn, toAccount } from './account.ts';
import { countAttempt, mailCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { requireEmailAddress } from '../lib/email-address.ts';
import { recordAccountEvent } from './events.ts';
import { requireImportedHash, requireName, requirePasswordHash } from './input.ts';
import { makeLink, pretendLink, takeLink } from './links.ts';
import { keepPasskey, requireFreshChallenge } from './passkeys.ts';
import { type AccountRow, insertAccount, loadAccountByEmail } from './store.ts';

type SignUpOperations = Pick<AccountOperations, 'beginSignUp' | 'completeSignUp' | 'importAccount'>;

export function makeSignUpOperations(unit: UnitContext): SignUpOperations {
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
      const name = input.name === undefined ? link.name : requireName(input.name);
      const passwordHash = credential.kind === 'password' ? requirePasswordHash(credential.hash) : null;
      const passkeyHandle = credential.kind === 'passkey' ? credential.userHandle : null;
      const made = { email: link.email, emailVerified: true, name, passwordHash, passkeyHandle };
      const account = makeAccount(unit, made);
      const { userId } = account;
      if (credential.kind === 'passkey') {
        requireFreshChallenge(unit, credential.challenge);
        keepPasskey(unit, userId, credential.passkey);
      }
      recordAccountEvent(unit, 'account_created', {
        scopeId,
        userId,
        detail: { how: 'sign_up', credential: credential.kind },
      });
      return signIn(unit, account);
    },

    importAccount(input) {
      if (typeof input.emailVerified !== 'boolean')
        throw new PlatformError('validation_failed', 'An account says whether its address was verified.', {
          errors: [{ path: 'emailVerified', message: 'must be true or false' }],
        });
      const account = makeAccount(unit, {
        email: requireEmailAddress(input.email),
        emailVerified: input.emailVerified,
        name: requireName(input.name),
        passwordHash: input.passwordHash === undefined ? null : requireImportedHash(input.passwordHash),
        passkeyHandle: null,
      });
      recordAccountEvent(unit, 'account_created', { userId: account.userId, detail: { how: 'import' } });
      return toAccount(account);
    },
  };
}

function makeAccount(
  unit: UnitContext,
  account: Omit<Parameters<typeof insertAccount>[1], 'userId' | 'atMs'>,
): AccountRow {
  if (loadAccountByEmail(unit.db, account.email)) throw accountExists();
  const userId = unit.newId('usr');
  insertAccount(unit.db, { ...account, userId, atMs: unit.now() });
  return requireAccount(unit, userId);
}

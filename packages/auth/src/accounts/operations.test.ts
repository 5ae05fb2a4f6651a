/** Accounts as a whole: what is shown of them, what is told of them, and how they are looked up. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/node-database.ts';
import { HOUR_MS, refusal, START_MS, TENANT_A } from '../../test/support.ts';
import { ATTEMPTS_SQL, FORGET_ATTEMPTS_SQL } from './attempt-store.ts';
import { directoryIssuer } from './contract.ts';
import { REFUSED_SIGN_INS_SQL, STRANGE_ACCOUNT_EVENTS_SQL } from './event-store.ts';
import { FORGET_LINKS_SQL, LINK_SQL, RETIRE_LINKS_SQL, VOID_LINKS_SQL } from './link-store.ts';
import { PASSKEY_SQL, PASSKEYS_SQL } from './passkey-store.ts';
import {
  FORGET_CHALLENGES_SQL,
  FORGET_SECOND_FACTORS_SQL,
  SECOND_FACTOR_SQL,
  TAKE_CHALLENGE_SQL,
  TRIM_CHALLENGES_SQL,
  TRIM_SECOND_FACTORS_SQL,
  VOID_SECOND_FACTORS_SQL,
} from './pending-store.ts';
import {
  ACCOUNT_BY_EMAIL_SQL,
  ACCOUNT_SQL,
  COUNT_RECOVERY_CODES_SQL,
  USE_RECOVERY_CODE_SQL,
} from './store.ts';
import { ADA, HASH, openAccounts, openBare, passkey, SCOPE } from './test/support.ts';

test('an account is shown with what it signs in with, and nothing of its secrets', async () => {
  const { directory, ada, clock, turnTotpOn } = await openAccounts();
  const { userId } = ada;
  const { secret } = await turnTotpOn();
  for (const id of ['one', 'two']) {
    await directory.addPasskey({ scopeId: SCOPE, userId, passkey: passkey(id) });
    clock.nowMs += 1;
  }
  const shown = await directory.accountSecurity({ userId });
  expect(shown).toMatchObject({
    ...ada,
    createdMs: START_MS,
    passwordChangedMs: START_MS,
    totp: true,
    recoveryCodes: 10,
    passkeys: [{ id: 'one' }, { id: 'two' }],
  });
  expect(JSON.stringify(shown)).not.toContain(HASH);
  expect(JSON.stringify(shown)).not.toContain(secret);
  expect(JSON.stringify(shown)).not.toContain(passkey('one').publicKey);
  expect(await directory.findAccount({ userId })).toEqual(ada);
  expect(await directory.findAccount({ userId: 'usr_nobody' })).toBeNull();
  expect(await directory.accountSecurity({ userId: 'usr_nobody' })).toBeNull();
});

test('a name is changed and told; the same again is neither', async () => {
  const { directory, ada, events } = await openAccounts();
  const rename = (name: string | null) =>
    directory.renameAccount({ scopeId: SCOPE, userId: ada.userId, name });
  expect(await rename(' Ada L. ')).toEqual({ ...ada, name: 'Ada L.' });
  expect(await rename('Ada L.')).toEqual({ ...ada, name: 'Ada L.' });
  expect(await rename(null)).toEqual({ ...ada, name: null });
  expect(await directory.findAccount({ userId: ada.userId })).toEqual({ ...ada, name: null });
  expect((await events()).map((each) => each.type)).toEqual(['account_renamed', 'account_renamed']);
  expect((await refusal(rename('x\ny'))).code).toBe('validation_failed');
  const nobody = directory.renameAccount({ scopeId: SCOPE, userId: 'usr_nobody', name: 'x' });
  expect(await refusal(nobody)).toEqual({ code: 'not_found', reason: 'account_unknown' });
});

describe('what is told of accounts', () => {
  test('names the principal of a member, and is recorded however often it happens', async () => {
    const { directory, ada, events } = await openAccounts();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const { userId, email } = ada;
    const subject = { issuer: directoryIssuer(TENANT_A), sub: userId, email, name: 'Ada' };
    await directory.resolvePrincipal({ scopeId: SCOPE, subject });
    for (let i = 0; i < 105; i++) await directory.renameAccount({ scopeId: SCOPE, userId, name: `Ada ${i}` });
    const renamed = (await events()).filter((each) => each.type === 'account_renamed');
    expect(renamed).toHaveLength(105);
    expect(renamed[0]).toEqual({ type: 'account_renamed', sub: userId, principal, detail: {} });
  });

  test('is recorded a hundred times an hour in a scope of people who are no members: they could be anybody', async () => {
    const { directory, ada, events, clock, enter } = await openAccounts();
    const { userId } = ada;
    for (let i = 0; i < 105; i++) await directory.renameAccount({ scopeId: SCOPE, userId, name: `Ada ${i}` });
    const told = await events();
    expect(told).toHaveLength(100);
    expect(told.map((each) => each.detail.further ?? null)).toEqual([
      'not_recorded',
      ...Array(99).fill(null),
    ]);
    await enter({ right: false });
    expect((await events())[0]?.type).toBe('sign_in_refused');
    clock.nowMs += HOUR_MS;
    await directory.setPassword({ scopeId: SCOPE, userId, hash: HASH });
    expect((await events())[0]?.type).toBe('password_changed');
  });
});

test('A-22: nothing of one tenant’s accounts is at another’s, under the same address', async () => {
  const { directory, other, ada, foreign } = await openAccounts();
  await directory.addPasskey({ scopeId: SCOPE, userId: ada.userId, passkey: passkey('key') });
  expect(foreign.userId).not.toBe(ada.userId);
  expect(directoryIssuer(TENANT_A)).toBe(`urn:freehold:directory:${TENANT_A}`);
  expect(await other.findAccount({ userId: ada.userId })).toBeNull();
  expect(await other.findPasskey({ id: 'key' })).toBeNull();
  const { items } = await other.listIdentityEvents({ limit: 200 });
  expect(JSON.stringify(items)).not.toContain(ada.userId);
  expect(await other.beginPassword({ scopeId: SCOPE, email: ADA })).toMatchObject({ userId: foreign.userId });
});

describe('every look-up is by an index', () => {
  test.each([
    ['ACCOUNT_SQL', ACCOUNT_SQL, 'accounts', 'PRIMARY KEY'],
    ['ACCOUNT_BY_EMAIL_SQL', ACCOUNT_BY_EMAIL_SQL, 'accounts', 'sqlite_autoindex_accounts_2'],
    ['COUNT_RECOVERY_CODES_SQL', COUNT_RECOVERY_CODES_SQL, 'account_recovery_codes', 'PRIMARY KEY'],
    ['USE_RECOVERY_CODE_SQL', USE_RECOVERY_CODE_SQL, 'account_recovery_codes', 'PRIMARY KEY'],
    ['PASSKEY_SQL', PASSKEY_SQL, 'account_passkeys', 'PRIMARY KEY'],
    ['PASSKEYS_SQL', PASSKEYS_SQL, 'account_passkeys', 'account_passkeys_by_account'],
    ['LINK_SQL', LINK_SQL, 'account_links', 'PRIMARY KEY'],
    ['RETIRE_LINKS_SQL', RETIRE_LINKS_SQL, 'account_links', 'account_links_by_address'],
    ['VOID_LINKS_SQL', VOID_LINKS_SQL, 'account_links', 'account_links_by_account'],
    ['FORGET_LINKS_SQL', FORGET_LINKS_SQL, 'account_links', 'account_links_by_expiry'],
    ['TAKE_CHALLENGE_SQL', TAKE_CHALLENGE_SQL, 'account_challenges', 'sqlite_autoindex_account_challenges_1'],
    ['TRIM_CHALLENGES_SQL', TRIM_CHALLENGES_SQL, 'account_challenges', 'PRIMARY KEY'],
    ['FORGET_CHALLENGES_SQL', FORGET_CHALLENGES_SQL, 'account_challenges', 'account_challenges_by_expiry'],
    ['SECOND_FACTOR_SQL', SECOND_FACTOR_SQL, 'account_second_factors', 'PRIMARY KEY'],
    [
      'VOID_SECOND_FACTORS_SQL',
      VOID_SECOND_FACTORS_SQL,
      'account_second_factors',
      'account_second_factors_by_account',
    ],
    [
      'TRIM_SECOND_FACTORS_SQL',
      TRIM_SECOND_FACTORS_SQL,
      'account_second_factors',
      'account_second_factors_by_account',
    ],
    [
      'FORGET_SECOND_FACTORS_SQL',
      FORGET_SECOND_FACTORS_SQL,
      'account_second_factors',
      'account_second_factors_by_expiry',
    ],
    ['ATTEMPTS_SQL', ATTEMPTS_SQL, 'account_attempts', 'PRIMARY KEY'],
    ['FORGET_ATTEMPTS_SQL', FORGET_ATTEMPTS_SQL, 'account_attempts', 'account_attempts_by_expiry'],
    ['REFUSED_SIGN_INS_SQL', REFUSED_SIGN_INS_SQL, 'identity_events', 'identity_events_sign_in_refused'],
    [
      'STRANGE_ACCOUNT_EVENTS_SQL',
      STRANGE_ACCOUNT_EVENTS_SQL,
      'identity_events',
      'identity_events_strange_account',
    ],
  ])('%s', (_, sql, table, index) => {
    const { db } = openBare(openNodeDatabase(':memory:'));
    const values = sql.includes('?1') ? 2 : (sql.match(/\?/g) ?? []).length;
    const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...Array<string>(values).fill('x'));
    const steps = plan.map((step) => step.detail);
    expect(steps).toContainEqual(
      expect.stringMatching(new RegExp(`^SEARCH ${table} USING (COVERING |INTEGER )?(INDEX )?${index} \\(`)),
    );
    expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual([]);
  });
});

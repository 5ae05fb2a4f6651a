/** Accounts as a whole: their public view, their events, and their look-ups. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { callerWith, refresh, serverOver, signedIn } from '../../test/programs.ts';
import { HOUR_MS, refusal, START_MS, TENANT_A } from '../../test/support.ts';
import { ATTEMPTS_SQL, FORGET_ATTEMPTS_SQL } from './attempt-store.ts';
import { directoryIssuer } from './contract.ts';
import { REFUSED_SIGN_INS_SQL, STRANGE_ACCOUNT_EVENTS_SQL } from './events.ts';
import {
  FORGET_LINKS_SQL,
  LINK_SQL,
  RETIRE_LINKS_SQL,
  VOID_LINKS_SQL,
  VOID_REVERTS_SQL,
} from './link-store.ts';
import { PASSKEY_SQL, PASSKEYS_SQL } from './passkey-store.ts';
import {
  FORGET_CHALLENGES_SQL,
  FORGET_SECOND_FACTORS_SQL,
  SECOND_FACTOR_SQL,
  TRIM_SECOND_FACTORS_SQL,
  VOID_SECOND_FACTORS_SQL,
} from './pending-store.ts';
import {
  ACCOUNT_BY_EMAIL_SQL,
  ACCOUNT_SQL,
  COUNT_RECOVERY_CODES_SQL,
  USE_RECOVERY_CODE_SQL,
} from './store.ts';
import { ADA, challenge, HASH, openAccounts, openBare, passkey, SCOPE, SECRET } from './test/support.ts';

test('an account is shown with its credentials, and without its secrets', async () => {
  const { directory, ada, clock, turnTotpOn, holder } = await openAccounts();
  const { userId } = ada;
  const { secret } = await turnTotpOn();
  for (const id of ['one', 'two']) {
    await directory.addPasskey({ ...holder(), passkey: passkey(id), challenge: challenge() });
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

test('a change of name is an event; the same name again is neither', async () => {
  const { directory, ada, events, holder } = await openAccounts();
  const rename = (name: string | null) => directory.renameAccount({ ...holder(), name });
  expect(await rename(' Ada L. ')).toEqual({ ...ada, name: 'Ada L.' });
  expect(await rename('Ada L.')).toEqual({ ...ada, name: 'Ada L.' });
  expect(await rename(null)).toEqual({ ...ada, name: null });
  expect(await directory.findAccount({ userId: ada.userId })).toEqual({ ...ada, name: null });
  expect((await events()).map((each) => each.type)).toEqual(['account_renamed', 'account_renamed']);
  expect((await refusal(rename('x\ny'))).code).toBe('validation_failed');
  const noPrincipal = directory.renameAccount({ ...holder('usr_nobody'), name: 'x' });
  expect(await refusal(noPrincipal)).toEqual({ code: 'not_found', reason: 'account_unknown' });
});

describe('events of accounts', () => {
  test('name the principal of a member, and are always recorded', async () => {
    const { directory, ada, events, holder } = await openAccounts();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const { userId, email } = ada;
    const subject = { issuer: directoryIssuer(TENANT_A), sub: userId, email, name: 'Ada' };
    await directory.resolvePrincipal({ scopeId: SCOPE, subject });
    for (let i = 0; i < 105; i++) await directory.renameAccount({ ...holder(), name: `Ada ${i}` });
    const renamed = (await events()).filter((each) => each.type === 'account_renamed');
    expect(renamed).toHaveLength(105);
    expect(renamed[0]).toEqual({ type: 'account_renamed', sub: userId, principal, detail: {} });
  });

  test('are recorded a hundred times an hour in a scope for non-members, who may be any visitor', async () => {
    const { directory, events, clock, enter, holder } = await openAccounts();
    for (let i = 0; i < 105; i++) await directory.renameAccount({ ...holder(), name: `Ada ${i}` });
    const told = await events();
    expect(told).toHaveLength(100);
    expect(told.map((each) => each.detail.further ?? null)).toEqual([
      'not_recorded',
      ...Array(99).fill(null),
    ]);
    await enter({ right: false });
    expect((await events())[0]?.type).toBe('sign_in_refused');
    clock.nowMs += HOUR_MS;
    await directory.setPassword({ ...holder(), hash: HASH });
    expect((await events())[0]?.type).toBe('password_changed');
  });
});

test("A-22: no tenant sees another's accounts, under the same address", async () => {
  const { directory, other, ada, foreign, holder } = await openAccounts();
  await directory.addPasskey({ ...holder(), passkey: passkey('key'), challenge: challenge() });
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
    ['VOID_REVERTS_SQL', VOID_REVERTS_SQL, 'account_links', 'account_links_by_account'],
    [
      'FORGET_CHALLENGES_SQL',
      FORGET_CHALLENGES_SQL,
      'account_used_challenges',
      'account_used_challenges_by_expiry',
    ],
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

describe('deleting an account', () => {
  test("removes its credentials, and leaves the tenant's record of the person", async () => {
    const { directory, ada, holder, events, turnTotpOn, enter } = await openAccounts();
    const { userId } = ada;
    const subject = { issuer: directoryIssuer(TENANT_A), sub: userId, email: ADA, name: 'Ada' };
    const owner = await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: { ...subject, sub: 'another admin' } });
    const principal = await directory.newPrincipal();
    const invite = { scopeId: SCOPE, principal, role: 'member', createdBy: owner.principal };
    const { token } = await directory.createInvite(invite);
    await directory.claimInvite({ token, subject });
    await directory.addPasskey({ ...holder(), passkey: passkey('key'), challenge: challenge() });
    await turnTotpOn();
    await directory.beginReset({ scopeId: SCOPE, email: ADA });
    await enter();
    const { session } = holder();
    expect(await directory.deleteAccount({ scopeId: SCOPE, userId, by: owner.principal })).toBeNull();
    expect((await events())[0]).toMatchObject({ type: 'account_deleted', sub: userId, principal });
    expect(await directory.findAccount({ userId })).toBeNull();
    expect(await directory.findPasskey({ id: 'key' })).toBeNull();
    expect(await directory.beginReset({ scopeId: SCOPE, email: ADA })).toEqual({ outcome: 'unknown' });
    const early = { ...session, issuedAtMs: START_MS };
    expect(await directory.sessionState({ subject, session: early })).toBe('ended');
    const { items } = await directory.listMembers({ scopeId: SCOPE });
    expect(items.map((each) => each.principal)).toContain(principal);
    const again = await directory.importAccount({ email: ADA, emailVerified: true });
    expect(again.userId).not.toBe(userId);
  });

  test.each(['by its holder', 'by the owner'])(
    'ends the programs and tokens of its person, %s, and they are not of the next person with that address',
    async (how) => {
      const platform = await openAccounts();
      const { directory, ada, holder } = platform;
      const issuer = directoryIssuer(TENANT_A);
      const owner = await directory.setPendingOwner({ scopeId: SCOPE });
      await directory.resolvePrincipal({
        scopeId: SCOPE,
        subject: { issuer, sub: 'the owner', email: null, name: null },
      });
      const join = async (sub: string) => {
        const principal = await directory.newPrincipal();
        const invite = { scopeId: SCOPE, principal, role: 'member', createdBy: owner.principal };
        const { token } = await directory.createInvite(invite);
        await directory.claimInvite({ token, subject: { issuer, sub, email: ADA, name: 'Ada' } });
        return { issuer, sub };
      };
      const subject = await join(ada.userId);
      const server = serverOver(platform);
      const program = await signedIn({ server, ada: { subject, sid: 'sid' } });
      const { token } = await directory.makePersonalToken({
        ...{ scopeId: SCOPE, subject, name: 'script', allowed: { access: 'all' }, ttlMs: HOUR_MS },
      });
      const secrets = [program.access, token];
      for (const secret of secrets) expect(await callerWith(directory, secret)).not.toBeNull();
      const { userId } = ada;
      await directory.deleteAccount(
        how === 'by the owner' ? { scopeId: SCOPE, userId, by: owner.principal } : holder(),
      );
      const next = await directory.importAccount({ email: ADA, emailVerified: true });
      await join(next.userId);
      for (const secret of secrets) expect(await callerWith(directory, secret)).toBeNull();
      expect(await refresh(server, program.clientId, program.refresh)).toMatchObject({
        body: { error: 'invalid_grant' },
      });
      expect((await directory.listPrograms({ scopeId: SCOPE, principal: null })).items).toEqual([]);
    },
  );

  test('is its holder’s while they are signed in, and refused to the owner of a seat', async () => {
    const { directory, ada, holder } = await openAccounts();
    const { userId } = ada;
    const ended = { ...holder(), session: { sid: 'ended', issuedAtMs: START_MS } };
    await directory.endSession({ sid: 'ended', expiresAtMs: START_MS + HOUR_MS });
    expect(await refusal(directory.deleteAccount(ended))).toEqual({
      code: 'unauthenticated',
      reason: 'session_ended',
    });
    const subject = { issuer: directoryIssuer(TENANT_A), sub: userId, email: ADA, name: 'Ada' };
    await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject });
    const last = { code: 'conflict', reason: 'owner_seat_held' };
    expect(await refusal(directory.deleteAccount(holder()))).toEqual(last);
    expect(await refusal(directory.deleteAccount({ userId, by: 'prn_1' }))).toEqual(last);
    expect(await refusal(directory.deleteAccount({ userId: 'usr_nobody', by: 'prn_1' }))).toEqual({
      code: 'not_found',
      reason: 'account_unknown',
    });
  });
});

test('every change checks the session in its own transaction', async () => {
  const { directory, holder, clock } = await openAccounts();
  const late = holder();
  clock.nowMs += 2_000;
  await directory.setPassword({ ...holder(), hash: HASH });
  const attempts = [
    directory.renameAccount({ ...late, name: 'Thief' }),
    directory.beginEmailChange({ ...late, email: 'thief@example.com' }),
    directory.completeEmailChange({ ...late, token: 'x' }),
    directory.setPassword({ ...late, hash: HASH }),
    directory.enableTotp({ ...late, secret: SECRET, code: '000000' }),
    directory.disableTotp(late),
    directory.makeRecoveryCodes(late),
    directory.addPasskey({ ...late, passkey: passkey('key'), challenge: challenge() }),
    directory.renamePasskey({ ...late, id: 'key', name: 'x' }),
    directory.removePasskey({ ...late, id: 'key' }),
    directory.deleteAccount(late),
    directory.beginConfirm(late),
  ];
  for (const attempt of attempts)
    expect(await refusal(attempt)).toEqual({ code: 'unauthenticated', reason: 'session_ended' });
});

/** A new password: by link or by a signed-in holder, and the sessions that it ends. */
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, refusal, START_MS, TENANT_A } from '../../test/support.ts';
import { directoryIssuer } from './contract.ts';
import { ADA, OTHER_HASH, openAccounts, SCOPE, type TestAccounts } from './test/support.ts';

async function resetLink({ directory }: TestAccounts, email = ADA): Promise<string> {
  const made = await directory.beginReset({ scopeId: SCOPE, email });
  if (made.outcome !== 'made') throw new Error(`the reset is ${made.outcome}`);
  return made.token;
}

/** The state of Ada's session that was issued at a time. */
async function sessionState({ directory, ada }: TestAccounts, issuedAtMs: number): Promise<string> {
  const subject = { issuer: directoryIssuer(TENANT_A), sub: ada.userId };
  return directory.sessionState({ subject, session: { sid: 's', issuedAtMs } });
}

const complete = ({ directory }: TestAccounts, token: string) =>
  directory.completeReset({ scopeId: SCOPE, token, hash: OTHER_HASH });

describe('a reset', () => {
  test('goes to the account’s own address, and is not sent when there is no account', async () => {
    const { directory, ada } = await openAccounts();
    expect(await directory.beginReset({ scopeId: SCOPE, email: 'ａda@EXAMPLE.com' })).toEqual({
      outcome: 'made',
      token: expect.any(String),
      expiresAtMs: START_MS + HOUR_MS,
      email: ada.email,
      name: 'Ada',
    });
    expect(await directory.beginReset({ scopeId: SCOPE, email: 'bob@example.com' })).toEqual({
      outcome: 'unknown',
    });
  });

  test('sets the password, verifies the address, ends every session up to now, and signs in', async () => {
    const accounts = await openAccounts();
    const { directory, clock, events, enter, ada } = accounts;
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: false });
    const token = await resetLink(accounts, bob.email);
    clock.nowMs += MINUTE_MS;
    const step = await complete(accounts, token);
    expect(step).toEqual({
      outcome: 'signed_in',
      account: { ...bob, emailVerified: true },
      sessionAtMs: clock.nowMs + 1,
    });
    expect(await directory.beginPassword({ scopeId: SCOPE, email: bob.email })).toMatchObject({
      hash: OTHER_HASH,
    });
    expect((await directory.accountSecurity({ userId: bob.userId }))?.passwordChangedMs).toBe(
      clock.nowMs + 1,
    );
    expect((await events())[0]).toMatchObject({ type: 'password_reset', sub: bob.userId });
    const subject = { issuer: directoryIssuer(TENANT_A), sub: bob.userId };
    const state = (issuedAtMs: number) =>
      directory.sessionState({ subject, session: { sid: 's', issuedAtMs } });
    expect([await state(clock.nowMs), await state(clock.nowMs + 1)]).toEqual(['ended', 'live']);
    expect(await sessionState(accounts, START_MS)).toBe('live');
    expect(await enter()).toMatchObject({ outcome: 'signed_in', account: ada });
  });

  test('succeeds once of 200 times at once with one link', async () => {
    const accounts = await openAccounts();
    const token = await resetLink(accounts);
    const answers = await Promise.allSettled(Array.from({ length: 200 }, () => complete(accounts, token)));
    const lost = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.reason] : []));
    expect(lost).toEqual(Array(199).fill('link_used'));
    expect((await accounts.events()).filter((each) => each.type === 'password_reset')).toHaveLength(1);
  });

  test('works for an hour and not a millisecond longer', async () => {
    const accounts = await openAccounts();
    const token = await resetLink(accounts);
    accounts.clock.nowMs = START_MS + HOUR_MS;
    expect(await refusal(complete(accounts, token))).toEqual({ code: 'conflict', reason: 'link_expired' });
    accounts.clock.nowMs -= 1;
    await complete(accounts, token);
  });

  test('by an older link, another tenant’s, or one of another purpose is refused', async () => {
    const accounts = await openAccounts();
    const { directory, other, holder } = accounts;
    const older = await resetLink(accounts);
    await resetLink(accounts);
    const foreign = await other.beginReset({ scopeId: SCOPE, email: ADA });
    const move = await directory.beginEmailChange({ ...holder(), email: 'new@example.com' });
    const tokens = [older, ...[foreign, move].map((each) => (each.outcome === 'made' ? each.token : ''))];
    for (const token of tokens)
      expect(await refusal(complete(accounts, token))).toEqual({ code: 'not_found', reason: 'link_unknown' });
  });

  test('with an invalid hash is refused, and the link still works', async () => {
    const accounts = await openAccounts();
    const token = await resetLink(accounts);
    const wrong = accounts.directory.completeReset({ scopeId: SCOPE, token, hash: 'hunter2' });
    expect((await refusal(wrong)).code).toBe('validation_failed');
    await complete(accounts, token);
  });

  test('lifts the lock of the password', async () => {
    const accounts = await openAccounts();
    for (let i = 0; i < 30; i++) await accounts.enter({ right: false });
    const token = await resetLink(accounts);
    expect(await accounts.enter()).toMatchObject({ outcome: 'limited' });
    await complete(accounts, token);
    expect(await accounts.enter()).toMatchObject({ outcome: 'signed_in' });
  });

  test('leaves the second factor in place, with its lock, and voids earlier tokens', async () => {
    const accounts = await openAccounts();
    const { directory, codeOf } = accounts;
    const { secret } = await accounts.turnTotpOn();
    const earlier = await accounts.waitingToken();
    const step = await complete(accounts, await resetLink(accounts));
    if (step.outcome !== 'second_factor') throw new Error(`the reset is ${step.outcome}`);
    const finish = (token: string, code: string) =>
      directory.finishSecondFactor({ scopeId: SCOPE, token, code });
    expect(await finish(earlier, codeOf(secret))).toEqual({ outcome: 'expired' });
    for (let i = 0; i < 4; i++) await finish(step.token, '000000');
    expect(await finish(step.token, '000000')).toMatchObject({ outcome: 'refused' });
    const again = await complete(accounts, await resetLink(accounts));
    if (again.outcome !== 'second_factor') throw new Error(`the reset is ${again.outcome}`);
    expect(await finish(again.token, codeOf(secret))).toMatchObject({ outcome: 'limited' });
  });
});

describe('setting a password', () => {
  test('ends the account’s sessions up to now, and is an event', async () => {
    const accounts = await openAccounts();
    const { directory, ada, clock, events, holder } = accounts;
    clock.nowMs += MINUTE_MS;
    const { sessionAtMs } = await directory.setPassword({ ...holder(), hash: OTHER_HASH });
    expect(sessionAtMs).toBe(clock.nowMs + 1);
    expect(await sessionState(accounts, clock.nowMs)).toBe('ended');
    expect(await sessionState(accounts, clock.nowMs + 1)).toBe('live');
    expect((await directory.accountSecurity({ userId: ada.userId }))?.passwordChangedMs).toBe(
      clock.nowMs + 1,
    );
    expect((await events())[0]).toMatchObject({ type: 'password_changed', sub: ada.userId });
  });

  test('voids the pending flows of an attacker with the old one: resets, a change of address, a waiting sign-in', async () => {
    const accounts = await openAccounts();
    const { directory, codeOf, holder } = accounts;
    const { secret } = await accounts.turnTotpOn();
    const waiting = await accounts.waitingToken();
    const reset = await resetLink(accounts);
    const move = await directory.beginEmailChange({ ...holder(), email: 'eve@example.com' });
    await directory.setPassword({ ...holder(), hash: OTHER_HASH });
    const code = codeOf(secret);
    expect(await directory.finishSecondFactor({ scopeId: SCOPE, token: waiting, code })).toEqual({
      outcome: 'expired',
    });
    const unknown = { code: 'not_found', reason: 'link_unknown' };
    expect(await refusal(complete(accounts, reset))).toEqual(unknown);
    const token = move.outcome === 'made' ? move.token : '';
    expect(await refusal(directory.completeEmailChange({ ...holder(), token }))).toEqual(unknown);
  });

  test('is refused for no account and for an invalid hash', async () => {
    const { directory, ada, holder } = await openAccounts();
    const set = (userId: string, hash: string) => directory.setPassword({ ...holder(userId), hash });
    expect(await refusal(set('usr_nobody', OTHER_HASH))).toEqual({
      code: 'not_found',
      reason: 'account_unknown',
    });
    expect((await refusal(set(ada.userId, 'hunter2'))).code).toBe('validation_failed');
  });
});

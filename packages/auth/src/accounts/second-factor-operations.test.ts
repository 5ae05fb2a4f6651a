/** The second factor: turned on and off, demanded, and used once. */
import { TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { HOUR_MS, MINUTE_MS, refusal, START_MS, TENANT_A } from '../../test/support.ts';
import { directoryIssuer } from './contract.ts';
import { ADA, HASH, openAccounts, openBare, SCOPE, SECRET, type TestAccounts } from './test/support.ts';

const refused = { outcome: 'refused' };
const expired = { outcome: 'expired' };
/** Almost certainly wrong, and always in these runs: the tests' secrets are the same in every run. */
const WRONG = '000000';

const finish = ({ directory }: TestAccounts, token: string, code: string, address?: string) =>
  directory.finishSecondFactor({ scopeId: SCOPE, token, code, address });
const outcomes = (steps: readonly { outcome: string }[]) =>
  Object.fromEntries(
    [...new Set(steps.map((step) => step.outcome))].map((outcome) => [
      outcome,
      steps.filter((step) => step.outcome === outcome).length,
    ]),
  );

describe('turning it on', () => {
  test('takes a right code of the fresh secret, and returns ten recovery codes', async () => {
    const { directory, ada, codeOf, events, holder, clock } = await openAccounts();
    const { userId } = ada;
    const secret = SECRET;
    expect((await directory.accountSecurity({ userId }))?.totp).toBe(false);
    const wrong = directory.enableTotp({ ...holder(), secret, code: WRONG });
    expect(await refusal(wrong)).toEqual({ code: 'validation_failed', reason: 'code_wrong' });
    const enabled = await directory.enableTotp({ ...holder(), secret, code: codeOf(secret) });
    const { recoveryCodes, sessionAtMs } = enabled;
    // It ended every session, and the next one is issued above them.
    expect(sessionAtMs).toBe(clock.nowMs + 1);
    expect(recoveryCodes).toHaveLength(10);
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(await directory.accountSecurity({ userId })).toMatchObject({ totp: true, recoveryCodes: 10 });
    expect((await events())[0]).toMatchObject({ type: 'totp_enabled', sub: userId });
  });

  test('is refused while one is in use, and with an invalid secret', async () => {
    const { directory, codeOf, holder, turnTotpOn } = await openAccounts();
    for (const secret of ['', 'ABC', 'x'.repeat(32), undefined as never])
      expect((await refusal(directory.enableTotp({ ...holder(), secret, code: WRONG }))).code).toBe(
        'validation_failed',
      );
    await turnTotpOn();
    const other = 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU';
    const again = directory.enableTotp({ ...holder(), secret: other, code: codeOf(other) });
    expect(await refusal(again)).toEqual({ code: 'conflict', reason: 'totp_enabled' });
  });

  test('ends the sessions and pending flows of an attacker who has the password alone', async () => {
    const accounts = await openAccounts();
    const { directory, ada, holder, turnTotpOn } = accounts;
    const subject = { issuer: directoryIssuer(TENANT_A), sub: ada.userId };
    const thief = { sid: 'thief', issuedAtMs: START_MS };
    await directory.recordSignIn({ scopeId: SCOPE, subject: { ...subject, ...ada }, session: thief });
    const move = await directory.beginEmailChange({ ...holder(), email: 'thief@example.com' });
    await turnTotpOn();
    expect(await directory.sessionState({ subject, session: thief })).toBe('ended');
    const token = move.outcome === 'made' ? move.token : '';
    expect(await refusal(directory.completeEmailChange({ ...holder(), token }))).toMatchObject({
      reason: 'link_unknown',
    });
  });

  test('uses its code up, which no longer signs in', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    accounts.clock.nowMs -= 30_000;
    const token = await accounts.waitingToken();
    expect(await finish(accounts, token, accounts.codeOf(secret))).toMatchObject(refused);
    expect(await finish(accounts, token, accounts.codeOf(secret, 1))).toMatchObject({ outcome: 'signed_in' });
  });
});

describe('a sign-in', () => {
  test('with the right password waits for the second factor, and completes with a code', async () => {
    const accounts = await openAccounts();
    const { ada, enter, codeOf, clock } = accounts;
    const { secret } = await accounts.turnTotpOn();
    const step = await enter();
    expect(step).toEqual({
      outcome: 'second_factor',
      token: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      expiresAtMs: clock.nowMs + 5 * MINUTE_MS,
    });
    const token = step.outcome === 'second_factor' ? step.token : '';
    const code = codeOf(secret);
    const typed = ` ${code.slice(0, 3)} ${code.slice(3)}`;
    expect(await finish(accounts, token, typed)).toEqual({
      outcome: 'signed_in',
      account: ada,
      sessionAtMs: clock.nowMs,
    });
    expect(await finish(accounts, token, codeOf(secret, 1))).toEqual(expired);
  });

  test('that only confirms an identity asks for the second factor as well', async () => {
    const accounts = await openAccounts();
    const { directory, holder } = accounts;
    await accounts.turnTotpOn();
    const begun = await directory.beginConfirm(holder());
    if (begun.outcome !== 'judge') throw new Error('it is limited');
    const { userId, passwordChangedMs } = begun;
    const verdict = { ...holder(), email: ADA, userId: userId ?? '', passwordChangedMs, right: true };
    expect(await directory.finishPassword(verdict)).toMatchObject({ outcome: 'second_factor' });
  });

  test('with the wrong password does not reveal that there is a second factor', async () => {
    const accounts = await openAccounts();
    await accounts.turnTotpOn();
    expect(await accounts.enter({ right: false })).toMatchObject(refused);
  });

  test('waits for five minutes, to the millisecond', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const [early, late] = [await accounts.waitingToken(), await accounts.waitingToken()];
    accounts.clock.nowMs += 5 * MINUTE_MS - 1;
    expect(await finish(accounts, early, accounts.codeOf(secret))).toMatchObject({ outcome: 'signed_in' });
    accounts.clock.nowMs += 1;
    expect(await finish(accounts, late, accounts.codeOf(secret, 1))).toEqual(expired);
  });

  test('of another tenant, and a forged token, have expired', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const token = await accounts.waitingToken();
    const input = { scopeId: SCOPE, token, code: accounts.codeOf(secret) };
    expect(await accounts.other.finishSecondFactor(input)).toEqual(expired);
    for (const odd of ['', 'x'.repeat(22), undefined, {}])
      expect(await accounts.directory.finishSecondFactor({ ...input, token: odd as never })).toEqual(expired);
  });

  test('stores its tokens and its recovery codes as hashes', () => {
    const { accounts, db } = openBare(openNodeDatabase(':memory:'));
    const { userId } = accounts.importAccount({ email: ADA, emailVerified: true, passwordHash: HASH });
    const { recoveryCodes } = enableBare(accounts, userId);
    const finishPassword = { scopeId: SCOPE, email: ADA, userId, passwordChangedMs: START_MS, right: true };
    const step = accounts.finishPassword(finishPassword);
    const everything = JSON.stringify([
      db.all('SELECT * FROM account_second_factors'),
      db.all('SELECT * FROM account_recovery_codes'),
      db.all('SELECT * FROM identity_events'),
    ]);
    expect(step.outcome).toBe('second_factor');
    for (const secret of [...recoveryCodes, ...(step.outcome === 'second_factor' ? [step.token] : [])]) {
      expect(everything).not.toContain(secret);
      expect(everything).not.toContain(secret.replaceAll('-', ''));
    }
  });

  test('waits in five browsers at most, and the newest stay', () => {
    const { accounts, count, clock } = openBare(openNodeDatabase(':memory:'));
    const { userId } = accounts.importAccount({ email: ADA, emailVerified: true, passwordHash: HASH });
    enableBare(accounts, userId);
    for (let i = 0; i < 20; i++) {
      clock.nowMs += 1;
      accounts.finishPassword({
        scopeId: SCOPE,
        email: ADA,
        userId,
        passwordChangedMs: START_MS,
        right: true,
      });
      expect(count('account_second_factors')).toBeLessThanOrEqual(5);
    }
  });
});

function enableBare(accounts: ReturnType<typeof openBare>['accounts'], userId: string) {
  const code = new TOTP({ secret: SECRET }).generate({ timestamp: START_MS });
  const session = { sid: 'of the test', issuedAtMs: START_MS };
  return accounts.enableTotp({ scopeId: SCOPE, userId, session, secret: SECRET, code });
}

describe('a code', () => {
  test('RFC 6238, section 5.2: used 50 times at once signs in once', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const tokens: string[] = [];
    for (let i = 0; i < 5; i++) tokens.push(await accounts.waitingToken());
    const code = accounts.codeOf(secret);
    const steps = await Promise.all(
      Array.from({ length: 50 }, (_, i) => finish(accounts, tokens[i % 5] ?? '', code)),
    );
    expect(outcomes(steps)).toEqual({ signed_in: 1, expired: 9, refused: 5, limited: 35 });
    const again = await openAccounts();
    const other = await again.turnTotpOn();
    const token = await again.waitingToken();
    const same = await Promise.all(
      Array.from({ length: 50 }, () => finish(again, token, again.codeOf(other.secret))),
    );
    expect(outcomes(same)).toEqual({ signed_in: 1, expired: 49 });
  });

  test('from before the used one is refused, the next one is not', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    accounts.clock.nowMs += MINUTE_MS;
    const code = accounts.codeOf(secret);
    const earlier = accounts.codeOf(secret, -1);
    await finish(accounts, await accounts.waitingToken(), code);
    const token = await accounts.waitingToken();
    expect(await finish(accounts, token, earlier)).toMatchObject(refused);
    expect(await finish(accounts, token, code)).toMatchObject(refused);
    expect(await finish(accounts, token, accounts.codeOf(secret, 1))).toMatchObject({ outcome: 'signed_in' });
  });

  test('a minute off, or of another form, is refused', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const odd = [accounts.codeOf(secret, 2), '', 'x'.repeat(1_000_000), 7 as never];
    const token = await accounts.waitingToken();
    for (const code of odd) expect(await finish(accounts, token, code)).toMatchObject(refused);
  });

  test('of the other tenant’s account is wrong here', async () => {
    const accounts = await openAccounts();
    const { other, foreign, codeOf, holder } = accounts;
    await accounts.turnTotpOn();
    const secret = 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU';
    await other.enableTotp({ ...holder(foreign.userId), secret, code: codeOf(secret) });
    expect(await finish(accounts, await accounts.waitingToken(), codeOf(secret))).toMatchObject(refused);
  });
});

describe('wrong codes', () => {
  test('void the token at the fifth, and lock the second factor with every further one, whatever the password does', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const first = await accounts.waitingToken();
    for (let i = 0; i < 5; i++) expect(await finish(accounts, first, WRONG)).toMatchObject(refused);
    expect(await finish(accounts, first, accounts.codeOf(secret))).toEqual(expired);
    for (const minutes of [1, 2, 4]) {
      const token = await accounts.waitingToken();
      const waitMs = minutes * MINUTE_MS;
      expect(await finish(accounts, token, accounts.codeOf(secret))).toEqual({
        outcome: 'limited',
        retryAfterMs: waitMs,
      });
      accounts.clock.nowMs += waitMs;
      expect(await finish(accounts, token, WRONG)).toMatchObject(refused);
    }
    accounts.clock.nowMs += 8 * MINUTE_MS;
    const token = await accounts.waitingToken();
    expect(await finish(accounts, token, accounts.codeOf(secret))).toMatchObject({ outcome: 'signed_in' });
    const next = await accounts.waitingToken();
    for (let i = 0; i < 4; i++) await finish(accounts, next, WRONG);
    expect(await finish(accounts, next, accounts.codeOf(secret, 1))).toMatchObject({ outcome: 'signed_in' });
  });

  test('in a burst of 200 are judged five times, over any number of tokens', async () => {
    const accounts = await openAccounts();
    await accounts.turnTotpOn();
    const tokens: string[] = [];
    for (let i = 0; i < 5; i++) tokens.push(await accounts.waitingToken());
    const steps = await Promise.all(
      Array.from({ length: 200 }, (_, i) => finish(accounts, tokens[i % 5] ?? '', WRONG)),
    );
    expect(outcomes(steps)).toEqual({ refused: 5, limited: 195 });
  });

  test('count with the other attempts of a network; a right one is taken back', async () => {
    const accounts = await openAccounts();
    const { secret } = await accounts.turnTotpOn();
    const address = '192.0.2.1';
    for (let i = 0; i < 29; i++)
      await accounts.directory.beginPassword({ scopeId: SCOPE, email: `p${i}@example.com`, address });
    const token = await accounts.waitingToken();
    expect(await finish(accounts, token, accounts.codeOf(secret), address)).toMatchObject({
      outcome: 'signed_in',
    });
    const next = await accounts.waitingToken();
    expect(await finish(accounts, next, WRONG, address)).toMatchObject(refused);
    expect(await finish(accounts, next, accounts.codeOf(secret, 1), address)).toMatchObject({
      outcome: 'limited',
    });
    expect(await finish(accounts, next, accounts.codeOf(secret, 1))).toMatchObject({ outcome: 'signed_in' });
  });

  test('are events, and so is their lock, once', async () => {
    const accounts = await openAccounts();
    await accounts.turnTotpOn();
    const token = await accounts.waitingToken();
    for (let i = 0; i < 9; i++) await finish(accounts, token, WRONG);
    const told = (await accounts.events()).slice(0, 6);
    expect(told.map((each) => each.type)).toEqual(['account_locked', ...Array(5).fill('sign_in_refused')]);
    expect(told[0]).toMatchObject({ sub: accounts.ada.userId, detail: { factor: 'second_factor' } });
    expect(told[1]?.detail).toEqual({ reason: 'wrong_code' });
    expect(await accounts.enter()).toMatchObject({ outcome: 'second_factor' });
  });
});

describe('recovery codes', () => {
  test('sign in once each, in any spelling, and the event says how many are left', async () => {
    const accounts = await openAccounts();
    const { recoveryCodes } = await accounts.turnTotpOn();
    for (const [i, code] of recoveryCodes.entries()) {
      const typed = i % 2 ? code.toUpperCase().replaceAll('-', '') : code;
      expect(await finish(accounts, await accounts.waitingToken(), typed)).toEqual({
        outcome: 'signed_in',
        account: accounts.ada,
        sessionAtMs: expect.any(Number),
        recoveryCodesLeft: 9 - i,
      });
      expect(await finish(accounts, await accounts.waitingToken(), code)).toMatchObject(refused);
      const used = (await accounts.events()).find((each) => each.type === 'recovery_code_used');
      expect(used?.detail).toEqual({ left: `${9 - i}` });
    }
    const security = await accounts.directory.accountSecurity({ userId: accounts.ada.userId });
    expect(security).toMatchObject({ totp: true, recoveryCodes: 0 });
  });

  test('one used 50 times at once signs in once', async () => {
    const accounts = await openAccounts();
    const { recoveryCodes } = await accounts.turnTotpOn();
    const tokens: string[] = [];
    for (let i = 0; i < 5; i++) tokens.push(await accounts.waitingToken());
    const steps = await Promise.all(
      Array.from({ length: 50 }, (_, i) => finish(accounts, tokens[i % 5] ?? '', recoveryCodes[0] ?? '')),
    );
    expect(steps.filter((step) => step.outcome === 'signed_in')).toHaveLength(1);
    expect((await accounts.directory.accountSecurity({ userId: accounts.ada.userId }))?.recoveryCodes).toBe(
      9,
    );
  });

  test('are replaced, which voids the earlier ones', async () => {
    const accounts = await openAccounts();
    const { directory, ada, events } = accounts;
    const { userId } = ada;
    const make = () => directory.makeRecoveryCodes(accounts.holder());
    expect(await refusal(make())).toEqual({ code: 'conflict', reason: 'totp_disabled' });
    const earlier = await accounts.turnTotpOn();
    const { recoveryCodes } = await make();
    expect((await events())[0]).toMatchObject({ type: 'recovery_codes_made', sub: userId });
    const token = await accounts.waitingToken();
    expect(await finish(accounts, token, earlier.recoveryCodes[0] ?? '')).toMatchObject(refused);
    expect(await finish(accounts, token, recoveryCodes[0] ?? '')).toMatchObject({ outcome: 'signed_in' });
    expect((await directory.accountSecurity({ userId }))?.recoveryCodes).toBe(9);
  });

  test('of one account do not open another', async () => {
    const accounts = await openAccounts();
    const { directory, codeOf } = accounts;
    await accounts.turnTotpOn();
    const { userId } = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    const secret = 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU';
    const enabling = { ...accounts.holder(userId), secret, code: codeOf(secret) };
    const bobs = await directory.enableTotp(enabling);
    expect(await finish(accounts, await accounts.waitingToken(), bobs.recoveryCodes[0] ?? '')).toEqual(
      refused,
    );
    expect((await directory.accountSecurity({ userId }))?.recoveryCodes).toBe(10);
  });
});

describe('turning it off', () => {
  test('removes the secret, the codes and the waiting tokens, and is one event', async () => {
    const accounts = await openAccounts();
    const { directory, ada, enter, events } = accounts;
    const { userId } = ada;
    const { secret } = await accounts.turnTotpOn();
    const token = await accounts.waitingToken();
    for (let i = 0; i < 2; i++) expect(await directory.disableTotp(accounts.holder())).toBeNull();
    expect(await directory.accountSecurity({ userId })).toMatchObject({ totp: false, recoveryCodes: 0 });
    expect(await finish(accounts, token, accounts.codeOf(secret))).toEqual(expired);
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
    expect((await events()).filter((each) => each.type === 'totp_disabled')).toHaveLength(1);
    const again = 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU';
    await directory.enableTotp({ ...accounts.holder(), secret: again, code: accounts.codeOf(again) });
  });

  test('and all other changes are refused for no account', async () => {
    const { directory, holder } = await openAccounts();
    const input = { ...holder('usr_nobody'), secret: SECRET, code: WRONG };
    for (const name of ['enableTotp', 'disableTotp', 'makeRecoveryCodes'] as const)
      expect(await refusal(directory[name](input))).toEqual({ code: 'not_found', reason: 'account_unknown' });
  });
});

test('a sign-in that waited an hour is removed from the table by the next one', () => {
  const { accounts, count, clock } = openBare(openNodeDatabase(':memory:'));
  for (const email of [ADA, 'bob@example.com']) {
    const { userId } = accounts.importAccount({ email, emailVerified: true, passwordHash: HASH });
    clock.nowMs = START_MS;
    enableBare(accounts, userId);
    clock.nowMs += email === ADA ? 0 : HOUR_MS;
    accounts.finishPassword({ scopeId: SCOPE, email, userId, passwordChangedMs: START_MS, right: true });
  }
  expect(count('account_second_factors')).toBe(1);
});

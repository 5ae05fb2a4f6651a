/** Signing in with a password: counts and locks, without revealing who has an account. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, refusal, START_MS } from '../../test/support.ts';
import {
  ADA,
  HASH,
  OTHER_HASH,
  OTHER_SCOPE,
  openAccounts,
  openBare,
  SCOPE,
  type TestAccounts,
} from './test/support.ts';

const refused = { outcome: 'refused' };
/** The source of most attempts. */
const HERE = '192.0.2.9';
const limited = (retryAfterMs: number) => ({ outcome: 'limited', retryAfterMs });

/** Accounts that one network tries. */
async function openHere(): Promise<TestAccounts> {
  const accounts = await openAccounts();
  return { ...accounts, enter: (entry) => accounts.enter({ address: HERE, ...entry }) };
}

describe('a password', () => {
  test('A-22: that is right signs in its account, in any spelling of the address', async () => {
    const { enter, ada } = await openAccounts();
    const signedIn = { outcome: 'signed_in', account: ada, sessionAtMs: START_MS };
    expect(await enter()).toEqual(signedIn);
    expect(await enter({ email: ' ＡDA@Example.COM ' })).toEqual(signedIn);
    expect(ada).toEqual({
      userId: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
      email: ADA,
      name: 'Ada',
      emailVerified: true,
    });
  });

  test('is compared with the hash of this tenant’s account, and of no other’s', async () => {
    const { directory, other, foreign } = await openAccounts();
    expect(await directory.beginPassword({ scopeId: SCOPE, email: ADA })).toMatchObject({ hash: HASH });
    expect(await other.beginPassword({ scopeId: SCOPE, email: ADA })).toMatchObject({ hash: OTHER_HASH });
    expect(await directory.findAccount({ userId: foreign.userId })).toBeNull();
    const finish = {
      scopeId: SCOPE,
      email: ADA,
      userId: foreign.userId,
      passwordChangedMs: START_MS,
      right: true,
    };
    expect(await directory.finishPassword(finish)).toMatchObject(refused);
  });

  test('that was right for a former hash of the account is refused', async () => {
    const { directory, ada, events, holder } = await openAccounts();
    const { userId } = ada;
    await directory.beginPassword({ scopeId: SCOPE, email: ADA });
    await directory.setPassword({ ...holder(), hash: OTHER_HASH });
    const finish = { scopeId: SCOPE, email: ADA, userId, right: true };
    expect(await directory.finishPassword({ ...finish, passwordChangedMs: START_MS, rehash: HASH })).toEqual(
      refused,
    );
    expect((await events())[0]).toMatchObject({
      type: 'sign_in_refused',
      sub: userId,
      detail: { reason: 'password_changed' },
    });
    expect(await directory.finishPassword({ ...finish, passwordChangedMs: START_MS + 1 })).toMatchObject({
      outcome: 'signed_in',
    });
  });

  test('is never right for an account without one, nor for no account', async () => {
    const { directory } = await openAccounts();
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    const finish = { scopeId: SCOPE, right: true, passwordChangedMs: null };
    expect(await directory.beginPassword({ scopeId: SCOPE, email: bob.email })).toEqual({
      outcome: 'judge',
      userId: bob.userId,
      hash: null,
      passwordChangedMs: null,
    });
    for (const [email, userId] of [
      [bob.email, bob.userId],
      ['unknown@example.com', null],
      ['unknown@example.com', 'usr_nobody'],
    ] as const)
      expect(await directory.finishPassword({ ...finish, email, userId })).toMatchObject(refused);
  });

  test('gets another hash when the caller makes one, and stays the same password', async () => {
    const { directory, ada, enter, clock, holder } = await openAccounts();
    const { userId } = ada;
    clock.nowMs += HOUR_MS;
    const finish = { scopeId: SCOPE, email: ADA, userId, passwordChangedMs: START_MS };
    await directory.finishPassword({ ...finish, right: false, rehash: OTHER_HASH });
    expect(await directory.beginConfirm({ ...holder(), address: HERE })).toMatchObject({ hash: HASH });
    expect(
      (await refusal(directory.finishPassword({ ...finish, right: true, rehash: 'hunter2' }))).code,
    ).toBe('validation_failed');
    await directory.finishPassword({ ...finish, right: true, rehash: OTHER_HASH });
    expect(await directory.beginConfirm({ ...holder(), address: HERE })).toMatchObject({ hash: OTHER_HASH });
    expect((await directory.accountSecurity({ userId }))?.passwordChangedMs).toBe(START_MS);
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
  });

  test('for a confirmation is counted like any other', async () => {
    const { directory, ada, enter, holder } = await openAccounts();
    const { userId } = ada;
    for (let i = 0; i < 3; i++)
      expect(await directory.beginConfirm({ ...holder(), address: HERE })).toEqual({
        outcome: 'judge',
        userId,
        hash: HASH,
        passwordChangedMs: START_MS,
      });
    for (let i = 0; i < 2; i++) await enter({ right: false, address: HERE });
    expect(await directory.beginConfirm({ ...holder(), address: HERE })).toEqual(limited(MINUTE_MS));
    expect(await refusal(directory.beginConfirm(holder('usr_nobody')))).toEqual({
      code: 'not_found',
      reason: 'account_unknown',
    });
  });

  test('for an invalid address is refused as such', async () => {
    const { directory } = await openAccounts();
    expect((await refusal(directory.beginPassword({ scopeId: SCOPE, email: 'ada' }))).code).toBe(
      'validation_failed',
    );
  });
});

describe('the lock of an account', () => {
  test('of a burst of 200 attempts at most five are judged', async () => {
    const { directory } = await openHere();
    for (const email of [ADA, 'unknown@example.com']) {
      const attempt = { scopeId: SCOPE, email, address: HERE };
      const burst = Array.from({ length: 200 }, () => directory.beginPassword(attempt));
      const outcomes = (await Promise.all(burst)).map((each) => each.outcome);
      expect(outcomes.filter((outcome) => outcome === 'judge')).toHaveLength(5);
      expect(outcomes.filter((outcome) => outcome === 'limited')).toHaveLength(195);
    }
  });

  test('lasts a minute after five wrong ones, then twice as long each time, up to an hour', async () => {
    const { enter, clock, ada } = await openHere();
    const lockedNow = { outcome: 'refused', locked: ada };
    for (let i = 0; i < 4; i++) expect(await enter({ right: false })).toMatchObject(refused);
    // Its holder is notified of the first lock in a day.
    expect(await enter({ right: false })).toEqual(lockedNow);
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60, 60]) {
      expect(await enter()).toEqual(limited(minutes * MINUTE_MS));
      clock.nowMs += minutes * MINUTE_MS - 1;
      expect(await enter()).toEqual(limited(1));
      clock.nowMs += 1;
      expect(await enter({ right: false })).toMatchObject(refused);
    }
  });

  test('does not grow by attempts that were not judged', async () => {
    const { enter, clock } = await openHere();
    for (let i = 0; i < 105; i++) await enter({ right: false });
    clock.nowMs += MINUTE_MS;
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
  });

  test.each([
    [-1, 3],
    [0, 4],
  ])(
    'counts those within fifteen minutes before: %d ms after them, %d more are judged',
    async (lateMs, judged) => {
      const { enter, clock } = await openHere();
      await enter({ right: false });
      clock.nowMs += 1;
      await enter({ right: false });
      clock.nowMs = START_MS + 15 * MINUTE_MS + lateMs;
      for (let i = 0; i < judged; i++) expect(await enter({ right: false })).toMatchObject(refused);
      expect(await enter({ right: false })).toEqual(limited(MINUTE_MS));
    },
  );

  test('is forgotten a day after the last attempt, and not before', async () => {
    const { enter, clock } = await openHere();
    for (let i = 0; i < 5; i++) await enter({ right: false });
    clock.nowMs += DAY_MS - 1;
    expect(await enter({ right: false })).toMatchObject(refused);
    expect(await enter()).toEqual(limited(2 * MINUTE_MS));
    clock.nowMs += DAY_MS;
    for (let i = 0; i < 4; i++) expect(await enter({ right: false })).toMatchObject(refused);
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
  });

  test('is lifted by the right password, and its count begins again', async () => {
    const { enter, clock } = await openHere();
    for (let i = 0; i < 4; i++) await enter({ right: false });
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
    for (let i = 0; i < 5; i++) expect(await enter({ right: false })).toMatchObject(refused);
    clock.nowMs += MINUTE_MS;
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
    for (let i = 0; i < 5; i++) expect(await enter({ right: false })).toMatchObject(refused);
    expect(await enter()).toEqual(limited(MINUTE_MS));
  });

  test('holds for one account alone, here and at the other tenant', async () => {
    const { directory, other, enter } = await openHere();
    for (let i = 0; i < 6; i++) await enter({ right: false });
    const begin = { scopeId: SCOPE, email: 'bob@example.com' };
    expect(await directory.beginPassword(begin)).toMatchObject({ outcome: 'judge' });
    expect(await other.beginPassword({ ...begin, email: ADA })).toMatchObject({ outcome: 'judge' });
  });

  test('is an event once a lock, when a guess was wrong, and only of an account', async () => {
    const { enter, events, clock, ada } = await openHere();
    const locks = async () => (await events()).filter((each) => each.type === 'account_locked');
    for (let i = 0; i < 4; i++) await enter({ right: false });
    await enter();
    expect(await locks()).toEqual([]);
    for (let i = 0; i < 9; i++) await enter({ right: false });
    const until = new Date(START_MS + MINUTE_MS).toISOString();
    const first = {
      type: 'account_locked',
      sub: ada.userId,
      principal: null,
      detail: { factor: 'password', until },
    };
    expect(await locks()).toEqual([first]);
    clock.nowMs += MINUTE_MS;
    for (let i = 0; i < 9; i++) await enter({ right: false });
    expect(await locks()).toHaveLength(2);
    for (let i = 0; i < 9; i++) await enter({ right: false, email: 'unknown@example.com' });
    expect(await locks()).toHaveLength(2);
  });

  test('of guesses in flight together is one event, and the right one still signs in', async () => {
    const { directory, ada, events, enter } = await openHere();
    const finish = {
      scopeId: SCOPE,
      email: ADA,
      userId: ada.userId,
      passwordChangedMs: START_MS,
      address: HERE,
    };
    for (let i = 0; i < 5; i++) await directory.beginPassword({ scopeId: SCOPE, email: ADA, address: HERE });
    await Promise.all(Array.from({ length: 4 }, () => directory.finishPassword({ ...finish, right: false })));
    expect(await enter()).toEqual(limited(MINUTE_MS));
    expect(await directory.finishPassword({ ...finish, right: true })).toMatchObject({
      outcome: 'signed_in',
    });
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
    expect((await events()).filter((each) => each.type === 'account_locked')).toHaveLength(1);
  });
});

describe('an address without an account', () => {
  test('is counted, locked and refused as one with an account', async () => {
    const { enter, clock } = await openHere();
    for (const waitMs of [0, 0, 0, 0, 0, 0, MINUTE_MS, 0, 2 * MINUTE_MS, DAY_MS, 0]) {
      clock.nowMs += waitMs;
      const { locked: _, ...known } = { locked: undefined, ...(await enter({ right: false })) };
      expect(await enter({ right: false, email: 'unknown@example.com' })).toEqual(known);
    }
  });

  test('costs as many writes as one with an account, but for the notice of its lock', () => {
    const { accounts, writesOf, clock } = openBare(openNodeDatabase(':memory:'));
    const { userId } = accounts.importAccount({ email: ADA, emailVerified: true, passwordHash: HASH });
    const guess = (email: string, id: string | null, passwordChangedMs: number | null) => [
      writesOf(() => accounts.beginPassword({ scopeId: SCOPE, email, address: '192.0.2.1' })),
      writesOf(() =>
        accounts.finishPassword({
          scopeId: SCOPE,
          email,
          address: '192.0.2.1',
          userId: id,
          passwordChangedMs,
          right: false,
        }),
      ),
    ];
    for (let i = 0; i < 12; i++) {
      const known = guess(ADA, userId, START_MS);
      const unknown = guess('unknown@example.com', null, null);
      // The fifth locks, and notifies the admin and the holder of the known one: two rows more.
      expect(unknown).toEqual(i === 4 ? [known[0], (known[1] ?? 0) - 2] : known);
      expect(known.every((writes) => writes > 0)).toBe(i < 5);
      clock.nowMs += 1;
    }
  });

  test('is not collected: no tried address and no network address is stored in clear', () => {
    const { accounts, db } = openBare(openNodeDatabase(':memory:'));
    const attempt = { scopeId: SCOPE, email: 'probed@example.com', address: '192.0.2.77' };
    accounts.beginPassword(attempt);
    accounts.finishPassword({ ...attempt, userId: null, passwordChangedMs: null, right: false });
    accounts.beginReset(attempt);
    const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    const everything = JSON.stringify(tables.map(({ name }) => db.all(`SELECT * FROM "${name}"`)));
    expect(everything).toContain('password:');
    expect(everything).not.toContain('probed');
    expect(everything).not.toContain('192.0.2.77');
  });
});

describe('a network', () => {
  test('makes thirty attempts in ten minutes over all accounts, to the millisecond', async () => {
    const { directory, clock } = await openAccounts();
    const begin = (i: number, address = '192.0.2.1') =>
      directory.beginPassword({ scopeId: SCOPE, email: `p${i}@example.com`, address });
    for (let i = 0; i < 30; i++) {
      expect(await begin(i)).toMatchObject({ outcome: 'judge' });
      clock.nowMs += 1;
    }
    clock.nowMs = START_MS + 10 * MINUTE_MS - 1;
    expect(await begin(30)).toEqual(limited(1));
    expect(await begin(31, '192.0.2.2')).toMatchObject({ outcome: 'judge' });
    clock.nowMs += 1;
    expect(await begin(30)).toMatchObject({ outcome: 'judge' });
    expect(await begin(32)).toEqual(limited(1));
  });

  test('is one /64, however many addresses it has', async () => {
    const { directory } = await openAccounts();
    const begin = (i: number) =>
      directory.beginPassword({ scopeId: SCOPE, email: `p${i}@example.com`, address: `2001:db8::${i}` });
    for (let i = 0; i < 30; i++) expect(await begin(i)).toMatchObject({ outcome: 'judge' });
    expect(await begin(30)).toMatchObject({ outcome: 'limited' });
  });

  test('of people who know their passwords is never locked out', async () => {
    const { enter } = await openAccounts();
    for (let i = 0; i < 100; i++)
      expect(await enter({ address: '192.0.2.1' })).toMatchObject({ outcome: 'signed_in' });
  });

  test('over its limit costs the account none of its attempts', async () => {
    const { directory, enter } = await openAccounts();
    for (let i = 0; i < 30; i++)
      await directory.beginPassword({ scopeId: SCOPE, email: `p${i}@example.com`, address: '192.0.2.1' });
    for (let i = 0; i < 30; i++) await enter({ right: false, address: '192.0.2.1' });
    expect(await enter()).toMatchObject({ outcome: 'signed_in' });
  });
});

describe('refused sign-ins', () => {
  test('are recorded, a hundred an hour in a scope, apart from other events', async () => {
    const { enter, events, clock, directory } = await openAccounts();
    for (let i = 0; i < 130; i++) await enter({ right: false, email: `p${i}@example.com` });
    const told = await events();
    expect(told.map((each) => each.type)).toEqual(Array(100).fill('sign_in_refused'));
    expect(told.map((each) => each.detail.further ?? null)).toEqual([
      'not_recorded',
      ...Array(99).fill(null),
    ]);
    const elsewhere = {
      scopeId: OTHER_SCOPE,
      email: ADA,
      userId: null,
      passwordChangedMs: null,
      right: false,
    };
    await directory.finishPassword(elsewhere);
    expect(await events(OTHER_SCOPE)).toHaveLength(1);
    clock.nowMs += HOUR_MS;
    await enter({ right: false });
    expect(await events()).toHaveLength(101);
  });
});

test('counts are forgotten when they expire, so that the table stays small', () => {
  const { accounts, count, clock } = openBare(openNodeDatabase(':memory:'));
  for (let i = 0; i < 400; i++) {
    for (let j = 0; j < 4; j++)
      accounts.beginPassword({
        scopeId: SCOPE,
        email: `p${i}@example.com`,
        address: `198.51.100.${i % 250}`,
      });
    clock.nowMs += MINUTE_MS;
    expect(count('account_attempts')).toBeLessThan(100);
  }
});

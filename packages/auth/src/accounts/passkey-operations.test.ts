/** Passkeys: challenges that work once, and keys that belong to one account. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/node-database.ts';
import { MINUTE_MS, refusal, START_MS } from '../../test/support.ts';
import {
  ADA,
  HASH,
  linkFor,
  openAccounts,
  openBare,
  passkey,
  SCOPE,
  type TestAccounts,
} from './test/support.ts';

const add = ({ directory, ada }: TestAccounts, key = passkey('key'), userId = ada.userId) =>
  directory.addPasskey({ scopeId: SCOPE, userId, passkey: key });
const unknown = { code: 'not_found', reason: 'passkey_unknown' };

describe('a challenge', () => {
  test('is 32 random bytes, kept as a hash, and taken once', async () => {
    const { directory } = await openAccounts();
    const { challenge, expiresAtMs } = await directory.beginPasskey({ purpose: 'sign_in' });
    expect(challenge).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(expiresAtMs).toBe(START_MS + 5 * MINUTE_MS);
    const taken = await Promise.all(
      Array.from({ length: 50 }, () => directory.takeChallenge({ challenge, purpose: 'sign_in' })),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
    const bare = openBare(openNodeDatabase(':memory:'));
    const kept = bare.accounts.beginPasskey({ purpose: 'sign_in' });
    expect(JSON.stringify(bare.db.all('SELECT * FROM account_challenges'))).not.toContain(kept.challenge);
  });

  test('lasts five minutes, to the millisecond', async () => {
    const { directory, clock } = await openAccounts();
    const begin = async () => (await directory.beginPasskey({ purpose: 'sign_in' })).challenge;
    const [early, late] = [await begin(), await begin()];
    clock.nowMs += 5 * MINUTE_MS - 1;
    expect(await directory.takeChallenge({ challenge: early, purpose: 'sign_in' })).toBe(true);
    clock.nowMs += 1;
    expect(await directory.takeChallenge({ challenge: late, purpose: 'sign_in' })).toBe(false);
  });

  test('is good for what it was made for, and used up by whatever else it is tried for', async () => {
    const { directory, other, ada } = await openAccounts();
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    const linkToken = await linkFor(directory, 'cid@example.com');
    const otherToken = await linkFor(directory, 'dee@example.com');
    const ceremonies = [
      { purpose: 'sign_in' },
      { purpose: 'sign_in', userId: ada.userId },
      { purpose: 'register', userId: ada.userId },
      { purpose: 'register', userId: bob.userId },
      { purpose: 'register', linkToken },
      { purpose: 'register', linkToken: otherToken },
    ] as const;
    for (const made of ceremonies) {
      for (const tried of ceremonies) {
        const { challenge } = await directory.beginPasskey(made);
        expect(await directory.takeChallenge({ ...tried, challenge })).toBe(tried === made);
        expect(await directory.takeChallenge({ ...made, challenge })).toBe(false);
      }
      const { challenge } = await directory.beginPasskey(made);
      expect(await other.takeChallenge({ ...made, challenge })).toBe(false);
    }
    expect(await directory.takeChallenge({ challenge: undefined as never, purpose: 'sign_in' })).toBe(false);
  });

  test('to register is for one account, or one that a live link stands for', async () => {
    const { directory, ada } = await openAccounts();
    const linkToken = await linkFor(directory, 'cid@example.com');
    const begin = (input: object) => refusal(directory.beginPasskey(input as never));
    for (const input of [
      { purpose: 'register' },
      { purpose: 'register', userId: ada.userId, linkToken },
      { purpose: 'sign_in', linkToken },
    ])
      expect((await begin(input)).code).toBe('validation_failed');
    expect(await begin({ purpose: 'register', userId: 'usr_nobody' })).toMatchObject({ code: 'not_found' });
    const credential = { kind: 'password', hash: HASH } as const;
    await directory.completeSignUp({ scopeId: SCOPE, token: linkToken, credential });
    for (const token of [linkToken, 'x'.repeat(22)])
      expect(await begin({ purpose: 'register', linkToken: token })).toEqual({
        code: 'not_found',
        reason: 'link_unknown',
      });
  });

  test('is forgotten when it is over, and beyond ten thousand at a time the oldest are', () => {
    const { accounts, count, clock } = openBare(openNodeDatabase(':memory:'));
    const first = accounts.beginPasskey({ purpose: 'sign_in' });
    for (let i = 1; i < 10_000; i++) accounts.beginPasskey({ purpose: 'sign_in' });
    const second = accounts.beginPasskey({ purpose: 'sign_in' });
    expect(count('account_challenges')).toBe(10_000);
    expect(accounts.takeChallenge({ ...first, purpose: 'sign_in' })).toBe(false);
    expect(accounts.takeChallenge({ ...second, purpose: 'sign_in' })).toBe(true);
    clock.nowMs += 5 * MINUTE_MS;
    for (let i = 0; i < 600; i++) accounts.beginPasskey({ purpose: 'sign_in' });
    expect(count('account_challenges')).toBe(600);
  });
});

describe('signing in', () => {
  test('with a passkey is complete, also where a second factor is in use', async () => {
    const accounts = await openAccounts();
    const { directory, ada, clock } = accounts;
    await accounts.turnTotpOn();
    await add(accounts);
    clock.nowMs += 1;
    const step = await directory.finishPasskey({ scopeId: SCOPE, id: 'key', counter: 0, backedUp: false });
    expect(step).toEqual({ outcome: 'signed_in', account: ada });
    const [kept] = (await directory.accountSecurity({ userId: ada.userId }))?.passkeys ?? [];
    expect(kept).toMatchObject({ backedUp: false, usedMs: clock.nowMs });
  });

  test('A-22: another tenant’s passkey is unknown here', async () => {
    const accounts = await openAccounts();
    const { directory, other, foreign, events } = accounts;
    await other.addPasskey({ scopeId: SCOPE, userId: foreign.userId, passkey: passkey('theirs') });
    expect(await directory.findPasskey({ id: 'theirs' })).toBeNull();
    const step = await directory.finishPasskey({ scopeId: SCOPE, id: 'theirs', counter: 0, backedUp: true });
    expect(step).toEqual({ outcome: 'refused' });
    expect((await events())[0]).toMatchObject({ type: 'sign_in_refused', sub: null });
    await add(accounts, passkey('theirs'));
  });

  test.each([
    [0, 0, true],
    [0, 1, true],
    [5, 6, true],
    [5, 5, false],
    [5, 4, false],
    // A copy that says it does not count.
    [5, 0, false],
    [5, Number.NaN, false],
  ])(
    'from counter %d to %d: %s (Web Authentication, section 6.1.1)',
    async (stored, presented, isAccepted) => {
      const accounts = await openAccounts();
      const { directory, ada, events } = accounts;
      await add(accounts, passkey('key', { counter: stored }));
      const input = { scopeId: SCOPE, id: 'key', counter: presented, backedUp: true };
      const { outcome } = await directory.finishPasskey(input);
      expect(outcome).toBe(isAccepted ? 'signed_in' : 'refused');
      const { counter } = (await directory.findPasskey({ id: 'key' })) ?? {};
      expect(counter).toBe(isAccepted ? presented : stored);
      const refusals = (await events()).filter((each) => each.type === 'sign_in_refused');
      const told = {
        type: 'sign_in_refused',
        sub: ada.userId,
        principal: null,
        detail: { reason: 'passkey_counter' },
      };
      expect(refusals).toEqual(isAccepted ? [] : [told]);
    },
  );
});

describe('keeping', () => {
  test('a passkey answers what its holder sees; its key is found by its id', async () => {
    const accounts = await openAccounts();
    const { directory, ada, events } = accounts;
    const key = passkey('key', { counter: 3, name: ' Phone ', transports: ['hybrid', 'internal'] });
    const kept = { id: 'key', name: 'Phone', backedUp: true, createdMs: START_MS, usedMs: null };
    expect(await add(accounts, key)).toEqual(kept);
    expect(await directory.findPasskey({ id: 'key' })).toEqual({
      userId: ada.userId,
      id: 'key',
      publicKey: key.publicKey,
      counter: 3,
      transports: ['hybrid', 'internal'],
    });
    expect((await directory.accountSecurity({ userId: ada.userId }))?.passkeys).toEqual([kept]);
    expect((await events())[0]).toMatchObject({
      type: 'passkey_added',
      sub: ada.userId,
      detail: { name: 'Phone' },
    });
  });

  test('one that is known, in any account, or a twenty-first, is refused', async () => {
    const accounts = await openAccounts();
    const { directory } = accounts;
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    for (let i = 0; i < 20; i++) await add(accounts, passkey(`key-${i}`));
    const known = { code: 'conflict', reason: 'passkey_known' };
    expect(await refusal(add(accounts, passkey('key-0')))).toEqual(known);
    expect(await refusal(add(accounts, passkey('key-0'), bob.userId))).toEqual(known);
    expect(await refusal(add(accounts, passkey('key-20')))).toEqual({
      code: 'conflict',
      reason: 'passkeys_full',
    });
    await add(accounts, passkey('key-20'), bob.userId);
  });

  test('what is no passkey is refused, and so is one for no account', async () => {
    const accounts = await openAccounts();
    for (const more of [
      { id: '' },
      { id: 'a b' },
      { id: 'x'.repeat(2_000) },
      { publicKey: '' },
      { counter: -1 },
      { counter: 0.5 },
      { transports: ['x'.repeat(33)] },
      { transports: Array(11).fill('usb') },
      { backedUp: 1 as never },
      { name: 'x'.repeat(101) },
    ])
      expect((await refusal(add(accounts, passkey('key', more)))).code).toBe('validation_failed');
    expect(await refusal(add(accounts, passkey('key'), 'usr_nobody'))).toMatchObject({ code: 'not_found' });
  });

  test('one’s own can be renamed and removed, another’s not', async () => {
    const accounts = await openAccounts();
    const { directory, ada, events } = accounts;
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    await add(accounts);
    const own = { userId: ada.userId, id: 'key' };
    for (const input of [
      { ...own, userId: bob.userId },
      { ...own, id: 'none' },
    ]) {
      expect(await refusal(directory.renamePasskey({ ...input, name: 'Mine' }))).toEqual(unknown);
      expect(await refusal(directory.removePasskey({ ...input, scopeId: SCOPE }))).toEqual(unknown);
    }
    expect(await directory.renamePasskey({ ...own, name: ' Laptop ' })).toMatchObject({ name: 'Laptop' });
    expect(await directory.renamePasskey({ ...own, name: '  ' })).toMatchObject({ name: 'Passkey' });
    expect(await directory.removePasskey({ ...own, scopeId: SCOPE })).toBeNull();
    expect(await directory.findPasskey({ id: 'key' })).toBeNull();
    expect((await events())[0]).toMatchObject({
      type: 'passkey_removed',
      sub: ada.userId,
      detail: { name: 'Passkey' },
    });
  });

  test('the last way into an account cannot be removed', async () => {
    const accounts = await openAccounts();
    const { directory } = accounts;
    const token = await linkFor(directory, 'bob@example.com');
    const credential = { kind: 'passkey', passkey: passkey('one') } as const;
    const { userId } = await directory.completeSignUp({ scopeId: SCOPE, token, credential });
    const remove = (id: string) => directory.removePasskey({ scopeId: SCOPE, userId, id });
    const last = { code: 'conflict', reason: 'last_credential' };
    expect(await refusal(remove('one'))).toEqual(last);
    await add(accounts, passkey('two'), userId);
    // Of two that are removed at once, one stays.
    const removed = await Promise.allSettled([remove('one'), remove('two')]);
    expect(removed.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected']);
    await directory.setPassword({ scopeId: SCOPE, userId, hash: HASH });
    await remove('two');
    expect((await directory.accountSecurity({ userId }))?.passkeys).toEqual([]);
  });

  test('a lock of the password does not keep a passkey out', async () => {
    const accounts = await openAccounts();
    await add(accounts);
    for (let i = 0; i < 5; i++) await accounts.enter({ right: false });
    expect(await accounts.enter({ email: ADA })).toMatchObject({ outcome: 'limited' });
    const input = { scopeId: SCOPE, id: 'key', counter: 0, backedUp: true };
    expect(await accounts.directory.finishPasskey(input)).toMatchObject({ outcome: 'signed_in' });
  });
});

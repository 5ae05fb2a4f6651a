/** Passkeys: challenges that work once, and keys that belong to one account. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { MINUTE_MS, refusal, START_MS } from '../../test/support.ts';
import type { Challenge } from './contract.ts';
import {
  ADA,
  challenge,
  HASH,
  linkFor,
  openAccounts,
  openBare,
  passkey,
  SCOPE,
  type TestAccounts,
} from './test/support.ts';

const add = ({ directory, holder }: TestAccounts, key = passkey('key'), userId?: string) =>
  directory.addPasskey({ ...holder(userId), passkey: key, challenge: challenge() });
const unknown = { code: 'not_found', reason: 'passkey_unknown' };

describe('a challenge', () => {
  const use = (directory: TestAccounts['directory'], one: Challenge) =>
    directory.finishPasskey({ scopeId: SCOPE, id: 'key', counter: 0, backedUp: true, challenge: one });

  test('is used once, of any kind: of fifty sign-ins at once one succeeds', async () => {
    const accounts = await openAccounts();
    const { directory, holder } = accounts;
    const one = challenge();
    await directory.addPasskey({ ...holder(), passkey: passkey('key'), challenge: one });
    expect(await use(directory, one)).toEqual({ outcome: 'refused' });
    const refused = { code: 'forbidden', reason: 'passkey_refused' };
    const again = directory.addPasskey({ ...holder(), passkey: passkey('two'), challenge: one });
    expect(await refusal(again)).toEqual(refused);
    const token = await linkFor(directory, 'cid@example.com');
    const credential = { kind: 'passkey', passkey: passkey('two'), challenge: one, userHandle: 'h' } as const;
    expect(await refusal(directory.completeSignUp({ scopeId: SCOPE, token, credential }))).toEqual(refused);
    const other = challenge();
    const steps = await Promise.all(Array.from({ length: 50 }, () => use(directory, other)));
    expect(steps.filter((step) => step.outcome === 'signed_in')).toHaveLength(1);
  });

  test('that has expired is refused, and is forgotten when it can no longer be used', () => {
    const { accounts, count, clock, db } = openBare(openNodeDatabase(':memory:'));
    const { userId } = accounts.importAccount({ email: ADA, emailVerified: true });
    const holder = { scopeId: SCOPE, userId, session: { sid: 's', issuedAtMs: START_MS } };
    accounts.addPasskey({ ...holder, passkey: passkey('key'), challenge: challenge() });
    db.run('DELETE FROM account_used_challenges');
    const finish = (id: string, expiresAtMs: number) =>
      accounts.finishPasskey({
        scopeId: SCOPE,
        id: 'key',
        counter: 0,
        backedUp: true,
        challenge: { id, expiresAtMs },
      }).outcome;
    expect(finish('late', START_MS)).toBe('refused');
    for (let i = 0; i < 100; i++) {
      clock.nowMs += MINUTE_MS;
      expect(finish(`${i}`, clock.nowMs + 5 * MINUTE_MS)).toBe('signed_in');
      expect(count('account_used_challenges')).toBeLessThanOrEqual(5);
    }
  });
});

describe('signing in', () => {
  test('with a passkey is complete, also with a second factor', async () => {
    const accounts = await openAccounts();
    const { directory, ada, clock } = accounts;
    await accounts.turnTotpOn();
    await add(accounts);
    clock.nowMs += 1;
    const step = await directory.finishPasskey({
      scopeId: SCOPE,
      id: 'key',
      counter: 0,
      backedUp: false,
      challenge: challenge(),
    });
    expect(step).toEqual({ outcome: 'signed_in', account: ada, sessionAtMs: clock.nowMs });
    const [stored] = (await directory.accountSecurity({ userId: ada.userId }))?.passkeys ?? [];
    expect(stored).toMatchObject({ backedUp: false, usedMs: clock.nowMs });
  });

  test('A-22: another tenant’s passkey is unknown here', async () => {
    const accounts = await openAccounts();
    const { directory, other, foreign, events } = accounts;
    await other.addPasskey({
      ...accounts.holder(foreign.userId),
      passkey: passkey('theirs'),
      challenge: challenge(),
    });
    expect(await directory.findPasskey({ id: 'theirs' })).toBeNull();
    const step = await directory.finishPasskey({
      scopeId: SCOPE,
      id: 'theirs',
      counter: 0,
      backedUp: true,
      challenge: challenge(),
    });
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
    // A copy that claims not to count.
    [5, 0, false],
    [5, Number.NaN, false],
  ])(
    'from counter %d to %d: %s (Web Authentication, section 6.1.1)',
    async (stored, presented, isAccepted) => {
      const accounts = await openAccounts();
      const { directory, ada, events } = accounts;
      await add(accounts, passkey('key', { counter: stored }));
      const input = { scopeId: SCOPE, id: 'key', counter: presented, backedUp: true, challenge: challenge() };
      const { outcome } = await directory.finishPasskey(input);
      expect(outcome).toBe(isAccepted ? 'signed_in' : 'refused');
      const refusals = (await events()).filter((each) => each.type === 'sign_in_refused');
      const told = {
        type: 'sign_in_refused',
        sub: ada.userId,
        principal: null,
        detail: { reason: 'passkey_counter' },
      };
      expect(refusals).toEqual(isAccepted ? [] : [told]);
      // The next counter must be above the accepted one.
      const next = { ...input, counter: isAccepted ? presented : stored, challenge: challenge() };
      expect((await directory.finishPasskey(next)).outcome).toBe(
        next.counter === 0 ? 'signed_in' : 'refused',
      );
    },
  );
});

describe('keeping', () => {
  test("a passkey shows its holder's view; its key is found by its id", async () => {
    const accounts = await openAccounts();
    const { directory, ada, events } = accounts;
    const key = passkey('key', { counter: 3, name: ' Phone ' });
    const stored = { id: 'key', name: 'Phone', backedUp: true, createdMs: START_MS, usedMs: null };
    expect(await add(accounts, key)).toEqual(stored);
    expect(await directory.findPasskey({ id: 'key' })).toEqual({
      userId: ada.userId,
      id: 'key',
      publicKey: key.publicKey,
      userHandle: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect((await directory.accountSecurity({ userId: ada.userId }))?.passkeys).toEqual([stored]);
    expect((await events())[0]).toMatchObject({
      type: 'passkey_added',
      sub: ada.userId,
      detail: { name: 'Phone' },
    });
  });

  test('a known one, in any account, or a twenty-first, is refused', async () => {
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

  test('an invalid passkey is refused, and so is one for no account', async () => {
    const accounts = await openAccounts();
    for (const more of [
      { id: '' },
      { id: 'a b' },
      { id: 'x'.repeat(2_000) },
      { publicKey: '' },
      { counter: -1 },
      { counter: 0.5 },
      { backedUp: 1 as never },
      { name: 'x'.repeat(101) },
    ])
      expect((await refusal(add(accounts, passkey('key', more)))).code).toBe('validation_failed');
    expect(await refusal(add(accounts, passkey('key'), 'usr_nobody'))).toMatchObject({ code: 'not_found' });
  });

  test("a holder renames and removes their own, not another's", async () => {
    const accounts = await openAccounts();
    const { directory, ada, events } = accounts;
    const bob = await directory.importAccount({ email: 'bob@example.com', emailVerified: true });
    await add(accounts);
    const own = { ...accounts.holder(), id: 'key' };
    for (const input of [
      { ...own, userId: bob.userId },
      { ...own, id: 'none' },
    ]) {
      expect(await refusal(directory.renamePasskey({ ...input, name: 'Mine' }))).toEqual(unknown);
      expect(await refusal(directory.removePasskey(input))).toEqual(unknown);
    }
    expect(await directory.renamePasskey({ ...own, name: ' Laptop ' })).toMatchObject({ name: 'Laptop' });
    expect(await directory.renamePasskey({ ...own, name: '  ' })).toMatchObject({ name: 'Passkey' });
    expect(await directory.removePasskey(own)).toBeNull();
    expect(await directory.findPasskey({ id: 'key' })).toBeNull();
    expect((await events())[0]).toMatchObject({
      type: 'passkey_removed',
      sub: ada.userId,
      detail: { name: 'Passkey' },
    });
  });

  test('the only credential of an account cannot be removed', async () => {
    const accounts = await openAccounts();
    const { directory } = accounts;
    const token = await linkFor(directory, 'bob@example.com');
    const credential = {
      kind: 'passkey',
      passkey: passkey('one'),
      challenge: challenge(),
      userHandle: 'handle',
    } as const;
    const { account } = await directory.completeSignUp({ scopeId: SCOPE, token, credential });
    const { userId } = account;
    const remove = (id: string) => directory.removePasskey({ ...accounts.holder(userId), id });
    const last = { code: 'conflict', reason: 'last_credential' };
    expect(await refusal(remove('one'))).toEqual(last);
    await add(accounts, passkey('two'), userId);
    // Of two removed at once, one stays.
    const removed = await Promise.allSettled([remove('one'), remove('two')]);
    expect(removed.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected']);
    await directory.setPassword({ ...accounts.holder(userId), hash: HASH });
    await remove('two');
    expect((await directory.accountSecurity({ userId }))?.passkeys).toEqual([]);
  });

  test('a lock of the password does not lock a passkey', async () => {
    const accounts = await openAccounts();
    await add(accounts);
    for (let i = 0; i < 30; i++) await accounts.enter({ right: false });
    expect(await accounts.enter({ email: ADA })).toMatchObject({ outcome: 'limited' });
    const input = { scopeId: SCOPE, id: 'key', counter: 0, backedUp: true, challenge: challenge() };
    expect(await accounts.directory.finishPasskey(input)).toMatchObject({ outcome: 'signed_in' });
  });
});

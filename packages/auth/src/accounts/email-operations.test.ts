/** Moving an account to another address. */
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, refusal, START_MS } from '../../test/support.ts';
import { ADA, HASH, linkFor, OTHER_HASH, openAccounts, SCOPE, type TestAccounts } from './test/support.ts';

const NEW = 'ada@new.example';

async function begin({ directory, holder }: TestAccounts, email = NEW, userId?: string): Promise<string> {
  const made = await directory.beginEmailChange({ ...holder(userId), email });
  if (made.outcome !== 'made') throw new Error(`the change is ${made.outcome}`);
  return made.token;
}

const complete = ({ directory, holder }: TestAccounts, token: string, userId?: string) =>
  directory.completeEmailChange({ ...holder(userId), token });
const unknown = { code: 'not_found', reason: 'link_unknown' };

test('changes the address when the link is used, and not before', async () => {
  const accounts = await openAccounts();
  const { directory, ada, enter, events, holder } = accounts;
  expect(await directory.beginEmailChange({ ...holder(), email: 'ADA@new.example' })).toEqual({
    outcome: 'made',
    token: expect.any(String),
    expiresAtMs: START_MS + DAY_MS,
    email: NEW,
    name: 'Ada',
  });
  const token = await begin(accounts);
  expect(await directory.showLink({ token, purpose: 'email_change' })).toEqual({
    email: NEW,
    name: 'Ada',
    userId: ada.userId,
    passkeys: [],
  });
  expect(await directory.findAccount({ userId: ada.userId })).toEqual(ada);
  const moved = { ...ada, email: NEW };
  expect(await complete(accounts, token)).toMatchObject({ account: moved, formerEmail: ADA });
  expect(await enter({ email: NEW })).toMatchObject({ outcome: 'signed_in', account: moved });
  expect(await directory.beginPassword({ scopeId: SCOPE, email: ADA })).toMatchObject({ userId: null });
  expect((await events())[0]).toMatchObject({ type: 'email_changed', sub: ada.userId });
});

test('succeeds once of 200 times at once, and is refused after a day', async () => {
  const accounts = await openAccounts();
  const token = await begin(accounts);
  accounts.clock.nowMs += DAY_MS;
  expect(await refusal(complete(accounts, token))).toEqual({ code: 'conflict', reason: 'link_expired' });
  accounts.clock.nowMs -= 1;
  const answers = await Promise.allSettled(Array.from({ length: 200 }, () => complete(accounts, token)));
  expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(1);
});

test('to an address with an account is known at the request, and refused when the address got an account meanwhile', async () => {
  const accounts = await openAccounts();
  const { directory, ada, holder } = accounts;
  const change = (email: string) => directory.beginEmailChange({ ...holder(), email });
  const token = await begin(accounts);
  await directory.importAccount({ email: NEW, emailVerified: true });
  expect(await change(NEW)).toEqual({ outcome: 'known' });
  expect(await change(ADA)).toEqual({ outcome: 'known' });
  expect(await refusal(complete(accounts, token))).toEqual({ code: 'conflict', reason: 'account_exists' });
  expect((await directory.findAccount({ userId: ada.userId }))?.email).toBe(ADA);
});

test("by another holder of the link is refused, and leaves the link to the account's holder", async () => {
  const accounts = await openAccounts();
  const { directory, ada } = accounts;
  const mallory = await directory.importAccount({ email: 'mallory@example.com', emailVerified: true });
  const token = await begin(accounts);
  expect(await refusal(complete(accounts, token, mallory.userId))).toEqual(unknown);
  expect(await directory.findAccount({ userId: mallory.userId })).toMatchObject({ email: mallory.email });
  expect(await complete(accounts, token)).toMatchObject({ account: { ...ada, email: NEW } });
});

test('of two accounts to one address: each has its link, and the first to use it gets the address', async () => {
  const accounts = await openAccounts();
  const bob = await accounts.directory.importAccount({ email: 'bob@example.com', emailVerified: true });
  const tokens = [await begin(accounts), await begin(accounts, NEW, bob.userId)];
  const sign = await linkFor(accounts.directory, NEW);
  await complete(accounts, tokens[1] ?? '', bob.userId);
  const taken = { code: 'conflict', reason: 'account_exists' };
  expect(await refusal(complete(accounts, tokens[0] ?? ''))).toEqual(taken);
  const credential = { kind: 'password', hash: HASH } as const;
  expect(
    await refusal(accounts.directory.completeSignUp({ scopeId: SCOPE, token: sign, credential })),
  ).toEqual(taken);
});

test('voids a reset that was mailed to the former address, and every other change', async () => {
  const accounts = await openAccounts();
  const { directory } = accounts;
  const reset = await directory.beginReset({ scopeId: SCOPE, email: ADA });
  const other = await begin(accounts, 'ada@third.example');
  await complete(accounts, await begin(accounts));
  const token = reset.outcome === 'made' ? reset.token : '';
  expect(await refusal(directory.completeReset({ scopeId: SCOPE, token, hash: OTHER_HASH }))).toEqual(
    unknown,
  );
  expect(await refusal(complete(accounts, other))).toEqual(unknown);
});

test('verifies the address, whether or not the former one was verified', async () => {
  const accounts = await openAccounts();
  const bob = await accounts.directory.importAccount({ email: 'bob@example.com', emailVerified: false });
  const { account, revert } = await complete(accounts, await begin(accounts, NEW, bob.userId), bob.userId);
  // The former address was never verified, so it gets no link that reverts the change.
  expect(revert).toBeNull();
  expect(account).toMatchObject({ emailVerified: true });
});

test('is refused for an invalid address, for no account, and after too many requests', async () => {
  const accounts = await openAccounts();
  const { directory, holder } = accounts;
  expect((await refusal(begin(accounts, 'ada'))).code).toBe('validation_failed');
  expect(await refusal(begin(accounts, NEW, 'usr_nobody'))).toEqual({
    code: 'not_found',
    reason: 'account_unknown',
  });
  for (let i = 0; i < 10; i++) await begin(accounts);
  expect(await directory.beginEmailChange({ ...holder(), email: NEW })).toEqual({
    outcome: 'limited',
    retryAfterMs: HOUR_MS,
  });
});

test('takes a pending attempt back under the new address', async () => {
  const accounts = await openAccounts();
  const { directory, ada, enter } = accounts;
  for (let i = 0; i < 2; i++) await enter({ right: false });
  await complete(accounts, await begin(accounts));
  for (let i = 0; i < 4; i++) await enter({ right: false, email: NEW });
  const begun = await directory.beginPassword({ scopeId: SCOPE, email: NEW });
  if (begun.outcome !== 'judge') throw new Error('it is limited');
  const finish = {
    scopeId: SCOPE,
    email: ADA,
    userId: ada.userId,
    passwordChangedMs: begun.passwordChangedMs,
    right: true,
  };
  await directory.finishPassword(finish);
  expect(await enter({ email: NEW })).toMatchObject({ outcome: 'signed_in' });
});

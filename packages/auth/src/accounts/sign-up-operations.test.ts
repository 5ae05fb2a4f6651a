/** New accounts: one for an address, by a link that only its holder can have. */
import { describe, expect, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, refusal, START_MS } from '../../test/support.ts';
import { hashToken } from '../lib/token.ts';
import type { NewCredential } from './contract.ts';
import {
  ADA,
  challenge,
  HASH,
  linkFor,
  OTHER_HASH,
  openAccounts,
  openBare,
  passkey,
  SCOPE,
} from './test/support.ts';

const BOB = 'bob@example.com';
const password: NewCredential = { kind: 'password', hash: HASH };
const withPasskey = (id: string): NewCredential => ({
  kind: 'passkey',
  passkey: passkey(id),
  challenge: challenge(),
  userHandle: 'handle',
});
const unknown = { code: 'not_found', reason: 'link_unknown' };

describe('asking for an account', () => {
  test('makes a link for an address without an account, and returns the account of one that has it', async () => {
    const { directory, ada } = await openAccounts();
    const begin = (email: string) => directory.beginSignUp({ scopeId: SCOPE, email, name: ' Bob ' });
    expect(await begin(' BOB@example.com')).toEqual({
      outcome: 'made',
      token: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      expiresAtMs: START_MS + DAY_MS,
      email: BOB,
      name: 'Bob',
    });
    expect(await begin('ADA@example.com')).toEqual({ outcome: 'known', account: ada });
  });

  test('writes mail to one address three times an hour for one network, and ten times for all', async () => {
    const { directory, clock } = await openAccounts();
    const begin = (email: string, address?: string) =>
      directory.beginSignUp({ scopeId: SCOPE, email, address });
    for (const email of [BOB, ADA]) {
      for (let i = 0; i < 3; i++) expect((await begin(email, '192.0.2.1')).outcome).not.toBe('limited');
      expect(await begin(email, '192.0.2.1')).toEqual({ outcome: 'limited', retryAfterMs: HOUR_MS });
      // Another network, and a caller without an address.
      for (let i = 0; i < 3; i++) expect((await begin(email, '192.0.2.2')).outcome).not.toBe('limited');
      for (let i = 0; i < 4; i++) expect((await begin(email)).outcome).not.toBe('limited');
      expect(await begin(email)).toEqual({ outcome: 'limited', retryAfterMs: HOUR_MS });
      expect(await begin(email, '192.0.2.3')).toMatchObject({ outcome: 'limited' });
    }
    clock.nowMs += HOUR_MS;
    expect(await begin(BOB)).toMatchObject({ outcome: 'made' });
  });

  test('does not block a reset: each kind of mail is counted by itself', async () => {
    const { directory, holder } = await openAccounts();
    const asked = { scopeId: SCOPE, email: ADA };
    for (let i = 0; i < 11; i++) await directory.beginSignUp(asked);
    expect(await directory.beginSignUp(asked)).toMatchObject({ outcome: 'limited' });
    for (let i = 0; i < 11; i++) await directory.beginEmailChange({ ...holder(), email: ADA });
    expect(await directory.beginReset(asked)).toMatchObject({ outcome: 'made' });
  });

  test('writes twenty mails an hour for one network', async () => {
    const { directory } = await openAccounts();
    const begin = (email: string, address?: string) =>
      directory.beginSignUp({ scopeId: SCOPE, email, address });
    for (let i = 0; i < 20; i++)
      expect(await begin(`p${i}@example.com`, '192.0.2.1')).toMatchObject({ outcome: 'made' });
    expect(await begin('p20@example.com', '192.0.2.1')).toEqual({
      outcome: 'limited',
      retryAfterMs: HOUR_MS,
    });
    expect(await begin('p20@example.com', '192.0.2.2')).toMatchObject({ outcome: 'made' });
  });

  test('counts with the other attempts of a network', async () => {
    const { directory, enter } = await openAccounts();
    const address = '192.0.2.1';
    for (let i = 0; i < 12; i++) await linkFor(directory, `p${i}@example.com`, { address });
    for (let i = 0; i < 18; i++)
      await directory.beginPassword({ scopeId: SCOPE, email: `q${i}@example.com`, address });
    expect(await enter({ address })).toEqual({ outcome: 'limited', retryAfterMs: 10 * MINUTE_MS });
    expect(await directory.beginReset({ scopeId: SCOPE, email: ADA, address })).toMatchObject({
      outcome: 'limited',
    });
  });

  test('costs as many writes whether or not the address has an account, and a reset does too', () => {
    const { accounts, writesOf } = openBare(openNodeDatabase(':memory:'));
    accounts.importAccount({ email: ADA, emailVerified: true });
    for (const begin of [accounts.beginSignUp, accounts.beginReset, accounts.beginSignUp]) {
      const writes = [ADA, BOB].map((email) => writesOf(() => begin({ scopeId: SCOPE, email })));
      expect(writes[0]).toBe(writes[1]);
      expect(writes[0]).toBeGreaterThan(1);
    }
  });

  test('writes a link without a usable token for an address with an account', () => {
    const { accounts, db } = openBare(openNodeDatabase(':memory:'));
    accounts.importAccount({ email: ADA, emailVerified: true });
    accounts.beginSignUp({ scopeId: SCOPE, email: ADA });
    db.run('UPDATE account_links SET token_hash = ?', hashToken('known'));
    expect(accounts.showLink({ token: 'known', purpose: 'sign_up' })).toBeNull();
    const complete = () => accounts.completeSignUp({ scopeId: SCOPE, token: 'known', credential: password });
    expect(complete).toThrow('This link is not valid');
  });

  test.each(['x'.repeat(101), 'Bob\r\nBcc: eve@example.com', 'B\u202eob'])(
    'with the name %j is refused',
    async (name) => {
      const { directory } = await openAccounts();
      const begin = directory.beginSignUp({ scopeId: SCOPE, email: BOB, name });
      expect((await refusal(begin)).code).toBe('validation_failed');
    },
  );
});

describe('a link', () => {
  test('shows its address, over and over, and showing does not use it up', async () => {
    const { directory } = await openAccounts();
    const token = await linkFor(directory, BOB, { name: 'Bob' });
    for (let i = 0; i < 3; i++)
      expect(await directory.showLink({ token, purpose: 'sign_up' })).toEqual({
        email: BOB,
        name: 'Bob',
        userId: null,
        passkeys: [],
      });
    for (const purpose of ['reset', 'email_change'] as const)
      expect(await directory.showLink({ token, purpose })).toBeNull();
    await directory.completeSignUp({ scopeId: SCOPE, token, credential: password });
    expect(await directory.showLink({ token, purpose: 'sign_up' })).toBeNull();
  });

  test('is stored as a hash', () => {
    const { accounts, db } = openBare(openNodeDatabase(':memory:'));
    const made = accounts.beginSignUp({ scopeId: SCOPE, email: BOB });
    expect(JSON.stringify(db.all('SELECT * FROM account_links'))).not.toContain(
      made.outcome === 'made' ? made.token : '',
    );
  });

  test('retires the one before it, for the same address only', async () => {
    const { directory } = await openAccounts();
    const [first, second, other] = [
      await linkFor(directory, BOB),
      await linkFor(directory, 'Bob@Example.com'),
      await linkFor(directory, 'cid@example.com'),
    ];
    const complete = (token: string) =>
      directory.completeSignUp({ scopeId: SCOPE, token, credential: password });
    expect(await directory.showLink({ token: first, purpose: 'sign_up' })).toBeNull();
    expect(await refusal(complete(first))).toEqual(unknown);
    await complete(second);
    await complete(other);
  });

  test('works for 24 hours and not a millisecond longer, and is told apart from none for a day more', async () => {
    const { directory, clock } = await openAccounts();
    const token = await linkFor(directory, BOB);
    const complete = () => directory.completeSignUp({ scopeId: SCOPE, token, credential: password });
    clock.nowMs = START_MS + DAY_MS;
    expect(await directory.showLink({ token, purpose: 'sign_up' })).toBeNull();
    expect(await refusal(complete())).toEqual({ code: 'conflict', reason: 'link_expired' });
    clock.nowMs = START_MS + 2 * DAY_MS - 1;
    await linkFor(directory, 'cid@example.com');
    expect(await refusal(complete())).toEqual({ code: 'conflict', reason: 'link_expired' });
    clock.nowMs += 1;
    await linkFor(directory, 'dee@example.com');
    expect(await refusal(complete())).toEqual(unknown);
    const late = await openAccounts();
    const other = await linkFor(late.directory, BOB);
    late.clock.nowMs += DAY_MS - 1;
    await late.directory.completeSignUp({ scopeId: SCOPE, token: other, credential: password });
  });

  test('of another tenant or purpose, or forged, is unknown', async () => {
    const { directory, other } = await openAccounts();
    const reset = await directory.beginReset({ scopeId: SCOPE, email: ADA });
    const tokens = [
      await linkFor(other, BOB),
      reset.outcome === 'made' ? reset.token : '',
      '',
      'x'.repeat(22),
    ];
    for (const token of [...tokens, undefined as never, {} as never]) {
      expect(await directory.showLink({ token, purpose: 'sign_up' })).toBeNull();
      expect(
        await refusal(directory.completeSignUp({ scopeId: SCOPE, token, credential: password })),
      ).toEqual(unknown);
    }
  });

  test('is forgotten in the end, some at a time', () => {
    const { accounts, count, clock } = openBare(openNodeDatabase(':memory:'));
    for (let i = 0; i < 200; i++) {
      accounts.beginSignUp({ scopeId: SCOPE, email: `p${i}@example.com` });
      clock.nowMs += HOUR_MS;
      expect(count('account_links')).toBeLessThanOrEqual(49);
    }
  });
});

describe('completing', () => {
  test('A-06: makes an account with a verified address, its name and its password', async () => {
    const { directory, events, clock } = await openAccounts();
    const token = await linkFor(directory, BOB, { name: 'Bob' });
    clock.nowMs += 1;
    const step = await directory.completeSignUp({ scopeId: SCOPE, token, credential: password });
    const { account } = step;
    expect(step).toEqual({ outcome: 'signed_in', account, sessionAtMs: START_MS + 1 });
    expect(account).toEqual({
      userId: expect.stringMatching(/^usr_/),
      email: BOB,
      name: 'Bob',
      emailVerified: true,
    });
    expect(await directory.findAccount({ userId: account.userId })).toEqual(account);
    expect(await directory.accountSecurity({ userId: account.userId })).toEqual({
      ...account,
      createdMs: START_MS + 1,
      passwordChangedMs: START_MS + 1,
      totp: false,
      recoveryCodes: 0,
      passkeys: [],
      passkeyHandle: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(await events()).toEqual([
      {
        type: 'account_created',
        sub: account.userId,
        principal: null,
        detail: { how: 'sign_up', credential: 'password' },
      },
    ]);
  });

  test('with a passkey makes an account without a password; a later name replaces the link’s', async () => {
    const { directory } = await openAccounts();
    const token = await linkFor(directory, BOB, { name: 'Bob' });
    const { account } = await directory.completeSignUp({
      scopeId: SCOPE,
      token,
      name: 'Robert',
      credential: withPasskey('key'),
    });
    const { userId } = account;
    expect(account.name).toBe('Robert');
    expect(await directory.accountSecurity({ userId })).toMatchObject({
      passwordChangedMs: null,
      passkeys: [{ id: 'key' }],
      passkeyHandle: 'handle',
    });
  });

  test('200 times at once with one link makes exactly one account', async () => {
    const { directory, events } = await openAccounts();
    const token = await linkFor(directory, BOB);
    const answers = await Promise.allSettled(
      Array.from({ length: 200 }, () =>
        directory.completeSignUp({ scopeId: SCOPE, token, credential: password }),
      ),
    );
    const lost = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.reason] : []));
    expect(lost).toEqual(Array(199).fill('link_used'));
    expect(await events()).toHaveLength(1);
  });

  test('for an address that got an account meanwhile is refused, and uses nothing up', async () => {
    const { directory } = await openAccounts();
    const token = await linkFor(directory, BOB);
    await directory.importAccount({ email: BOB, emailVerified: false });
    const complete = directory.completeSignUp({ scopeId: SCOPE, token, credential: password });
    expect(await refusal(complete)).toEqual({ code: 'conflict', reason: 'account_exists' });
    expect(await directory.showLink({ token, purpose: 'sign_up' })).not.toBeNull();
  });

  test('with an invalid hash, or a known passkey, is refused, and the link still works', async () => {
    const { directory, holder } = await openAccounts();
    await directory.addPasskey({ ...holder(), passkey: passkey('key'), challenge: challenge() });
    const token = await linkFor(directory, BOB);
    const complete = (credential: NewCredential) =>
      directory.completeSignUp({ scopeId: SCOPE, token, credential });
    for (const hash of [
      'hunter2',
      '',
      '$',
      '$argon2id$',
      '$argon2id$v=19 x',
      '$ARGON$x',
      `$a$${'x'.repeat(500)}`,
    ])
      expect((await refusal(complete({ kind: 'password', hash }))).code).toBe('validation_failed');
    expect(await refusal(complete(withPasskey('key')))).toEqual({
      code: 'conflict',
      reason: 'passkey_known',
    });
    await complete(password);
  });
});

describe('importing an account', () => {
  test('stores its hash and whether its address is verified', async () => {
    const { directory, events } = await openAccounts();
    const taken = await directory.importAccount({
      email: 'Cid@Example.com',
      name: null,
      emailVerified: false,
      passwordHash: OTHER_HASH,
    });
    expect(taken).toMatchObject({ email: 'cid@example.com', name: null, emailVerified: false });
    expect(await directory.beginPassword({ scopeId: SCOPE, email: taken.email })).toMatchObject({
      hash: OTHER_HASH,
    });
    expect(await events()).toEqual([]);
    const { items } = await directory.listIdentityEvents({});
    expect(items[0]).toMatchObject({ type: 'account_created', scopeId: null, detail: { how: 'import' } });
  });

  test('A-22: makes one of an address in a tenant; another tenant has its own', async () => {
    const { directory, other, ada } = await openAccounts();
    const again = directory.importAccount({ email: 'ADA@example.com', emailVerified: true });
    expect(await refusal(again)).toEqual({ code: 'conflict', reason: 'account_exists' });
    expect(await other.findAccount({ userId: ada.userId })).toBeNull();
    expect(await other.accountSecurity({ userId: ada.userId })).toBeNull();
  });

  test.each([
    ['bcrypt', '$2b$12$C6UzMDM.H6dfI/f/IKcEeO7ZlM1qqXqGQfQFhDbhQ1Ww2O5P6kM3e'],
    ['much dearer argon2id', HASH.replace('m=19456,t=2', 'm=65536,t=3')],
    ['much cheaper argon2id', HASH.replace('m=19456', 'm=4096')],
    ['much cheaper scrypt', HASH.replace('argon2id$v=19$m=19456,t=2,p=1', 'scrypt$ln=12,r=8,p=1')],
    [
      'scrypt that no machine can compute',
      HASH.replace('argon2id$v=19$m=19456,t=2,p=1', 'scrypt$ln=17,r=1,p=1'),
    ],
  ])(
    'with a hash of %s is refused: its time would reveal that there is an account',
    async (_, passwordHash) => {
      const { directory } = await openAccounts();
      const input = { email: 'cid@example.com', emailVerified: true, passwordHash };
      expect(await refusal(directory.importAccount(input))).toEqual({
        code: 'validation_failed',
        reason: 'hash_unsupported',
      });
    },
  );

  test.each([
    ['argon2id$v=19$m=12288,t=3,p=1'],
    ['argon2id$v=19$m=47104,t=1,p=1'],
    ['scrypt$ln=15,r=8,p=3'],
    ['scrypt$ln=17,r=8,p=1'],
  ])('with a hash of %s, as others make them, is taken', async (setting) => {
    const { directory } = await openAccounts();
    const passwordHash = HASH.replace('argon2id$v=19$m=19456,t=2,p=1', setting);
    await directory.importAccount({ email: 'cid@example.com', emailVerified: true, passwordHash });
  });

  test('with an invalid hash, no address, or no word on its verification is refused', async () => {
    const { directory } = await openAccounts();
    for (const more of [{ passwordHash: 'hunter2' }, { email: 'cid' }, { emailVerified: undefined }]) {
      const input = { email: 'cid@example.com', emailVerified: true, passwordHash: OTHER_HASH, ...more };
      expect((await refusal(directory.importAccount(input as never))).code).toBe('validation_failed');
    }
  });
});

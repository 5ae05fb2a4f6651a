/** Secrets at rest: in no file, bound to their place, resealed under a new key, and unusable when they do not open. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeIdFactory, PlatformError } from '@freehold/contracts';
import { type Keyring, makeKeyring } from '@freehold/store';
import { TOTP } from 'otpauth';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../../../engine-node/src/index.ts';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import {
  MINUTE_MS,
  OTHER_SCOPE,
  person,
  refusal,
  SCOPE,
  START_MS,
  TENANT_A,
  TENANT_B,
  testRandom,
} from '../../test/support.ts';
import { directoryIssuer } from '../accounts/contract.ts';
import { instanceAuthFor } from '../instance-auth.ts';
import { type IdentityDirectory, makeIdentityDirectory } from './unit.ts';

const KEY = 'the sealing key of these tests, long enough';
const NEWER_KEY = 'a newer sealing key, as long as the other';
const TOTP_SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const CLIENT_SECRET = 'the-secret-of-the-client-at-the-issuer';
const CHOICE = JSON.stringify({ mode: 'oidc', issuer: 'https://id.example', clientId: 'notes' });
const PHC = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$YWRhYWRhYWRhYWRhYWRhYWRh';

const random = testRandom();

/** A directory's methods straight over a database that tests can read, and open again under other keys. */
function openDirectory(tenant: string, keyring: Keyring | undefined, database = openMemory()) {
  const clock = { nowMs: START_MS };
  const sources = { now: () => clock.nowMs, random };
  const methods = makeIdentityDirectory({ sealing: keyring }).open({
    key: tenant,
    db: database.db,
    guarded: database.guarded,
    ...sources,
    newId: makeIdFactory(sources),
    afterCommit: () => undefined,
    onRollback: () => undefined,
    onClose: () => undefined,
    report: () => undefined,
  });
  return {
    ...methods,
    ...database,
    clock,
    reopen: (other?: Keyring) => openDirectory(tenant, other, database),
  };
}

function openMemory() {
  const database = openNodeDatabase(':memory:');
  onTestFinished(() => database.close());
  const { migrations } = makeIdentityDirectory();
  for (const set of migrations) for (const each of set.migrations) database.db.exec(each.sql);
  return database;
}

type OpenDirectory = ReturnType<typeof openDirectory>;

function codeAt(nowMs: number): string {
  return new TOTP({ secret: TOTP_SECRET }).generate({ timestamp: nowMs });
}

function addAccount(directory: OpenDirectory, email: string) {
  const { userId } = directory.importAccount({ email, emailVerified: true, passwordHash: PHC });
  const session = { sid: `of ${email}`, issuedAtMs: directory.clock.nowMs + 1 };
  const holder = { scopeId: SCOPE, userId, session };
  const { recoveryCodes } = directory.enableTotp({
    ...holder,
    secret: TOTP_SECRET,
    code: codeAt(directory.clock.nowMs),
  });
  const later = { ...holder, session: { ...session, issuedAtMs: session.issuedAtMs + MINUTE_MS } };
  return { userId, email, recoveryCodes, holder: later };
}

/** Every sealed value of the directory. */
function fill(directory: OpenDirectory) {
  directory.putConfig({
    scopeId: SCOPE,
    config: { 'platform:auth': CHOICE, OIDC_CLIENT_SECRET: CLIENT_SECRET },
  });
  const former = directory.sessionSecret();
  directory.rotateSessionSecret({});
  const current = directory.sessionSecret();
  return { former, current, ada: addAccount(directory, 'ada@example.com') };
}

/** Signs in with a password, and then the code. */
function enter(directory: OpenDirectory, email: string, code: string) {
  const begun = directory.beginPassword({ scopeId: SCOPE, email });
  if (begun.outcome !== 'judge') throw new Error(begun.outcome);
  const { userId, passwordChangedMs } = begun;
  const step = directory.finishPassword({ scopeId: SCOPE, email, userId, passwordChangedMs, right: true });
  if (!('outcome' in step) || step.outcome !== 'second_factor')
    throw new Error('no second factor is asked for');
  return directory.finishSecondFactor({ scopeId: SCOPE, token: step.token, code }).outcome;
}

/** The refusal of a synchronous call. */
function refused(work: () => unknown) {
  return refusal(new Promise((resolve) => resolve(work())));
}

const unreadable = { code: 'unavailable', reason: 'secret_unreadable' };
const keyMissing = { code: 'unavailable', reason: 'seal_key_missing' };

describe('the files of a directory', () => {
  async function filesOf(
    sealing: Keyring | undefined,
  ): Promise<{ bytes: string; secrets: readonly string[] }> {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'auth-sealing-'));
    onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
    const engine = openNodeEngine({
      dataDirectory,
      // A compressed history would hide the secrets from the search.
      historyMs: 0,
      now: () => START_MS,
      onIncident: (error) => expect.fail(String(error)),
    });
    const directory = engine.unit(makeIdentityDirectory({ sealing }), TENANT_A, { create: true });
    await directory.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: CLIENT_SECRET } });
    const former = await directory.sessionSecret();
    await directory.rotateSessionSecret({});
    const { userId } = await directory.importAccount({ email: 'ada@example.com', emailVerified: true });
    const session = { sid: 'sid', issuedAtMs: START_MS };
    const totp = { scopeId: SCOPE, userId, session, secret: TOTP_SECRET, code: codeAt(START_MS) };
    const { recoveryCodes } = await directory.enableTotp(totp);
    const secrets = [CLIENT_SECRET, former, await directory.sessionSecret(), TOTP_SECRET, ...recoveryCodes];
    await engine.close();
    const files = readdirSync(dataDirectory, { recursive: true, withFileTypes: true });
    const bytes = files
      .filter((each) => each.isFile())
      .map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))
      .join('\n');
    expect(bytes).toContain('ada@example.com');
    return { bytes, secrets };
  }

  test('contain none of its secrets when there is a keyring', async () => {
    const { bytes, secrets } = await filesOf(makeKeyring([KEY]));
    for (const secret of secrets) expect(bytes).not.toContain(secret);
  });

  test('contain them without one, which the search of the other test would find', async () => {
    const { bytes, secrets } = await filesOf(undefined);
    // Recovery codes are hashed in any case.
    expect(secrets.filter((secret) => bytes.includes(secret))).toEqual(secrets.slice(0, 4));
  });
});

test('sealed values work as well as those in clear: settings, sessions, second factors', () => {
  const directory = openDirectory(TENANT_A, makeKeyring([KEY]));
  const { former, current, ada } = fill(directory);
  expect(directory.getConfig({ scopeId: SCOPE })).toEqual({
    'platform:auth': CHOICE,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
  });
  expect(directory.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({
    sessionSecrets: [current, former],
    resealDue: false,
  });
  directory.clock.nowMs += MINUTE_MS;
  expect(enter(directory, ada.email, codeAt(directory.clock.nowMs))).toBe('signed_in');
  // Delivering the same again is no change, although sealing never gives the same text twice.
  const before = directory.listIdentityEvents({});
  directory.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: CLIENT_SECRET } });
  expect(directory.listIdentityEvents({})).toEqual(before);
});

test('no value is opened for a request whose copy of the configuration is current', () => {
  const keyring = makeKeyring([KEY]);
  let opened = 0;
  const counting: Keyring = {
    ...keyring,
    open: (place, sealed) => {
      opened += 1;
      return keyring.open(place, sealed);
    },
  };
  const directory = openDirectory(TENANT_A, counting);
  fill(directory);
  const { version } = directory.readInstanceConfig({ scopeId: SCOPE });
  expect(opened).toBeGreaterThan(0);
  opened = 0;
  expect(directory.readInstanceConfig({ scopeId: SCOPE, knownVersion: version })).toEqual({
    changed: false,
    version,
  });
  expect(opened).toBe(0);
});

describe('a directory from before there was a key', () => {
  test('is sealed when an instance is read, and users stay signed in', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'auth-sealing-'));
    onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
    const open = () => openNodeEngine({ dataDirectory, onIncident: (error) => expect.fail(String(error)) });
    const read = (directory: IdentityDirectory) =>
      instanceAuthFor({ directory, scopeId: SCOPE, envSpec: {}, env: {} });
    const before = open();
    const clear = before.unit(makeIdentityDirectory(), TENANT_A, { create: true });
    await clear.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: CLIENT_SECRET } });
    const first = await read(clear);
    await before.close();

    const after = open();
    onTestFinished(() => after.close());
    const sealed = after.unit(makeIdentityDirectory({ sealing: makeKeyring([KEY]) }), TENANT_A);
    expect(await sealed.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({ resealDue: true });
    const second = await read(sealed);
    expect([second.sessionSecrets, second.config]).toEqual([first.sessionSecrets, first.config]);
    expect(await sealed.resealSecrets({})).toEqual({ resealed: 0, left: 0, unreadable: 0 });
  });

  test('is sealed some at a time, and the configuration, whose state is checked for it, last', () => {
    const clear = openDirectory(TENANT_A, undefined);
    fill(clear);
    clear.putConfig({ scopeId: OTHER_SCOPE, config: { A: '1' } });
    expect(clear.resealSecrets({})).toEqual({ resealed: 0, left: 0, unreadable: 0 });
    const directory = clear.reopen(makeKeyring([KEY]));
    const due = () => {
      const read = directory.readInstanceConfig({ scopeId: SCOPE });
      return read.changed && read.resealDue;
    };
    for (const left of [5, 4, 3, 2, 1]) {
      expect(directory.resealSecrets({ limit: 1 })).toEqual({ resealed: 1, left, unreadable: 0 });
      expect(due()).toBe(true);
    }
    expect(directory.resealSecrets({ limit: 1 })).toEqual({ resealed: 1, left: 0, unreadable: 0 });
    expect(due()).toBe(false);
    const inClear = ['config', 'secrets', 'former_session_secrets'].map(
      (table) => directory.db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE sealed = 0`)?.n,
    );
    expect(inClear).toEqual([0, 0, 0]);
  });
});

test('a key is replaced: both open, the new one seals, and then the old one can go', () => {
  const directory = openDirectory(TENANT_A, makeKeyring([KEY]));
  const { former, current, ada } = fill(directory);
  const both = directory.reopen(makeKeyring([NEWER_KEY, KEY]));
  expect(both.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({
    sessionSecrets: [current, former],
    resealDue: true,
  });
  expect(both.resealSecrets({})).toEqual({ resealed: 5, left: 0, unreadable: 0 });
  const renewed = both.reopen(makeKeyring([NEWER_KEY]));
  expect(renewed.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({
    sessionSecrets: [current, former],
    config: { OIDC_CLIENT_SECRET: CLIENT_SECRET },
    resealDue: false,
  });
  renewed.clock.nowMs += 2 * MINUTE_MS;
  expect(enter(renewed, ada.email, codeAt(renewed.clock.nowMs))).toBe('signed_in');
});

describe('a sealed value opens in its own place only', () => {
  const keyring = makeKeyring([KEY]);

  test('not under another name, and not in another scope', async () => {
    const directory = openDirectory(TENANT_A, keyring);
    fill(directory);
    directory.putConfig({ scopeId: OTHER_SCOPE, config: { OIDC_CLIENT_SECRET: 'another', SHOWN: 'x' } });
    const move = (scopeId: string, key: string) =>
      directory.db.run(
        `UPDATE config SET value = (SELECT value FROM config WHERE scope_id = ? AND key = 'OIDC_CLIENT_SECRET')
         WHERE scope_id = ? AND key = ?`,
        SCOPE,
        scopeId,
        key,
      );
    move(OTHER_SCOPE, 'SHOWN');
    expect(await refused(() => directory.getConfig({ scopeId: OTHER_SCOPE }))).toEqual(unreadable);
    directory.putConfig({ scopeId: OTHER_SCOPE, config: { SHOWN: 'x' } });
    expect(directory.getConfig({ scopeId: OTHER_SCOPE })).toMatchObject({ SHOWN: 'x' });
    move(OTHER_SCOPE, 'OIDC_CLIENT_SECRET');
    expect(await refused(() => directory.readInstanceConfig({ scopeId: OTHER_SCOPE }))).toEqual(unreadable);
  });

  test('not for another account', async () => {
    const directory = openDirectory(TENANT_A, keyring);
    const { ada } = fill(directory);
    const eve = addAccount(directory, 'eve@example.com');
    directory.db.run(
      'UPDATE accounts SET totp_secret = (SELECT totp_secret FROM accounts WHERE user_id = ?) WHERE user_id = ?',
      eve.userId,
      ada.userId,
    );
    directory.clock.nowMs += MINUTE_MS;
    const code = codeAt(directory.clock.nowMs);
    expect(await refused(() => enter(directory, ada.email, code))).toEqual(unreadable);
    expect(enter(directory, eve.email, code)).toBe('signed_in');
  });

  test('not at another tenant', async () => {
    const [here, there] = [openDirectory(TENANT_A, keyring), openDirectory(TENANT_B, keyring)];
    fill(here);
    there.sessionSecret();
    const stored = there.db.get<{ value: string }>('SELECT value FROM secrets')?.value ?? '';
    here.db.run('UPDATE secrets SET value = ?', stored);
    expect(await refused(() => here.sessionSecret())).toEqual(unreadable);
    expect(await refused(() => here.readInstanceConfig({ scopeId: SCOPE }))).toEqual(unreadable);
    expect(await refused(() => here.rotateSessionSecret({}))).toEqual(unreadable);
  });

  test('and a former session secret not for longer than intended', async () => {
    const directory = openDirectory(TENANT_A, keyring);
    fill(directory);
    directory.db.run('UPDATE former_session_secrets SET valid_until = valid_until + 1');
    expect(await refused(() => directory.readInstanceConfig({ scopeId: SCOPE }))).toEqual(unreadable);
  });
});

describe('a value that does not open', () => {
  test.each([
    ['the key is missing', undefined, keyMissing],
    ['the key is another', makeKeyring([NEWER_KEY]), unreadable],
  ])('signs no caller in: %s', async (_, keyring, told) => {
    const filled = openDirectory(TENANT_A, makeKeyring([KEY]));
    const { ada } = fill(filled);
    const directory = filled.reopen(keyring);
    directory.clock.nowMs += MINUTE_MS;
    const stub = Object.fromEntries(
      Object.entries(directory).map(([name, method]) => [
        name,
        async (input: never) => (method as (input: never) => unknown)(input),
      ]),
    ) as unknown as IdentityDirectory;
    const asking = instanceAuthFor({ directory: stub, scopeId: SCOPE, envSpec: {}, env: {} });
    expect(await refusal(asking)).toEqual(told);
    const error = await asking.catch((thrown: unknown) => thrown);
    expect(error instanceof PlatformError && error.status).toBe(503);
    const code = codeAt(directory.clock.nowMs);
    expect(await refused(() => enter(directory, ada.email, code))).toEqual(told);
    expect(await refused(() => directory.sessionSecret())).toEqual(told);
  });

  test('is replaced without the lost key: settings, the session secret, a second factor', () => {
    const lost = openDirectory(TENANT_A, makeKeyring([KEY]));
    const { ada } = fill(lost);
    const directory = lost.reopen(makeKeyring([NEWER_KEY]));
    directory.clock.nowMs += MINUTE_MS;
    expect(directory.resealSecrets({})).toEqual({ resealed: 0, left: 0, unreadable: 5 });

    directory.putConfig({ scopeId: SCOPE, config: { 'platform:auth': CHOICE, OIDC_CLIENT_SECRET: 'new' } });
    expect(directory.getConfig({ scopeId: SCOPE })).toMatchObject({ OIDC_CLIENT_SECRET: 'new' });
    directory.rotateSessionSecret({ keepFormer: false });
    const anew = directory.sessionSecret();
    expect(directory.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({ sessionSecrets: [anew] });
    expect(enter(directory, ada.email, ada.recoveryCodes[0] ?? '')).toBe('signed_in');
    const { issuedAtMs } = ada.holder.session;
    const subject = { issuer: directoryIssuer(TENANT_A), sub: ada.userId };
    expect(directory.sessionState({ subject, session: { sid: 'x', issuedAtMs } })).toBe('live');
    expect(directory.disableTotp(ada.holder)).toBeNull();
  });

  test('is not opened for another choice that replaces its own', () => {
    const lost = openDirectory(TENANT_A, makeKeyring([KEY]));
    fill(lost);
    const directory = lost.reopen(makeKeyring([NEWER_KEY]));
    const elsewhere = JSON.stringify({ mode: 'oidc', issuer: 'https://evil.example', clientId: 'x' });
    expect(directory.putConfig({ scopeId: SCOPE, config: { 'platform:auth': elsewhere } }).keys).toEqual([
      'platform:auth',
    ]);
  });
});

test('a keyring without keys stores nothing, not even in clear', async () => {
  const directory = openDirectory(TENANT_A, makeKeyring([]));
  const none = { code: 'unavailable', reason: 'no_seal_key' };
  expect(await refused(() => directory.sessionSecret())).toEqual(none);
  expect(await refused(() => directory.putConfig({ scopeId: SCOPE, config: { A: '1' } }))).toEqual(none);
  expect(directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') }).principal).toBeNull();
});

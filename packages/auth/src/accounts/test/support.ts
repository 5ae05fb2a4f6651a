/**
 * Fixtures for the tests of accounts: Ada's account at tenant A, one of the same address at tenant B, and short calls.
 */
import { makeIdFactory } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { TOTP } from 'otpauth';
import { onTestFinished } from 'vitest';
import {
  DAY_MS,
  OTHER_SCOPE,
  openPlatform,
  SCOPE,
  START_MS,
  TENANT_A,
  type TestPlatform,
  testRandom,
} from '../../../test/support.ts';
import { type IdentityDirectory, identityDirectory } from '../../identity-directory/unit.ts';
import { makeSecretKeeper } from '../../lib/secret-keeper.ts';
import type { Account, Challenge, Holder, KnownBrowser, NewPasskey, SignInStep } from '../contract.ts';
import { makeAccountOperations } from '../operations.ts';

export const ADA = 'ada@example.com';
const SALT = 'c2FsdHNhbHRzYWx0c2FsdA';
export const HASH = `$argon2id$v=19$m=19456,t=2,p=1$${SALT}$YWRhYWRhYWRhYWRhYWRhYWRh`;
export const OTHER_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${SALT}$b3RoZXJvdGhlcm90aGVyb3RoZXI`;
/** An authenticator app. */
export const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
export { OTHER_SCOPE, SCOPE };

export interface TestAccounts extends TestPlatform {
  readonly ada: Account;
  /** Ada's account at tenant B. */
  readonly foreign: Account;
  /** Begins and finishes a sign-in with a password that the caller has compared. */
  readonly enter: (options?: Entry) => Promise<SignInStep | { outcome: 'limited'; retryAfterMs: number }>;
  /** A signed-in holder, by default Ada, in a session of just now. */
  readonly holder: (userId?: string) => Holder;
  /** Turns TOTP on for Ada, and moves the clock past the code that this took. */
  readonly turnTotpOn: () => Promise<{ readonly secret: string; readonly recoveryCodes: readonly string[] }>;
  /** A token that waits for Ada's second factor. */
  readonly waitingToken: () => Promise<string>;
  /** The present code of a secret, or the one of some steps later. */
  readonly codeOf: (secret: string, stepsLater?: number) => string;
  /** Types and details of the events of a scope, newest first. */
  readonly events: (scopeId?: string) => Promise<readonly Told[]>;
}

export interface Entry {
  readonly email?: string;
  readonly right?: boolean;
  readonly address?: string;
  readonly browser?: KnownBrowser;
}

export interface Told {
  readonly type: string;
  readonly sub: string | null;
  readonly principal: string | null;
  readonly detail: Readonly<Record<string, string | readonly string[]>>;
}

export async function openAccounts(): Promise<TestAccounts> {
  const platform = await openPlatform();
  const { directory, other, clock } = platform;
  const ada = await directory.importAccount({
    email: ADA,
    name: 'Ada',
    emailVerified: true,
    passwordHash: HASH,
  });
  const foreign = await other.importAccount({ email: ADA, emailVerified: false, passwordHash: OTHER_HASH });
  const codeOf = (secret: string, stepsLater = 0) =>
    new TOTP({ secret }).generate({ timestamp: clock.nowMs + stepsLater * 30_000 });
  const enter: TestAccounts['enter'] = async ({ email = ADA, right = true, address, browser } = {}) => {
    const attempt = { scopeId: SCOPE, email, address, browser };
    const begun = await directory.beginPassword(attempt);
    if (begun.outcome === 'limited') return begun;
    const { userId, passwordChangedMs } = begun;
    return directory.finishPassword({ ...attempt, userId, passwordChangedMs, right });
  };
  const holder = (userId = ada.userId) => ({
    scopeId: SCOPE,
    userId,
    // A little ahead, so that it outlives an end of all sessions at this moment.
    session: { sid: 'of the test', issuedAtMs: clock.nowMs + 1_000 },
  });
  return {
    ...platform,
    ada,
    foreign,
    enter,
    codeOf,
    holder,
    turnTotpOn: async () => {
      const secret = SECRET;
      const input = { ...holder(), secret, code: codeOf(secret) };
      const { recoveryCodes } = await directory.enableTotp(input);
      clock.nowMs += 30_000;
      return { secret, recoveryCodes };
    },
    waitingToken: async () => {
      const step = await enter();
      if (step.outcome !== 'second_factor') throw new Error(`the sign-in is ${step.outcome}`);
      return step.token;
    },
    events: async (scopeId = SCOPE) => {
      const { items } = await directory.listIdentityEvents({ scopeId, limit: 200 });
      return items.map(({ type, subject, principal, detail }) => ({
        type,
        sub: subject?.sub ?? null,
        principal,
        detail,
      }));
    },
  };
}

/** Signs up for an address; the link goes to the reader of its mail. */
export async function linkFor(
  directory: IdentityDirectory,
  email: string,
  more: { readonly name?: string; readonly address?: string } = {},
): Promise<string> {
  const made = await directory.beginSignUp({ scopeId: SCOPE, email, ...more });
  if (made.outcome !== 'made') throw new Error(`the sign-up is ${made.outcome}`);
  return made.token;
}

let challenges = 0;

/** A challenge that was not used yet. */
export function challenge(): Challenge {
  challenges += 1;
  return { id: `challenge-${challenges}`, expiresAtMs: START_MS + 365 * DAY_MS };
}

export function passkey(id: string, more: Partial<NewPasskey> = {}): NewPasskey {
  return {
    id,
    publicKey: 'pQECAyYgASFYIA',
    counter: 0,
    backedUp: true,
    name: id,
    ...more,
  };
}

/** The result of the embedded engine's `openNodeDatabase(':memory:')`: only tests themselves may name an engine. */
interface OpenDatabase extends Pick<UnitContext, 'guarded'> {
  readonly db: SqlDatabase;
  close(): void;
}

/** The feature straight over a fresh database, whose tables tests can read. */
export function openBare(database: OpenDatabase) {
  onTestFinished(() => database.close());
  const { db, guarded } = database;
  for (const set of identityDirectory.migrations) for (const each of set.migrations) db.exec(each.sql);
  const clock = { nowMs: START_MS };
  const sources = { now: () => clock.nowMs, random: testRandom() };
  const unit: UnitContext = {
    key: TENANT_A,
    db,
    guarded,
    ...sources,
    newId: makeIdFactory(sources),
    afterCommit: () => undefined,
    onRollback: () => undefined,
    onClose: () => undefined,
    report: () => undefined,
  };
  const accounts = makeAccountOperations(unit, makeSecretKeeper(unit, undefined));
  const count = (table: string) => db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? 0;
  /** Counts the rows that a piece of work writes, changes and removes. */
  const writesOf = (work: () => unknown) => {
    const total = () => db.get<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
    const before = total();
    work();
    return total() - before;
  };
  return { db, clock, accounts, count, writesOf };
}

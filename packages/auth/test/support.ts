/** Fixtures for this package's tests: two tenants' directories on the embedded engine, and a clock that tests set. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { onTestFinished } from 'vitest';
import { openTestEngine } from '../../testkit/src/index.ts';
import { type IdentityDirectory, identityDirectory } from '../src/identity-directory/unit.ts';
import type { VerifiedSubject } from '../src/lib/subject.ts';

export const TENANT_A = 'tnt_01j00000000000000000000000';
export const TENANT_B = 'tnt_01j00000000000000000000001';
export const SCOPE = 'scp_01j00000000000000000000000';
export const OTHER_SCOPE = 'scp_01j00000000000000000000002';
export const ISSUER = 'https://issuer.example';
export const START_MS = Date.UTC(2026, 10, 21, 8, 0, 0);
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A clock that moves only when a test says so. */
export interface TestClock {
  nowMs: number;
}

export interface TestPlatform {
  readonly clock: TestClock;
  /** Tenant A's directory: the one under test. */
  readonly directory: IdentityDirectory;
  /** Tenant B's: it holds an owner, a member, an invite and settings under the same scope id, to be leaked. */
  readonly other: IdentityDirectory;
  /** Unexpected errors. */
  readonly incidents: unknown[];
}

/** Opens both directories in a directory of their own, removed when the test is over. */
export async function openPlatform(): Promise<TestPlatform> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'auth-test-'));
  const clock: TestClock = { nowMs: START_MS };
  const incidents: unknown[] = [];
  const engine = openTestEngine({
    dataDirectory,
    now: () => clock.nowMs,
    random: testRandom(),
    onIncident: (error) => void incidents.push(error),
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  });
  const directory = engine.unit(identityDirectory, TENANT_A, { create: true });
  const other = engine.unit(identityDirectory, TENANT_B, { create: true });
  await fillOtherTenant(other);
  return { clock, directory, other, incidents };
}

/** Bytes that never repeat and are the same in every run. */
export function testRandom(): (bytes: number) => Uint8Array {
  let count = 0;
  return (bytes) => {
    count += 1;
    return new Uint8Array(createHash('sha512').update(`random ${count}`).digest()).subarray(0, bytes);
  };
}

/** A verified subject of the usual issuer. */
export function person(sub: string, more: Partial<VerifiedSubject> = {}): VerifiedSubject {
  return { issuer: ISSUER, sub, email: `${sub}@example.com`, name: sub, ...more };
}

/** The code and reason of a promise's refusal. It must be refused. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ code: string; reason: string | undefined }> {
  const error = await promise.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof PlatformError)) throw error;
  return { code: error.code, reason: error.reason };
}

async function fillOtherTenant(other: IdentityDirectory): Promise<void> {
  await other.setPendingOwner({ scopeId: SCOPE });
  await other.resolvePrincipal({ scopeId: SCOPE, subject: person('bea') });
  const principal = await other.newPrincipal();
  const { token } = await other.createInvite({
    scopeId: SCOPE,
    principal,
    role: 'admin',
    createdBy: principal,
  });
  await other.claimInvite({ token, subject: person('ada') });
  await other.createInvite({
    scopeId: SCOPE,
    principal: await other.newPrincipal(),
    role: 'admin',
    createdBy: principal,
  });
  await other.putConfig({ scopeId: SCOPE, config: { SECRET_OF_B: 'b' } });
  await other.sessionSecret();
}

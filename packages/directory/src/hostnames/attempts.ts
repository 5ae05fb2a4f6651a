/**
 * How often a tenant verifies names: every verification asks somebody else's servers, so that they are counted. By tenant
 * and name, and not by claim: a name that is unbound and bound again is still the same name to those servers.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';

const WINDOW_MS = 10 * 60_000;
const OF_NAME_MAX = 10;
const OF_TENANT_MAX = 60;

interface AttemptsRow {
  readonly attempts: number;
  /** When the first of them was. */
  readonly sinceMs: number;
}

/**
 * Counts one more.
 * @throws PlatformError `rate_limited`, reason `verified_too_often`, with `Retry-After` in seconds.
 */
export function countAttempt(
  { db, now }: UnitContext,
  { tenant, hostname }: { readonly tenant: string; readonly hostname: string },
): void {
  const nowMs = now();
  db.run('DELETE FROM hostname_attempts WHERE since <= ?', nowMs - WINDOW_MS);
  // What a clock counted that was ahead by more than a window would keep the tenant out until time catches up.
  db.run('DELETE FROM hostname_attempts WHERE since > ?', nowMs + WINDOW_MS);
  const ofName = db.get<AttemptsRow>(
    'SELECT attempts, since AS sinceMs FROM hostname_attempts WHERE tenant = ? AND hostname = ?',
    tenant,
    hostname,
  );
  if (ofName && ofName.attempts >= OF_NAME_MAX) throw tooOften(ofName.sinceMs, nowMs);
  const ofTenant = attemptsOf(db, tenant);
  if (ofTenant.attempts >= OF_TENANT_MAX) throw tooOften(ofTenant.sinceMs, nowMs);
  db.run(
    `INSERT INTO hostname_attempts (tenant, hostname, attempts, since) VALUES (?, ?, 1, ?)
     ON CONFLICT (tenant, hostname) DO UPDATE SET attempts = attempts + 1`,
    ...[tenant, hostname, nowMs],
  );
}

export const ATTEMPTS_OF_TENANT =
  'SELECT sum(attempts) AS attempts, min(since) AS sinceMs FROM hostname_attempts WHERE tenant = ?';

/** Of all names together, and since when the oldest of them counts. */
function attemptsOf(db: SqlDatabase, tenant: string): AttemptsRow {
  const row = db.get<{ attempts: number | null; sinceMs: number | null }>(ATTEMPTS_OF_TENANT, tenant);
  return { attempts: row?.attempts ?? 0, sinceMs: row?.sinceMs ?? 0 };
}

function tooOften(sinceMs: number, nowMs: number): PlatformError {
  const waitMs = sinceMs + WINDOW_MS - nowMs;
  return new PlatformError(
    'rate_limited',
    'This was verified very often in the last minutes. Wait until the record has had time to be seen.',
    {
      reason: 'verified_too_often',
      headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
    },
  );
}

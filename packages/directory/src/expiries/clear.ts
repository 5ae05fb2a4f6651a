/**
 * Clears lapsed rows. Each feature clears old rows of its own on the way; this clears those of members and programs that do
 * not come back.
 *
 * Records that staff read stay: tokens and entitlements show that they have lapsed.
 */
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import { defineFeature } from '../lib/feature.ts';

const expiriesMigration: Migration = {
  version: 1,
  name: 'times of mistyped codes',
  sql: 'CREATE INDEX staff_misses_at ON staff_misses (at);',
};

/** The set that the directory applies after that of the staff. */
export const expiryMigrations = { name: 'expiries', migrations: [expiriesMigration] } as const;

export interface ExpiryMaintenance {
  /** Clears lapsed rows in batches, until none is left or the platform stops. Returns the number of rows. */
  clear(signal: AbortSignal): Promise<number>;
}

/** A table with rows that lapse. */
interface Lapsing {
  readonly table: string;
  /** One column or several. */
  readonly key: string;
  /** An index leads with it. */
  readonly at: string;
  /** The time for which a row is kept after that, in milliseconds. */
  readonly keptMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** A row is kept as long as its feature reads it, which may be after its time: was this code used before? */
export const LAPSING: readonly Lapsing[] = [
  { table: 'idempotency_keys', key: 'rowid', at: 'expires_at', keptMs: 0 },
  { table: 'staff_sessions', key: 'sid', at: 'expires_at', keptMs: 0 },
  { table: 'staff_tokens', key: 'id', at: 'expires_at', keptMs: 0 },
  // With their tokens.
  { table: 'program_grants', key: 'id', at: 'expires_at', keptMs: 0 },
  { table: 'program_assertions', key: 'scope_id, client_id_hash, hash', at: 'expires_at', keptMs: 0 },
  { table: 'program_questions', key: 'scope_id, caller, question', at: 'expires_at', keptMs: 0 },
  { table: 'staff_codes', key: 'hash', at: 'expires_at', keptMs: 0 },
  { table: 'staff_devices', key: 'hash', at: 'expires_at', keptMs: DAY_MS },
  { table: 'staff_misses', key: 'rowid', at: 'at', keptMs: DAY_MS },
  { table: 'connect_rounds', key: 'id', at: 'expires_at', keptMs: DAY_MS },
  { table: 'hostname_attempts', key: 'tenant, hostname', at: 'since', keptMs: DAY_MS },
  { table: 'operations', key: 'id', at: 'finished_at', keptMs: 90 * DAY_MS },
];

/** Rows of one table that one transaction clears. */
const CLEARED_AT_ONCE = 200;

export const clearingOf = ({ table, key, at }: Lapsing): string =>
  `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${at} <= ? ORDER BY ${at} LIMIT ?)`;

/** The methods of the unit. */
export const expiryMethods = (context: UnitContext) => ({
  /** Clears a batch of each table. `more`: there may be others. */
  clearLapsed: (): { readonly cleared: number; readonly more: boolean } => {
    const counts = LAPSING.map((lapsing) => clearSome(context.db, lapsing, context.now()));
    return {
      cleared: counts.reduce((sum, count) => sum + count, 0),
      more: counts.some((count) => count === CLEARED_AT_ONCE),
    };
  },
});

export function makeExpiryMaintenance(
  directory: UnitStub<ReturnType<typeof expiryMethods>>,
): ExpiryMaintenance {
  return {
    clear: async (signal) => {
      let all = 0;
      while (!signal.aborted) {
        const { cleared, more } = await directory.clearLapsed();
        all += cleared;
        if (!more) break;
      }
      return all;
    },
  };
}

function clearSome(db: SqlDatabase, lapsing: Lapsing, nowMs: number): number {
  const sql = `${clearingOf(lapsing)} RETURNING 1 AS cleared`;
  return db.all(sql, nowMs - lapsing.keptMs, CLEARED_AT_ONCE).length;
}

export const expiriesFeature = /* @__PURE__ */ defineFeature({
  migrations: [expiryMigrations],
  methods: expiryMethods,
});

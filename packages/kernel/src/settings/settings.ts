/**
 * What the platform tells a scope, so that an operation can read it without leaving its transaction: settings of the
 * vertical (never its secrets) and entitlements of the tenant.
 */
import { type JsonValue, PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { assertJson } from '../lib/json.ts';

/** How many of each a scope keeps. */
const KEYS_MAX = 200;
const KEY_LENGTH_MAX = 128;
const VALUE_LENGTH_MAX = 16_384;
/** Under this key, which nobody can give, stands the revision of the entitlements. */
const REVISION = '';

/** What a tenant has bought or been given: a flag, a number, a plan. */
export interface Entitlement {
  readonly value: JsonValue;
  /** Milliseconds since the epoch; absent: it does not expire. */
  readonly expiresAtMs?: number;
}

export interface EntitlementsInput {
  readonly entitlements: Readonly<Record<string, Entitlement>>;
  /** Grows with every change of the tenant's entitlements. Absent: the newest there is. */
  readonly revision?: number;
}

interface Row {
  readonly kind: 'setting' | 'entitlement';
  readonly key: string;
  readonly value: string;
  readonly expiresAtMs: number | null;
}

export type Settings = ReturnType<typeof makeSettings>;

/** Few and read by every call: kept in memory, and dropped when they change or something is rolled back. */
export function makeSettings(unit: UnitContext) {
  const { db } = unit;
  let known: {
    readonly settings: Readonly<Record<string, string>>;
    readonly entitlements: ReadonlyMap<string, Row>;
  } | null = null;
  const forget = (): void => {
    known = null;
  };
  unit.onRollback(forget);

  const load = () => {
    if (known) return known;
    const rows = db.all<Row>(
      'SELECT kind, key, value, expires_at AS expiresAtMs FROM _spine_settings ORDER BY kind, key',
    );
    known = {
      settings: Object.freeze(
        Object.fromEntries(rows.filter((row) => row.kind === 'setting').map((row) => [row.key, row.value])),
      ),
      entitlements: new Map(rows.filter((row) => row.kind === 'entitlement').map((row) => [row.key, row])),
    };
    return known;
  };

  const replace = (kind: Row['kind'], rows: readonly Omit<Row, 'kind'>[]): null => {
    if (rows.length > KEYS_MAX) throw invalid(`has more than ${KEYS_MAX} keys`);
    db.run('DELETE FROM _spine_settings WHERE kind = ?', kind);
    for (const { key, value, expiresAtMs } of rows) {
      if (key === '' || key.length > KEY_LENGTH_MAX)
        throw invalid(`has a key that is not 1 to ${KEY_LENGTH_MAX} characters`);
      if (value.length > VALUE_LENGTH_MAX) throw invalid(`has a value beyond ${VALUE_LENGTH_MAX} characters`);
      db.run(
        'INSERT INTO _spine_settings (kind, key, value, expires_at) VALUES (?, ?, ?, ?)',
        kind,
        key,
        value,
        expiresAtMs,
      );
    }
    forget();
    return null;
  };

  const keepRevision = (revision: number): void => {
    db.run(
      `INSERT INTO _spine_settings (kind, key, value) VALUES ('entitlement', ?, ?)`,
      REVISION,
      String(revision),
    );
  };

  return {
    /** Every setting that was projected. */
    all: (): Readonly<Record<string, string>> => load().settings,
    /** The value of an entitlement that has not expired, or null. */
    entitlement: (key: string, nowMs: number): JsonValue => {
      const row = key === REVISION ? undefined : load().entitlements.get(key);
      const isOver = row !== undefined && row.expiresAtMs !== null && row.expiresAtMs <= nowMs;
      return row === undefined || isOver ? null : JSON.parse(row.value);
    },
    projectSettings: ({ settings }: { readonly settings: Readonly<Record<string, string>> }): null =>
      replace(
        'setting',
        Object.entries(settings).map(([key, value]) => ({ key, value, expiresAtMs: null })),
      ),
    /** Replaces them all. With a `revision` below the one that came last, nothing changes: it overtook that one. */
    projectEntitlements: ({ entitlements, revision }: EntitlementsInput): null => {
      const last = Number(load().entitlements.get(REVISION)?.value ?? -1);
      if (revision !== undefined && revision < last) return null;
      replace(
        'entitlement',
        Object.entries(entitlements).map(([key, { value, expiresAtMs = null }]) => ({
          key,
          value: JSON.stringify(assertJson(`the entitlement ${key}`, value)),
          expiresAtMs,
        })),
      );
      if (revision !== undefined) keepRevision(revision);
      return null;
    },
  };
}

function invalid(fault: string): PlatformError {
  return new PlatformError('validation_failed', `What is projected ${fault}.`, {
    reason: 'projection_invalid',
  });
}

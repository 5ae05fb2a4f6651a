/**
 * Projections of the platform into a scope, for operations to read inside their transaction: settings of the vertical
 * (never its secrets) and entitlements of the tenant.
 */
import { type JsonValue, PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { EntitlementsInput } from '../contract/scope-methods.ts';
import { assertJson } from '../lib/values.ts';

/** The number of settings, and of entitlements, of a scope. */
const KEYS_MAX = 200;
const KEY_LENGTH_MAX = 128;
const VALUE_LENGTH_MAX = 16_384;
/** The key of the entitlements' revision; no caller can use it. */
const REVISION = '';

interface Row {
  readonly kind: 'setting' | 'entitlement';
  readonly key: string;
  readonly value: string;
  readonly expiresAtMs: number | null;
}

export interface Known {
  readonly settings: Readonly<Record<string, string>>;
  readonly entitlements: ReadonlyMap<string, Row>;
}

export type Settings = ReturnType<typeof makeSettings>;

/** Both are few, and in memory until they change or a call is rolled back. */
export function makeSettings(unit: UnitContext) {
  const { db } = unit;
  const memory: { known: Known | null } = { known: null };
  const forget = (): void => {
    memory.known = null;
  };
  unit.onRollback(forget);

  const load = (): Known => {
    if (memory.known) return memory.known;
    const rows = db.all<Row>(
      'SELECT kind, key, value, expires_at AS expiresAtMs FROM _spine_settings ORDER BY kind, key',
    );
    const of = (kind: Row['kind']) => rows.filter((row) => row.kind === kind);
    memory.known = {
      settings: Object.freeze(Object.fromEntries(of('setting').map((row) => [row.key, row.value]))),
      entitlements: new Map(of('entitlement').map((row) => [row.key, row])),
    };
    return memory.known;
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

  const saveRevision = (revision: number): void => {
    db.run(
      `INSERT INTO _spine_settings (kind, key, value) VALUES ('entitlement', ?, ?)`,
      REVISION,
      String(revision),
    );
  };

  return Object.assign(memory, {
    load,
    /** Returns every projected setting. */
    all: (): Readonly<Record<string, string>> => load().settings,
    /** Returns the value of an entitlement; null for none and for an expired one. */
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
    /** Replaces all entitlements, unless `revision` is below the last one: that projection overtook this one. */
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
      if (revision !== undefined) saveRevision(revision);
      return null;
    },
  });
}

function invalid(fault: string): PlatformError {
  return new PlatformError('validation_failed', `The projection ${fault}.`, {
    reason: 'projection_invalid',
  });
}

/**
 * The vault as a unit: one SQLite database a tenant, without history and snapshots.
 *
 * Invariants:
 * 1. A key is allotted once, to one scope, and is bound to at most one subject, for good.
 * 2. A subject with a tombstone has no key: a key that is bound to it later ends at that moment.
 * 3. Wrapped keys are in slots that are added at the end and overwritten in place, at the same length. When a row moves
 *    to another page, SQLite leaves a copy behind, with secure_delete too: an ended key would still be in the file.
 */
import { createHash } from 'node:crypto';
import { type ShredReceipt, shredReceipt, toTimestamp } from '@freehold/contracts';
import {
  defineUnit,
  type Keyring,
  SEAL_KEY_BYTES,
  type UnitContext,
  type UnitDefinition,
  type UnitStub,
} from '@freehold/store';
import type { Erasure } from './erasure-ledger.ts';
import type { Binding, HeldKeys, SubjectKey } from './vault.ts';

/** A fresh key of a scope's pool. */
export interface AllottedKey {
  /** Random: it tells nothing about the key or its person. */
  readonly keyId: string;
  /** 32 bytes as base64url. */
  readonly key: string;
}

type VaultMethods = {
  /** Returns the keys of subjects; `made` says that one is new. Keys that the scope holds are bound first. */
  supply(input: { scopeId: string; subjects: readonly HeldKeys[] }): {
    readonly keys: Record<string, SubjectKey>;
    readonly made: boolean;
  };
  allot(input: { scopeId: string; count: number }): AllottedKey[];
  bind(input: { scopeId: string; bindings: readonly Binding[] }): null;
  handBack(input: { scopeId: string; keyIds: readonly string[] }): null;
  shred(input: { scopeId: string; subject: string; keyIds?: readonly string[] }): ShredReceipt;
  shredded(input: { scopeId: string }): ShredReceipt[];
  /** Carries out erasures that this vault lacks since it was restored. */
  reapply(input: { erasures: readonly Erasure[] }): null;
  /** Seals keys anew that are under another key than the first, at most so many; returns the number that are left. */
  reseal(input: { limit: number }): { left: number };
};
export type VaultUnit = UnitDefinition<VaultMethods>;
export type VaultCalls = Omit<UnitStub<VaultMethods>, 'reseal'>;

const KEY_ID_BYTES = 16;

/** The unit: kind `vault`, keyed by tenant. `keyring` wraps every key at rest. */
export function makeVaultUnit(keyring: Keyring): VaultUnit {
  return defineUnit<VaultMethods>({
    kind: 'vault',
    // A copy of the vault could bring an erased person back.
    copies: 'none',
    migrations: [
      {
        name: 'vault',
        migrations: [
          {
            version: 1,
            name: 'subject keys',
            sql: `
CREATE TABLE key_slots (slot INTEGER PRIMARY KEY AUTOINCREMENT, wrapped TEXT NOT NULL) STRICT;
CREATE TABLE subject_keys (
  scope_id TEXT NOT NULL, subject TEXT NOT NULL, slot INTEGER, digest TEXT, created_at INTEGER NOT NULL,
  shredded_at INTEGER, PRIMARY KEY (scope_id, subject)
) STRICT, WITHOUT ROWID;
`,
          },
          {
            version: 2,
            name: 'keys of pools',
            // A row of subject_keys is a person: with a slot, the key that was made on request; with shredded_at, the
            // tombstone. A row of pool_keys is an allotted key: with a subject, bound; without a slot, ended.
            sql: `
CREATE TABLE pool_keys (
  key_id TEXT PRIMARY KEY, scope_id TEXT NOT NULL, slot INTEGER, digest TEXT NOT NULL, subject TEXT,
  allotted_at INTEGER NOT NULL, bound_at INTEGER, ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX pool_keys_subject ON pool_keys (scope_id, subject) WHERE subject IS NOT NULL;
CREATE TABLE free_slots (slot INTEGER PRIMARY KEY, length INTEGER NOT NULL) STRICT;
`,
          },
        ],
      },
    ],
    queries: ['shredded'],
    open: (unit) => openVault(unit, keyring),
  });
}

interface PersonRow {
  /** Null where no key was made on request, and once it ended. */
  readonly slot: number | null;
  readonly digest: string | null;
  readonly shreddedAtMs: number | null;
}

interface PoolRow {
  readonly keyId: string;
  readonly scopeId: string;
  readonly slot: number | null;
  readonly digest: string;
  readonly subject: string | null;
}

const POOL_COLUMNS = 'key_id AS keyId, scope_id AS scopeId, slot, digest, subject';

function openVault(unit: UnitContext, keyring: Keyring): VaultMethods {
  const { db } = unit;
  const slots = makeSlots(unit, keyring);
  const placeOf = (scopeId: string, subject: string): string => `vault/${unit.key}/${scopeId}/${subject}`;
  // Another prefix than a person's place: no name of a subject makes the two equal.
  const poolPlaceOf = (scopeId: string, keyId: string): string => `vault-key/${unit.key}/${scopeId}/${keyId}`;

  const person = (scopeId: string, subject: string): PersonRow | undefined =>
    db.get<PersonRow>(
      'SELECT slot, digest, shredded_at AS shreddedAtMs FROM subject_keys WHERE scope_id = ? AND subject = ?',
      scopeId,
      subject,
    );
  const poolKey = (keyId: string): PoolRow | undefined =>
    db.get<PoolRow>(`SELECT ${POOL_COLUMNS} FROM pool_keys WHERE key_id = ?`, keyId);
  const poolKeysOf = (scopeId: string, subject: string): PoolRow[] =>
    db.all<PoolRow>(
      `SELECT ${POOL_COLUMNS} FROM pool_keys WHERE scope_id = ? AND subject = ? ORDER BY key_id`,
      scopeId,
      subject,
    );
  const receiptOf = (subject: string, { digest, shreddedAtMs }: PersonRow): ShredReceipt =>
    shredReceipt.parse({ subject, keyDigest: digest, shreddedAt: toTimestamp(shreddedAtMs ?? 0) });

  const make = (scopeId: string, subject: string): string => {
    const { slot, key, digest } = slots.add(placeOf(scopeId, subject));
    db.run(
      'INSERT INTO subject_keys (scope_id, subject, slot, digest, created_at) VALUES (?, ?, ?, ?, ?)',
      scopeId,
      subject,
      slot,
      digest,
      unit.now(),
    );
    return key;
  };

  const endPoolKey = ({ keyId, slot }: PoolRow): void => {
    if (slot === null) return;
    slots.end(slot);
    db.run('UPDATE pool_keys SET slot = NULL, ended_at = ? WHERE key_id = ?', unit.now(), keyId);
  };

  /** Binds one key. Unknown keys and those of another scope are ignored. */
  const bindOne = (scopeId: string, { subject, keyId }: Binding): void => {
    const row = poolKey(keyId);
    if (row?.scopeId !== scopeId) return;
    if (row.subject !== null && row.subject !== subject)
      throw new Error('a key that is bound to one subject was used for another one');
    if (row.subject === null)
      db.run('UPDATE pool_keys SET subject = ?, bound_at = ? WHERE key_id = ?', subject, unit.now(), keyId);
    if (person(scopeId, subject)?.shreddedAtMs != null) endPoolKey(row);
  };

  const keysOf = (scopeId: string, subject: string): SubjectKey | null => {
    const row = person(scopeId, subject);
    if (row?.shreddedAtMs != null) return { shredded: receiptOf(subject, row) };
    const bound = poolKeysOf(scopeId, subject).flatMap(({ slot, keyId }) =>
      slot === null ? [] : [slots.read(slot, poolPlaceOf(scopeId, keyId))],
    );
    const made = row?.slot == null ? [] : [slots.read(row.slot, placeOf(scopeId, subject))];
    const [key, ...more] = [...bound, ...made];
    if (key === undefined) return null;
    return more.length === 0 ? { key } : { key, more };
  };

  const shred = (
    scopeId: string,
    subject: string,
    { keyIds, atMs }: { readonly keyIds: readonly string[]; readonly atMs: number },
  ): ShredReceipt => {
    const before = person(scopeId, subject);
    for (const keyId of keyIds) bindOne(scopeId, { subject, keyId });
    const bound = poolKeysOf(scopeId, subject);
    if (before?.shreddedAtMs != null) return receiptOf(subject, before);
    if (before?.slot != null) slots.end(before.slot);
    for (const each of bound) endPoolKey(each);
    db.run(
      `INSERT INTO subject_keys (scope_id, subject, digest, created_at, shredded_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (scope_id, subject) DO UPDATE SET slot = NULL, shredded_at = excluded.shredded_at`,
      scopeId,
      subject,
      bound[0]?.digest ?? null,
      unit.now(),
      atMs,
    );
    return receiptOf(subject, person(scopeId, subject) as PersonRow);
  };

  return {
    supply: ({ scopeId, subjects }) => {
      let made = false;
      const keys = subjects.map(({ subject, keyIds }): [string, SubjectKey] => {
        for (const keyId of keyIds) bindOne(scopeId, { subject, keyId });
        const found = keysOf(scopeId, subject);
        if (found) return [subject, found];
        made = true;
        return [subject, { key: make(scopeId, subject) }];
      });
      return { keys: Object.fromEntries(keys), made };
    },

    allot: ({ scopeId, count }) => {
      // One random name for all: their rows are adjacent, and few pages are written.
      const allotment = Buffer.from(unit.random(KEY_ID_BYTES)).toString('hex');
      return Array.from({ length: count }, (_, index) => {
        const keyId = `key_${allotment}${index.toString(16).padStart(4, '0')}`;
        const { slot, key, digest } = slots.add(poolPlaceOf(scopeId, keyId));
        db.run(
          'INSERT INTO pool_keys (key_id, scope_id, slot, digest, allotted_at) VALUES (?, ?, ?, ?, ?)',
          keyId,
          scopeId,
          slot,
          digest,
          unit.now(),
        );
        return { keyId, key };
      });
    },

    bind: ({ scopeId, bindings }) => {
      for (const each of bindings) bindOne(scopeId, each);
      return null;
    },

    handBack: ({ scopeId, keyIds }) => {
      for (const keyId of keyIds) {
        const row = poolKey(keyId);
        if (row?.scopeId !== scopeId || row.subject !== null || row.slot === null) continue;
        slots.end(row.slot);
        db.run('DELETE FROM pool_keys WHERE key_id = ?', keyId);
      }
      return null;
    },

    shred: ({ scopeId, subject, keyIds = [] }) => shred(scopeId, subject, { keyIds, atMs: unit.now() }),

    shredded: ({ scopeId }) =>
      db
        .all<PersonRow & { subject: string }>(
          `SELECT subject, slot, digest, shredded_at AS shreddedAtMs FROM subject_keys
           WHERE scope_id = ? AND shredded_at IS NOT NULL ORDER BY subject`,
          scopeId,
        )
        .map((row) => receiptOf(row.subject, row)),

    reapply: ({ erasures }) => {
      for (const { scopeId, subject, keyIds, keyDigest, shreddedAtMs } of erasures) {
        if (person(scopeId, subject)?.shreddedAtMs != null) continue;
        shred(scopeId, subject, { keyIds, atMs: shreddedAtMs });
        // The key may be newer than the copy; the receipt that was given out counts.
        if (keyDigest !== null)
          db.run(
            'UPDATE subject_keys SET digest = ? WHERE scope_id = ? AND subject = ?',
            keyDigest,
            scopeId,
            subject,
          );
      }
      return null;
    },

    reseal: ({ limit }) => {
      const rows = db.all<{ place: string; slot: number; wrapped: string }>(
        `SELECT 'vault/' || ?1 || '/' || scope_id || '/' || subject AS place, slot, wrapped
           FROM subject_keys JOIN key_slots USING (slot)
         UNION ALL
         SELECT 'vault-key/' || ?1 || '/' || scope_id || '/' || key_id AS place, slot, wrapped
           FROM pool_keys JOIN key_slots USING (slot)`,
        unit.key,
      );
      const stale = rows.filter(({ wrapped }) => keyring.isStale(wrapped));
      for (const { place, slot, wrapped } of stale.slice(0, limit)) {
        const key = keyring.open(place, wrapped);
        if (key !== null) slots.write(slot, keyring.seal(place, key, unit.random(12)));
      }
      return { left: Math.max(0, stale.length - limit) };
    },
  };
}

/** The slots of wrapped keys (invariant 3). */
function makeSlots({ db, random }: UnitContext, keyring: Keyring) {
  const write = (slot: number, wrapped: string): void =>
    db.run('UPDATE key_slots SET wrapped = ? WHERE slot = ?', wrapped, slot);
  const wrappedOf = (slot: number): string =>
    db.get<{ wrapped: string }>('SELECT wrapped FROM key_slots WHERE slot = ?', slot)?.wrapped ?? '';

  return {
    write,

    /** Makes a key and wraps it, in a free slot of the same length or in a new one at the end. */
    add: (place: string): { readonly slot: number; readonly key: string; readonly digest: string } => {
      const bytes = Buffer.from(random(SEAL_KEY_BYTES));
      const key = bytes.toString('base64url');
      const wrapped = keyring.seal(place, key, random(12));
      const digest = createHash('sha256').update(bytes).digest('hex');
      const free = db.get<{ slot: number }>(
        'SELECT slot FROM free_slots WHERE length = ? LIMIT 1',
        wrapped.length,
      );
      if (free) {
        db.run('DELETE FROM free_slots WHERE slot = ?', free.slot);
        write(free.slot, wrapped);
        return { slot: free.slot, key, digest };
      }
      const added = db.get<{ slot: number }>(
        'INSERT INTO key_slots (wrapped) VALUES (?) RETURNING slot',
        wrapped,
      );
      return { slot: (added as { slot: number }).slot, key, digest };
    },

    /** @throws Error for a key that no configured secret opens: another key would lose its sealed data. */
    read: (slot: number, place: string): string => {
      const key = keyring.open(place, wrappedOf(slot));
      if (key === null) throw new Error('a subject key does not open with any SEAL_KEY that is configured');
      return key;
    },

    /** Overwrites a key for good. */
    end: (slot: number): void => {
      const { length } = wrappedOf(slot);
      write(slot, '-'.repeat(length));
      db.run('INSERT INTO free_slots (slot, length) VALUES (?, ?) ON CONFLICT DO NOTHING', slot, length);
    },
  };
}

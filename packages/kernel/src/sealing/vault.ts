/**
 * The vault: one key for each person that a scope keeps personal data of, outside of the scope and of every copy of
 * it. To destroy the key is to erase the person from all of them at once (design: kernel, "Erasure").
 */
import { createHash } from 'node:crypto';
import { type ScopeRef, type ShredReceipt, shredReceipt, toTimestamp } from '@freehold/contracts';
import {
  defineUnit,
  type Keyring,
  SEAL_KEY_BYTES,
  type UnitContext,
  type UnitDefinition,
} from '@freehold/store';

/** A subject's key as base64url, or that there is none any more. */
export type SubjectKey = { readonly key: string } | { readonly shredded: ShredReceipt };

/** The port to the vault; on one machine it is a unit, elsewhere it may be somewhere else. */
export interface Vault {
  /** The keys of subjects; those that are missing are made. */
  keys(scope: ScopeRef, subjects: readonly string[]): Promise<Readonly<Record<string, SubjectKey>>>;
  /** Everybody who was erased from a scope: what is brought back from an older time is redacted of them. */
  shredded(scope: ScopeRef): Promise<readonly ShredReceipt[]>;
  /** Destroys a subject's key for good, or remembers that there must never be one. Twice is once. */
  shred(scope: ScopeRef, subject: string): Promise<ShredReceipt>;
}

type VaultMethods = ReturnType<typeof openVault>;
export type VaultUnit = UnitDefinition<VaultMethods>;

/** The unit: kind `vault`, keyed by tenant. `keyring` wraps every key at rest. */
export function makeVaultUnit(keyring: Keyring): VaultUnit {
  return defineUnit<VaultMethods>({
    kind: 'vault',
    // What a copy of the vault holds could bring an erased person back: there is no history of it, and no snapshot.
    copies: 'none',
    migrations: [
      {
        name: 'vault',
        migrations: [
          {
            version: 1,
            name: 'subject keys',
            // Keys lie in slots that are only ever added at the end and overwritten in place, at the same length. Where
            // rows move from page to page SQLite leaves copies of them behind, with secure_delete too, and a key that was
            // destroyed would still be in the file.
            sql: `
CREATE TABLE key_slots (slot INTEGER PRIMARY KEY AUTOINCREMENT, wrapped TEXT NOT NULL) STRICT;
CREATE TABLE subject_keys (
  scope_id TEXT NOT NULL, subject TEXT NOT NULL, slot INTEGER, digest TEXT, created_at INTEGER NOT NULL,
  shredded_at INTEGER, PRIMARY KEY (scope_id, subject)
) STRICT, WITHOUT ROWID;
`,
          },
        ],
      },
    ],
    queries: ['shredded'],
    open: (unit) => openVault(unit, keyring),
  });
}

interface KeyRow {
  /** Null once it was destroyed, and where there never was one. */
  readonly slot: number | null;
  readonly wrapped: string | null;
  readonly digest: string | null;
  readonly shreddedAtMs: number | null;
}

function openVault(unit: UnitContext, keyring: Keyring) {
  const { db } = unit;
  const load = (scopeId: string, subject: string): KeyRow | undefined =>
    db.get<KeyRow>(
      `SELECT slot, wrapped, digest, shredded_at AS shreddedAtMs FROM subject_keys LEFT JOIN key_slots USING (slot)
       WHERE scope_id = ? AND subject = ?`,
      scopeId,
      subject,
    );
  const placeOf = (scopeId: string, subject: string): string => `vault/${unit.key}/${scopeId}/${subject}`;
  const receiptOf = (subject: string, row: KeyRow): ShredReceipt =>
    shredReceipt.parse({ subject, keyDigest: row.digest, shreddedAt: toTimestamp(row.shreddedAtMs ?? 0) });

  const make = (scopeId: string, subject: string): string => {
    const bytes = Buffer.from(unit.random(SEAL_KEY_BYTES));
    const key = bytes.toString('base64url');
    const added = db.get<{ slot: number }>(
      'INSERT INTO key_slots (wrapped) VALUES (?) RETURNING slot',
      keyring.seal(placeOf(scopeId, subject), key, unit.random(12)),
    );
    db.run(
      'INSERT INTO subject_keys (scope_id, subject, slot, digest, created_at) VALUES (?, ?, ?, ?, ?)',
      scopeId,
      subject,
      added?.slot ?? null,
      createHash('sha256').update(bytes).digest('hex'),
      unit.now(),
    );
    return key;
  };

  return {
    keys: ({
      scopeId,
      subjects,
    }: {
      scopeId: string;
      subjects: readonly string[];
    }): Record<string, SubjectKey> =>
      Object.fromEntries(
        subjects.map((subject) => {
          const row = load(scopeId, subject);
          if (!row) return [subject, { key: make(scopeId, subject) }];
          if (row.wrapped === null) return [subject, { shredded: receiptOf(subject, row) }];
          const key = keyring.open(placeOf(scopeId, subject), row.wrapped);
          // Silence would make another key, and what is sealed under this one would be lost.
          if (key === null)
            throw new Error('a subject key does not open with any SEAL_KEY that is configured');
          return [subject, { key }];
        }),
      ),

    shred: ({ scopeId, subject }: { scopeId: string; subject: string }): ShredReceipt => {
      const row = load(scopeId, subject);
      if (row?.shreddedAtMs != null) return receiptOf(subject, row);
      if (row?.slot != null)
        db.run(
          'UPDATE key_slots SET wrapped = ? WHERE slot = ?',
          '-'.repeat(row.wrapped?.length ?? 0),
          row.slot,
        );
      db.run(
        `INSERT INTO subject_keys (scope_id, subject, created_at, shredded_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (scope_id, subject) DO UPDATE SET slot = NULL, shredded_at = excluded.shredded_at`,
        scopeId,
        subject,
        unit.now(),
        unit.now(),
      );
      return receiptOf(subject, load(scopeId, subject) as KeyRow);
    },

    shredded: ({ scopeId }: { scopeId: string }): ShredReceipt[] =>
      db
        .all<KeyRow & { subject: string }>(
          `SELECT subject, slot, NULL AS wrapped, digest, shredded_at AS shreddedAtMs FROM subject_keys
           WHERE scope_id = ? AND shredded_at IS NOT NULL ORDER BY subject`,
          scopeId,
        )
        .map((row) => receiptOf(row.subject, row)),

    /** Seals again what is under another key than the first: at most so many at a time; answers how many are left. */
    reseal: ({ limit }: { limit: number }): { left: number } => {
      const rows = db.all<{ scopeId: string; subject: string; slot: number; wrapped: string }>(
        'SELECT scope_id AS scopeId, subject, slot, wrapped FROM subject_keys JOIN key_slots USING (slot)',
      );
      const stale = rows.filter(({ wrapped }) => keyring.isStale(wrapped));
      for (const { scopeId, subject, slot, wrapped } of stale.slice(0, limit)) {
        const key = keyring.open(placeOf(scopeId, subject), wrapped);
        if (key === null) continue;
        db.run(
          'UPDATE key_slots SET wrapped = ? WHERE slot = ?',
          keyring.seal(placeOf(scopeId, subject), key, unit.random(12)),
          slot,
        );
      }
      return { left: Math.max(0, stale.length - limit) };
    },
  };
}

/** The vault of tenants whose vaults are units on one engine. */
export function makeUnitVault(
  unitOf: (tenantId: string) => {
    keys(input: { scopeId: string; subjects: readonly string[] }): Promise<Record<string, SubjectKey>>;
    shred(input: { scopeId: string; subject: string }): Promise<ShredReceipt>;
    shredded(input: { scopeId: string }): Promise<ShredReceipt[]>;
  },
): Vault {
  return {
    keys: ({ tenantId, scopeId }, subjects) => unitOf(tenantId).keys({ scopeId, subjects }),
    shredded: ({ tenantId, scopeId }) => unitOf(tenantId).shredded({ scopeId }),
    shred: ({ tenantId, scopeId }, subject) => unitOf(tenantId).shred({ scopeId, subject }),
  };
}

/**
 * The receipts of all erasures, in a database beside the vault. A vault that is restored from its archive lacks the
 * later erasures: the ledger repeats them before any key leaves it. An erasure is written before a key ends, and
 * completed after it, so that no crash loses an answered one.
 */
import { PlatformError, type ShredReceipt } from '@freehold/contracts';
import { defineUnit, type UnitContext, type UnitDefinition, type UnitStub } from '@freehold/store';

/** One erasure. The subject is an id that is no personal data itself. */
export interface Erasure {
  readonly scopeId: string;
  readonly subject: string;
  /** The keys that the scope had for the person: an older vault may not know their owner. */
  readonly keyIds: readonly string[];
  /** Null for a person without a key, and for an erasure that was begun and not answered. */
  readonly keyDigest: string | null;
  readonly shreddedAtMs: number;
}

type BegunErasure = Omit<Erasure, 'keyDigest'>;
type DoneErasure = Omit<Erasure, 'keyIds'>;

export interface ErasureLedger {
  /** Writes an erasure before it is carried out. Repeating it changes nothing. */
  begin(tenantId: string, erasure: BegunErasure): Promise<void>;
  /** Adds the vault's receipt. */
  done(tenantId: string, scopeId: string, receipt: ShredReceipt): Promise<void>;
  /** Returns every erasure of a tenant. */
  of(tenantId: string): Promise<readonly Erasure[]>;
}

type LedgerMethods = {
  begin(erasure: BegunErasure): null;
  done(erasure: DoneErasure): null;
  all(input: Record<string, never>): Erasure[];
};
export type LedgerUnit = UnitDefinition<LedgerMethods>;

/** The unit: kind `erasures`, keyed by tenant. No older state of it may come back. */
export const ledgerUnit: LedgerUnit = defineUnit<LedgerMethods>({
  kind: 'erasures',
  copies: 'none',
  migrations: [
    {
      name: 'erasures',
      migrations: [
        {
          version: 1,
          name: 'receipts',
          sql: `
CREATE TABLE erasures (
  scope_id TEXT NOT NULL, subject TEXT NOT NULL, key_ids TEXT NOT NULL, key_digest TEXT,
  shredded_at INTEGER NOT NULL, PRIMARY KEY (scope_id, subject)
) STRICT, WITHOUT ROWID;
`,
        },
      ],
    },
  ],
  queries: ['all'],
  open: openLedger,
});

function openLedger({ db }: UnitContext): LedgerMethods {
  return {
    begin: ({ scopeId, subject, keyIds, shreddedAtMs }) => {
      db.run(
        `INSERT INTO erasures (scope_id, subject, key_ids, shredded_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (scope_id, subject) DO UPDATE SET key_ids = excluded.key_ids WHERE key_ids = '[]'`,
        scopeId,
        subject,
        JSON.stringify(keyIds),
        shreddedAtMs,
      );
      return null;
    },
    done: ({ scopeId, subject, keyDigest, shreddedAtMs }) => {
      db.run(
        `UPDATE erasures SET key_digest = ?3, shredded_at = ?4 WHERE scope_id = ?1 AND subject = ?2
           AND (key_digest IS NOT ?3 OR shredded_at <> ?4)`,
        scopeId,
        subject,
        keyDigest,
        shreddedAtMs,
      );
      return null;
    },
    all: () =>
      db
        .all<Omit<Erasure, 'keyIds'> & { keyIds: string }>(
          `SELECT scope_id AS scopeId, subject, key_ids AS keyIds, key_digest AS keyDigest,
             shredded_at AS shreddedAtMs FROM erasures ORDER BY scope_id, subject`,
        )
        .map((row) => ({ ...row, keyIds: JSON.parse(row.keyIds) as string[] })),
  };
}

/** A tenant without erasures has no ledger. */
function noneYet(error: unknown): readonly Erasure[] {
  if (error instanceof PlatformError && error.reason === 'unknown_unit') return [];
  throw error;
}

/**
 * Returns the ledger of tenants whose ledgers are units on one engine.
 * @param archived resolves once the archive has the tenant's ledger as it is now. Default: there is no archive.
 */
export function makeUnitLedger(
  unitOf: (tenantId: string, options: { readonly create: boolean }) => UnitStub<LedgerMethods>,
  archived: (tenantId: string) => Promise<void> = async () => undefined,
): ErasureLedger {
  return {
    begin: async (tenantId, erasure) => {
      await unitOf(tenantId, { create: true }).begin(erasure);
      await archived(tenantId);
    },
    done: async (tenantId, scopeId, { subject, keyDigest, shreddedAt }) => {
      await unitOf(tenantId, { create: true }).done({
        scopeId,
        subject,
        keyDigest,
        shreddedAtMs: Date.parse(shreddedAt),
      });
    },
    of: (tenantId) => unitOf(tenantId, { create: false }).all({}).catch(noneYet),
  };
}

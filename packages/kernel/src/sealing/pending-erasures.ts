/**
 * Whoever was erased while an older state of a scope was on its way. The state was redacted of everybody whom the vault
 * named before it set out, and whoever was erased since was taken out of the state that it replaced. So it comes in
 * with a mark, and while that is there the scope answers nobody: first the vault is asked once more. The mark is a
 * column of the scope, so that neither a crash nor a restart forgets it.
 */
import {
  PlatformError,
  parseInput,
  type ShredReceipt,
  shredReceipt,
  type TenantId,
} from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitMethods } from '@freehold/store';
import { z } from 'zod';
import type { ScopeMethods } from '../scope-methods.ts';

/** What a call is told that came before the vault was asked. */
const ERASURES_UNSEEN = 'erasures_unseen';
/** What a call is told that came before the vault knew which keys an earlier opening used. */
const KEYS_UNBOUND = 'keys_unbound';

export const pendingErasuresMigration: Migration = {
  version: 10,
  name: 'the mark of an older state that came back',
  sql: 'ALTER TABLE _spine_scope ADD COLUMN latecomers TEXT;',
};

/** What is answered all the same: it tells nothing of what the scope holds, and changes nothing of it but this. */
const ANSWERED: readonly string[] = [
  'freezeKeys',
  'keyWork',
  'keysBound',
  'latecomers',
  'provideKeys',
  'provision',
  'redactLatecomers',
];

const redactInput = z.strictObject({ mark: z.string(), receipts: z.array(shredReceipt) });

/** The row of `_spine_scope`. */
export interface ScopeRow {
  readonly tenantId: TenantId;
  readonly name: string;
  /** Null: nobody can have been missed. */
  readonly latecomers: string | null;
}

/** Marks a staged state. Whoever looks at the vault because of an earlier mark does not take this one away. */
export function markForPendingErasures(staged: SqlDatabase, mark: string): void {
  staged.run('UPDATE _spine_scope SET latecomers = ?', mark);
}

/**
 * Closes a scope's methods while it is marked, and until the keys are bound that an earlier opening used.
 * @param row the scope's, or null before it is provisioned.
 */
export function closedUntilVaultIsAsked<M extends UnitMethods>(
  { row, isBound }: { readonly row: () => ScopeRow | null; readonly isBound: () => boolean },
  methods: M,
): M {
  const guarded = Object.entries(methods).map(([name, method]) => {
    if (ANSWERED.includes(name)) return [name, method];
    return [
      name,
      (input: unknown) => {
        if (row()?.latecomers) throw erasuresUnseen();
        if (!isBound()) throw keysUnbound();
        return method(input);
      },
    ];
  });
  return Object.fromEntries(guarded) as M;
}

/** The scope's `redactLatecomers`. */
export function makeRedactPendingErasures({
  db,
  redact,
  changed,
}: {
  readonly db: SqlDatabase;
  readonly redact: (receipt: ShredReceipt) => void;
  /** Called when the row is no longer what was read. */
  readonly changed: () => void;
}): ScopeMethods['redactLatecomers'] {
  return (input) => {
    const { mark, receipts } = parseInput('The receipts', redactInput, input);
    const found = db.get('SELECT 1 FROM _spine_scope WHERE latecomers = ?', mark);
    // Another state came in since the vault was asked: its own latecomers may not be among these.
    if (!found) return null;
    for (const receipt of receipts) {
      // The tombstone is written by the redaction itself, and is in the same state.
      if (!db.get('SELECT 1 FROM _spine_shredded WHERE subject = ?', receipt.subject)) redact(receipt);
    }
    db.run('UPDATE _spine_scope SET latecomers = NULL');
    changed();
    return null;
  };
}

function erasuresUnseen(): PlatformError {
  return new PlatformError(
    'unavailable',
    'An older state came back, and it is not known yet who was erased meanwhile. Try again in a moment.',
    { reason: ERASURES_UNSEEN, headers: { 'retry-after': '1' } },
  );
}

function keysUnbound(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The vault was not told yet which keys this scope used before it was opened. Try again in a moment.',
    { reason: KEYS_UNBOUND, headers: { 'retry-after': '1' } },
  );
}

export function isKeysUnbound(error: unknown): boolean {
  return error instanceof PlatformError && error.reason === KEYS_UNBOUND;
}

export function isErasuresUnseen(error: unknown): boolean {
  return error instanceof PlatformError && error.reason === ERASURES_UNSEEN;
}

/**
 * Erasures inside a scope. When a person's key was destroyed, the payloads are redacted and a tombstone is written.
 * When an older state comes back, it was redacted of everyone whom the vault named before the move; persons who were
 * erased since are pending. So it comes in with a mark, and while the mark is there the scope answers no call: the vault
 * is asked once more. The mark is a column of the scope, so that neither a crash nor a restart loses it.
 */
import {
  PlatformError,
  parseInput,
  type ShredReceipt,
  shredReceipt,
  type TenantId,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { ScopeMethods } from '../contract/scope-methods.ts';
import type { Shredded, SubjectKeys } from '../keys/subject-keys.ts';
import { eraseStaged } from '../long-work/erase-staged.ts';
import type { Vertical } from '../vertical/vertical.ts';

/** The reason of calls before the vault was asked. */
const ERASURES_UNSEEN = 'erasures_unseen';
/** The reason of calls before the vault knew which keys an earlier opening used. */
const KEYS_UNBOUND = 'keys_unbound';

export const REDACT_SQL = 'UPDATE _spine_events SET payload = ? WHERE subject = ? AND payload IS NOT NULL';

const redactInput = z.strictObject({ receipt: shredReceipt });
const pendingInput = z.strictObject({ mark: z.string(), receipts: z.array(shredReceipt) });

export interface ScopeRow {
  readonly tenantId: TenantId;
  readonly name: string;
  /** The mark of an older state that came back; null: no erasure can have been missed. */
  readonly pendingErasures: string | null;
}

/** Marks a staged state. A look at the vault for an earlier mark does not remove this one. */
export function markForPendingErasures(staged: Pick<SqlDatabase, 'run'>, mark: string): void {
  staged.run('UPDATE _spine_scope SET latecomers = ?', mark);
}

/** The scope's `redact` and `redactPendingErasures`. */
export function makeErasureMethods({
  unit,
  vertical,
  subjectKeys,
  sql,
  forgetRow,
  wakeAfterCommit,
}: {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly subjectKeys: SubjectKeys;
  readonly sql: SqlDatabase;
  /** Called when the row of the scope was changed. */
  readonly forgetRow: () => void;
  /** Long work that held data about the person is taken back after the commit. */
  readonly wakeAfterCommit: () => void;
}): Pick<ScopeMethods, 'redact' | 'redactPendingErasures'> {
  const { db } = unit;
  const redact = (receipt: ShredReceipt): void => {
    subjectKeys.supply({ keys: { [receipt.subject]: { shredded: receipt } } });
    redactScope({ db, sql, vertical, receipt, nowMs: unit.now() });
    if (vertical.works !== undefined) wakeAfterCommit();
  };
  return {
    redact: (input) => {
      redact(parseInput('The receipt', redactInput, input).receipt);
      return null;
    },
    redactPendingErasures: (input) => {
      const { mark, receipts } = parseInput('The receipts', pendingInput, input);
      // Another state came in since the vault was asked: its own pending erasures may not be among these.
      if (!db.get('SELECT 1 FROM _spine_scope WHERE latecomers = ?', mark)) return null;
      // The redaction itself writes the tombstone, in the same state.
      for (const receipt of receipts)
        if (!db.get('SELECT 1 FROM _spine_shredded WHERE subject = ?', receipt.subject)) redact(receipt);
      db.run('UPDATE _spine_scope SET latecomers = NULL');
      forgetRow();
      return null;
    },
  };
}

/**
 * Removes a person's payloads, what is staged about them, and what the vertical's `onShred` removes, from a scope or from an older state that is
 * about to replace it. Repeating it changes nothing.
 */
export function redactScope({
  db,
  sql,
  vertical,
  receipt,
  nowMs,
}: {
  readonly db: SqlDatabase;
  /** The vertical's view. */
  readonly sql: SqlDatabase;
  readonly vertical: Vertical;
  readonly receipt: ShredReceipt;
  readonly nowMs: number;
}): void {
  const { subject, keyDigest, shreddedAt } = receipt;
  db.run(REDACT_SQL, JSON.stringify({ $shredded: { at: shreddedAt } } satisfies Shredded), subject);
  eraseStaged(db, vertical, { sql, subject, nowMs });
  // Stored answers stay: they are sealed for the person too, and without them a repeated request acts twice.
  vertical.onShred?.({ sql, now: nowMs }, subject);
  db.run(
    `INSERT INTO _spine_shredded (subject, key_digest, shredded_at, at) VALUES (?, ?, ?, ?)
     ON CONFLICT (subject) DO NOTHING`,
    subject,
    keyDigest,
    shreddedAt,
    nowMs,
  );
}

export function erasuresUnseen(): PlatformError {
  return new PlatformError(
    'unavailable',
    'An older state came back, and the erasures since then are not known yet. Try again in a moment.',
    { reason: ERASURES_UNSEEN, headers: { 'retry-after': '1' } },
  );
}

export function keysUnbound(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The vault was not told yet which keys this scope used before it was opened. Try again in a moment.',
    { reason: KEYS_UNBOUND, headers: { 'retry-after': '1' } },
  );
}

export function isErasuresUnseen(error: unknown): boolean {
  return error instanceof PlatformError && error.reason === ERASURES_UNSEEN;
}

export function isKeysUnbound(error: unknown): boolean {
  return error instanceof PlatformError && error.reason === KEYS_UNBOUND;
}

/** What is left to do in a scope when a person's key was destroyed: take the payloads away, and remember it. */
import { parseInput, type ShredReceipt, shredReceipt } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { ScopeMethods } from '../scope-methods.ts';
import type { Vertical } from '../vertical.ts';
import type { Shredded, SubjectKeys } from './subject-keys.ts';

export const REDACT_SQL = 'UPDATE _spine_events SET payload = ? WHERE subject = ? AND payload IS NOT NULL';

const redactInput = z.strictObject({ receipt: shredReceipt });

/** The scope's `redact`. */
export function makeRedact({
  unit,
  vertical,
  subjectKeys,
  sql,
}: {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly subjectKeys: SubjectKeys;
  readonly sql: SqlDatabase;
}): ScopeMethods['redact'] {
  return (input) => {
    const { receipt } = parseInput('The receipt', redactInput, input);
    subjectKeys.supply({ keys: { [receipt.subject]: { shredded: receipt } } });
    redactScope({ db: unit.db, sql, vertical, receipt, nowMs: unit.now() });
    return null;
  };
}

/**
 * Takes a person's payloads out of a scope's database, and what the vertical's `onShred` removes: of the scope itself,
 * or of an older state of it that is about to take its place. Redacting again changes nothing.
 */
export function redactScope({
  db,
  sql,
  vertical,
  receipt,
  nowMs,
}: {
  readonly db: SqlDatabase;
  /** The view that the vertical is given. */
  readonly sql: SqlDatabase;
  readonly vertical: Vertical;
  readonly receipt: ShredReceipt;
  readonly nowMs: number;
}): void {
  const { subject, keyDigest, shreddedAt } = receipt;
  db.run(REDACT_SQL, JSON.stringify({ $shredded: { at: shreddedAt } } satisfies Shredded), subject);
  // Answers that were kept for repeats stay: they are sealed for the person too, and without them a repeat acts twice.
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

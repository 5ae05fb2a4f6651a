/** What is left to do in a scope when a person's key was destroyed: take the payloads away, and remember it. */
import { parseInput, type ShredReceipt, shredReceipt } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { EventStore } from '../events/store.ts';
import type { ScopeMethods } from '../scope-methods.ts';
import type { Vertical } from '../vertical.ts';
import type { SubjectKeys } from './subject-keys.ts';

const redactInput = z.strictObject({ receipt: shredReceipt });

export function makeRedact({
  unit,
  vertical,
  events,
  subjectKeys,
  sql,
}: {
  readonly unit: UnitContext;
  readonly vertical: Vertical;
  readonly events: EventStore;
  readonly subjectKeys: SubjectKeys;
  readonly sql: SqlDatabase;
}): ScopeMethods['redact'] {
  const remember = ({ subject, keyDigest, shreddedAt }: ShredReceipt): void =>
    unit.db.run(
      `INSERT INTO _spine_shredded (subject, key_digest, shredded_at, at) VALUES (?, ?, ?, ?)
       ON CONFLICT (subject) DO NOTHING`,
      subject,
      keyDigest,
      shreddedAt,
      unit.now(),
    );

  return (input) => {
    const { receipt } = parseInput('The receipt', redactInput, input);
    subjectKeys.provide({ [receipt.subject]: { shredded: receipt } });
    events.redact(receipt.subject, receipt.shreddedAt);
    // Answers that were kept for repeats may hold what was erased.
    unit.db.run('DELETE FROM _spine_idempotency WHERE subjects IS NOT NULL');
    vertical.onShred?.({ sql, now: unit.now() }, receipt.subject);
    remember(receipt);
    return null;
  };
}

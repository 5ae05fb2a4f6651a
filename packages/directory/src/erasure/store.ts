/** The receipts of erasures in SQL, and the hash of a subject in them and in the logs. */
import { createHash } from 'node:crypto';
import type { ShredReceipt } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { ErasureReceipt } from '../declarations/scopes.ts';

/** The hash that stands for a subject. The same subject has another one in another scope. */
export function subjectHash(scope: string, subject: string): string {
  return `sha256:${sha256(`freehold.subject.v1\n${scope}\n${subject}`)}`;
}

/**
 * The receipt of an erasure. Its id follows from the vault's answer, so that it is the same after a restore of the
 * directory from before the erasure.
 */
export function receiptOf(scope: string, { subject, keyDigest, shreddedAt }: ShredReceipt): ErasureReceipt {
  const id = sha256(`freehold.erasure.v1\n${scope}\n${subject}\n${shreddedAt}\n${keyDigest ?? ''}`);
  return {
    subject,
    redacted: true,
    keyDestroyedAt: shreddedAt,
    keyDigest,
    receiptId: `rcp_${id.slice(0, 32)}`,
  };
}

export function loadErasure(
  db: SqlDatabase,
  { scope, subject }: { readonly scope: string; readonly subject: string },
): ErasureReceipt | undefined {
  const row = db.get<{ receiptId: string; keyDigest: string | null; keyDestroyedAt: string }>(
    `SELECT receipt AS receiptId, key_digest AS keyDigest, shredded_at AS keyDestroyedAt FROM erasures
     WHERE scope = ? AND subject_hash = ?`,
    scope,
    subjectHash(scope, subject),
  );
  return row && { subject, redacted: true, ...row };
}

export function saveErasure(
  db: SqlDatabase,
  scope: string,
  { subject, receiptId, keyDigest, keyDestroyedAt }: ErasureReceipt,
  nowMs: number,
): void {
  db.run(
    `INSERT INTO erasures (scope, subject_hash, receipt, key_digest, shredded_at, at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    scope,
    subjectHash(scope, subject),
    receiptId,
    keyDigest,
    keyDestroyedAt,
    nowMs,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

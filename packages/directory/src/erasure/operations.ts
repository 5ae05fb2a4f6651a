/** Erasing a person, as far as the directory is concerned: that it was done, and nothing about whom. */
import { PlatformError, type ShredReceipt } from '@freehold/contracts';
import { subjectsShred } from '../declarations/erasure.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { delegated } from '../lib/handlers.ts';
import { requireScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { loadErasure, receiptOf, saveErasure, subjectHash } from './store.ts';

/** People are erased from whatever still holds data: also from scopes that nobody works in any more. */
const HOLDS_DATA: ReadonlySet<string> = new Set(['active', 'suspended', 'archived']);

export const shredSubject = delegated<typeof subjectsShred, ScopeRecord, ShredReceipt>(subjectsShred, {
  begin: ({ db }, { params }) => {
    const scope = scopeOfRow(requireScope(db, params));
    const done = loadErasure(db, params);
    if (done) return { change: { status: 200, value: done, audit: null } };
    requireHoldsData(scope.status);
    const hash = subjectHash(scope.id, params.subject);
    return {
      intent: { target: logTargetOf(scope, hash), before: null, after: { subject: hash } },
      prepared: scope,
    };
  },
  settle: (context, { params }, answered) => {
    const { db } = context;
    const scope = scopeOfRow(requireScope(db, params));
    const receipt = receiptOf(scope.id, answered);
    saveErasure(db, scope.id, receipt, context.now());
    const { receiptId, keyDestroyedAt, keyDigest } = receipt;
    const hash = subjectHash(scope.id, params.subject);
    return {
      status: 200,
      value: receipt,
      audit: {
        target: logTargetOf(scope, hash),
        before: null,
        after: { subject: hash, receiptId, keyDestroyedAt, keyDigest },
      },
    };
  },
  supersedes: ({ params }, earlier) => earlier?.subject === subjectHash(params.scope, params.subject),
});

/** @throws PlatformError `invalid_transition` for a scope that is not there yet, or no longer. */
export function requireHoldsData(status: ScopeRecord['status']): void {
  if (HOLDS_DATA.has(status)) return;
  throw new PlatformError('invalid_transition', `This scope is ${status}: it holds nobody's data.`);
}

/** Erasing a person, as far as the directory is concerned: that it was done, and nothing about whom. */

import { PlatformError, type ShredReceipt, scopeId, shredRequest, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { dryRunQuery, planCount } from '../declarations/dry-run.ts';
import { erasureReceipt } from '../declarations/erasure.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { scopeStatus } from '../declarations/records.ts';
import { delegated } from '../lib/handlers.ts';
import { requireScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { loadErasure, receiptOf, saveErasure, subjectHash } from './store.ts';

export const shredPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    status: scopeStatus.describe(
      'Of the scope: people are erased from archived ones too. What was copied into another scope is sealed anew there, and stays',
    ),
    receipt: erasureReceipt
      .nullable()
      .describe('Of the erasure that was done already: the call would answer it again, and do nothing else'),
    key: z
      .enum(['destroyed', 'unknown'])
      .describe('unknown: the vault says whether there is one only once it is destroyed'),
    events: planCount
      .nullable()
      .describe(
        'How many events about the person would lose their payload; null where the vertical cannot be asked',
      ),
    backups: planCount.describe(
      'Copies of the scope in which nothing about the person can be opened afterwards',
    ),
    snapshots: planCount.describe('The same for copies that are with the vertical'),
  })
  .meta({ id: 'ShredPlan' });

/** People are erased from whatever still holds data: also from scopes that nobody works in any more. */
const HOLDS_DATA: ReadonlySet<string> = new Set(['active', 'suspended', 'archived']);

export const subjectsShred = adminOperation({
  name: 'subjects.shred',
  summary: 'Erase a person from a scope',
  description:
    'Destroys the key under which everything about the person is sealed, in the scope and in every copy of it, and takes the payloads out. There is no way back, and no restore brings it back. The receipt proves it; repeating the call answers the same receipt. A person who was never mentioned can be erased too: nothing will be kept about them. With dryRun, answers how much is said about the person and in how many copies; counting that is a read that the access log names.',
  tag: 'Erasure',
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/subjects/:subject/shred',
  shortPath: '/scopes/:scope/subjects/:subject/shred',
  input: {
    params: z.strictObject({
      tenant: tenantId,
      scope: scopeId,
      subject: shredRequest.shape.subject.describe('The opaque id that the events about the person name'),
    }),
    query: dryRunQuery,
  },
  output: erasureReceipt,
  plan: shredPlan,
  success: 200,
  builder: 'none',
  // It cannot be taken back.
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

export const shredSubject = /* @__PURE__ */ delegated<typeof subjectsShred, ScopeRecord, ShredReceipt>(
  subjectsShred,
  {
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
  },
);

/** @throws PlatformError `invalid_transition` for a scope that is not there yet, or no longer. */
export function requireHoldsData(status: ScopeRecord['status']): void {
  if (HOLDS_DATA.has(status)) return;
  throw new PlatformError('invalid_transition', `This scope is ${status}: it holds nobody's data.`);
}

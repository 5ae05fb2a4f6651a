/**
 * The erasure of a person in the directory: its receipt and its plan, without the person's id. The plan counts the events
 * about the person by a read of the vertical, which the access log names like any other.
 */
import {
  PlatformError,
  queryResponse,
  type ShredReceipt,
  scopeId,
  shredRequest,
  tenantId,
} from '@freehold/contracts';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { countBackups } from '../backups/store.ts';
import { countSnapshots } from '../copies/snapshot-store.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { type ScopeRecord, scopeStatus } from '../declarations/records.ts';
import { erasureReceipt } from '../declarations/scopes.ts';
import type { EffectDeps, EffectPlan } from '../lib/effects.ts';
import { defineFeature } from '../lib/feature.ts';
import { type CallOf, delegated, planned } from '../lib/handlers.ts';
import { requireScope, scopeOfRow } from '../scopes/store.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/client.ts';
import { isRefusal } from '../verticals/outcome.ts';
import { erasureMigrations } from './schema.ts';
import { loadErasure, receiptOf, saveErasure, subjectHash } from './store.ts';

export const shredPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    status: scopeStatus.describe(
      'Of the scope: people are erased from archived ones too. Data that was copied into another scope is sealed anew there, and stays',
    ),
    receipt: erasureReceipt
      .nullable()
      .describe('Of the erasure that was done already: the call would answer it again, and do nothing else'),
    key: z
      .enum(['destroyed', 'unknown'])
      .describe('unknown: the vault says only at the destruction whether there is one'),
    events: planCount
      .nullable()
      .describe(
        'How many events about the person would lose their payload; null where the vertical cannot be asked',
      ),
    backups: planCount.describe('Copies of the scope in which data about the person can no longer be opened'),
    snapshots: planCount.describe('The same for copies that are with the vertical'),
  })
  .meta({ id: 'ShredPlan' });

/** The states of a scope that holds data. People are erased from suspended and archived scopes too. */
const HOLDS_DATA: ReadonlySet<string> = new Set(['active', 'suspended', 'archived']);

export const subjectsShred = adminOperation({
  name: 'subjects.shred',
  summary: 'Erase a person from a scope',
  description:
    'Destroys the key under which everything about the person is sealed, in the scope and in every copy of it, and removes the payloads. It cannot be undone, and no restore brings the data back. The receipt proves it; repeating the call answers the same receipt. A person without any data can be erased too: no data will be kept about them. With dryRun, answers how many events are about the person and how many copies hold them; the count is a read that the access log names.',
  tag: 'Erasure',
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/subjects/:subject/shred',
  shortPath: '/scopes/:scope/subjects/:subject/shred',
  input: {
    params: z.strictObject({
      tenant: tenantId,
      scope: scopeId,
      subject: shredRequest.shape.subject.describe('The opaque id of the person in the events'),
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

const shredSubject = /* @__PURE__ */ delegated<typeof subjectsShred, ScopeRecord, ShredReceipt>(
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

/** @throws PlatformError `invalid_transition` for a scope that is being made or was reaped. */
function requireHoldsData(status: ScopeRecord['status']): void {
  if (HOLDS_DATA.has(status)) return;
  throw new PlatformError('invalid_transition', `This scope is ${status}: it holds no personal data.`);
}

/** Counts the rows of the kernel's table that an erasure rewrites. */
const MENTIONS = 'SELECT count(*) FROM _spine_events WHERE subject = ? AND payload IS NOT NULL';

/** The directory's part of the plan; {@link planShred} adds the vertical's. */
const planErasure = /* @__PURE__ */ planned<typeof subjectsShred>(subjectsShred, ({ db }, { params }) => {
  const { id, status } = requireScope(db, params);
  const receipt = loadErasure(db, params) ?? null;
  if (!receipt) requireHoldsData(status);
  return {
    dryRun: true,
    scope: id,
    status,
    receipt,
    key: receipt ? 'destroyed' : 'unknown',
    events: receipt ? 0 : null,
    backups: countBackups(db, id),
    snapshots: countSnapshots(db, id),
  };
});

/** Asks the vertical how many events are about the person. Without an answer the number stays null. */
export async function planShred(deps: EffectDeps, call: AdminCall, known: unknown): Promise<EffectPlan> {
  const plan = known as z.infer<typeof shredPlan>;
  if (plan.receipt) return { value: plan };
  const { subject } = (call as unknown as CallOf<typeof subjectsShred>).params;
  const { scope } = await deps.target(call);
  const body = { sql: MENTIONS, params: [subject] };
  const counted = await askScope(deps, scope, {
    path: 'query',
    body,
    answer: queryResponse,
    local: (host, ref) => host.introspectScopeQuery({ ...ref, ...body }),
  }).catch((error: unknown) => {
    if (isRefusal(error)) return null;
    throw error;
  });
  const cell = counted?.rows[0]?.[0];
  if (typeof cell !== 'number') return { value: plan };
  const target = logTargetOf(scope, subjectHash(scope.id, subject));
  return { value: { ...plan, events: cell }, read: { target, items: cell } };
}

export const erasureFeature = /* @__PURE__ */ defineFeature({
  operations: [shredSubject, planErasure],
  migrations: [erasureMigrations],
});

/**
 * How a change is carried out, whatever it is about: idempotency key, handler, admin-log row and kept answer in one
 * transaction (spec 1.C; design: control-plane, "Audit").
 *
 * An effect outside the directory is two transactions: `beginEffect` writes the intent before anything happens
 * elsewhere, `settleEffect` or `failEffect` the outcome after. An intent that nobody settles stays findable.
 */
import type { ProblemCode } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AdminCall, AdminResult } from '../actors.ts';
import { appendAdminLog, auditedCall, loadAdminLogRow, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { requireActingTenant } from '../tenants/store.ts';
import type { Change, ChangeContext, ChangeHandler, DelegatedHandler, WiringFacts } from './handlers.ts';
import { holdKey, keepAnswer, recallAnswer, releaseKey } from './idempotency.ts';

/** A call on its way into the transaction. */
export interface ChangeInput {
  readonly call: AdminCall;
  readonly facts: WiringFacts;
}

export interface ChangeOutcome {
  readonly result: AdminResult;
  /** Whether the router's map has to be drawn again. */
  readonly rerouted: boolean;
}

/** What `beginEffect` answers: an outcome when there is nothing to do elsewhere, else the intent. */
export type EffectBeginning = { readonly outcome: ChangeOutcome } | StartedEffect;

export interface StartedEffect {
  readonly intent: LogHead;
  readonly prepared: unknown;
}

/** Makes a change inside the directory. */
export function makeChange(
  context: UnitContext,
  handler: ChangeHandler,
  { call, facts }: ChangeInput,
): ChangeOutcome {
  requireActingTenant(context.db, call.actor);
  const kept = recallAnswer(context, call);
  if (kept) return replay(context, kept);
  return conclude(context, call, handler(changeContext(context, facts), call));
}

/** Writes down what is about to happen elsewhere. */
export function beginEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts }: ChangeInput,
): EffectBeginning {
  requireActingTenant(context.db, call.actor);
  const kept = recallAnswer(context, call);
  if (kept) return { outcome: replay(context, kept) };
  const beginning = handler.begin(changeContext(context, facts), call);
  if ('change' in beginning) return { outcome: conclude(context, call, beginning.change) };
  const intent = appendAdminLog(context, auditedCall(call), { ...beginning.intent, outcome: 'intent' });
  holdKey(context, call, intent.sequence);
  return { intent, prepared: beginning.prepared };
}

/** Writes down that it happened. */
export function settleEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts }: ChangeInput,
  { intent, answer }: { readonly intent: number; readonly answer: unknown },
): ChangeOutcome {
  const change = handler.settle(changeContext(context, facts), call, answer);
  if (!change.audit) throw new TypeError(`${call.operation} settled an intent without a row to show for it`);
  const head = appendAdminLog(context, auditedCall(call), { ...change.audit, outcome: 'done', intent });
  releaseKey(context, call, { intent, answer: keepable(change) });
  return { result: resultOf(change, head), rerouted: change.rerouted ?? false };
}

/** Writes down that it failed. The idempotency key comes free, so that the same call may be tried again. */
export function failEffect(
  context: UnitContext,
  call: AdminCall,
  { intent, code }: { readonly intent: number; readonly code: ProblemCode },
): LogHead {
  const begun = loadAdminLogRow(context.db, intent);
  if (!begun) throw new TypeError('an effect cannot fail without having begun');
  const { tenant, scope, vertical, other } = begun;
  releaseKey(context, call, { intent, answer: null });
  return appendAdminLog(context, auditedCall(call), {
    target: { tenant, scope, vertical, other },
    before: null,
    after: null,
    outcome: 'failed',
    intent,
    code,
  });
}

function changeContext(context: UnitContext, facts: WiringFacts): ChangeContext {
  return { ...context, facts, revision: (logHead(context.db)?.sequence ?? 0) + 1 };
}

function conclude(context: UnitContext, call: AdminCall, change: Change): ChangeOutcome {
  const head = change.audit
    ? appendAdminLog(context, auditedCall(call), { ...change.audit, outcome: 'done' })
    : logHead(context.db);
  keepAnswer(context, call, keepable(change));
  return { result: resultOf(change, head), rerouted: change.rerouted ?? false };
}

function keepable({ status, value, etag, shownOnce }: Change) {
  if (shownOnce !== undefined) return { shownOnce };
  return { status, value, ...(etag === undefined ? {} : { etag }) };
}

function resultOf({ status, value, etag }: Change, head: LogHead | null): AdminResult {
  return {
    status,
    value,
    ...(etag === undefined ? {} : { etag }),
    ...(head === null ? {} : { head }),
    replayed: false,
  };
}

function replay(
  context: UnitContext,
  kept: { readonly status: 200 | 201 | 204; readonly value: unknown; readonly etag?: string },
): ChangeOutcome {
  const head = logHead(context.db);
  return { result: { ...kept, ...(head === null ? {} : { head }), replayed: true }, rerouted: false };
}

/**
 * How a change is carried out, whatever it is about: idempotency key, handler, admin-log row and kept answer in one
 * transaction (spec 1.C; design: control-plane, "Audit").
 *
 * An effect outside the directory is two transactions: `beginEffect` writes the intent before anything happens
 * elsewhere, `settleEffect` or `failEffect` the outcome after. Where nobody knows the outcome, `leaveOpen` writes none:
 * an intent that nobody settles stays findable.
 */
import { canonicalJson, type ProblemCode } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { requireActing } from '../acting.ts';
import type { AdminCall, AdminResult } from '../actors.ts';
import {
  type AuditedCall,
  appendAdminLog,
  auditedCall,
  loadAdminLogRow,
  logHead,
} from '../audit/admin-log.ts';
import { endLease, loadLeftBehind, startLease } from '../audit/open-intents.ts';
import type { LogHead } from '../declarations/records.ts';
import type { RoutesChange } from '../host-admin.ts';
import type {
  AuditEntry,
  Change,
  ChangeContext,
  ChangeHandler,
  DelegatedHandler,
  WiringFacts,
} from './handlers.ts';
import { holdKey, keepAnswer, type Recalled, recallAnswer, releaseKey } from './idempotency.ts';

/** A call on its way into the transaction. */
export interface ChangeInput {
  readonly call: AdminCall;
  readonly facts: WiringFacts;
}

export interface ChangeOutcome {
  readonly result: AdminResult;
  /** What the router has to forget; null for nothing. */
  readonly rerouted: RoutesChange | null;
}

/** What `beginEffect` answers: an outcome when there is nothing to do elsewhere, else the intent. */
export type EffectBeginning = { readonly outcome: ChangeOutcome } | StartedEffect;

export interface StartedEffect {
  readonly intent: LogHead;
  readonly prepared: unknown;
}

/** How an effect ended: known by its intent. */
export interface EffectEnd extends ChangeInput {
  readonly intent: number;
}

/** Makes a change inside the directory. */
export function makeChange(
  context: UnitContext,
  handler: ChangeHandler,
  { call, facts }: ChangeInput,
): ChangeOutcome {
  requireActing(context.db, call.actor, handler.operation);
  const recalled = recallAnswer(context, call);
  if (recalled.kept) return replay(context, recalled.kept);
  return finalize(context, call, handler(changeContext(context, facts, recalled.resumes), call));
}

/** Writes down what is about to happen elsewhere. */
export function beginEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts }: ChangeInput,
): EffectBeginning {
  requireActing(context.db, call.actor, handler.operation);
  const recalled = recallAnswer(context, call);
  if (recalled.kept) return { outcome: replay(context, recalled.kept) };
  const beginning = handler.begin(changeContext(context, facts, recalled.resumes), call);
  if ('change' in beginning) return { outcome: finalize(context, call, beginning.change) };
  const intent = appendAdminLog(context, auditedCall(call), { ...beginning.intent, outcome: 'intent' });
  startLease(context.db, intent.sequence, context.now());
  holdKey(context, call, intent.sequence);
  return { intent, prepared: beginning.prepared };
}

/**
 * Writes down that it happened. Older intents that it makes immaterial, and that nobody waits for any more, are
 * settled with it: `superseded`, because how they ended is still not known.
 */
export function settleEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts, intent, answer }: EffectEnd & { readonly answer: unknown },
): ChangeOutcome {
  const change = handler.settle({ ...changeContext(context, facts), intent }, call, answer);
  if (!change.audit) throw new TypeError(`${call.operation} settled an intent without a row to show for it`);
  const supersedes: Settled['supersedes'] = (after) => handler.supersedes(call, after);
  const head = logDone(context, auditedCall(call), { audit: change.audit, intent, supersedes });
  releaseKey(context, call, { intent, answer: keepable(change) });
  return { result: resultOf(change, head), rerouted: reroutedBy(change) };
}

/** How an intent ended well. */
interface Settled {
  readonly audit: AuditEntry;
  readonly intent: number;
  /** Whether this makes the outcome of an earlier intent on the same scope immaterial. */
  readonly supersedes: (earlier: AuditEntry['after']) => boolean;
}

/** Writes the row `done` of an intent, and the row `superseded` of each older one. Answers the new head. */
export function logDone(
  context: UnitContext,
  by: AuditedCall,
  { audit, intent, supersedes }: Settled,
): LogHead {
  const head = appendAdminLog(context, by, { ...audit, outcome: 'done', intent });
  // Outside of scopes one target sees many works of one kind: only the very same one is done with this.
  const announced = loadAdminLogRow(context.db, intent)?.after ?? null;
  const isSame = (after: AuditEntry['after']): boolean =>
    (after === null ? null : canonicalJson(after)) === announced;
  const older = loadLeftBehind(context.db, {
    intent,
    action: by.action,
    target: audit.target,
    nowMs: context.now(),
  }).filter(({ after }) => supersedes(after) && (audit.target.scope !== null || isSame(after)));
  const heads = older.map(({ sequence }) => logEnd(context, by, sequence, { outcome: 'superseded' }));
  return heads.at(-1) ?? head;
}

/** Writes down that it did not happen. The idempotency key comes free, so that the same call may be tried again. */
export function failEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  {
    call,
    facts,
    intent,
    prepared,
    code,
  }: EffectEnd & { readonly prepared: unknown; readonly code: ProblemCode },
): LogHead {
  handler.undo({ ...changeContext(context, facts), intent }, call, prepared);
  releaseKey(context, call, { intent, answer: null });
  return logEnd(context, auditedCall(call), intent, { outcome: 'failed', code });
}

/**
 * Gives up waiting where nobody knows whether it happened: no outcome is written, and the intent stays listed as
 * unsettled. The idempotency key comes free for the same call, which then takes the work up where it was left.
 */
export function leaveOpen(context: UnitContext, { intent }: { readonly intent: number }): null {
  endLease(context.db, intent);
  return null;
}

/** Writes the row of an intent that did not come to anything, or no longer matters. */
export function logEnd(
  context: UnitContext,
  by: AuditedCall,
  intent: number,
  end: {
    readonly outcome: 'failed' | 'superseded';
    readonly code?: ProblemCode;
    readonly after?: AuditEntry['after'];
  },
): LogHead {
  const begun = loadAdminLogRow(context.db, intent);
  if (!begun) throw new TypeError('an effect cannot end without having begun');
  const { tenant, scope, vertical, other } = begun;
  const target = { tenant, scope, vertical, other };
  return appendAdminLog(context, by, { target, before: null, after: null, intent, ...end });
}

/** What a handler is given. */
export function changeContext(
  context: UnitContext,
  facts: WiringFacts,
  resumes: number | null = null,
): ChangeContext {
  return { ...context, facts, resumes, revision: (logHead(context.db)?.sequence ?? 0) + 1 };
}

function finalize(context: UnitContext, call: AdminCall, change: Change): ChangeOutcome {
  const head = change.audit
    ? appendAdminLog(context, auditedCall(call), { ...change.audit, outcome: 'done' })
    : logHead(context.db);
  keepAnswer(context, call, keepable(change));
  return { result: resultOf(change, head), rerouted: reroutedBy(change) };
}

/** What a change of routes is about is what its row of the log is about. */
export function reroutedBy({ rerouted, audit }: Pick<Change, 'rerouted' | 'audit'>): RoutesChange | null {
  if (!rerouted) return null;
  const { tenant, scope, vertical } = audit?.target ?? { tenant: null, scope: null, vertical: null };
  // An application that belongs to a tenant may serve others too.
  return scope === null && vertical !== null
    ? { tenant: null, scope: null, vertical }
    : { tenant: tenant as RoutesChange['tenant'], scope: scope as RoutesChange['scope'], vertical };
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

function replay(context: UnitContext, kept: NonNullable<Recalled['kept']>): ChangeOutcome {
  const head = logHead(context.db);
  return { result: { ...kept, ...(head === null ? {} : { head }), replayed: true }, rerouted: null };
}

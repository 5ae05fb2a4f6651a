/**
 * One change: idempotency key, handler, admin-log row and stored answer in one transaction (spec 1.C; design:
 * control-plane, "Audit").
 *
 * An effect outside the directory takes two transactions: `beginEffect` logs the intent before anything happens elsewhere,
 * `settleEffect` or `failEffect` logs the outcome after. When the outcome is unknown, `leaveOpen` logs none, and the intent
 * stays listed as unsettled.
 */
import { canonicalJson, PlatformError, type ProblemCode } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import { requireCall } from '../access/callers.ts';
import {
  type AuditedCall,
  appendAdminLog,
  auditedCall,
  loadAdminLogRow,
  logHead,
} from '../audit/admin-log.ts';
import { endLease, loadLeftBehind, startLease } from '../audit/open-intents.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { LogHead } from '../declarations/records.ts';
import type {
  Answer,
  AuditEntry,
  Change,
  ChangeAnswer,
  ChangeContext,
  ChangeHandler,
  DelegatedHandler,
  RoutesChange,
  WiringFacts,
} from '../lib/handlers.ts';
import { holdKey, keepAnswer, type Recalled, recallAnswer, releaseKey } from './conditions.ts';

/** A call on its way into the transaction. */
export interface ChangeInput {
  readonly call: AdminCall;
  readonly facts: WiringFacts;
}

export interface ChangeOutcome {
  readonly result: AdminResult;
  /** The routes that the router has to forget; null for none. */
  readonly rerouted: RoutesChange | null;
}

/** The result of `beginEffect`: an outcome when nothing is left to do elsewhere, else the intent. */
export type EffectBeginning = { readonly outcome: ChangeOutcome } | StartedEffect;

export interface StartedEffect {
  readonly intent: LogHead;
  readonly prepared: unknown;
}

/** The end of the effect with this intent. */
export interface EffectEnd extends ChangeInput {
  readonly intent: number;
}

/** @throws PlatformError `unsupported`, reason `unknown_operation`. */
export function findHandler<H>(handlers: Readonly<Record<string, H>>, operation: string): H {
  const handler = Object.hasOwn(handlers, operation) ? handlers[operation] : undefined;
  if (handler) return handler;
  throw new PlatformError('unsupported', `The directory does not answer ${operation}.`, {
    reason: 'unknown_operation',
  });
}

/** Makes a change inside the directory. */
export function makeChange(
  context: UnitContext,
  handler: ChangeHandler,
  { call, facts }: ChangeInput,
): ChangeOutcome {
  requireCall(context.db, handler.operation, call);
  const recalled = recallAnswer(context, call);
  if (recalled.stored) return replay(context, recalled.stored);
  const change = handler.change(changeContext(context, facts, recalled.resumes), call);
  return finalize(context, call, completed(handler.operation, change));
}

/** Logs the intent of an effect. */
export function beginEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts }: ChangeInput,
): EffectBeginning {
  requireCall(context.db, handler.operation, call);
  const recalled = recallAnswer(context, call);
  if (recalled.stored) return { outcome: replay(context, recalled.stored) };
  const beginning = handler.begin(changeContext(context, facts, recalled.resumes), call);
  if ('change' in beginning)
    return { outcome: finalize(context, call, completed(handler.operation, beginning.change)) };
  const intent = appendAdminLog(context, auditedCall(call), { ...beginning.intent, outcome: 'intent' });
  startLease(context.db, intent.sequence, context.now());
  holdKey(context, call, intent.sequence);
  return { intent, prepared: beginning.prepared };
}

/**
 * Logs that an effect happened. Older intents that it makes immaterial, and that no call waits for any more, are logged as
 * `superseded`: their outcome stays unknown.
 */
export function settleEffect(
  context: UnitContext,
  handler: DelegatedHandler,
  { call, facts, intent, answer }: EffectEnd & { readonly answer: unknown },
): ChangeOutcome {
  const settled = handler.settle({ ...changeContext(context, facts), intent }, call, answer);
  const change = completed(handler.operation, settled);
  if (!change.audit) throw new TypeError(`${call.operation} settled an intent without a row to show for it`);
  const supersedes: Settled['supersedes'] = (after) => handler.supersedes?.(call, after) ?? true;
  const head = logDone(context, auditedCall(call), { audit: change.audit, intent, supersedes });
  releaseKey(context, call, { intent, answer: keepable(change) });
  return { result: resultOf(change, head), rerouted: reroutedBy(change) };
}

/** The good end of an intent. */
interface Settled {
  readonly audit: AuditEntry;
  readonly intent: number;
  /** Whether this makes the outcome of an earlier intent on the same scope immaterial. */
  readonly supersedes: (earlier: AuditEntry['after']) => boolean;
}

/** Logs an intent as `done` and each older one as `superseded`. Returns the new head. */
export function logDone(
  context: UnitContext,
  by: AuditedCall,
  { audit, intent, supersedes }: Settled,
): LogHead {
  const head = appendAdminLog(context, by, { ...audit, outcome: 'done', intent });
  const announced = loadAdminLogRow(context.db, intent);
  if (!announced) throw new TypeError('an effect cannot end without having begun');
  // Without a scope, one target has many works of a kind: then only the very same one is superseded.
  const isSame = (after: AuditEntry['after']): boolean =>
    (after === null ? null : canonicalJson(after)) === announced.after;
  const older = loadLeftBehind(context.db, {
    intent,
    action: by.action,
    target: announced,
    nowMs: context.now(),
  }).filter(({ after }) => supersedes(after) && (announced.scope !== null || isSame(after)));
  const heads = older.map(({ sequence }) => logEnd(context, by, sequence, { outcome: 'superseded' }));
  return heads.at(-1) ?? head;
}

/** Logs that an effect did not happen. The idempotency key comes free, so that the same call may be tried again. */
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
  handler.undo?.({ ...changeContext(context, facts), intent }, call, prepared);
  releaseKey(context, call, { intent, answer: null });
  return logEnd(context, auditedCall(call), intent, { outcome: 'failed', code });
}

/**
 * Ends the wait for an effect of unknown outcome: logs nothing, and the intent stays listed as unsettled. The idempotency
 * key comes free for the same call, which then resumes the work.
 */
export function leaveOpen(context: UnitContext, { intent }: { readonly intent: number }): null {
  endLease(context.db, intent);
  return null;
}

/** Logs that an intent failed or no longer matters. */
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

function completed(operation: AdminOperation, answer: ChangeAnswer): Change {
  const { value = null, ...others } = answer;
  return withEtag(operation, { status: operation.success, ...others, value });
}

/** Adds the ETag that a value carries itself, where the declaration has one. */
export function withEtag<T extends Answer<unknown>>(operation: AdminOperation, answer: T): T {
  const { value, etag } = answer as Answer<{ readonly etag?: unknown } | null>;
  if (!operation.etag || etag !== undefined || typeof value?.etag !== 'string') return answer;
  return { ...answer, etag: value.etag };
}

/** The context of a handler. */
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

/** The routes that a change concerns: those of the target of its row in the log. */
export function reroutedBy({ rerouted, audit }: Pick<Change, 'rerouted' | 'audit'>): RoutesChange | null {
  if (!rerouted) return null;
  const { tenant, scope, vertical } = audit?.target ?? { tenant: null, scope: null, vertical: null };
  // A vertical that belongs to one tenant may serve others too.
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

function replay(context: UnitContext, stored: NonNullable<Recalled['stored']>): ChangeOutcome {
  const head = logHead(context.db);
  return { result: { ...stored, ...(head === null ? {} : { head }), replayed: true }, rerouted: null };
}

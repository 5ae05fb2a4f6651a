/** The record of long work inside the directory: its beginning, its progress and its end, each in one transaction. */
import { type Failure, fromFailure, PlatformError, toProblem } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import { requireCall } from '../access/callers.ts';
import { appendAdminLog, auditedCall, logHead } from '../audit/admin-log.ts';
import {
  type ChangeInput,
  changeContext,
  findHandler,
  logDone,
  logEnd,
  reroutedBy,
} from '../changes/changes.ts';
import { keepAnswer, recallAnswer } from '../changes/conditions.ts';
import { OPERATION_PREFIX, type OperationRecord } from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { LongBeginning, LongEndContext, LongHandler, RoutesChange } from '../lib/handlers.ts';
import { isLeased } from '../lib/lease.ts';
import { requireIdle } from './operations.ts';
import {
  auditedOperation,
  clearFinished,
  insertOperation,
  listUnfinished,
  loadOperation,
  loadSteps,
  type OperationRow,
  operationOfRow,
  requireOperation,
  saveOperation,
  saveStep,
} from './store.ts';

/** A process that runs work and is silent for longer loses it to another one. */
export const WORK_LEASE_MS = 60_000;
/** Records of ended work are stored for 90 days; each beginning deletes some older ones. */
const STORED_MS = 90 * 24 * 60 * 60 * 1000;
const CLEARED_PER_BEGINNING = 16;

/** Work as its runner gets it. */
export interface StartedWork {
  readonly id: string;
  readonly name: string;
  readonly work: unknown;
  /** The results of the steps that are done. */
  readonly steps: Readonly<Record<string, unknown>>;
  readonly progress: OperationRecord['progress'];
  readonly committed: boolean;
  readonly cancelRequested: boolean;
}

/** The log's new head after the end of work. Null: the work had ended before. */
export type WorkEnd = { readonly head: LogHead; readonly rerouted: RoutesChange | null } | null;

type Id = { readonly id: string };
type Progress = { readonly progress: OperationRecord['progress'] };

interface WorkContext extends UnitContext {
  readonly handlers: Readonly<Record<string, LongHandler>>;
}

export type LongWorkMethods = ReturnType<typeof longWorkMethods>;

/** The unit's methods of long work. `planWork` and `unfinishedWork` are queries. */
export function longWorkMethods(context: UnitContext, handlers: WorkContext['handlers']) {
  const at: WorkContext = { ...context, handlers };
  const { db } = context;
  return {
    beginWork: (input: ChangeInput) => beginWork(at, input),
    planWork: (input: { readonly call: AdminCall }) => planWork(at, input),
    unfinishedWork: (): string[] => listUnfinished(db),
    startWork: (input: Id & { readonly evenIfLeased: boolean }) => startWork(at, input),
    progressWork: (input: Id & Progress) => progressWork(at, input),
    settleWork: (input: Id & Progress & { readonly facts: unknown }) => settleWork(at, input),
    failWork: (input: Id & Partial<Progress> & { readonly failure: Failure; readonly known: boolean }) =>
      failWork(at, input),

    cancelWork: ({ id }: Id): WorkEnd => {
      const row = unfinished(at, id);
      if (!row) return null;
      finish(at, row, { state: 'cancelled' });
      undo(at, row);
      const end = { outcome: 'failed', after: { cancelled: true } } as const;
      return { head: logEnd(at, auditedOperation(row), row.intent, end), rerouted: null };
    },

    /** Ends the lease of work that this process stops, so that the next one may resume it at once. */
    releaseWork: ({ id }: Id): null => {
      const row = unfinished(at, id);
      if (row) saveOperation(db, { ...row, leasedUntilMs: 0 });
      return null;
    },

    /** Adds to the journal, unless the work has ended, perhaps in another process. */
    stepWork: ({
      id,
      name,
      value,
    }: Id & { readonly name: string; readonly value: unknown }): { readonly cancelRequested: boolean } => {
      const row = unfinished(at, id);
      if (row) saveStep(db, id, name, value);
      return { cancelRequested: row?.cancelRequested ?? false };
    },

    /** Passes the point of no return, unless the work was cancelled: then nothing is passed. */
    commitWork: ({ id }: Id): { readonly cancelRequested: boolean } => {
      const row = unfinished(at, id);
      if (!row || row.cancelRequested) return { cancelRequested: true };
      saveOperation(db, { ...row, committed: true });
      return { cancelRequested: false };
    },
  };
}

/** Writes the intent and the record of the work, or returns the work that this very call began before. */
function beginWork(at: WorkContext, { call, facts }: ChangeInput): AdminResult {
  const handler = findHandler(at.handlers, call.operation);
  requireCall(at.db, handler.operation, call);
  const recalled = recallAnswer(at, call);
  if (recalled.stored) {
    // A replay shows the work as it is now, not as it was.
    const { id } = recalled.stored.value as OperationRecord;
    const head = logHead(at.db);
    const value = operationOfRow(requireOperation(at.db, id));
    return { status: 202, value, replayed: true, ...(head === null ? {} : { head }) };
  }
  const beginning = handler.begin(changeContext(at, facts, recalled.resumes), call);
  requireIdle(at, beginning.subject);
  clearFinished(at.db, at.now() - STORED_MS, CLEARED_PER_BEGINNING);
  const head = appendAdminLog(at, auditedCall(call), { ...beginning.intent, outcome: 'intent' });
  const row = newRow(at, call, beginning, head.sequence);
  insertOperation(at.db, row);
  const value = operationOfRow(row);
  keepAnswer(at, call, { status: 202, value });
  return { status: 202, value, head, replayed: false };
}

function planWork(at: WorkContext, { call }: { readonly call: AdminCall }): AdminResult {
  const { plan, operation } = findHandler(at.handlers, call.operation);
  requireCall(at.db, operation, call);
  if (plan) return { status: 200, value: plan(at, call), replayed: false };
  throw new PlatformError('unsupported', `There is no plan of ${call.operation}.`, { reason: 'no_plan' });
}

/**
 * Takes the lease of work. Null when it has ended, or when another process has the lease.
 * @param evenIfLeased for a process that knows that it is the only one.
 */
function startWork(
  at: WorkContext,
  { id, evenIfLeased }: Id & { readonly evenIfLeased: boolean },
): StartedWork | null {
  const row = unfinished(at, id);
  const nowMs = at.now();
  if (!row || (isLeased(row.leasedUntilMs, nowMs, WORK_LEASE_MS) && !evenIfLeased)) return null;
  const leasedUntilMs = nowMs + WORK_LEASE_MS;
  saveOperation(at.db, { ...row, state: 'running', leasedUntilMs, updatedAtMs: nowMs });
  return {
    id,
    name: row.name,
    work: JSON.parse(row.work),
    steps: loadSteps(at.db, id),
    progress: { done: row.done, total: row.total, unit: row.unit },
    committed: row.committed,
    cancelRequested: row.cancelRequested,
  };
}

/** Stores the progress, renews the lease, and returns whether the work is to stop. */
function progressWork(
  at: WorkContext,
  { id, progress }: Id & Progress,
): { readonly cancelRequested: boolean } {
  const row = unfinished(at, id);
  if (!row) return { cancelRequested: true };
  const nowMs = at.now();
  saveOperation(at.db, { ...row, ...progress, leasedUntilMs: nowMs + WORK_LEASE_MS, updatedAtMs: nowMs });
  return { cancelRequested: row.cancelRequested };
}

function settleWork(
  at: WorkContext,
  { id, facts, progress }: Id & Progress & { readonly facts: unknown },
): WorkEnd {
  const row = unfinished(at, id);
  if (!row) return null;
  const handler = findHandler(at.handlers, row.name);
  const ending = handler.settle(endContext(at, row), JSON.parse(row.work), facts);
  const { intent } = row;
  const head = logDone(at, auditedOperation(row), { audit: ending.audit, intent, supersedes: () => true });
  const total = progress.total ?? progress.done;
  finish(at, row, { ...progress, total, state: 'done', result: ending.result ?? null });
  return { head, rerouted: reroutedBy(ending) };
}

/** @param known whether it is certain that nothing was done; else the intent stays open. */
function failWork(
  at: WorkContext,
  {
    id,
    failure,
    known,
    progress,
  }: Id & Partial<Progress> & { readonly failure: Failure; readonly known: boolean },
): WorkEnd {
  const row = unfinished(at, id);
  if (!row) return null;
  const problem = toProblem(fromFailure(failure), row.request);
  finish(at, row, { ...progress, state: 'failed', problem });
  if (!known) return null;
  undo(at, row);
  const end = { outcome: 'failed', code: failure.code } as const;
  return { head: logEnd(at, auditedOperation(row), row.intent, end), rerouted: null };
}

function unfinished({ db }: WorkContext, id: string): OperationRow | null {
  const row = loadOperation(db, id);
  return row && row.finishedAtMs === null ? row : null;
}

function finish({ db, now }: WorkContext, row: OperationRow, end: Partial<OperationRow>): void {
  const nowMs = now();
  saveOperation(db, { ...row, ...end, leasedUntilMs: 0, updatedAtMs: nowMs, finishedAtMs: nowMs });
}

function endContext(at: WorkContext, { intent }: OperationRow): LongEndContext {
  return { ...at, intent, revision: (logHead(at.db)?.sequence ?? 0) + 1 };
}

/** Work whose operation is no longer known has no handler, and nothing to take back. */
function undo(at: WorkContext, row: OperationRow): void {
  if (Object.hasOwn(at.handlers, row.name))
    findHandler(at.handlers, row.name).undo(endContext(at, row), JSON.parse(row.work));
}

function newRow(
  context: UnitContext,
  call: AdminCall,
  begun: LongBeginning<unknown>,
  intent: number,
): OperationRow {
  const { actor, token, requestId } = auditedCall(call);
  const nowMs = context.now();
  return {
    id: context.newId(OPERATION_PREFIX),
    name: call.operation,
    state: 'queued',
    subject: begun.subject,
    ...begun.intent.target,
    actorKind: actor.kind,
    actor: actor.id,
    actorName: actor.name,
    token,
    request: requestId,
    intent,
    work: JSON.stringify(begun.work ?? null),
    done: 0,
    total: begun.total ?? null,
    unit: begun.unit,
    committed: false,
    cancelRequested: false,
    result: null,
    problem: null,
    // The process that writes it down starts it next.
    leasedUntilMs: nowMs + WORK_LEASE_MS,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    finishedAtMs: null,
  };
}

/** Long work inside the directory: how it begins, how far it is, and how it ends, each in one transaction. */

import {
  type Failure,
  fromFailure,
  PlatformError,
  pageOf,
  pageQuery,
  scopeId,
  tenantId,
  toProblem,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireActing } from '../acting.ts';
import type { Actor, AdminCall, AdminResult } from '../actors.ts';
import { appendAdminLog, auditedCall, logHead } from '../audit/admin-log.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  OPERATION_PREFIX,
  type OperationRecord,
  operationId,
  operationRecord,
  operationState,
} from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { RoutesChange } from '../host-admin.ts';
import { type ChangeInput, changeContext, logDone, logEnd, reroutedBy } from '../lib/changes.ts';
import { findHandler } from '../lib/feature.ts';
import { change, read } from '../lib/handlers.ts';
import { keepAnswer, recallAnswer } from '../lib/idempotency.ts';
import type { LongEndContext, LongHandler } from './handlers.ts';
import {
  auditedOperation,
  clearFinished,
  insertOperation,
  listOperations,
  listUnfinished,
  loadOperation,
  loadSteps,
  loadUnfinished,
  type OperationRow,
  operationOfRow,
  requireOperation,
  saveOperation,
  saveStep,
} from './store.ts';

const tag = 'Long work';

const params = z.strictObject({ operation: operationId });

/** For how long a process that runs work may be silent before another one takes it up. */
export const WORK_LEASE_MS = 60_000;
/** How long the record of ended work is kept, and how many old ones each beginning clears away. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const CLEARED_PER_BEGINNING = 16;

/** Work as it is handed to who runs it. */
export interface StartedWork {
  readonly id: string;
  readonly name: string;
  readonly work: unknown;
  /** What the steps answered that were done before. */
  readonly steps: Readonly<Record<string, unknown>>;
  readonly progress: OperationRecord['progress'];
  readonly committed: boolean;
  readonly cancelRequested: boolean;
}

/** What follows the end of work. Null: it had ended before. */
export type WorkEnd = { readonly head: LogHead; readonly rerouted: RoutesChange | null } | null;

export const operationsList = adminOperation({
  name: 'operations.list',
  summary: 'List long-running work, newest first',
  tag,
  method: 'GET',
  path: '/operations',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only work on this tenant'),
      scope: scopeId.optional().describe('Only work on this scope'),
      state: operationState.optional().describe('Only work in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(operationRecord),
  builder: 'own-tenant',
});

export const readOperations = /* @__PURE__ */ read(operationsList, ({ db }, { query }) => ({
  value: listOperations(db, query),
}));

export const operationsGet = adminOperation({
  name: 'operations.get',
  summary: 'Follow long-running work',
  description:
    'With wait, answers as soon as the work has ended, and at the latest after that many seconds. With Accept: text/event-stream, answers events named progress, each with the whole record, and a last one named done, failed or cancelled.',
  tag,
  method: 'GET',
  path: '/operations/:operation',
  input: {
    params,
    query: z.strictObject({
      wait: z
        .string()
        .regex(/^(?:[1-9]|[1-5][0-9]|60)s$/, 'must be a number of seconds from 1s to 60s')
        .optional()
        .describe('How long to wait for the end: 30s'),
    }),
  },
  output: operationRecord,
  builder: 'own-tenant',
  events: true,
  problems: ['not_found'],
});

export const readOperation = /* @__PURE__ */ read(operationsGet, ({ db }, { params, actor }) => ({
  value: operationOfRow(requireOwn(requireOperation(db, params.operation), actor)),
}));

export const operationsCancel = adminOperation({
  name: 'operations.cancel',
  summary: 'Call long-running work off',
  description:
    'The work stops before its next step; what it has begun to leave behind is cleared away. Work that has passed the point where stopping would do harm is not cancelled (reason not_cancellable), nor is work that has ended. A builder calls off only what a builder of its tenant began (reason staff_only).',
  tag,
  method: 'POST',
  path: '/operations/:operation/cancel',
  input: { params },
  output: operationRecord,
  builder: 'own-tenant',
  destructive: true,
  problems: ['forbidden', 'not_found', 'invalid_transition'],
});

export const cancelOperation = /* @__PURE__ */ change(operationsCancel, ({ db, now }, { params, actor }) => {
  const row = requireOwn(requireOperation(db, params.operation), actor);
  // A copy that staff take of a tenant, or a restore, is not that tenant's to stop.
  if (actor.kind === 'builder' && row.actorKind !== 'builder')
    throw new PlatformError(
      'forbidden',
      'The staff of this platform began this, and only they call it off.',
      {
        reason: 'staff_only',
      },
    );
  if (row.finishedAtMs !== null)
    throw new PlatformError('invalid_transition', `This has ended already: it is ${row.state}.`, {
      reason: 'not_cancellable',
    });
  if (row.committed === 1)
    throw new PlatformError(
      'invalid_transition',
      'This can no longer be cancelled: stopping now would do harm.',
      { reason: 'not_cancellable' },
    );
  if (row.cancelRequested === 1) return { status: 200, value: operationOfRow(row), audit: null };
  const after: OperationRow = { ...row, cancelRequested: 1, updatedAtMs: now() };
  saveOperation(db, after);
  const { tenant, scope, vertical } = row;
  const audit = {
    target: { tenant, scope, vertical, other: row.id },
    before: null,
    after: { operation: row.name },
  };
  return { status: 200, value: operationOfRow(after), audit };
});

/** Refuses while any work on something of this tenant is not finished. @throws PlatformError `conflict`. */
export function requireNoWork(context: UnitContext, { tenant }: { readonly tenant: string }): void {
  const row = context.db.get<{ id: string }>(
    'SELECT id FROM operations WHERE tenant = ? AND finished_at IS NULL LIMIT 1',
    tenant,
  );
  if (row) throw running(row.id);
}

/** Refuses while work on this subject is not finished. @throws PlatformError `conflict`. */
export function requireIdle({ db }: Pick<UnitContext, 'db'>, subject: string): void {
  const row = loadUnfinished(db, subject);
  if (row) throw running(row.id);
}

/** The methods of the unit. */
export function longWorkMethods(context: UnitContext, handlers: Readonly<Record<string, LongHandler>>) {
  const { db } = context;
  const find = (name: string): LongHandler => findHandler(handlers, name);
  const endContext = (row: OperationRow): LongEndContext => ({
    ...context,
    intent: row.intent,
    revision: (logHead(db)?.sequence ?? 0) + 1,
  });
  const finish = (row: OperationRow, end: Partial<OperationRow>): void => {
    const nowMs = context.now();
    saveOperation(db, { ...row, ...end, leasedUntilMs: 0, updatedAtMs: nowMs, finishedAtMs: nowMs });
  };
  /** What no handler is known for has nothing to take back. */
  const undo = (row: OperationRow): void => {
    if (Object.hasOwn(handlers, row.name)) find(row.name).undo(endContext(row), JSON.parse(row.work));
  };
  const unfinished = (id: string): OperationRow | null => {
    const row = loadOperation(db, id);
    return row && row.finishedAtMs === null ? row : null;
  };

  return {
    /** Writes the intent and the record of the work, or answers the work that this very call began before. */
    beginWork: ({ call, facts }: ChangeInput): AdminResult => {
      const handler = find(call.operation);
      requireActing(db, call.actor, handler.operation);
      const recalled = recallAnswer(context, call);
      if (recalled.kept) return again(context, recalled.kept.value as OperationRecord);
      const beginning = handler.begin(changeContext(context, facts, recalled.resumes), call);
      requireIdle(context, beginning.subject);
      clearFinished(db, context.now() - KEPT_MS, CLEARED_PER_BEGINNING);
      const head = appendAdminLog(context, auditedCall(call), { ...beginning.intent, outcome: 'intent' });
      const row = newRow(context, call, { ...beginning, intent: head.sequence });
      insertOperation(db, { ...row, ...beginning.intent.target });
      const value = operationOfRow({ ...row, ...beginning.intent.target });
      keepAnswer(context, call, { status: 202, value });
      return { status: 202, value, head, replayed: false };
    },

    /** What work would do. A query. */
    planWork: ({ call }: { readonly call: AdminCall }): AdminResult => {
      const { plan, operation } = find(call.operation);
      requireActing(db, call.actor, operation);
      if (!plan)
        throw new PlatformError('unsupported', `There is no plan of ${call.operation}.`, {
          reason: 'no_plan',
        });
      return { status: 200, value: plan(context, call), replayed: false };
    },

    unfinishedWork: (): string[] => listUnfinished(db),

    /**
     * Takes work in hand. Null when it has ended, or when another process has it.
     * @param evenIfLeased for a process that knows that it is the only one.
     */
    startWork: ({
      id,
      evenIfLeased,
    }: {
      readonly id: string;
      readonly evenIfLeased: boolean;
    }): StartedWork | null => {
      const row = unfinished(id);
      const nowMs = context.now();
      if (!row || (row.leasedUntilMs > nowMs && !evenIfLeased)) return null;
      saveOperation(db, {
        ...row,
        state: 'running',
        leasedUntilMs: nowMs + WORK_LEASE_MS,
        updatedAtMs: nowMs,
      });
      return {
        id,
        name: row.name,
        work: JSON.parse(row.work),
        steps: loadSteps(db, id),
        progress: { done: row.done, total: row.total, unit: row.unit },
        committed: row.committed === 1,
        cancelRequested: row.cancelRequested === 1,
      };
    },

    /** Lets work go that this process does not go on with: the next one may take it up at once. */
    releaseWork: ({ id }: { readonly id: string }): null => {
      const row = unfinished(id);
      if (row) saveOperation(db, { ...row, leasedUntilMs: 0 });
      return null;
    },

    /** Writes down how far it is, and renews the lease. Answers whether it is to stop. */
    progressWork: ({
      id,
      progress,
    }: {
      readonly id: string;
      readonly progress: OperationRecord['progress'];
    }): { readonly cancelRequested: boolean } => {
      const row = unfinished(id);
      if (!row) return { cancelRequested: true };
      const nowMs = context.now();
      saveOperation(db, { ...row, ...progress, leasedUntilMs: nowMs + WORK_LEASE_MS, updatedAtMs: nowMs });
      return { cancelRequested: row.cancelRequested === 1 };
    },

    stepWork: ({
      id,
      name,
      value,
    }: {
      readonly id: string;
      readonly name: string;
      readonly value: unknown;
    }): null => {
      // Work that has ended, perhaps in another process, keeps no journal.
      if (unfinished(id)) saveStep(db, id, name, value);
      return null;
    },

    /** Passes the point of no return, unless somebody has cancelled: then it answers so, and nothing is passed. */
    commitWork: ({ id }: { readonly id: string }): { readonly cancelRequested: boolean } => {
      const row = unfinished(id);
      if (!row || row.cancelRequested === 1) return { cancelRequested: true };
      saveOperation(db, { ...row, committed: 1 });
      return { cancelRequested: false };
    },

    settleWork: ({
      id,
      facts,
      progress,
    }: {
      readonly id: string;
      readonly facts: unknown;
      readonly progress: OperationRecord['progress'];
    }): WorkEnd => {
      const row = unfinished(id);
      if (!row) return null;
      const ending = find(row.name).settle(endContext(row), JSON.parse(row.work), facts);
      const head = logDone(context, auditedOperation(row), {
        audit: ending.audit,
        intent: row.intent,
        supersedes: () => true,
      });
      const total = progress.total ?? progress.done;
      finish(row, { ...progress, total, state: 'done', result: JSON.stringify(ending.result ?? null) });
      return { head, rerouted: reroutedBy(ending) };
    },

    /** @param known whether it is certain that nothing was done; else its intent stays open. */
    failWork: ({
      id,
      failure,
      known,
      progress,
    }: {
      readonly id: string;
      readonly progress?: OperationRecord['progress'];
      readonly failure: Failure;
      readonly known: boolean;
    }): WorkEnd => {
      const row = unfinished(id);
      if (!row) return null;
      const problem = JSON.stringify(toProblem(fromFailure(failure), row.request));
      finish(row, { ...progress, state: 'failed', problem });
      if (!known) return null;
      undo(row);
      const head = logEnd(context, auditedOperation(row), row.intent, {
        outcome: 'failed',
        code: failure.code,
      });
      return { head, rerouted: null };
    },

    cancelWork: ({ id }: { readonly id: string }): WorkEnd => {
      const row = unfinished(id);
      if (!row) return null;
      finish(row, { state: 'cancelled' });
      undo(row);
      const head = logEnd(context, auditedOperation(row), row.intent, {
        outcome: 'failed',
        after: { cancelled: true },
      });
      return { head, rerouted: null };
    },
  };
}

/** Another tenant's work is not there. */
function requireOwn(row: OperationRow, actor: Actor): OperationRow {
  if (actor.kind !== 'builder' || row.tenant === actor.tenant) return row;
  throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
}

/** A replay is told where the work is now, not where it was. */
function again(context: UnitContext, { id }: OperationRecord): AdminResult {
  const head = logHead(context.db);
  const value = operationOfRow(requireOperation(context.db, id));
  return { status: 202, value, replayed: true, ...(head === null ? {} : { head }) };
}

function newRow(
  context: UnitContext,
  call: AdminCall,
  begun: {
    readonly work: unknown;
    readonly subject: string;
    readonly unit: string;
    readonly total?: number;
    readonly intent: number;
  },
): Omit<OperationRow, 'tenant' | 'scope' | 'vertical' | 'other'> {
  const { actor, token, requestId } = auditedCall(call);
  const nowMs = context.now();
  return {
    id: context.newId(OPERATION_PREFIX),
    name: call.operation,
    state: 'queued',
    subject: begun.subject,
    actorKind: actor.kind,
    actor: actor.id,
    actorName: actor.name,
    token,
    request: requestId,
    intent: begun.intent,
    work: JSON.stringify(begun.work ?? null),
    done: 0,
    total: begun.total ?? null,
    unit: begun.unit,
    committed: 0,
    cancelRequested: 0,
    result: null,
    problem: null,
    // Whoever wrote it down is about to take it in hand.
    leasedUntilMs: nowMs + WORK_LEASE_MS,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    finishedAtMs: null,
  };
}

function running(id: string): PlatformError {
  return new PlatformError('conflict', `Other work on this is not finished yet: ${id}.`, {
    reason: 'operation_running',
  });
}

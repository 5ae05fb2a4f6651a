/** Listing, following and cancelling long work, and the checks of other operations that none is running. */
import { PlatformError, pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import type { Actor } from '../access/actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { operationId, operationRecord, operationState } from '../declarations/long-work.ts';
import { change, read } from '../lib/handlers.ts';
import {
  listOperations,
  loadUnfinished,
  type OperationRow,
  operationOfRow,
  requireOperation,
  saveOperation,
} from './store.ts';

const tag = 'Long work';

const params = z.strictObject({ operation: operationId });

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
  pushToken: 'deploy',
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
  pushToken: 'deploy',
  events: true,
  problems: ['not_found'],
});

export const readOperation = /* @__PURE__ */ read(operationsGet, ({ db }, { params, actor }) => ({
  value: operationOfRow(requireOwn(requireOperation(db, params.operation), actor)),
}));

export const operationsCancel = adminOperation({
  name: 'operations.cancel',
  summary: 'Cancel long-running work',
  description:
    'The work stops before its next step, and its remains are cleared away. Work that has passed the point where stopping would do harm is not cancelled (reason not_cancellable), nor is work that has ended. A builder cancels only work that a builder of its tenant began (reason staff_only).',
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
  // A tenant must not stop a copy or a restore that staff began.
  if (actor.kind === 'builder' && row.actorKind !== 'builder')
    throw new PlatformError('forbidden', 'The staff of this platform began this, and only they cancel it.', {
      reason: 'staff_only',
    });
  if (row.finishedAtMs !== null)
    throw new PlatformError('invalid_transition', `This has ended already: it is ${row.state}.`, {
      reason: 'not_cancellable',
    });
  if (row.committed)
    throw new PlatformError(
      'invalid_transition',
      'This can no longer be cancelled: stopping now would do harm.',
      { reason: 'not_cancellable' },
    );
  if (row.cancelRequested) return { value: operationOfRow(row), audit: null };
  const after: OperationRow = { ...row, cancelRequested: true, updatedAtMs: now() };
  saveOperation(db, after);
  const { tenant, scope, vertical } = row;
  const audit = {
    target: { tenant, scope, vertical, other: row.id },
    before: null,
    after: { operation: row.name },
  };
  return { value: operationOfRow(after), audit };
});

/** Refuses while any work for this tenant is not finished. @throws PlatformError `conflict`. */
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

/** Another tenant's work reads as not found. */
function requireOwn(row: OperationRow, actor: Actor): OperationRow {
  if (actor.kind !== 'builder' || row.tenant === actor.tenant) return row;
  throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
}

function running(id: string): PlatformError {
  return new PlatformError('conflict', `Other work on this is not finished yet: ${id}.`, {
    reason: 'operation_running',
  });
}

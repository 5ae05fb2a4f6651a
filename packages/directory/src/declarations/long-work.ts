/** Work that takes longer than a request, as its callers follow it (design: control-plane, "Long work"). */
import {
  idSchema,
  pageOf,
  pageQuery,
  problemSchema,
  scopeId,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { loggedActor } from './records.ts';

const tag = 'Long work';
/** What the id of such work begins with. */
export const OPERATION_PREFIX = 'opn';
export const operationId = idSchema(OPERATION_PREFIX);
const params = z.strictObject({ operation: operationId });

export const operationState = z
  .enum(['queued', 'running', 'done', 'failed', 'cancelled'])
  .describe('queued and running become one of the others, which are final');

export const operationRecord = z
  .object({
    id: operationId,
    name: z.string().describe('The operation that began it: scopes.reap'),
    state: operationState,
    tenant: z.string().nullable(),
    scope: z.string().nullable(),
    vertical: z.string().nullable(),
    startedBy: loggedActor.pick({ kind: true, id: true }),
    progress: z.object({
      done: z.int().min(0),
      total: z.int().min(0).nullable().describe('Null while nobody knows'),
      unit: z.string().describe('What is counted: bytes, scopes, steps'),
    }),
    cancellable: z.boolean().describe('Whether cancelling it still changes anything'),
    cancelRequested: z.boolean(),
    result: z
      .unknown()
      .describe('What came of it, once it is done; null before. Its form is that of the operation'),
    problem: problemSchema.nullable().describe('Why it failed'),
    createdAt: timestamp,
    updatedAt: timestamp,
    finishedAt: timestamp.nullable(),
  })
  .meta({ id: 'Operation' });
export type OperationRecord = z.infer<typeof operationRecord>;

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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

/** The longest that one request may wait, in seconds: shorter than what proxies in between commonly allow. */
export const OPERATION_WAIT_MAX_S = 60;

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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  events: true,
  problems: ['not_found'],
});

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
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  problems: ['forbidden', 'not_found', 'invalid_transition'],
});

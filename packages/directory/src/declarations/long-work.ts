/** Work that takes longer than a request, and its record for callers (design: control-plane, "Long work"). */
import { idSchema, problemSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { loggedActor } from './records.ts';

/** The prefix of its ids. */
export const OPERATION_PREFIX = 'opn';

export const operationId = idSchema(OPERATION_PREFIX);

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
      total: z.int().min(0).nullable().describe('Null while it is unknown'),
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

/** The longest wait of one request, in seconds: shorter than the usual limit of proxies. */
export const OPERATION_WAIT_MAX_S = 60;

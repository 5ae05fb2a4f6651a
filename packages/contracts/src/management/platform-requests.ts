/** Requests of a scope to the platform (spec 4.4, D-22): queued in an operation's transaction, settled from outside. */
import { z } from 'zod';
import { eventId, idSchema, invocationId, timestamp } from '../ids.ts';
import { pageOf, pageQuery } from '../pages.ts';
import { prunedBefore, scopeRef } from './shared.ts';

export const platformRequestId = idSchema('prq');
export const platformRequestKind = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/)
  .max(64);

export const platformRequest = z
  .object({
    id: platformRequestId,
    kind: platformRequestKind,
    payload: z.unknown(),
    status: z.enum(['pending', 'done', 'refused', 'failed']),
    /** Counts the changes of this request; settling names the revision that it has seen. */
    revision: z.int(),
    requestedBy: z.string(),
    invocation: invocationId,
    cause: eventId.nullable(),
    at: timestamp,
    settledAt: timestamp.nullable(),
    /** The platform's answer. */
    result: z.unknown(),
  })
  .meta({ id: 'PlatformRequest' });

/** Waiting requests, oldest first. */
export const platformRequestsQuery = z.strictObject({
  ...scopeRef.shape,
  kind: platformRequestKind.optional(),
  ...pageQuery,
});
/** All requests, newest first. */
export const platformRequestHistoryQuery = z.strictObject({
  ...scopeRef.shape,
  kind: platformRequestKind.optional(),
  status: platformRequest.shape.status.optional(),
  ...pageQuery,
});
export const platformRequestsResponse = pageOf(platformRequest);
/** All requests, and the bound of what is kept. */
export const platformRequestHistoryResponse = platformRequestsResponse.extend({ prunedBefore });
export type PlatformRequestHistory = z.infer<typeof platformRequestHistoryResponse>;

/** Compare and set: another revision than the present one is `precondition_failed`. */
export const settleRequest = z.strictObject({
  ...scopeRef.shape,
  id: platformRequestId,
  revision: z.int(),
  status: z.enum(['done', 'refused', 'failed']),
  result: z.unknown().optional(),
});

export type PlatformRequest = z.infer<typeof platformRequest>;
export type PlatformRequestsQuery = z.infer<typeof platformRequestsQuery>;
export type PlatformRequestHistoryQuery = z.infer<typeof platformRequestHistoryQuery>;
export type SettleRequest = z.infer<typeof settleRequest>;

/** Reads of a scope's event log beside the walks: facets, one invocation, dead letters (spec 4.3.3). */
import { z } from 'zod';
import { eventId, invocationId, timestamp } from '../ids.ts';
import { programRecord } from '../operations.ts';
import { pageOf, pageQuery } from '../pages.ts';
import { eventRecord, scopeRef } from './shared.ts';

export const facetKey = z.enum(['type', 'entityType', 'actor', 'operation', 'day']);

/** The largest number of buckets in one answer; the rest is counted in `others`. */
export const FACET_BUCKETS_MAX = 200;

/** The outbox narrowed, grouped and counted. Without `since` the last 30 days. */
export const facetsQuery = z.strictObject({
  ...scopeRef.shape,
  groupBy: facetKey.default('type').describe('What to count by'),
  type: z.string().max(128).optional().describe('Only of this type'),
  entityType: z.string().max(64).optional().describe('Only about records of this type'),
  actor: z.string().max(128).optional().describe('Only by this actor'),
  operation: z.string().max(128).optional().describe('Only of this operation'),
  since: timestamp.optional(),
  until: timestamp.optional(),
});
export const facetBucket = z.object({
  key: z.string(),
  count: z.int(),
  firstAt: timestamp,
  lastAt: timestamp,
});
export const facetsResponse = z
  .object({
    groupBy: facetKey,
    since: timestamp,
    until: timestamp,
    total: z.int(),
    /** The largest first. */
    buckets: z.array(facetBucket),
    /** The number of events in buckets that were left out. */
    others: z.int(),
    /** True when counting stopped at its bound: the numbers are of the newest 100,000 events. */
    truncated: z.boolean(),
  })
  .meta({ id: 'EventFacets' });

export const invocationRef = z.strictObject({ ...scopeRef.shape, invocation: invocationId });
export const invocationRecord = z
  .object({
    id: invocationId,
    operation: z.string(),
    principal: z.string(),
    /** The invocation that contains this one. */
    parent: invocationId.nullable(),
    cause: eventId.nullable(),
    idempotencyKey: z.string().nullable(),
    /** The program through which the principal called; left out for the principal's own hands. */
    program: programRecord.optional(),
    startedAt: timestamp,
    durationMs: z.int(),
    outcome: z.string(),
  })
  .meta({ id: 'Invocation' });
export const invocationResponse = z.object({
  invocation: invocationRecord,
  items: z.array(eventRecord),
  truncated: z.boolean(),
});

export const deadLetter = z
  .object({
    event: eventRecord,
    /** The subscription or executor that gave up. */
    subscriber: z.string(),
    attempts: z.int(),
    firstAttemptAt: timestamp,
    lastAttemptAt: timestamp,
    /** The code of the last failure, and a sentence without payloads. */
    error: z.object({ code: z.string(), detail: z.string() }),
  })
  .meta({ id: 'DeadLetter' });
export const deadLettersQuery = z.strictObject({
  ...scopeRef.shape,
  subscriber: z.string().max(128).optional().describe('Only of this subscriber'),
  ...pageQuery,
});
/** Newest event first (spec 4.3.3). */
export const deadLettersResponse = pageOf(deadLetter);

export const retryDeadLetterRequest = z.strictObject({
  ...scopeRef.shape,
  event: eventId,
  subscriber: z.string().min(1).max(128),
});
/** The delivery that is in line again. */
export const retryDeadLetterResponse = z.object({ event: eventId, subscriber: z.string() });

export type FacetsQuery = z.infer<typeof facetsQuery>;
export type EventFacets = z.infer<typeof facetsResponse>;
export type InvocationRecord = z.infer<typeof invocationRecord>;
export type InvocationEvents = z.infer<typeof invocationResponse>;
export type DeadLetter = z.infer<typeof deadLetter>;
export type DeadLettersQuery = z.infer<typeof deadLettersQuery>;

/**
 * The reads of the ladder, one entry each: where a worker answers it, what a co-located host is asked instead, and what
 * the access log is to say about it (spec 4.3.1 to 4.3.3).
 */

import { createHash } from 'node:crypto';
import {
  bookmarksResponse,
  deadLettersResponse,
  denialsResponse,
  denialsSummaryResponse,
  facetsResponse,
  historyResponse,
  invocationResponse,
  migrationsResponse,
  queryResponse,
  type ScopeRef,
  tablePage,
  tablesResponse,
  type VerticalScopeHost,
  walkResponse,
} from '@freehold/contracts';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { CallOf } from '../lib/handlers.ts';

import type {
  bookmarksList,
  causeGet,
  deadLettersList,
  denialsList,
  denialsSummary,
  effectsGet,
  facetsGet,
  historyGet,
  invocationGet,
  migrationsGet,
  queryRun,
  tablesList,
  tablesRead,
} from './operations.ts';

type Query = Readonly<Record<string, string | number | undefined>>;
type Body = Readonly<Record<string, unknown>>;

/** One read, with its types erased. */
export interface Transport {
  readonly answer: z.ZodType;
  /** Below `/internal/`. */
  path(call: AdminCall): string;
  query(call: AdminCall): Query;
  /** Undefined: the question is a GET. */
  body(call: AdminCall): Body | undefined;
  local(host: VerticalScopeHost, scope: ScopeRef, call: AdminCall): Promise<unknown>;
  items(value: unknown): number;
  /** Which record, event or table was looked at, for the access log. */
  subject(call: AdminCall): string | null;
}

export const TRANSPORTS: Readonly<Record<string, Transport>> = {
  'tables.list': transport<typeof tablesList, typeof tablesResponse>({
    path: 'tables',
    answer: tablesResponse,
    local: async (host, scope) => ({ items: await host.introspectScopeTables(scope) }),
    items: ({ items }) => items.length,
  }),
  'tables.read': transport<typeof tablesRead, typeof tablePage>({
    path: ({ params }) => `tables/${encodeURIComponent(params.table)}`,
    answer: tablePage,
    query: ({ query: { filters, ...query } }) => ({ ...query, filters: JSON.stringify(filters) }),
    local: (host, scope, { params, query }) =>
      host.introspectScopeTable({ ...scope, table: params.table, ...query }),
    items: ({ rows }) => rows.length,
    subject: ({ params }) => params.table,
  }),
  'query.run': transport<typeof queryRun, typeof queryResponse>({
    path: 'query',
    answer: queryResponse,
    body: ({ body }) => body,
    local: (host, scope, { body }) => host.introspectScopeQuery({ ...scope, ...body }),
    items: ({ rows }) => rows.length,
    // A statement may spell out anybody's data, and this log is not the place for it.
    subject: ({ body }) => `sha256:${createHash('sha256').update(body.sql).digest('hex')}`,
  }),
  'history.get': transport<typeof historyGet, typeof historyResponse>({
    path: 'history',
    answer: historyResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.entityHistoryLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
    subject: ({ query }) => `${query.entityType}/${query.entityId}`,
  }),
  'facets.get': transport<typeof facetsGet, typeof facetsResponse>({
    path: 'facets',
    answer: facetsResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.facetEventsLocal({ ...scope, ...query }),
    items: ({ buckets }) => buckets.length,
  }),
  'cause.get': transport<typeof causeGet, typeof walkResponse>({
    path: 'cause',
    answer: walkResponse,
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventCauseLocal({ ...scope, event: params.event }),
    items: ({ items }) => items.length,
    subject: ({ params }) => params.event,
  }),
  'effects.get': transport<typeof effectsGet, typeof walkResponse>({
    path: 'effects',
    answer: walkResponse,
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventEffectsLocal({ ...scope, event: params.event }),
    items: ({ items }) => items.length,
    subject: ({ params }) => params.event,
  }),
  'invocation.get': transport<typeof invocationGet, typeof invocationResponse>({
    path: 'invocation',
    answer: invocationResponse,
    query: ({ params }) => ({ invocation: params.invocation }),
    local: (host, scope, { params }) =>
      host.invocationEventsLocal({ ...scope, invocation: params.invocation }),
    items: ({ items }) => items.length,
    subject: ({ params }) => params.invocation,
  }),
  'dead-letters.list': transport<typeof deadLettersList, typeof deadLettersResponse>({
    path: 'dead-letters',
    answer: deadLettersResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.deadLettersLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
  }),
  'denials.list': transport<typeof denialsList, typeof denialsResponse>({
    path: 'denials',
    answer: denialsResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.listDenialsLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
  }),
  'denials.summary': transport<typeof denialsSummary, typeof denialsSummaryResponse>({
    path: 'denials/summary',
    answer: denialsSummaryResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.summarizeDenialsLocal({ ...scope, ...query }),
    items: ({ buckets }) => buckets.length,
  }),
  'migrations.get': transport<typeof migrationsGet, typeof migrationsResponse>({
    path: 'migrations',
    answer: migrationsResponse,
    local: async (host, scope) => ({ items: await host.appliedMigrationsLocal(scope) }),
    items: ({ items }) => items.length,
  }),
  'bookmarks.list': transport<typeof bookmarksList, typeof bookmarksResponse>({
    path: 'bookmarks',
    answer: bookmarksResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.migrationBookmarksLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
  }),
};

interface TypedTransport<Op extends AdminOperation, S extends z.ZodType> {
  readonly path: string | ((call: CallOf<Op>) => string);
  readonly answer: S;
  /** Default: nothing beside the scope. */
  query?(call: CallOf<Op>): Query;
  body?(call: CallOf<Op>): Body;
  local(host: VerticalScopeHost, scope: ScopeRef, call: CallOf<Op>): Promise<z.input<S>>;
  items(value: z.output<S>): number;
  /** Default: the scope as a whole. */
  subject?(call: CallOf<Op>): string;
}

/** Ties a rung to its declaration and its answer; the transport parsed the call with that declaration. */
function transport<Op extends AdminOperation, S extends z.ZodType>(typed: TypedTransport<Op, S>): Transport {
  const own = (call: AdminCall): CallOf<Op> => call as unknown as CallOf<Op>;
  return {
    answer: typed.answer,
    path: (call) => (typeof typed.path === 'string' ? typed.path : typed.path(own(call))),
    query: (call) => typed.query?.(own(call)) ?? {},
    body: (call) => typed.body?.(own(call)),
    local: (host, scope, call) => typed.local(host, scope, own(call)),
    items: (value) => typed.items(value as z.output<S>),
    subject: (call) => typed.subject?.(own(call)) ?? null,
  };
}

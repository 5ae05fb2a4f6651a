/**
 * The reads of a scope's data (spec 4.3.1 to 4.3.3): the declarations, and below them how each is asked of a vertical by
 * the read ladder and noted in the access log.
 */
import { createHash } from 'node:crypto';
import {
  bookmarksQuery,
  bookmarksResponse,
  deadLettersQuery,
  deadLettersResponse,
  denialsQuery,
  denialsResponse,
  denialsSummaryQuery,
  denialsSummaryResponse,
  facetsQuery,
  facetsResponse,
  historyQuery,
  historyResponse,
  invocationId,
  invocationResponse,
  migrationsResponse,
  QUERY_BYTES_MAX,
  QUERY_ROWS_MAX,
  QUERY_TIME_MS,
  queryRequest,
  queryResponse,
  type ScopeRef,
  tableFilters,
  tablePage,
  tableRequest,
  tablesResponse,
  type VerticalScopeHost,
  walkResponse,
} from '@freehold/contracts';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { type AdminOperation, adminOperation } from '../declarations/admin-operation.ts';
import { eventParams, named, params, problems, tag } from '../declarations/scope-data.ts';
import type { CallOf } from '../lib/handlers.ts';

/** A read of tenant data, which the access log notes. */
const logged = {
  tag,
  method: 'GET',
  builder: 'own-tenant',
  pushToken: 'read',
  audit: 'access',
  problems,
} as const;
const unlogged = { tag: 'Scopes', method: 'GET', builder: 'own-tenant', problems } as const;

export const migrationsGet = adminOperation({
  ...unlogged,
  pushToken: 'deploy',
  name: 'migrations.get',
  summary: 'List the migrations that a scope has applied',
  path: '/tenants/:tenant/scopes/:scope/migrations',
  input: { params },
  output: migrationsResponse.meta({ id: 'AppliedMigrations' }),
});

export const bookmarksList = adminOperation({
  ...unlogged,
  pushToken: 'read',
  name: 'bookmarks.list',
  summary: 'List the moments that a rewind can reach, newest first',
  description:
    'earliest is where the window begins, current is now. With at, the last one at or before that moment comes first. An engine that keeps no history answers unsupported.',
  path: '/tenants/:tenant/scopes/:scope/bookmarks',
  input: { params, query: bookmarksQuery.omit(named) },
  output: bookmarksResponse.meta({ id: 'Bookmarks' }),
});

export const tablesList = adminOperation({
  ...logged,
  name: 'tables.list',
  summary: 'List the tables of a scope with their columns',
  path: '/tenants/:tenant/scopes/:scope/tables',
  input: { params },
  output: tablesResponse.meta({ id: 'Tables' }),
});

/** Only names that an address can hold as they are; rows of other tables can be read with a query. */
const tableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$.-]{0,127}$/);

export const tablesRead = adminOperation({
  ...logged,
  name: 'tables.read',
  summary: 'Read rows of one table, in the order of its key',
  description:
    'Values that are too long are shortened, and the answer says so in truncated. A filter is one of a column, an operator and a value.',
  path: '/tenants/:tenant/scopes/:scope/tables/:table',
  input: {
    params: z.strictObject({ ...params.shape, table: tableName }),
    query: z.strictObject({
      filters: tableRequest.shape.filters.meta({
        description: 'A JSON array of conditions { column, op, value? }',
        contentMediaType: 'application/json',
        contentSchema: z.toJSONSchema(tableFilters, { io: 'input' }),
      }),
      order: tableRequest.shape.order,
      limit: tableRequest.shape.limit,
      cursor: tableRequest.shape.cursor,
    }),
  },
  output: tablePage,
});

export const queryRun = adminOperation({
  ...logged,
  name: 'query.run',
  summary: 'Run one statement that reads',
  description: `A statement that would write is refused. At most ${QUERY_ROWS_MAX} rows, ${QUERY_BYTES_MAX} bytes of values and ${QUERY_TIME_MS} ms: the answer names its limits, and says in truncated which of them cut it. The access log keeps the SHA-256 of the statement, not its text.`,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/query',
  input: { params, body: queryRequest.omit(named) },
  output: queryResponse,
  builder: 'none',
});

export const historyGet = adminOperation({
  ...logged,
  name: 'history.get',
  summary: "Tell one record's story",
  path: '/tenants/:tenant/scopes/:scope/history',
  input: { params, query: historyQuery.omit(named) },
  output: historyResponse,
});

export const facetsGet = adminOperation({
  ...logged,
  name: 'facets.get',
  summary: 'Count the events of a scope by type, record, actor, operation or day',
  description:
    'The largest buckets first; what lies in others is counted there. truncated says that counting stopped at its bound.',
  path: '/tenants/:tenant/scopes/:scope/facets',
  input: { params, query: facetsQuery.omit(named) },
  output: facetsResponse,
});

const walk = walkResponse.meta({ id: 'EventWalk' });

export const causeGet = adminOperation({
  ...logged,
  name: 'cause.get',
  summary: 'Walk one event back to its origin',
  path: '/tenants/:tenant/scopes/:scope/cause/:event',
  input: { params: eventParams },
  output: walk,
});

export const effectsGet = adminOperation({
  ...logged,
  name: 'effects.get',
  summary: 'Walk forward to what one event set off',
  path: '/tenants/:tenant/scopes/:scope/effects/:event',
  input: { params: eventParams },
  output: walk,
});

export const invocationGet = adminOperation({
  ...logged,
  name: 'invocation.get',
  summary: 'Show everything that one call recorded',
  path: '/tenants/:tenant/scopes/:scope/invocation/:invocation',
  input: { params: z.strictObject({ ...params.shape, invocation: invocationId }) },
  output: invocationResponse.meta({ id: 'InvocationEvents' }),
});

export const deadLettersList = adminOperation({
  ...logged,
  name: 'dead-letters.list',
  summary: 'List the deliveries that gave up, newest event first',
  path: '/tenants/:tenant/scopes/:scope/dead-letters',
  input: { params, query: deadLettersQuery.omit(named) },
  output: deadLettersResponse,
});

export const denialsList = adminOperation({
  ...logged,
  name: 'denials.list',
  summary: 'List the operations that were refused in a scope',
  path: '/tenants/:tenant/scopes/:scope/denials',
  input: { params, query: denialsQuery.omit(named) },
  output: denialsResponse,
});

export const denialsSummary = adminOperation({
  ...logged,
  name: 'denials.summary',
  summary: 'Count the refusals of a scope',
  description:
    'By actor and permission, or by operation. A refusal that unwound no operation counts under null.',
  path: '/tenants/:tenant/scopes/:scope/denials/summary',
  input: { params, query: denialsSummaryQuery.omit(named) },
  output: denialsSummaryResponse,
});

type Query = Readonly<Record<string, string | number | undefined>>;
type Body = Readonly<Record<string, unknown>>;

/** The question of one read to a vertical, with its types erased. */
export interface Transport {
  readonly answer: z.ZodType;
  /** Below `/internal/`. */
  path(call: AdminCall): string;
  query(call: AdminCall): Query;
  /** Undefined: the question is a GET. */
  body(call: AdminCall): Body | undefined;
  local(host: VerticalScopeHost, scope: ScopeRef, call: AdminCall): Promise<unknown>;
  /** The number of items for the access log. */
  items(value: unknown): number;
  /** The record, event or table that was read, for the access log. */
  subject(call: AdminCall): string | null;
}

interface TypedTransport<Op extends AdminOperation> {
  readonly path: string | ((call: CallOf<Op>) => string);
  /** Default: the query of the call. */
  query?(call: CallOf<Op>): Query;
  body?(call: CallOf<Op>): Body;
  local(host: VerticalScopeHost, scope: ScopeRef, call: CallOf<Op>): Promise<z.input<Op['output']>>;
  /** Default: the length of `items`. */
  items?(value: z.output<Op['output']>): number;
  /** Default: the scope as a whole. */
  subject?(call: CallOf<Op>): string;
}

/** Ties a transport to its declaration, with which the route parsed the call. */
function transport<Op extends AdminOperation>(operation: Op, typed: TypedTransport<Op>): Transport {
  const own = (call: AdminCall): CallOf<Op> => call as unknown as CallOf<Op>;
  return {
    answer: operation.output,
    path: (call) => (typeof typed.path === 'string' ? typed.path : typed.path(own(call))),
    query: (call) => typed.query?.(own(call)) ?? (call.query as Query),
    body: (call) => typed.body?.(own(call)),
    local: (host, scope, call) => typed.local(host, scope, own(call)),
    items: (value) => typed.items?.(value as never) ?? (value as { items: readonly unknown[] }).items.length,
    subject: (call) => typed.subject?.(own(call)) ?? null,
  };
}

/** The transports, by operation. A function, so that no client brings them along. */
export const makeTransports = (): Readonly<Record<string, Transport>> => ({
  [tablesList.name]: transport(tablesList, {
    path: 'tables',
    local: async (host, scope) => ({ items: await host.introspectScopeTables(scope) }),
  }),
  [tablesRead.name]: transport(tablesRead, {
    path: ({ params }) => `tables/${encodeURIComponent(params.table)}`,
    query: ({ query: { filters, ...query } }) => ({ ...query, filters: JSON.stringify(filters) }),
    local: (host, scope, { params, query }) =>
      host.introspectScopeTable({ ...scope, table: params.table, ...query }),
    items: ({ rows }) => rows.length,
    subject: ({ params }) => params.table,
  }),
  [queryRun.name]: transport(queryRun, {
    path: 'query',
    body: ({ body }) => body,
    local: (host, scope, { body }) => host.introspectScopeQuery({ ...scope, ...body }),
    items: ({ rows }) => rows.length,
    // The text of a statement may contain personal data, which this log must not keep.
    subject: ({ body }) => `sha256:${createHash('sha256').update(body.sql).digest('hex')}`,
  }),
  [historyGet.name]: transport(historyGet, {
    path: 'history',
    local: (host, scope, { query }) => host.entityHistoryLocal({ ...scope, ...query }),
    subject: ({ query }) => `${query.entityType}/${query.entityId}`,
  }),
  [facetsGet.name]: transport(facetsGet, {
    path: 'facets',
    local: (host, scope, { query }) => host.facetEventsLocal({ ...scope, ...query }),
    items: ({ buckets }) => buckets.length,
  }),
  [causeGet.name]: transport(causeGet, {
    path: 'cause',
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventCauseLocal({ ...scope, event: params.event }),
    subject: ({ params }) => params.event,
  }),
  [effectsGet.name]: transport(effectsGet, {
    path: 'effects',
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventEffectsLocal({ ...scope, event: params.event }),
    subject: ({ params }) => params.event,
  }),
  [invocationGet.name]: transport(invocationGet, {
    path: 'invocation',
    query: ({ params }) => ({ invocation: params.invocation }),
    local: (host, scope, { params }) =>
      host.invocationEventsLocal({ ...scope, invocation: params.invocation }),
    subject: ({ params }) => params.invocation,
  }),
  [deadLettersList.name]: transport(deadLettersList, {
    path: 'dead-letters',
    local: (host, scope, { query }) => host.deadLettersLocal({ ...scope, ...query }),
  }),
  [denialsList.name]: transport(denialsList, {
    path: 'denials',
    local: (host, scope, { query }) => host.listDenialsLocal({ ...scope, ...query }),
  }),
  [denialsSummary.name]: transport(denialsSummary, {
    path: 'denials/summary',
    local: (host, scope, { query }) => host.summarizeDenialsLocal({ ...scope, ...query }),
    items: ({ buckets }) => buckets.length,
  }),
  [migrationsGet.name]: transport(migrationsGet, {
    path: 'migrations',
    local: async (host, scope) => ({ items: await host.appliedMigrationsLocal(scope) }),
  }),
  [bookmarksList.name]: transport(bookmarksList, {
    path: 'bookmarks',
    local: (host, scope, { query }) => host.migrationBookmarksLocal({ ...scope, ...query }),
  }),
});

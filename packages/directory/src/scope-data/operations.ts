/** The reads of what a scope holds (spec 4.3.1 to 4.3.3). They are performed where they are answered: see `transports.ts`. */
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
  tableFilters,
  tablePage,
  tableRequest,
  tablesResponse,
  walkResponse,
} from '@freehold/contracts';
import type {} from 'zod';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { eventParams, named, params, problems, tag } from '../declarations/scope-data.ts';

export const migrationsGet = adminOperation({
  name: 'migrations.get',
  summary: 'List the migrations that a scope has applied',
  tag: 'Scopes',
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/migrations',
  input: { params },
  output: migrationsResponse.meta({ id: 'AppliedMigrations' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

export const bookmarksList = adminOperation({
  name: 'bookmarks.list',
  summary: 'List the moments that a rewind can reach, newest first',
  description:
    'earliest is where the window begins, current is now. With at, the last one at or before that moment comes first. An engine that keeps no history answers unsupported.',
  tag: 'Scopes',
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/bookmarks',
  input: { params, query: bookmarksQuery.omit({ tenantId: true, scopeId: true }) },
  output: bookmarksResponse.meta({ id: 'Bookmarks' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found', 'unsupported', 'runtime_fault'],
});

const walk = walkResponse.meta({ id: 'EventWalk' });

/** A name that can stand in an address as it is; what is called otherwise can be asked for in a query. */
const tableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_$.-]{0,127}$/);

export const tablesList = adminOperation({
  name: 'tables.list',
  summary: 'List the tables of a scope with their columns',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/tables',
  input: { params },
  output: tablesResponse.meta({ id: 'Tables' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const tablesRead = adminOperation({
  name: 'tables.read',
  summary: 'Read rows of one table, in the order of its key',
  description:
    'Values that are too long are shortened, and the answer says so in truncated. A filter is one of a column, an operator and a value.',
  tag,
  method: 'GET',
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
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const queryRun = adminOperation({
  name: 'query.run',
  summary: 'Run one statement that reads',
  description: `A statement that would write is refused. At most ${QUERY_ROWS_MAX} rows, ${QUERY_BYTES_MAX} bytes of values and ${QUERY_TIME_MS} ms: the answer names its limits, and says in truncated which of them cut it. The access log keeps the SHA-256 of the statement, not its text.`,
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/query',
  input: { params, body: queryRequest.omit(named) },
  output: queryResponse,
  success: 200,
  builder: 'none',
  audit: 'access',
  problems,
});

export const historyGet = adminOperation({
  name: 'history.get',
  summary: "Tell one record's story",
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/history',
  input: { params, query: historyQuery.omit(named) },
  output: historyResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const facetsGet = adminOperation({
  name: 'facets.get',
  summary: 'Count the events of a scope by type, record, actor, operation or day',
  description:
    'The largest buckets first; what lies in others is counted there. truncated says that counting stopped at its bound.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/facets',
  input: { params, query: facetsQuery.omit(named) },
  output: facetsResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const causeGet = adminOperation({
  name: 'cause.get',
  summary: 'Walk one event back to its origin',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/cause/:event',
  input: { params: eventParams },
  output: walk,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const effectsGet = adminOperation({
  name: 'effects.get',
  summary: 'Walk forward to what one event set off',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/effects/:event',
  input: { params: eventParams },
  output: walk,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const invocationGet = adminOperation({
  name: 'invocation.get',
  summary: 'Show everything that one call recorded',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/invocation/:invocation',
  input: { params: z.strictObject({ ...params.shape, invocation: invocationId }) },
  output: invocationResponse.meta({ id: 'InvocationEvents' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const deadLettersList = adminOperation({
  name: 'dead-letters.list',
  summary: 'List the deliveries that gave up, newest event first',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/dead-letters',
  input: { params, query: deadLettersQuery.omit(named) },
  output: deadLettersResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const denialsList = adminOperation({
  name: 'denials.list',
  summary: 'List the operations that were refused in a scope',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/denials',
  input: { params, query: denialsQuery.omit(named) },
  output: denialsResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

export const denialsSummary = adminOperation({
  name: 'denials.summary',
  summary: 'Count the refusals of a scope',
  description:
    'By actor and permission, or by operation. A refusal that unwound no operation counts under null.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/denials/summary',
  input: { params, query: denialsSummaryQuery.omit(named) },
  output: denialsSummaryResponse,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems,
});

/** Reads of what a scope holds, answered by its vertical (spec 4.3.1; design: control-plane-routes, "Scope data window"). */
import {
  deadLettersQuery,
  deadLettersResponse,
  denialsQuery,
  denialsResponse,
  denialsSummaryQuery,
  denialsSummaryResponse,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  eventId,
  exportHead,
  exportQuery,
  facetsQuery,
  facetsResponse,
  historyQuery,
  historyResponse,
  invocationId,
  invocationResponse,
  QUERY_BYTES_MAX,
  QUERY_ROWS_MAX,
  QUERY_TIME_MS,
  queryRequest,
  queryResponse,
  retryDeadLetterRequest,
  retryDeadLetterResponse,
  scopeId,
  tableFilters,
  tablePage,
  tableRequest,
  tablesResponse,
  tenantId,
  walkResponse,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { scopeHealth } from './scope-records.ts';

const tag = 'Scope data';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });
const eventParams = z.strictObject({ ...params.shape, event: eventId });
/** The scope is named by the path, not by the query. */
const named = { tenantId: true, scopeId: true } as const;
const problems = ['not_found', 'unsupported', 'runtime_fault'] as const;
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

export const scopesExport = adminOperation({
  name: 'scopes.export',
  summary: 'Take a copy of a scope out of the platform',
  description:
    'Everything that the scope holds at one moment, as a stream: a database file, or lines of JSON. The access log says so before the first byte leaves. Without a format, the engine’s own.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/export',
  input: { params, query: exportQuery.omit(named) },
  output: exportHead,
  bytes: {
    mediaType: { field: 'format', types: EXPORT_MEDIA_TYPES },
    headers: { [EXPORT_FORMAT_HEADER]: 'format', [EXPORT_BOOKMARK_HEADER]: 'bookmark' },
  },
  success: 200,
  builder: 'none',
  audit: 'access',
  problems,
});

export const healthGet = adminOperation({
  name: 'health.get',
  summary: 'Tell how a scope is doing',
  description:
    'What its application answers to three questions: which migrations it has applied, which deliveries gave up, and what it waits for. An application that cannot be reached, or refuses, makes the scope failing; that is an answer and no error.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/scopes/:scope/health',
  input: { params },
  output: scopeHealth,
  success: 200,
  builder: 'own-tenant',
  audit: 'access',
  problems: ['not_found', 'unsupported'],
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

export const deadLettersRetry = adminOperation({
  name: 'dead-letters.retry',
  summary: 'Put a delivery that gave up back in line',
  description:
    'The event is delivered to the subscriber as if for the first time, in its order. Not found when it is no dead letter (any more); a conflict (reason unknown_subscriber) when nobody listens under this name.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/dead-letters/:event/retry',
  input: { params: eventParams, body: retryDeadLetterRequest.pick({ subscriber: true }) },
  output: retryDeadLetterResponse.meta({ id: 'DeadLetterRetried' }),
  success: 200,
  builder: 'none',
  audit: 'audit',
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
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

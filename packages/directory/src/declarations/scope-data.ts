/** Reads of what a scope holds, answered by its vertical (spec 4.3.1; design: control-plane-routes, "Scope data window"). */
import {
  denialsQuery,
  denialsResponse,
  denialsSummaryQuery,
  denialsSummaryResponse,
  eventId,
  historyQuery,
  historyResponse,
  scopeId,
  tenantId,
  walkResponse,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Scope data';
const params = z.strictObject({ tenant: tenantId, scope: scopeId });
const eventParams = z.strictObject({ ...params.shape, event: eventId });
/** The scope is named by the path, not by the query. */
const named = { tenantId: true, scopeId: true } as const;
const problems = ['not_found', 'unsupported', 'runtime_fault'] as const;
const walk = walkResponse.meta({ id: 'EventWalk' });

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

/** The generic routes of the management contract: each hands its request to the scope host and answers what it said. */
import {
  denialsQuery,
  denialsResponse,
  denialsSummaryQuery,
  denialsSummaryResponse,
  eventRef,
  historyQuery,
  historyResponse,
  migrationsResponse,
  walkResponse,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { PlatformSurfaceDeps } from '../platform-surface-deps.ts';
import { type InternalRoute, readRoute } from './internal-route.ts';
import { strictScopeRef } from './scope-ref.ts';

export function delegationRoutes<E extends Env>({
  hostFor,
}: Pick<PlatformSurfaceDeps<E['Bindings']>, 'hostFor'>): InternalRoute<E>[] {
  return [
    readRoute({
      path: '/internal/migrations',
      request: strictScopeRef,
      response: migrationsResponse,
      answer: async (scope, env: E['Bindings']) => ({
        items: await (await hostFor(env)).appliedMigrationsLocal(scope),
      }),
    }),
    readRoute({
      path: '/internal/history',
      request: historyQuery,
      response: historyResponse,
      answer: async (query, env: E['Bindings']) => (await hostFor(env)).entityHistoryLocal(query),
    }),
    readRoute({
      path: '/internal/cause',
      request: eventRef,
      response: walkResponse,
      answer: async (ref, env: E['Bindings']) => (await hostFor(env)).eventCauseLocal(ref),
    }),
    readRoute({
      path: '/internal/effects',
      request: eventRef,
      response: walkResponse,
      answer: async (ref, env: E['Bindings']) => (await hostFor(env)).eventEffectsLocal(ref),
    }),
    readRoute({
      path: '/internal/denials',
      request: denialsQuery,
      response: denialsResponse,
      answer: async (query, env: E['Bindings']) => (await hostFor(env)).listDenialsLocal(query),
    }),
    readRoute({
      path: '/internal/denials/summary',
      request: denialsSummaryQuery,
      response: denialsSummaryResponse,
      answer: async (query, env: E['Bindings']) => (await hostFor(env)).summarizeDenialsLocal(query),
    }),
  ];
}

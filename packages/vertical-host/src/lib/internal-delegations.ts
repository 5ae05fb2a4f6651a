/**
 * The generic routes of the management contract: each passes its request to the scope host and answers with the
 * result.
 */
import {
  type ManagementRoute,
  MANAGEMENT_ROUTES as ROUTES,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { z } from 'zod';
import { beyond } from './beyond.ts';
import { type InternalRoute, jsonRoute, type RequestOf } from './internal-route.ts';
import type { PlatformSurfaceDeps } from './platform-surface-deps.ts';

export function delegationRoutes<E extends Env>({
  hostFor,
}: Pick<PlatformSurfaceDeps<E['Bindings']>, 'hostFor'>): InternalRoute<E>[] {
  const delegate = <R extends ManagementRoute>(
    route: R,
    ask: (host: VerticalScopeHost, request: RequestOf<R>) => Promise<z.input<R['response']>>,
  ): InternalRoute<E> => jsonRoute(route, async (request, env) => ask(await hostFor(env), request));

  return [
    delegate(ROUTES.bookmarks, (host, query) => host.migrationBookmarksLocal(query)),
    delegate(ROUTES.migrations, async (host, scope) => ({ items: await host.appliedMigrationsLocal(scope) })),
    delegate(ROUTES.rewind, (host, request) => host.rewindScopeLocal(request)),
    delegate(ROUTES.snapshot, (host, request) => host.snapshotScopeLocal(request)),
    delegate(ROUTES.tables, async (host, scope) => ({ items: await host.introspectScopeTables(scope) })),
    delegate(ROUTES.table, (host, query) => host.introspectScopeTable(query)),
    delegate(ROUTES.query, (host, request) => host.introspectScopeQuery(request)),
    delegate(ROUTES.history, (host, query) => host.entityHistoryLocal(query)),
    delegate(ROUTES.facets, (host, query) => host.facetEventsLocal(query)),
    delegate(ROUTES.cause, (host, ref) => host.eventCauseLocal(ref)),
    delegate(ROUTES.effects, (host, ref) => host.eventEffectsLocal(ref)),
    delegate(ROUTES.invocation, (host, ref) => host.invocationEventsLocal(ref)),
    delegate(ROUTES.deadLetters, (host, query) => host.deadLettersLocal(query)),
    delegate(ROUTES.retryDeadLetter, async (host, ref) => {
      await beyond(host, 'retryDeadLetterLocal')(ref);
      return { event: ref.event, subscriber: ref.subscriber };
    }),
    delegate(ROUTES.shredSubject, (host, ref) => beyond(host, 'shredSubjectLocal')(ref)),
    delegate(ROUTES.snapshotDelete, async (host, ref) => {
      await beyond(host, 'deleteSnapshotLocal')(ref);
      return { snapshot: ref.snapshot };
    }),
    delegate(ROUTES.denials, (host, query) => host.listDenialsLocal(query)),
    delegate(ROUTES.denialsSummary, (host, query) => host.summarizeDenialsLocal(query)),
    delegate(ROUTES.platformRequests, (host, query) => host.listPlatformRequests(query)),
    delegate(ROUTES.platformRequestHistory, (host, query) => host.listPlatformRequestHistory(query)),
    delegate(ROUTES.settlePlatformRequest, (host, request) => host.settlePlatformRequest(request)),
    delegate(ROUTES.connectorInvoke, (host, request) => host.connectorInvokeLocal(request)),
    delegate(ROUTES.connectorGrant, (host, grant) => host.connectorGrantLocal(grant)),
  ];
}

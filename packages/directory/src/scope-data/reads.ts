/**
 * Performs the reads of a scope's data by the read ladder (spec 4.3.1), with the row of the access log for each: reads of
 * parts, the health of a scope, and the export of the whole scope as a stream (spec 4.3.2).
 */
import {
  deadLettersResponse,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  exportHead,
  exportQuery,
  LIMIT_MAX,
  migrationsResponse,
  PlatformError,
  platformRequestsResponse,
  type ScopeExport,
} from '@freehold/contracts';
import type { AdminCall } from '../access/actors.ts';
import type { AccessInput } from '../audit/access-log.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { named, params, problems, tag } from '../declarations/scope-data.ts';
import { type HealthCheck, type ScopeHealth, scopeHealth } from '../declarations/scopes.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { found, type Performer, type Performers, performersOf } from '../lib/performers.ts';
import { logTargetOf } from '../scopes/target.ts';
import { askScope } from '../verticals/client.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import { makeTransports, type Transport } from './operations.ts';

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
  builder: 'own-tenant',
  pushToken: 'read',
  audit: 'access',
  problems: ['not_found', 'unsupported'],
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
  audit: 'access',
  problems,
});

export interface ScopeReads {
  /**
   * Writes the access-log row of a read whose bytes a vertical supplied (spec 4.3.1). Both branches of the read ladder
   * write it through this, so that the row is the same on either.
   */
  recordDelegatedRead(read: AccessInput): Promise<void>;
  /**
   * Opens a copy of a scope; `call` is one of `scopes.export` (spec 4.3.2). The access-log row is written first, and stays
   * even when no byte follows: it says that the actor asked for everything. When it cannot be written, nothing is opened.
   * Rejects as every read does; without a row only for a vertical that is not known here.
   */
  exportScope(call: AdminCall): Promise<ScopeExport>;
}

/** The value of a read, with the fields of its row in the access log. */
type Shown = Omit<AccessInput, 'call'> & { readonly value: unknown };

/**
 * The reads reject with a `PlatformError`: `unsupported` (501) with a diagnosis when nothing answers for the vertical, the
 * vertical's own refusal, and `runtime_fault` (502) for an answer outside the contract.
 */
export function makeScopeReads(
  deps: EffectDeps & { readonly directory: { recordAccess(read: AccessInput): Promise<null> } },
): { readonly reads: ScopeReads; readonly performers: Performers } {
  const reads: ScopeReads = {
    recordDelegatedRead: async (read) => void (await deps.directory.recordAccess(read)),
    exportScope: async (call) => {
      const { query } = call as unknown as CallOf<typeof scopesExport>;
      const { scope } = await deps.target(call);
      requireKnownVertical(deps.gateway, scope.vertical);
      await reads.recordDelegatedRead({ call, target: logTargetOf(scope), items: 1 });
      return openScopeCopy(deps, scope, query.format);
    },
  };

  const reading =
    (read: (call: AdminCall) => Promise<Shown>): Performer =>
    async (call, { audit }) => {
      const { value, ...shown } = await read(call);
      // A read that could not be logged shows nothing.
      if (audit === 'access') await reads.recordDelegatedRead({ call, ...shown });
      return found(value);
    };

  return {
    reads,
    performers: {
      ...performersOf(makeTransports(), (transport) => reading((call) => climb(deps, transport, call))),
      [healthGet.name]: reading(async (call) => {
        const { scope } = await deps.target(call);
        const health = await readHealth(deps, scope);
        return { value: health, target: logTargetOf(scope), items: health.checks.length };
      }),
      [scopesExport.name]: async (call) => {
        const { body, ...head } = await reads.exportScope(call);
        return { ...found(head), body };
      },
    },
  };
}

async function climb(deps: EffectDeps, transport: Transport, call: AdminCall): Promise<Shown> {
  const { scope } = await deps.target(call);
  const body = transport.body(call);
  const value = await askScope(deps, scope, {
    path: transport.path(call),
    answer: transport.answer,
    query: transport.query(call),
    ...(body === undefined ? {} : { body }),
    local: (host, ref) => transport.local(host, ref, call),
  });
  return { value, target: logTargetOf(scope, transport.subject(call)), items: transport.items(value) };
}

/**
 * The health of a scope, put together from reads that every vertical answers, so that a co-located host and a worker are
 * asked alike. A vertical that does not answer is a finding, not an error.
 * @throws PlatformError `unsupported` (501) when neither a worker nor a host answers for the vertical.
 */
async function readHealth(deps: EffectDeps, scope: ScopeRecord): Promise<ScopeHealth> {
  requireKnownVertical(deps.gateway, scope.vertical);
  const page = { limit: LIMIT_MAX };
  const checks = await Promise.all([
    check('migrations', async () => {
      const { items } = await askScope(deps, scope, {
        path: 'migrations',
        answer: migrationsResponse,
        local: async (host, ref) => ({ items: await host.appliedMigrationsLocal(ref) }),
      });
      return { status: 'ok', count: items.length, more: false };
    }),
    check('dead-letters', async () => {
      const { items, nextCursor } = await askScope(deps, scope, {
        path: 'dead-letters',
        query: page,
        answer: deadLettersResponse,
        local: (host, ref) => host.deadLettersLocal({ ...ref, ...page }),
      });
      const status = items.length > 0 ? 'warning' : 'ok';
      return { status, count: items.length, more: nextCursor !== null };
    }),
    check('platform-requests', async () => {
      const { items, nextCursor } = await askScope(deps, scope, {
        path: 'platform-requests',
        query: page,
        answer: platformRequestsResponse,
        local: (host, ref) => host.listPlatformRequests({ ...ref, ...page }),
      });
      return { status: 'ok', count: items.length, more: nextCursor !== null };
    }),
  ]);
  const worst = (['failing', 'warning'] as const).find((each) =>
    checks.some(({ status }) => status === each),
  );
  return { status: worst ?? 'ok', lifecycle: scope.status, checks };
}

async function check(
  name: HealthCheck['name'],
  ask: () => Promise<Pick<HealthCheck, 'status' | 'count' | 'more'>>,
): Promise<HealthCheck> {
  try {
    return { name, ...(await ask()), problem: null };
  } catch (error) {
    // Any other error is a bug of ours, or of a host in this process, and is reported as one.
    if (!(error instanceof PlatformError)) throw error;
    const { code, reason = null, message: detail } = error;
    return { name, status: 'failing', count: null, more: false, problem: { code, reason, detail } };
  }
}

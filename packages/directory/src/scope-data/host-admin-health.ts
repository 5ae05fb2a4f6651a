/**
 * How a scope is doing (spec 4.3, "Scope data window"): put together from what its vertical answers to reads that it
 * has anyway, so that the co-located host and a worker are asked the same. A vertical that does not answer is a
 * finding, not an error.
 */

import {
  deadLettersResponse,
  LIMIT_MAX,
  migrationsResponse,
  PlatformError,
  platformRequestsResponse,
} from '@freehold/contracts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { params, tag } from '../declarations/scope-data.ts';
import type { HealthCheck, ScopeHealth } from '../declarations/scope-records.ts';
import { scopeHealth } from '../declarations/scope-records.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { requireKnownVertical } from '../verticals/reach.ts';

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

const page = { limit: LIMIT_MAX };

/** @throws PlatformError `unsupported` (501) when nothing answers for the vertical: then there is nobody to ask. */
export async function readHealth(deps: EffectDeps, scope: ScopeRecord): Promise<ScopeHealth> {
  requireKnownVertical(deps.gateway, scope.vertical);
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
      return {
        status: items.length > 0 ? 'warning' : 'ok',
        count: items.length,
        more: nextCursor !== null,
      };
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
    // Anything else is a bug of ours, or of a host in this process, and is reported as one.
    if (!(error instanceof PlatformError)) throw error;
    const { code, reason = null, message: detail } = error;
    return { name, status: 'failing', count: null, more: false, problem: { code, reason, detail } };
  }
}

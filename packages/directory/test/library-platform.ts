/**
 * The directory over scopes of the real kernel: the library of the kernel's contract suite, reached through the worker's
 * routes or in this process.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InvokeResult, PLATFORM_SECRET_HEADER, type PrincipalId, parseInput } from '@freehold/contracts';
import { Hono } from 'hono';
import { onTestFinished } from 'vitest';
import { defineVertical, makeScopeHost, makeScopeUnit, makeUnitVault } from '../../kernel/src/index.ts';
import { openTestEngine } from '../../testkit/src/index.ts';
import { library, libraryVaultUnit } from '../../testkit/src/scope-contract/index.ts';
import { mountPlatformSurface } from '../../vertical-host/src/index.ts';
import {
  type AdminOperation,
  type AdminOperationName,
  adminOperations,
  type ScopeRecord,
} from '../src/admin-operations.ts';
import { type AdminResult, makeHostAdmin } from '../src/index.ts';
import { type CallParts, STAFF } from './platform.ts';

export const LIBRARIAN = 'prn_01j00000000000000000000001' as PrincipalId;
export const ANONYMOUS = 'prn_01j00000000000000000000004' as PrincipalId;
const SECRET = 'the platform secret of these tests, long enough';

export type LibraryPlatform = Awaited<ReturnType<typeof openLibraryPlatform>>;

/** The library, which removes what is older than its application says. */
const forgetful = makeScopeUnit(
  defineVertical({ ...library, retention: { historyDays: 30, denialsDays: 10 } }),
);

/** Opens it with one tenant and one scope, whose librarian is {@link LIBRARIAN}. */
export async function openLibraryPlatform(transport: 'bound' | 'local') {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-library-'));
  const clock = { ms: Date.parse('2026-11-21T08:00:00.000Z') };
  const incidents: unknown[] = [];
  const world = {
    now: () => clock.ms,
    random: (bytes: number) => randomBytes(bytes),
    onIncident: (error: unknown) => void incidents.push(error),
  };
  const engine = openTestEngine({ dataDirectory, ...world });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  });
  const host = makeScopeHost({
    engine,
    unit: forgetful,
    ...world,
    vault: makeUnitVault((tenant) => engine.unit(libraryVaultUnit, tenant, { create: true })),
  });
  const app = new Hono();
  mountPlatformSurface(app, {
    platformSecret: () => SECRET,
    hostFor: () => host,
    roles: {},
    ownerRoleKey: 'librarian',
    resolveOwner: async () => ({ ownerSeat: null }),
    onIncident: (error) => world.onIncident(error),
  });
  /** The transport to ask, and whether it answers. A test may change both. */
  const running: { rung: 'bound' | 'local'; is: boolean } = { rung: transport, is: true };
  const asked: string[] = [];
  const admin = makeHostAdmin({
    engine,
    gateway: {
      bound: () =>
        running.rung === 'bound'
          ? {
              platformSecret: SECRET,
              fetch: async (request) => {
                if (!running.is) throw new TypeError('connection refused');
                asked.push(request.url);
                if (!request.headers.has(PLATFORM_SECRET_HEADER)) throw new TypeError('no secret');
                return app.fetch(request);
              },
            }
          : null,
      local: () => (running.rung === 'local' ? host : null),
    },
    permissionsOf: () => Object.keys(library.manifest.permissions),
    ...world,
  });
  let requests = 0;
  const call = async (
    name: AdminOperationName,
    { params, query, body, as = STAFF, key }: CallParts = {},
  ): Promise<AdminResult> => {
    const { input }: AdminOperation = adminOperations[name];
    requests += 1;
    return admin.perform({
      operation: name,
      params: input.params ? parseInput('The path', input.params, params) : {},
      query: input.query ? parseInput('The query', input.query, query ?? {}) : {},
      body: input.body ? parseInput('The body', input.body, body) : {},
      actor: as,
      requestId: `req-${requests}`,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
  };
  const value = async <T>(name: AdminOperationName, parts?: CallParts): Promise<T> =>
    (await call(name, parts)).value as T;
  const { id: tenant } = await value<{ id: string }>('tenants.create', {
    body: { slug: 'acme', name: 'Acme' },
  });
  const provision = (slug: string): Promise<ScopeRecord> =>
    value('scopes.provision', { params: { tenant }, body: { slug, name: slug, vertical: 'library' } });
  const scope = await provision('main');
  const at = { tenant, scope: scope.id };
  const stub = host.scope(scope.id);
  await stub.assignRole({ principal: LIBRARIAN, role: 'librarian', by: 'platform' });
  return {
    admin,
    host,
    stub,
    scope,
    /** The path of the scope. */
    at,
    ref: { tenantId: scope.tenant, scopeId: scope.id },
    clock,
    incidents,
    running,
    /** The requests to the worker, oldest first. */
    asked: asked as readonly string[],
    provision,
    call,
    value,
    invoke: (principal: PrincipalId, operation: string, input: unknown): Promise<InvokeResult> =>
      host.operations(scope.id, principal).invoke({ operation, input }),
    log: async (action: string) =>
      (
        await value<{ items: { outcome: string; after: unknown; target: unknown }[] }>('admin-log.list', {
          query: { action },
        })
      ).items.toReversed(),
  };
}

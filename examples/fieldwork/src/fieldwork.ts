/** Puts fieldwork together: one web application over the engine that it is given. */
import { type IdentityDirectory, type IdentityDirectoryUnit, makeIdentityDirectory } from '@freehold/auth';
import { mountInviteRoutes } from '@freehold/auth/invite-routes';
import type { TenantId } from '@freehold/contracts';
import { makeScopeHost, makeScopeUnit, type ScopeHost, type ScopeUnit } from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import {
  type ListingStub,
  mountOperations,
  mountPlatformSurface,
  mountProblemDocs,
  type ProblemOptions,
  problemResponse,
} from '@freehold/vertical-host';
import { Hono, type MiddlewareHandler } from 'hono';
import { manifest, type RoleKey } from './manifest.ts';
import { operations } from './operations.ts';
import { ASSIGNMENT_GRANTS } from './orders/lifecycle.ts';
import { mountAttachments } from './server/attachment-routes.ts';
import { authenticatedPrincipal, requirePermission } from './server/caller.ts';
import {
  directoryOf,
  type FieldworkContext,
  type FieldworkDeps,
  type FieldworkEnv,
  requireNode,
  type Services,
  scopeOf,
} from './server/env.ts';
import { mountErasure } from './server/erasure-routes.ts';
import { mountLogs } from './server/log-routes.ts';
import { INVITABLE_ROLES, mountMembers } from './server/member-routes.ts';
import { mountOwner } from './server/owner-routes.ts';
import { platformSurface } from './server/platform-hooks.ts';
import { mountPublic } from './server/public-routes.ts';
import { mountSessions } from './server/session-routes.ts';
import { makeSignIns } from './server/sign-in.ts';
import { mountSummaries } from './server/summary-routes.ts';
import { makeTenants } from './server/tenants.ts';
import { mountWeb } from './server/web-routes.ts';
import { defineFieldwork } from './vertical.ts';

/** Fieldwork, ready to be called. */
export interface Fieldwork {
  readonly manifest: typeof manifest;
  /** Call `app.fetch(request, env)`; `env.node` says whose request it is. */
  readonly app: Hono<FieldworkEnv>;
  /** The units that an engine has to be able to open. */
  readonly units: { readonly scope: ScopeUnit; readonly identity: IdentityDirectoryUnit };
  /** The scopes, for a platform in the same process. */
  readonly host: ScopeHost;
}

/** Builds the application. It holds no state of its own but caches of what its units know. */
export function makeFieldwork(deps: FieldworkDeps): Fieldwork {
  const { engine, vault, blobs, now, random, onWork } = deps;
  const vertical = defineFieldwork({
    removeFile: (scope, by, id) => host.attachments.remove(scope, by, id),
  });
  const units = {
    scope: makeScopeUnit(vertical, onWork === undefined ? {} : { onWork }),
    identity: makeIdentityDirectory({ sealing: deps.sealing }),
  };
  const host: ScopeHost = makeScopeHost({
    engine,
    unit: units.scope,
    vault,
    now,
    random,
    ...(blobs === undefined ? {} : { blobs }),
  });
  const directory = (tenant: TenantId, options?: { readonly create: boolean }): IdentityDirectory =>
    deps.engine.unit(units.identity, tenant, options);
  const problems: ProblemOptions = {
    onIncident: (error, { requestId, method, path }) =>
      deps.onIncident(error, { kind: manifest.slug, key: requestId, method: `${method} ${path}` }),
  };
  const signIn = makeSignIns(deps, { host, directory });
  const services: Services = { deps, problems, host, directory, signIn, tenants: makeTenants(host) };

  const app = new Hono<FieldworkEnv>();
  app.onError((error, c) => problemResponse(c, error, problems));
  app.use('*', noSniffing);
  mountProblemDocs(app, problems);
  mountOwner(app, services);
  mountSessions(app, services);
  mountMembers(app, services);
  mountLogs(app, services);
  mountAttachments(app, services);
  mountErasure(app, services);
  mountSummaries(app, services);
  mountInvites(app, services);
  mountOperations(app, operations, (c) => operationsFor(services, c), {
    ...problems,
    openapi: { title: manifest.name, version: manifest.version },
    ...(deps.docs === undefined ? {} : { docs: deps.docs }),
    ownOrigin: (c) => requireNode(c).origin,
    // A stranger is told where tokens are made by the refusal itself, on every route alike: see `signInException`.
    mcp: { serverInfo: { name: manifest.slug, title: manifest.name, version: manifest.version } },
  });
  mountPublic(app, services);
  mountPlatformSurface(app, platformSurface(services));
  mountWeb(app, deps.webFiles);
  return { manifest, app, units, host };
}

/** What we say a thing is, it is: no browser looks into an answer and makes a page of it. */
const noSniffing: MiddlewareHandler<FieldworkEnv> = async (c, next) => {
  await next();
  c.header('x-content-type-options', 'nosniff');
};

/** The scope as the caller sees it, with the tools that he may ever be let through to. */
async function operationsFor(services: Services, c: FieldworkContext): Promise<ListingStub> {
  const principal = await authenticatedPrincipal(services, c);
  const table: OperationTable = operations;
  return {
    ...services.host.operations(requireNode(c).scope, principal, requireNode(c).tenant),
    listable: async (names) => {
      const { permissions } = await scopeOf(services, c).holdings({ principal });
      // What an assignment gives for the one order, anybody on the team may come to hold.
      const reachable = new Set<string | undefined>([...permissions, ...ASSIGNMENT_GRANTS]);
      return names.filter((name) => reachable.has(table[name]?.permission));
    },
  };
}

function mountInvites(app: Hono<FieldworkEnv>, services: Services): void {
  mountInviteRoutes(app, {
    scope: (c) => ({ tenantId: requireNode(c).tenant, scopeId: requireNode(c).scope }),
    requireAdmin: (c) => requirePermission(services, c, 'member.manage'),
    roles: INVITABLE_ROLES,
    mayInvite: async (c, principal, role) => {
      const { permissions } = await scopeOf(services, c).holdings({ principal });
      return manifest.roles[role as RoleKey].permissions.every((each) => permissions.includes(each));
    },
    directory: (c) => directoryOf(services, c),
    provider: async (c) => (await services.signIn(c)).provider,
    assignScopeRole: (c, { principal, role }, by) => scopeOf(services, c).assignRole({ principal, role, by }),
    revokeScopeRole: (c, { principal, role }, by) => scopeOf(services, c).revokeRole({ principal, role, by }),
    origin: (c) => requireNode(c).origin,
    emailMatch: 'verified',
  });
}

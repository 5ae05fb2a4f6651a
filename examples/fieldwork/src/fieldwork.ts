/** Puts fieldwork together: one web application over the engine that it is given. */
import { type IdentityDirectoryUnit, makeIdentityDirectory } from '@freehold/auth';
import { mountInviteRoutes } from '@freehold/auth/invite-routes';
import { makeScopeHost, makeScopeUnit, type ScopeHost, type ScopeUnit } from '@freehold/kernel';
import {
  mountOperations,
  mountPlatformSurface,
  mountProblemDocs,
  type ProblemOptions,
  problemResponse,
} from '@freehold/vertical-host';
import { Hono } from 'hono';
import { manifest } from './lib/manifest.ts';
import { mountAttachments } from './server/attachment-routes.ts';
import {
  directoryOf,
  makeDirectories,
  makeTenants,
  noSniffing,
  operationsFor,
  originOf,
  requireNode,
  requirePermission,
  scopeOf,
} from './server/caller.ts';
import type { FieldworkDeps, FieldworkEnv, Services } from './server/env.ts';
import { mountErasure } from './server/erasure-routes.ts';
import { mountLogs } from './server/log-routes.ts';
import { INVITABLE_ROLES, mountMembers } from './server/member-routes.ts';
import { mayInvite } from './server/memberships.ts';
import { mountOwner } from './server/owner-routes.ts';
import { platformSurface } from './server/platform-hooks.ts';
import { mountPublic } from './server/public-routes.ts';
import { makeScopePeople } from './server/scope-people.ts';
import { mountSessions } from './server/session-routes.ts';
import { makeSignIns } from './server/sign-in.ts';
import { mountSummaries } from './server/summary-routes.ts';
import { mountWeb } from './server/web-routes.ts';
import { operations } from './vertical/operations.ts';
import { defineFieldwork } from './vertical/vertical.ts';

/** Fieldwork, ready to be called. */
export interface Fieldwork {
  readonly manifest: typeof manifest;
  /** Call `app.fetch(request, env)`; `env.node` names the tenant and the scope of the request. */
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
  const directory = makeDirectories(engine, units.identity);
  const host: ScopeHost = makeScopeHost({
    engine,
    unit: units.scope,
    vault,
    now,
    random,
    onIncident: deps.onIncident,
    people: makeScopePeople({ directory, scope: (scopeId) => host.scope(scopeId) }),
    ...(blobs === undefined ? {} : { blobs }),
  });
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
  mountOperations(app, operations, operationsFor(services, operations), {
    ...problems,
    openapi: { title: manifest.name, version: manifest.version },
    ownOrigin: originOf,
    // The refusal of an anonymous caller names the issuer of tokens, on every route alike: see `signInException`.
    mcp: { serverInfo: { name: manifest.slug, title: manifest.name, version: manifest.version } },
  });
  mountPublic(app, services);
  mountPlatformSurface(app, platformSurface(services));
  mountWeb(app, deps.webFiles);
  return { manifest, app, units, host };
}

function mountInvites(app: Hono<FieldworkEnv>, services: Services): void {
  mountInviteRoutes(app, {
    scope: (c) => ({ tenantId: requireNode(c).tenant, scopeId: requireNode(c).scope }),
    requireAdmin: (c) => requirePermission(services, c, 'member.manage'),
    roles: INVITABLE_ROLES,
    mayInvite: (c, principal, role) => mayInvite(scopeOf(services, c), principal, role),
    directory: (c) => directoryOf(services, c),
    provider: async (c) => (await services.signIn(c)).provider,
    assignScopeRole: (c, { principal, role }, by) => scopeOf(services, c).assignRole({ principal, role, by }),
    revokeScopeRole: (c, { principal, role }, by) => scopeOf(services, c).revokeRole({ principal, role, by }),
    endScopeRoles: (c, { principal }) =>
      scopeOf(services, c).setRoles({ principal, roles: [], by: 'platform' }),
    onIncident: (c, error) =>
      services.deps.onIncident(error, { kind: manifest.slug, key: requireNode(c).scope, method: 'invites' }),
    origin: (c) => requireNode(c).origin,
    emailMatch: 'verified',
  });
}

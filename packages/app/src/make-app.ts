/** Puts an application together: one web application over the ports that it is given. */
import { type IdentityDirectoryUnit, makeIdentityDirectory } from '@freehold/auth';
import type { VerticalManifest } from '@freehold/contracts';
import { makeScopeHost, makeScopeUnit, type ScopeHost, type ScopeUnit } from '@freehold/kernel';
import {
  mountOperations,
  mountPlatformSurface,
  mountProblemDocs,
  type OpenApiInfo,
  type ProblemOptions,
  problemResponse,
  requestIds,
} from '@freehold/vertical-host';
import { Hono } from 'hono';
import { mountAttachments } from './attachments/attachment-routes.ts';
import type { App } from './declaration/app.ts';
import type { AppEnv, AppServices, Instance, Services } from './declaration/env.ts';
import { mountErasure } from './erasure/erasure-routes.ts';
import { mountLogs } from './logs/log-routes.ts';
import { mountLongWorks } from './long-work/work-routes.ts';
import { callersOf, resourceRecords } from './mcp/callers.ts';
import { mountInvites } from './members/invites.ts';
import { allHoldings, mountMe } from './members/me-routes.ts';
import { mountMembers } from './members/member-routes.ts';
import { mountSessions } from './members/session-routes.ts';
import { mountModelUsage } from './models/usage-routes.ts';
import { SUPPLIED_TAGS, suppliedRoutes } from './openapi/supplied-routes.ts';
import { makePages } from './pages/exchange.ts';
import { pageOfNonMember } from './pages/front-page.ts';
import { mountPages } from './pages/pages.ts';
import { problemPages } from './pages/problem-page.ts';
import { platformSurface } from './platform/platform-hooks.ts';
import { makeScopePeople } from './platform/scope-people.ts';
import { programPermissions } from './programs/parts.ts';
import { mountPrograms } from './programs/program-routes.ts';
import { makeReadCounter } from './programs/read-counter.ts';
import { mountPublic, publicPathsOf } from './public/public-routes.ts';
import { mountRecordFiles } from './record-files/file-routes.ts';
import { mountDeclaration } from './record-pages/declaration-routes.ts';
import { hasRecordPages, mountRecordPages } from './record-pages/shell-page.ts';
import { finishing, makeDirectories, makeTenants, notWired, originOf } from './request/caller.ts';
import { makeInstanceSignIns, makeSignIns } from './request/sign-in.ts';
import { mountSettings } from './settings/setting-routes.ts';
import { appTools } from './tools.ts';
import { mountWeb } from './web/web-routes.ts';

/** An application, ready to be called. */
export interface RunningApp {
  /** The declared manifest with what is supplied. */
  readonly manifest: VerticalManifest;
  /** Call `app.fetch(request, env)`; `env.node` names the tenant and the scope of the request. */
  readonly app: Hono<AppEnv>;
  /** The units that an engine has to be able to open. */
  readonly units: { readonly scope: ScopeUnit; readonly identity: IdentityDirectoryUnit };
  /** The scopes, for a platform in the same process. */
  readonly host: ScopeHost;
  /** The paths of the public surface: no limit of the platform counts a request below them (spec 4.6). */
  readonly publicPaths: readonly string[];
}

/**
 * Builds the application from a declaration of `defineApp`. It opens no unit before a request, and holds no state of its
 * own but caches of what its units know.
 * @throws Error when a route of `app.routes` or of the services cannot be mounted.
 */
export function makeApp(app: App, deps: AppServices): RunningApp {
  const { manifest, vertical } = app;
  const { engine, vault, blobs, now, random, onWork } = deps;
  const units = {
    scope: makeScopeUnit(vertical, onWork === undefined ? {} : { onWork }),
    identity: makeIdentityDirectory(deps.sealing === undefined ? {} : { sealing: deps.sealing }),
  };
  const directory = makeDirectories(engine, units.identity);
  const host: ScopeHost = makeScopeHost({
    engine,
    unit: units.scope,
    now,
    random,
    onIncident: deps.onIncident,
    people: makeScopePeople({ directory, manifest, scope: (scopeId) => host.scope(scopeId) }),
    programs: ({ tenantId, scopeId }, program) => directory(tenantId).usableProgram({ scopeId, ...program }),
    ...(vault === undefined ? {} : { vault }),
    ...(blobs === undefined ? {} : { blobs }),
  });
  const problems: ProblemOptions = {
    onIncident: (error, { requestId, method, path }) =>
      deps.onIncident(error, { kind: manifest.slug, key: requestId, method: `${method} ${path}` }),
  };
  const signInParts = {
    ...deps,
    slug: manifest.slug,
    envSpec: manifest.env,
    look: app.look,
    directory,
    nameOf: async ({ scope }: Instance) => (await host.scope(scope).identify({})).name,
  };
  const signIn = deps.signIn ?? makeSignIns(makeInstanceSignIns(signInParts));
  const tenants = makeTenants(host);
  const reads = makeReadCounter({
    directory,
    now: deps.now,
    onIncident: (error, key) => deps.onIncident(error, { kind: manifest.slug, key, method: 'program-reads' }),
  });
  const services: Services = { deps, app, manifest, problems, host, directory, signIn, tenants, reads };

  const hono = new Hono<AppEnv>();
  hono.onError((error, c) => problemResponse(c, error, problems));
  hono.use('*', requestIds(problems));
  const pages = makePages(services);
  hono.use('*', finishing(problemPages(pages)));
  mountProblemDocs(hono, problems);
  if (app.authenticatedPrincipal.kind === 'unauthenticated')
    hono.use('/api/*', notWired(app.authenticatedPrincipal.declaredAt));
  mountMe(hono, services);
  // In front of a deployed application the platform answers for programs, as it does for people.
  if (!deps.signIn && app.authenticatedPrincipal.kind === 'signed-in')
    mountPrograms(hono, {
      ...signInParts,
      signIn,
      reads,
      permissions: programPermissions(manifest.permissions, app.operations),
      holdings: ({ node: { scope }, principal }) => allHoldings(host.scope(scope), principal),
    });
  mountSessions(hono, services);
  mountMembers(hono, services);
  mountLogs(hono, services);
  mountLongWorks(hono, services);
  mountRecordFiles(hono, services);
  mountAttachments(hono, services);
  mountErasure(hono, services);
  mountSettings(hono, services);
  mountModelUsage(hono, services);
  mountInvites(hono, services);
  mountDeclaration(hono, services);
  app.routes?.(hono, appTools(services));
  mountOperations(hono, app.operations, callersOf(services), {
    ...problems,
    openapi: openApiOf(app),
    ownOrigin: originOf,
    // The refusal of an anonymous caller names the issuer of tokens, on every route alike: see `signInException`.
    mcp: {
      serverInfo: { name: manifest.slug, title: manifest.name, version: manifest.version },
      records: resourceRecords(services),
    },
  });
  mountPublic(hono, services);
  mountPlatformSurface(hono, platformSurface(services));
  const hasSuppliedPages = app.suppliedPages ?? typeof app.web !== 'string';
  if (hasSuppliedPages) {
    mountPages(hono, pages, { hasOtherFront: typeof app.web === 'string' || hasRecordPages(services) });
    mountRecordPages(hono, pages);
  }
  mountWeb(hono, services, async (c) => (hasSuppliedPages ? pageOfNonMember(pages, c) : null));
  return { manifest, app: hono, units, host, publicPaths: publicPathsOf(app.publicSurface) };
}

function openApiOf(app: App): OpenApiInfo {
  const { manifest, openapi } = app;
  return {
    title: manifest.name,
    version: manifest.version,
    ...openapi,
    tags: { ...SUPPLIED_TAGS, ...openapi?.tags },
    describedRoutes: [...suppliedRoutes(app), ...(openapi?.describedRoutes ?? [])],
  };
}

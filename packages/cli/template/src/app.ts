/** Builds the application: one web application over a given engine. */
import { type IdentityDirectory, identityDirectory, makeInstanceAuthCache } from '@freehold/auth';
import { PlatformError, type TenantId } from '@freehold/contracts';
import { makeScopeHost, makeScopeUnit, type ScopeHost, type ScopeUnit } from '@freehold/kernel';
import {
  mountOperations,
  mountPlatformSurface,
  mountProblemDocs,
  type ProblemOptions,
  problemResponse,
} from '@freehold/vertical-host';
import { Hono } from 'hono';
import { authenticatedPrincipal, signIn } from './authenticated-principal.ts';
import { type AppDeps, type AppEnv, instanceOf, type Services } from './env.ts';
import { manifest } from './manifest.ts';
import { platformSurface } from './platform-hooks.ts';
import { operations, vertical } from './vertical.ts';

export interface App {
  readonly manifest: typeof manifest;
  /** Call `app.fetch(request, { node })`; `node` names the instance. */
  readonly app: Hono<AppEnv>;
  /** The units that the engine must be able to open. */
  readonly units: { readonly scope: ScopeUnit; readonly identity: typeof identityDirectory };
  /** The scopes, for a platform in the same process. */
  readonly host: ScopeHost;
}

/** Builds the application. All state that it holds is a cache. */
export function makeApp(deps: AppDeps): App {
  const { engine, env, now, random, fetch, onWork } = deps;
  const units = { scope: makeScopeUnit(vertical, { onWork }), identity: identityDirectory };
  const host = makeScopeHost({ engine, unit: units.scope });
  const directory = (tenant: TenantId, options?: { readonly create: boolean }): IdentityDirectory =>
    engine.unit(units.identity, tenant, options);
  const instanceAuthFor = makeInstanceAuthCache({
    envSpec: manifest.env,
    env,
    runtime: { now, random, fetch },
  });
  const services: Services = { host, directory, instanceAuthFor };
  const problems: ProblemOptions = {
    onIncident: (error, { requestId, method, path }) =>
      deps.onIncident(error, { kind: manifest.slug, key: requestId, method: `${method} ${path}` }),
  };

  const app = new Hono<AppEnv>();
  app.onError((error, c) => problemResponse(c, error, problems));
  app.notFound((c) => problemResponse(c, new PlatformError('not_found', 'There is nothing here.'), problems));
  mountProblemDocs(app, problems);
  app.get('/', (c) => c.text(`${manifest.name}: sign in at /api/auth/login, then look at /api/docs.\n`));

  app.all('/api/auth/*', (c) => signIn(services, c));
  // Before any other route below /api, so that an anonymous caller cannot tell which of them exist.
  app.use('/api/*', async (c, next) => {
    c.set('principal', await authenticatedPrincipal(services, c));
    await next();
  });
  mountOperations(app, operations, (c) => host.operations(instanceOf(c).scope, c.get('principal')), {
    ...problems,
    openapi: { title: manifest.name, version: manifest.version },
    ownOrigin: (c) => instanceOf(c).origin,
  });
  mountPlatformSurface(app, platformSurface(deps, services, problems));
  return { manifest, app, units, host };
}

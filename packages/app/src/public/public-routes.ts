/** The public surface of an application: the script of its widget, and the requests of visitors (spec 4.6). */
import {
  makePublicActor,
  makeVisitorLimit,
  mountPublicSurface,
  mountWidgetScript,
} from '@freehold/vertical-host';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { PublicSurface, VisitorTools } from '../declaration/app.ts';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { PUBLIC_PATH } from '../declaration/supplied-paths.ts';
import { requireNode, scopeOf } from '../request/caller.ts';

/** A form of a few fields. */
const BODY_BYTES_DEFAULT = 16 * 1_024;
const LIMIT_DEFAULT = { times: 20, windowSeconds: 86_400 };

/** The paths of the public surface; no limit of the platform counts a request below them. */
export function publicPathsOf(surface: PublicSurface | undefined): readonly string[] {
  if (surface === undefined) return [];
  return [PUBLIC_PATH, ...(surface.script === undefined ? [] : [surface.script.path])];
}

export function mountPublic(app: Hono<AppEnv>, services: Services): void {
  const { publicSurface: surface } = services.app;
  if (surface === undefined) return;
  mountScript(app, services, surface);
  const limit = makeVisitorLimit({ ...LIMIT_DEFAULT, ...surface.limit, now: services.deps.now });
  const tools: VisitorTools = {
    limit: (c) => limit(requireNode(c).scope, c.env.clientAddress ?? null),
    businessName: async (c) => (await scopeOf(services, c).identify({})).name,
  };
  mountPublicSurface(app, {
    ...services.problems,
    service: surface.service,
    basePath: PUBLIC_PATH,
    bodyLimitBytes: surface.bodyBytesMax ?? BODY_BYTES_DEFAULT,
    resolveActor: (c, { service }) => actorOf(services, c, service, surface),
    routes: (route) => surface.routes(route, tools),
  });
}

/** The script is given as text, or is one of the built pages. */
function mountScript(app: Hono<AppEnv>, services: Services, { script }: PublicSurface): void {
  if (script === undefined) return;
  const built = services.deps.webFiles?.get(script.path);
  const source = script.source ?? (built && new TextDecoder().decode(built.body));
  if (source !== undefined) mountWidgetScript(app, { ...services.problems, path: script.path, source });
}

const listed = z.object({ origins: z.array(z.string()) });

/** The service in the instance that the page asked, with the sites that are listed at this moment. */
async function actorOf(services: Services, c: AppContext, service: string, { sites }: PublicSurface) {
  const { tenant, scope } = requireNode(c);
  const { tenantId } = await scopeOf(services, c).identify({});
  if (tenantId !== tenant) return null;
  const stub = services.host.operations(scope, `service:${service}`);
  if ('setting' in sites) {
    const { settings } = await services.signIn(c);
    return makePublicActor(stub, (settings[sites.setting] ?? '').split(/\s+/).filter(Boolean));
  }
  const { output } = await stub.invoke({ operation: sites.operation, input: {} });
  return makePublicActor(stub, listed.parse(output).origins);
}

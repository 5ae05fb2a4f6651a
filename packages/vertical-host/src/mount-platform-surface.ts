/** The management contract of a vertical: the platform's calls under `/internal/*` (spec 4.4, 5.6 and 7). */
import { PLATFORM_SECRET_HEADER, PlatformError, projectedRoles, roleKey } from '@freehold/contracts';
import { answerOtherMethod, requirePlatformSecret } from '@freehold/contracts/http';
import type { Context, Env, Hono } from 'hono';
import { bytesRoutes } from './lib/internal-bytes.ts';
import { delegationRoutes } from './lib/internal-delegations.ts';
import { flavouredRoutes } from './lib/internal-flavoured.ts';
import type { InternalRoute } from './lib/internal-route.ts';
import type { PlatformSurfaceDeps } from './lib/platform-surface-deps.ts';
import { guarded, installProblemHandler } from './lib/problem-response.ts';

/**
 * Mounts `/internal/*`. One middleware in front of all of it, unknown addresses included, checks the platform secret;
 * without a configured secret everything is 403. Every failure is a problem document.
 *
 * Call it last. It sets the app's error handler: a `PlatformError` from any route of the app is a problem document;
 * other errors go unchanged to the app's earlier handler, or, without one, are answered as {@link problemResponse}
 * does. A handler that is set after the mount replaces that outside of `/internal/*`; inside, `PlatformError`s stay
 * problem documents.
 * @throws Error at once when the app has routes under `/internal` already, which the middleware would not cover, or
 * when `roles` or `ownerRoleKey` are not well formed.
 */
export function mountPlatformSurface<E extends Env>(
  app: Hono<E>,
  deps: PlatformSurfaceDeps<E['Bindings']>,
): void {
  assertUncovered(app);
  projectedRoles.parse(deps.roles);
  roleKey.parse(deps.ownerRoleKey);
  installProblemHandler(app, deps);

  app.use(
    '/internal/*',
    guarded(app, deps, async (c, next) => {
      await requirePlatformSecret(
        c.req.header(PLATFORM_SECRET_HEADER),
        deps.platformSecret(c.env),
        'This address is for the platform only.',
      );
      await next();
      return undefined;
    }),
  );

  const routes: InternalRoute<E>[] = [
    ...delegationRoutes<E>(deps),
    ...bytesRoutes<E>(deps),
    ...flavouredRoutes<E>(deps),
  ];
  for (const { method, path, answer } of routes) app.on(method, path, guarded(app, deps, answer));
  for (const [path, at] of Map.groupBy(routes, (route) => route.path)) {
    const methods = at.map(({ method }) => method);
    app.all(
      path,
      guarded(app, deps, async (c) => answerOtherMethod(c.req.method, methods)),
    );
  }
  app.all('/internal/*', guarded(app, deps, notFound));
}

async function notFound(c: Context): Promise<Response> {
  throw new PlatformError('not_found', `The management contract has no ${c.req.path}.`);
}

/** An earlier route would answer before the middleware, and so be open to all callers. */
function assertUncovered<E extends Env>(app: Hono<E>): void {
  const open = app.routes.find(({ path, method }) => {
    const isMiddleware = method === 'ALL' && path === '/internal/*';
    return /^\/internal(?:\/|$)/.test(path) && !isMiddleware;
  });
  if (open)
    throw new Error(`${open.method} ${open.path} was mounted before mountPlatformSurface, which guards it`);
}

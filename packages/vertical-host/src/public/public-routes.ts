/** The table of a public surface: the address of each handler, checked once, at the mount. */
import type { HttpMethod } from '@freehold/contracts';
import { addressesOf, methodsAt, pathParams } from '@freehold/operations';
import type { Env } from 'hono';
import type { PublicHandler, PublicRouteRegistry, PublicSurfaceOptions } from './public-surface.ts';

export interface PublicRoute<E extends Env> {
  /** For messages: `GET /public/slots`. */
  readonly name: string;
  readonly method: HttpMethod;
  /** Under the base path, with its parameters named. */
  readonly path: string;
  readonly handler: PublicHandler<E>;
}

interface PublicRoutes<E extends Env> {
  /** The pattern of everything under the base path. */
  readonly everything: string;
  /** The most literal first, so that `/slots/next` is never taken for `/slots/:slot`. */
  readonly routes: readonly PublicRoute<E>[];
  /** Every method of a path, over all routes that fit it. */
  methodsAt(path: string): HttpMethod[];
}

/** @throws Error for a base path or a route that cannot be mounted, and for two that would dispatch identically. */
export function publicRoutes<E extends Env>({
  basePath,
  routes: register,
}: Pick<PublicSurfaceOptions<E>, 'basePath' | 'routes'>): PublicRoutes<E> {
  assertBasePath(basePath);
  const routes: PublicRoute<E>[] = [];
  const add = (method: HttpMethod) => (path: string, handler: PublicHandler<E>) => {
    // The base path itself is `/`; without its slash a path would lead out of the base.
    const whole = path === '/' ? basePath : `${basePath}${path}`;
    const name = `${method} ${whole}`;
    if (!path.startsWith('/')) throw new Error(`${name} cannot be mounted: ${path} must begin with a slash`);
    assertPath(name, whole);
    routes.push({ name, method, path: whole, handler });
  };
  const registry: PublicRouteRegistry<E> = {
    get: add('GET'),
    post: add('POST'),
    put: add('PUT'),
    patch: add('PATCH'),
    delete: add('DELETE'),
  };
  register(registry);
  return {
    everything: `${basePath}/*`,
    routes: addressesOf(routes).flatMap((address) => [...address.values()]),
    methodsAt: (path) => methodsAt(path, routes),
  };
}

function assertBasePath(basePath: string): void {
  assertPath(`the public surface ${basePath}`, basePath);
  if (basePath === '/internal' || basePath.startsWith('/internal/'))
    throw new Error('The public surface cannot be under /internal, which belongs to the platform');
}

function assertPath(name: string, path: string): void {
  try {
    const fields = pathParams(path);
    if (new Set(fields).size < fields.length) throw new Error('its path names a parameter twice');
  } catch (cause) {
    throw new Error(`${name} cannot be mounted: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** The public surface of a vertical: what widgets in other sites' pages may ask, as one service (spec 4.6, 5.7, 7.7). */
import { PlatformError, serviceKey } from '@freehold/contracts';
import { parseIdempotencyKey } from '@freehold/contracts/http';
import type { Context, Env, Hono } from 'hono';
import { readBody } from '../lib/json-body.ts';
import { requestIdOf } from '../lib/request-id.ts';
import { throughApp } from './app-errors.ts';
import { answerOptions, dressed, isListed, isOrigin } from './cors.ts';
import { makeHandlerActor } from './public-actor.ts';
import { type PublicRoute, publicRoutes } from './public-routes.ts';
import type { PublicActor, PublicSurfaceOptions } from './public-surface.ts';
import { dropCredentials, keepBody } from './visitor-request.ts';

/** A request that was let in. */
interface Admission {
  readonly origin: string;
  readonly actor: PublicActor;
  /** True once the handler's calls were answered with what had been done before. */
  replayed: boolean;
}

/**
 * Mounts `basePath` and everything under it for pages of other origins. `resolveActor` is asked for every request; a
 * request whose `Origin` is not on the list it answers is 403 before any handler runs, and so is one without
 * `Origin`, one with `Origin: null`, and one for which it answers null: nobody can tell the one from the other.
 *
 * A listed page gets CORS headers on every answer, refusals included, and never with credentials: the visitor's
 * cookies and `Authorization` are dropped before the vertical sees the request, and no cookie is set. Preflights
 * name exactly the methods that are registered at the path. Bodies are JSON of at most `bodyLimitBytes` (413, 415).
 * Other methods are 405 with `Allow`, other paths 404.
 *
 * Refusals are thrown, and so reach the error handler that the app has when they happen. Without one they are
 * answered as {@link problemResponse} does.
 *
 * Mount it before a catch-all of the app. What the app has under `basePath` already is not gated.
 * @throws Error at once for a service key, a base path or a route that cannot be served, and for two routes that
 * would dispatch identically, naming both.
 */
export function mountPublicSurface<E extends Env>(app: Hono<E>, options: PublicSurfaceOptions<E>): void {
  serviceKey.parse(options.service);
  const { everything, routes, methodsAt } = publicRoutes(options);
  const admissions = new WeakMap<Context<E>, Admission>();

  // Outside of the gate, so that it also dresses what the error handler answers.
  app.use(everything, async (c, next) => {
    await next();
    const response = dressed(c.res, {
      ...admissions.get(c),
      requestId: requestIdOf(c, options.newRequestId),
    });
    // Otherwise hono would copy the headers of the response that this one replaces.
    c.res = undefined;
    c.res = response;
  });
  app.use(
    everything,
    throughApp(app, options, async (c, next) => {
      admissions.set(c, await admit(c, options));
      await next();
      return undefined;
    }),
  );
  for (const route of routes) {
    app.on(
      route.method,
      route.path,
      throughApp(app, options, (c) => answer(c, route, requireAdmission(admissions.get(c)), options)),
    );
  }
  // After all of the above: the router takes the first that fits, and these fit every method.
  for (const { path } of routes)
    app.all(
      path,
      throughApp(app, options, async (c) => answerOptions(c.req.method, methodsAt(c.req.path))),
    );
  app.all(everything, throughApp(app, options, nothingHere));
}

/** @throws PlatformError `forbidden`: the one refusal of whoever is not on the list, whatever the reason is. */
async function admit<E extends Env>(
  c: Context<E>,
  { resolveActor, service }: PublicSurfaceOptions<E>,
): Promise<Admission> {
  const origin = c.req.header('origin');
  if (!isOrigin(origin)) throw notListed();
  await dropCredentials(c);
  const actor = await unlessNotFound(() => resolveActor(c, { origin, service }));
  if (actor === null || !isListed(origin, actor.allowedOrigins)) throw notListed();
  return { origin, actor, replayed: false };
}

async function answer<E extends Env>(
  c: Context<E>,
  { name, method, handler }: PublicRoute<E>,
  admission: Admission,
  { bodyLimitBytes }: PublicSurfaceOptions<E>,
): Promise<Response> {
  const { origin, actor } = admission;
  const isRead = method === 'GET';
  const key = isRead ? undefined : parseIdempotencyKey(c.req.header('idempotency-key'));
  const body = isRead ? {} : await readBody(c, bodyLimitBytes);
  if (!isRead) keepBody(c, body);
  const calls = makeHandlerActor(actor, { origin, key });
  const response: unknown = await handler(c, { actor: calls.actor, origin, body });
  // An error response of the network, or a switch of protocols, is nothing that could be dressed.
  if (!(response instanceof Response) || response.status < 200)
    throw new TypeError(`the handler of ${name} answered no Response`);
  admission.replayed = calls.replayed();
  return response;
}

/** Who is not there is answered like who is not listed, or their difference would tell which tenants there are. */
async function unlessNotFound(
  resolve: () => Promise<PublicActor | null> | PublicActor | null,
): Promise<PublicActor | null> {
  try {
    return await resolve();
  } catch (thrown) {
    if (isNotFound(thrown)) return null;
    throw thrown;
  }
}

function isNotFound(thrown: unknown): boolean {
  try {
    return thrown instanceof PlatformError && thrown.code === 'not_found';
  } catch {
    // A proxy can refuse even to be looked at.
    return false;
  }
}

/** Fail closed: without the gate there is nobody to act as. */
function requireAdmission(admission: Admission | undefined): Admission {
  if (!admission) throw notListed();
  return admission;
}

async function nothingHere(): Promise<never> {
  throw new PlatformError('not_found', 'There is nothing at this address.');
}

function notListed(): PlatformError {
  return new PlatformError('forbidden', 'This can be asked only by pages of sites that were listed for it.', {
    reason: 'origin_not_allowed',
  });
}

/**
 * The public surface of a vertical: the routes for widgets in other sites' pages, performed as one service (spec 4.6,
 * 5.7, 7.7).
 */
import { PlatformError, serviceKey } from '@freehold/contracts';
import { parseIdempotencyKey } from '@freehold/contracts/http';
import type { Context, Env, Hono } from 'hono';
import { isResponse } from '../lib/is-response.ts';
import { throughApp } from '../lib/problem-response.ts';
import { readBody, requestIdOf } from '../lib/request.ts';
import { answerOptions, dressed, isListed, isOrigin } from './cors.ts';
import { makeHandlerActor } from './public-actor.ts';
import { type PublicRoute, publicRoutes } from './public-routes.ts';
import type { PublicActor, PublicSurfaceOptions } from './public-surface.ts';

/** An admitted request. */
interface Admission {
  readonly origin: string;
  readonly actor: PublicActor;
  /** True when the handler's calls repeated earlier ones. */
  replayed: boolean;
}

/**
 * Mounts `basePath` and everything under it for pages of other origins. `resolveActor` is asked for every request. A
 * request whose `Origin` is not on its list is 403 before any handler runs; so is one without `Origin`, one with
 * `Origin: null`, and one for which it returns null: the four cannot be told apart.
 *
 * A listed page gets CORS headers on every answer, refusals included, and never with credentials: the visitor's cookies
 * and `Authorization` are dropped before the vertical sees the request, and no cookie is set. Preflights name exactly
 * the registered methods of the path. Bodies are JSON of at most `bodyLimitBytes` (413, 415). Other methods are 405
 * with `Allow`, other paths 404.
 *
 * Refusals are thrown to the app's error handler. Without one they are answered as {@link problemResponse} does.
 *
 * Mount it before a catch-all of the app. Earlier routes of the app under `basePath` are not gated.
 * @throws Error at once for a service key, a base path or a route that cannot be mounted, and for two routes that would
 * dispatch identically, naming both.
 */
export function mountPublicSurface<E extends Env>(app: Hono<E>, options: PublicSurfaceOptions<E>): void {
  serviceKey.parse(options.service);
  const { everything, routes, methodsAt } = publicRoutes(options);
  const admissions = new WeakMap<Context<E>, Admission>();

  // Outside of the gate, so that answers of the error handler get the headers too.
  app.use(everything, async (c, next) => {
    await next();
    const response = dressed(c.res, {
      ...admissions.get(c),
      requestId: requestIdOf(c, options.newRequestId),
    });
    // Otherwise hono would copy the headers of the replaced response.
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
  // After all of the above: hono takes the first route that fits, and these fit every method.
  for (const { path } of routes)
    app.all(
      path,
      throughApp(app, options, async (c) => answerOptions(c.req.method, methodsAt(c.req.path))),
    );
  app.all(everything, throughApp(app, options, nothingHere));
}

/** @throws PlatformError `forbidden`: one refusal for all requests that are not listed, whatever the reason. */
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
  if (!isRead) restoreBody(c, body);
  const calls = makeHandlerActor(actor, { origin, key });
  const response: unknown = await handler(c, { actor: calls.actor, origin, body });
  // A network error or a protocol switch cannot get headers.
  if (!isResponse(response) || response.status < 200)
    throw new TypeError(`the handler of ${name} answered no Response`);
  admission.replayed = calls.replayed();
  return response;
}

/**
 * An unknown instance gets the same answer as an unlisted origin, or the difference would reveal which tenants exist.
 */
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
    // A proxy can throw at `instanceof`.
    return false;
  }
}

/** Fails closed: without the gate there is no service to act as. */
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

/** Headers that a browser adds by itself to identify its user. */
const CREDENTIALS = ['authorization', 'cookie'];

/**
 * Removes the visitor's credentials from the request: a member who is signed in to the application in the same browser is
 * a visitor like any other here.
 */
async function dropCredentials(c: Context): Promise<void> {
  const { raw } = c.req;
  if (!CREDENTIALS.some((name) => raw.headers.has(name))) return;
  const headers = new Headers(raw.headers);
  for (const name of CREDENTIALS) headers.delete(name);
  // hono caches a body that a middleware has read.
  c.req.raw = withParts(raw, headers, raw.bodyUsed ? await c.req.arrayBuffer() : raw.body);
}

/** The parts are copied one by one: the constructor does not take the requests that some servers make themselves. */
function withParts({ url, method, signal }: Request, headers: Headers, body: RequestInit['body']): Request {
  const parts: RequestInit = { method, headers, signal, body: body ?? null };
  // Node needs this for a stream, and the types of workerd do not know it.
  return new Request(url, Object.assign(parts, { duplex: 'half' as const }));
}

/** Lets a handler read the judged body again, with `c.req.json()`. */
function restoreBody(c: Context, body: Readonly<Record<string, unknown>>): void {
  const headers = new Headers(c.req.raw.headers);
  headers.delete('content-length');
  headers.set('content-type', 'application/json');
  c.req.raw = withParts(c.req.raw, headers, JSON.stringify(body));
  // hono would prefer the cached body.
  c.req.bodyCache = {};
}

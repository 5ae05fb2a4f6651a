/**
 * The control plane's HTTP API (spec 1.C and 4.3): a transport over the host administration. It knows who calls and
 * whether the request has its declared form; what may be done and what is written down is decided behind it.
 */
import type { ApiDocs } from '@freehold/api-docs';
import { type HttpMethod, PlatformError, problemDocument, publicError } from '@freehold/contracts';
import {
  answerOtherMethod,
  type PlatformSecret,
  REQUEST_ID_HEADER,
  requestIdOf,
  requireVerticalSecret,
} from '@freehold/contracts/http';
import type { Actor, ConsentRounds, HostAdmin } from '@freehold/directory';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { type Context, Hono } from 'hono';
import { mountConnectRoutes } from './connect/connect-routes.ts';
import { type AdminOperationTable, routesOf } from './declared/operations.ts';
import { mountDocs } from './docs/docs-routes.ts';
import { answer, type ItemAddress, itemAddressOf, locationOf } from './http/answer.ts';
import { authenticate } from './http/authenticate.ts';
import { type CallReader, callReader } from './http/call.ts';
import {
  type Allowance,
  makeRateLimiter,
  RATE_LIMIT_DEFAULT,
  type RateLimit,
  type RateLimiter,
  rateLimitHeaders,
  tooManyCalls,
} from './http/rate-limit.ts';
import {
  ANONYMOUS_LIMITS_DEFAULT,
  type AnonymousLimits,
  limitAnonymous,
} from './http/rate-limit-anonymous.ts';
import { mountServiceRoutes } from './http/service-routes.ts';
import { mountMcp } from './mcp/mcp-endpoint.ts';
import { apiChallenge } from './oauth/metadata.ts';
import { mountOAuth } from './oauth/mount-oauth.ts';
import { programRefusal } from './oauth/oauth-error.ts';
import { openApiDocument } from './openapi/document.ts';
import { signInPage, tooManyPage } from './staff/refusal-pages.ts';
import { mountSignInRoutes } from './staff/sign-in-routes.ts';
import { type StaffOptions, staffSessionOf } from './staff/staff-options.ts';

export interface ControlPlaneOptions {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate' | 'perform'>;
  /** What is served. Default: every admin operation. */
  readonly operations?: AdminOperationTable;
  /** Receives what nobody expected: whatever was thrown and is not a `PlatformError`. It must not throw. */
  readonly onIncident: (error: unknown, where: IncidentPlace) => void;
  /** Receives one line a request, after its response was made. It must not throw. Default: nobody. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** The member of staff behind a session cookie, or null. Default: by `staff`, and without it tokens only. */
  readonly staffSession?: (request: Request) => Promise<Actor | null>;
  /**
   * How many calls one actor may make, counted in this process. Null: as many as it likes. Default: `RATE_LIMIT_DEFAULT`.
   */
  readonly rateLimit?: RateLimit | null;
  /**
   * How much strangers may cause, counted by the `clientAddress` that the wiring sends along. Null: as much as they like.
   * Default: `STRANGER_LIMITS_DEFAULT`; null where `rateLimit` is.
   */
  readonly strangerLimits?: AnonymousLimits | null;
  /** What `/readyz` asks; a throw counts as false. Default: always ready. */
  readonly ready?: () => Promise<boolean>;
  /**
   * What the secrets of verticals are derived from, or several while it is being replaced (see `verticalSecret`).
   * Default: no vertical is let in.
   */
  readonly platformSecret?: PlatformSecret;
  /** `hostAdmin.connections`: consent rounds for verticals (spec 4.7). Default: nobody is let in at their door. */
  readonly connect?: ConsentRounds;
  /**
   * The origin that people and programs reach this API at: `https://api.example.org`. Without it there are no staff
   * tools (`/mcp`) and no authorization server: both have to know their own name.
   */
  readonly origin?: () => string;
  /** Further host names that it answers to, as the wiring sends them here. Default: none. */
  readonly hostnames?: readonly string[];
  /** How staff sign in, and their programs get tokens. Takes effect with `origin`. Default: nobody signs in. */
  readonly staff?: StaffOptions;
  /** Shows the OpenAPI document to people at `/docs`. On Node: `apiDocs` of `@freehold/api-docs/node`. Default: not shown. */
  readonly docs?: ApiDocs;
}

/** Where an incident happened. */
export interface IncidentPlace {
  readonly requestId: string;
  /** The operation's name; null outside of the operations. */
  readonly operation: string | null;
}

/** One request, for the log. Holds nothing that the caller sent but its request id. */
export interface RequestLine extends IncidentPlace {
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  /** Who called, once that is known. */
  readonly actor: Actor | null;
}

interface Variables {
  requestId: string;
  operation: string | null;
  actor: Actor | null;
  /** What the actor has left, or a stranger who was counted; null where nobody is. */
  allowance: Allowance | null;
  /** The limit that the allowance is of. */
  limit: RateLimit | null;
}

/** What the wiring says of a request beside it: `app.fetch(request, { uncounted: true })`. */
interface Bindings {
  /** True for the platform's own work, which goes through a fleet page by page and waits for nobody. */
  readonly uncounted?: boolean;
  /**
   * The network address of the sender, as the wiring knows it; null or absent: nobody does, and the sender shares the
   * allowance of everybody of whom that is true. Never read from a header that anybody can write.
   */
  readonly clientAddress?: string | null;
}

/** What hono carries through one request. */
export interface ControlPlaneEnv {
  readonly Variables: Variables;
  readonly Bindings: Bindings;
}

/**
 * Notes who calls, and counts the call.
 * @throws PlatformError `rate_limited`.
 */
export type AdmitActor = (c: Context<ControlPlaneEnv>, actor: Actor) => void;

/** An operation with everything that is computed from its declaration once. */
interface Route {
  readonly operation: AdminOperation;
  readonly reader: CallReader;
  readonly item: ItemAddress | null;
}

/**
 * Builds the API. Serve it with `app.fetch`.
 * @throws TypeError when the table of operations cannot be served; it names the declarations at fault.
 */
export function controlPlaneApp(given: ControlPlaneOptions): Hono<ControlPlaneEnv> {
  const { staff } = given;
  const options: ControlPlaneOptions =
    staff && !given.staffSession ? { ...given, staffSession: staffSessionOf(staff) } : given;
  const operations: AdminOperationTable = options.operations ?? adminOperations;
  const limit = options.rateLimit === undefined ? RATE_LIMIT_DEFAULT : options.rateLimit;
  const { strangerLimits: anonymousLimits = limit && ANONYMOUS_LIMITS_DEFAULT } = options;
  const admit = actorAdmission(limit && makeRateLimiter(options.now, limit));
  const app = new Hono<ControlPlaneEnv>();
  app.use(async (c, next) => {
    const startedAtMs = options.now();
    c.set('requestId', requestIdOf(c.req.raw.headers, options.newRequestId));
    c.set('operation', null);
    c.set('actor', null);
    c.set('allowance', null);
    c.set('limit', null);
    // hono hands an Error to onError, and throws anything else on.
    await next().catch((thrown: unknown) => {
      c.res = failed(thrown, c, options);
    });
    const { allowance, limit: counted, ...seen } = c.var;
    c.res.headers.set(REQUEST_ID_HEADER, seen.requestId);
    if (counted && allowance)
      for (const [name, value] of Object.entries(rateLimitHeaders(counted, allowance)))
        c.res.headers.set(name, value);
    options.onRequest?.({
      ...seen,
      method: c.req.raw.method,
      status: c.res.status,
      durationMs: options.now() - startedAtMs,
    });
  });

  if (anonymousLimits)
    app.use(
      limitAnonymous({
        now: options.now,
        limits: anonymousLimits,
        isKnown: (c) => isKnown(c, { ...options, admit }),
        refuse: (c, error) =>
          programRefusal(c.req.path, error) ??
          tooManyPage(c.req.raw, error) ??
          problemDocument(error, c.var.requestId),
      }),
    );

  let openApi: string | undefined;
  mountServiceRoutes(app, {
    openApi: () => {
      openApi ??= JSON.stringify(openApiDocument(operations));
      return openApi;
    },
    ready: options.ready ?? (async () => true),
  });
  mountConnectRoutes(app, { rounds: options.connect, platformSecret: options.platformSecret });
  if (options.docs) mountDocs(app, options.docs);
  if (staff) mountSignInRoutes(app, staff, { ...options, admit });
  const { hostAdmin, now, origin, hostnames = [], onIncident } = options;
  if (origin) {
    mountOAuth(app, { origin, now, staff });
    mountMcp(app, { hostAdmin, operations, origin, hostnames, onIncident, admit });
  }
  for (const address of routesOf(operations)) {
    const routes = new Map(
      [...address].map(([method, operation]) => [method, routeOf(operation, operations)]),
    );
    const [path = ''] = [...address.values()].map((operation) => operation.path);
    app.all(path, (c) => {
      const route = routes.get((c.req.raw.method === 'HEAD' ? 'GET' : c.req.raw.method) as HttpMethod);
      return route
        ? serve(c, route, { ...options, admit })
        : answerOtherMethod(c.req.raw.method, [...routes.keys()]);
    });
  }

  app.notFound((c) => problemDocument(unknownAddress(), c.var.requestId));
  app.onError((error, c) => failed(error, c, options));
  return app;
}

function actorAdmission(limiter: RateLimiter | null): AdmitActor {
  return (c, actor) => {
    c.set('actor', actor);
    if (!limiter || c.env?.uncounted) return;
    // A member of the roster has one allowance, whatever they call with; a token of its own kind has its own.
    const allowance = limiter.take(`${actor.kind} ${actor.id}`);
    c.set('allowance', allowance);
    c.set('limit', limiter.limit);
    if (!allowance.admitted) throw tooManyCalls(allowance);
  };
}

/** Whether a request proves who sends it; then it is counted for them. */
async function isKnown(
  c: Context<ControlPlaneEnv>,
  options: ControlPlaneOptions & { readonly admit: AdmitActor },
): Promise<boolean> {
  try {
    options.admit(c, await authenticate(c.req.raw, options));
    return true;
  } catch (error) {
    if (error instanceof PlatformError && (error.status === 401 || error.status === 403)) return false;
    throw error;
  }
}

/** The problem document of whatever was thrown; a page for a browser in which nobody is signed in. */
function failed(thrown: unknown, c: Context<ControlPlaneEnv>, options: ControlPlaneOptions): Response {
  const { requestId, operation } = c.var;
  if (!(thrown instanceof PlatformError)) options.onIncident(thrown, { requestId, operation });
  const error = publicError(thrown);
  return signInPage(c.req.raw, error, options.staff) ?? problemDocument(error, requestId);
}

function unknownAddress(): PlatformError {
  return new PlatformError('not_found', 'There is nothing at this address.', { reason: 'unknown_address' });
}

/** One call, from the request to the response. Who calls is settled first, so that a stranger learns nothing. */
async function serve(
  c: Context<ControlPlaneEnv>,
  { operation, reader, item }: Route,
  options: ControlPlaneOptions & { readonly admit: AdmitActor },
): Promise<Response> {
  const request = c.req.raw;
  c.set('operation', operation.name);
  const actor = await authenticate(request, {
    ...options,
    challenge: () => apiChallenge(options.origin),
    verticalOf: (secret) => requireVerticalSecret(secret, options.platformSecret),
  });
  options.admit(c, actor);
  const input = await reader.read(request, c.req.param());
  const result = await options.hostAdmin.perform({
    ...input,
    operation: operation.name,
    actor,
    requestId: c.var.requestId,
  });
  const location = locationOf(request, { operation, item, path: operation.path }, result);
  return answer(operation, result, request, location);
}

function routeOf(operation: AdminOperation, operations: AdminOperationTable): Route {
  return { operation, reader: callReader(operation), item: itemAddressOf(operation, operations) };
}

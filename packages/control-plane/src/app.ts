/**
 * The control plane's HTTP API (spec 1.C and 4.3): a transport over the host administration. It authenticates the caller and
 * checks the form of a request. The host administration decides access and writes the logs.
 */
import { type HttpMethod, PlatformError, problemDocument, publicError } from '@freehold/contracts';
import {
  answerOtherMethod,
  callersRequestId,
  makeRateLimiter,
  type PlatformSecret,
  type RateLimit,
  type RateLimiter,
  REQUEST_ID_HEADER,
  requireVerticalSecret,
  tooManyCalls,
} from '@freehold/contracts/http';
import type { Actor, ConsentRounds, HostAdmin } from '@freehold/directory';
import { adminOperations } from '@freehold/directory/declarations';
import type { OpenApiDocument } from '@freehold/operations/openapi';
import { type Context, Hono } from 'hono';
import { mountConnectRoutes } from './connect/connect-routes.ts';
import { type AdminOperationTable, routesOf } from './declared/operations.ts';
import type { AdmitActor, ControlPlaneEnv, IncidentPlace, RequestLine } from './http/env.ts';
import {
  ANONYMOUS_LIMITS_DEFAULT,
  type AnonymousLimits,
  limitAnonymous,
  RATE_LIMIT_DEFAULT,
  rateLimitHeaders,
} from './http/rate-limit.ts';
import { type Authentication, authenticate, routeOf, type ServeOptions, serve } from './http/serve.ts';
import { type Degradation, mountServiceRoutes } from './http/service-routes.ts';
import { mountMcp } from './mcp/mcp-endpoint.ts';
import { mountAuthorize } from './oauth/authorize.ts';
import { mountDevicePage } from './oauth/device.ts';
import { apiChallenge, mountOAuthMetadata } from './oauth/metadata.ts';
import { makeProgramServer, mountRegistration } from './oauth/program-server.ts';
import { mountProgramsPage } from './oauth/programs-page.ts';
import { programRefusal } from './oauth/requests.ts';
import { mountTokenEndpoints } from './oauth/token.ts';
import { openApiDocument } from './openapi/document.ts';
import { mountSignInRoutes, signInPage, tooManyPage } from './staff/sign-in-routes.ts';
import { type StaffOptions, staffOf } from './staff/staff-options.ts';

export interface ControlPlaneOptions {
  /** Without `questions`, MCP clients of 2025-11-25 ask their person nothing. */
  readonly hostAdmin: Pick<HostAdmin, 'authenticate' | 'perform'> & Partial<Pick<HostAdmin, 'questions'>>;
  /** The operations to serve. Default: every admin operation. */
  readonly operations?: AdminOperationTable;
  /** Receives unexpected errors: every thrown value that is no `PlatformError`. It must not throw. */
  readonly onIncident: (error: unknown, where: IncidentPlace) => void;
  /** Receives one line a request, after its response was made. It must not throw. Default: no log. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** The member of staff behind a session cookie, or null. Default: by `staff`, and without it tokens only. */
  readonly staffSession?: (request: Request) => Promise<Actor | null>;
  /** The calls that one actor may make, counted in this process. Null: unlimited. Default: `RATE_LIMIT_DEFAULT`. */
  readonly rateLimit?: RateLimit | null;
  /**
   * The limits of anonymous senders, counted by the `clientAddress` of the wiring. Null: unlimited. Default:
   * `ANONYMOUS_LIMITS_DEFAULT`; null where `rateLimit` is.
   */
  readonly anonymousLimits?: AnonymousLimits | null;
  /** Answers `/readyz`; a throw counts as false. Default: always ready. */
  readonly ready?: () => Promise<boolean>;
  /** Members of the answer of `/readyz` beside its status; public. Default: none. */
  readonly readyDetails?: () => Readonly<Record<string, unknown>>;
  /** The faults that `/readyz` tells although requests are taken. Default: none. */
  readonly degraded?: () => readonly Degradation[];
  /**
   * The secret from which those of verticals are derived, or several while it is being replaced (see `verticalSecret`).
   * Default: every vertical is refused.
   */
  readonly platformSecret?: PlatformSecret;
  /** `hostAdmin.connections`: consent rounds for verticals (spec 4.7). Default: every vertical is refused. */
  readonly connect?: ConsentRounds;
  /**
   * The origin of this API: `https://api.example.org`. Without it there are no staff tools (`/mcp`) and no authorization
   * server: both have to know their own name.
   */
  readonly origin?: () => string;
  /** Further host names that the wiring sends here. Default: none. */
  readonly hostnames?: readonly string[];
  /** The sign-in of staff, and the tokens of their programs. Takes effect with `origin`. Default: no sign-in. */
  readonly staff?: StaffOptions;
}

/**
 * Builds the API. Serve it with `app.fetch`.
 * @throws TypeError when the table of operations cannot be served; it names the declarations at fault.
 */
export function controlPlaneApp(options: ControlPlaneOptions): Hono<ControlPlaneEnv> {
  const { hostAdmin, staff, origin, now, platformSecret, onIncident } = options;
  const operations: AdminOperationTable = options.operations ?? adminOperations;
  const limit = options.rateLimit === undefined ? RATE_LIMIT_DEFAULT : options.rateLimit;
  const { anonymousLimits = limit && ANONYMOUS_LIMITS_DEFAULT } = options;
  const admit = actorAdmission(limit && makeRateLimiter(now, limit));
  const people: Authentication = {
    hostAdmin,
    origin,
    staffSession: options.staffSession ?? (staff && ((request) => staffOf(staff, request))),
    challenge: () => apiChallenge(origin),
  };

  const app = new Hono<ControlPlaneEnv>();
  recordRequests(app, options);
  if (anonymousLimits)
    app.use(
      limitAnonymous({
        now,
        limits: anonymousLimits,
        isKnown: (c) => isKnown(c, people, admit),
        refuse: (c, error) =>
          programRefusal(c.req.path, error) ??
          tooManyPage(c.req.raw, error) ??
          problemDocument(error, c.var.requestId),
      }),
    );

  let openApi: OpenApiDocument | undefined;
  mountServiceRoutes(app, {
    openApi: () => {
      openApi ??= openApiDocument(operations);
      return openApi;
    },
    ready: options.ready ?? (async () => true),
    readyDetails: options.readyDetails ?? (() => ({})),
    degraded: options.degraded ?? (() => []),
  });
  mountConnectRoutes(app, { rounds: options.connect, platformSecret });
  if (staff) mountSignInRoutes(app, staff, { ...people, admit });
  if (origin) {
    mountOAuthMetadata(app, { origin, issuesTokens: staff !== undefined });
    if (staff) {
      const serverOf = makeProgramServer({ staff, origin, now });
      mountRegistration(app, serverOf);
      mountAuthorize(app, { staff, origin, serverOf });
      mountTokenEndpoints(app, { signIns: staff.signIns, origin, now, serverOf });
      mountProgramsPage(app, { staff, origin, hostAdmin });
      mountDevicePage(app, { staff, origin });
    }
    const { hostnames = [] } = options;
    const { sealingSecrets } = staff ?? {};
    mountMcp(app, { hostAdmin, operations, origin, hostnames, onIncident, admit, now, sealingSecrets });
  }
  const verticalOf = (secret: string) => requireVerticalSecret(secret, platformSecret);
  mountOperations(app, operations, { ...people, hostAdmin, verticalOf, admit });

  app.notFound((c) => problemDocument(unknownAddress(), c.var.requestId));
  app.onError((error, c) => failed(error, c, options));
  return app;
}

/** Gives each request its id and the headers of its allowance, and reports it when it is answered. */
function recordRequests(app: Hono<ControlPlaneEnv>, options: ControlPlaneOptions): void {
  app.use(async (c, next) => {
    const startedAtMs = options.now();
    c.set('requestId', options.newRequestId());
    c.set('operation', null);
    c.set('actor', null);
    c.set('allowance', null);
    c.set('limit', null);
    // hono passes an Error to onError, and throws any other value on.
    await next().catch((thrown: unknown) => {
      c.res = failed(thrown, c, options);
    });
    const { allowance, limit, ...seen } = c.var;
    c.res.headers.set(REQUEST_ID_HEADER, seen.requestId);
    if (limit && allowance)
      for (const [name, value] of Object.entries(rateLimitHeaders(limit, allowance)))
        c.res.headers.set(name, value);
    options.onRequest?.({
      ...seen,
      clientRequestId: callersRequestId(c.req.raw.headers),
      method: c.req.raw.method,
      status: c.res.status,
      durationMs: options.now() - startedAtMs,
    });
  });
}

function mountOperations(
  app: Hono<ControlPlaneEnv>,
  operations: AdminOperationTable,
  serving: ServeOptions,
): void {
  for (const address of routesOf(operations)) {
    const routes = new Map(
      [...address].map(([method, operation]) => [method, routeOf(operation, operations)]),
    );
    const [path = ''] = [...address.values()].map((operation) => operation.path);
    app.all(path, (c) => {
      const { method } = c.req.raw;
      const route = routes.get((method === 'HEAD' ? 'GET' : method) as HttpMethod);
      return route ? serve(c, route, serving) : answerOtherMethod(method, [...routes.keys()]);
    });
  }
}

function actorAdmission(limiter: RateLimiter | null): AdmitActor {
  return (c, actor) => {
    c.set('actor', actor);
    if (!limiter || c.env?.uncounted) return;
    // A member of the roster has one allowance over all sessions and programs; a push or service token has its own.
    const allowance = limiter.take(`${actor.kind} ${actor.id}`);
    c.set('allowance', allowance);
    c.set('limit', limiter.limit);
    if (!allowance.admitted) throw tooManyCalls(allowance);
  };
}

/** Whether a request proves its sender by a token or a session; then it is counted for that actor. */
async function isKnown(
  c: Context<ControlPlaneEnv>,
  people: Authentication,
  admit: AdmitActor,
): Promise<boolean> {
  try {
    admit(c, await authenticate(c.req.raw, people, c.env?.clientAddress));
    return true;
  } catch (error) {
    if (error instanceof PlatformError && (error.status === 401 || error.status === 403)) return false;
    throw error;
  }
}

/** The problem document of a thrown value, or the sign-in page for a browser without a session. */
function failed(thrown: unknown, c: Context<ControlPlaneEnv>, options: ControlPlaneOptions): Response {
  const { requestId, operation } = c.var;
  if (!(thrown instanceof PlatformError)) options.onIncident(thrown, { requestId, operation });
  const error = publicError(thrown);
  return signInPage(c.req.raw, error, options.staff) ?? problemDocument(error, requestId);
}

function unknownAddress(): PlatformError {
  return new PlatformError('not_found', 'There is nothing at this address.', { reason: 'unknown_address' });
}

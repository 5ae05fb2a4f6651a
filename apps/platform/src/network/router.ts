/**
 * The router: which application answers for a host name. It remembers where host names lead until the directory reports
 * a change (design: architecture, "A request, end to end").
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { resolveCookieDomain } from '@freehold/auth';
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { problemPage, refusal } from '@freehold/contracts/http';
import { CHALLENGE_PATH, type HostDestination } from '@freehold/directory';
import type { RequestGate } from './activity.ts';
import { enterTrace, type TraceContext } from './trace-context.ts';

/** Facts about a request's sender that are not in the request. */
export interface Client {
  /** The network address of the sender; null when it is unknown. Never read from a header that any sender can write. */
  readonly clientAddress: string | null;
}

/** The node that a request is for. */
export interface ServedNode {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly version: string;
  readonly surface: string;
}

/** The bindings of a vertical for one request. They come from the router, never from a header. */
export interface NodeEnv extends Client {
  readonly node:
    | (ServedNode & {
        readonly origin: string;
        /** The Domain of the session cookie, which all host names of the instance share; undefined for host-only cookies. */
        readonly cookieDomain: string | undefined;
      })
    | null;
}

/** One answered request to an application. It holds nothing that the sender wrote, but the method. */
export interface ServedRequest extends ServedNode, TraceContext {
  readonly method: string;
  /** The method and the words of the path, without its values: `GET/api/orders/id`. */
  readonly place: string;
  readonly status: number;
  readonly durationMs: number;
  /** When it was answered, in milliseconds since the epoch. */
  readonly atMs: number;
}

type Fetch = (request: Request, client: Client) => Response | Promise<Response>;

/** A vertical of this process, with the settings that every instance is bound to. */
export interface Application {
  readonly fetch: (request: Request, env: NodeEnv) => Response | Promise<Response>;
  readonly bindings: Readonly<Record<string, string>>;
  /** The paths of its public surface, with everything below them: no limit counts them (spec 4.6, 8). */
  readonly publicPaths: readonly string[];
}

export interface RouterOptions {
  /** The host names of the control plane: `api.localhost`. */
  readonly apiHostnames: readonly string[];
  readonly controlPlane: Fetch;
  /** Answers on `localhost` itself: readiness and a page of links. */
  readonly home: Fetch;
  readonly homeHostnames: readonly string[];
  /** The application of this process for a slug; null for none. Asked when a host name is looked up, not for each request. */
  readonly application: (slug: string) => Application | null;
  /** A version that runs beside the one that serves. */
  readonly preview: (ref: NonNullable<HostDestination['preview']>) => Application | null;
  /** Where a host name leads; null for a name that leads nowhere. */
  readonly route: (hostname: string) => Promise<HostDestination | null>;
  /** Answers a request for the document that proves a host name; null for every other request. */
  readonly challenge: (request: Request) => Promise<Response | null>;
  /**
   * The origin of a host name as browsers show it. Never the request's own: its sender writes the host and the port, and
   * tokens and mails are made for the origin.
   */
  readonly originOf: (hostname: string) => string;
  /** The limits of applications. Null: there are none. */
  readonly gate: Pick<RequestGate, 'admit' | 'hold'> | null;
  /** Domains below which different tenants have names: no cookie is set for one of them. */
  readonly sharedDomains: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives each request that an application answered. It must not throw. */
  readonly onServed: (served: ServedRequest) => void;
}

export interface Router {
  fetch(request: Request, client: Client): Promise<Response>;
  /** Forgets where host names lead; the next request for each asks again. */
  invalidate(): void;
}

/** A host name's route, with everything that each request for it needs. */
interface Destination {
  readonly serving: boolean;
  /** Null for a vertical that does not run here. */
  readonly application: Application | null;
  readonly served: ServedNode;
  readonly node: NonNullable<NodeEnv['node']>;
}

/** The number of host names that are remembered. */
const REMEMBERED_MAX = 10_000;

const serving = new AsyncLocalStorage<ServedNode>();

/** The node of the request that led to this call; null where no request did. */
export function servedNode(): ServedNode | null {
  return serving.getStore() ?? null;
}

/** Runs a task for a node. */
export function whileServing<T>(node: ServedNode, task: () => T): T {
  return serving.run(node, task);
}

export function makeRouter(options: RouterOptions): Router {
  const known = new Map<string, Promise<Destination | null>>();

  const destinationOf = (hostname: string): Promise<Destination | null> => {
    const remembered = known.get(hostname);
    if (remembered) return remembered;
    const asked = lookUp(hostname, options);
    // Any caller can make up names, so a made-up name may cost the others their place.
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(hostname, asked);
    // A failed read is not remembered: the next request tries again.
    asked.catch(() => {
      if (known.get(hostname) === asked) known.delete(hostname);
    });
    return asked;
  };

  const toApplication = async (
    request: Request,
    { serving: isServing, application, served, node }: Destination,
    { clientAddress }: Client,
  ): Promise<Response> => {
    if (!isServing)
      throw new PlatformError(
        'unavailable',
        'This application is suspended. Ask the people who run it for you.',
        { reason: 'suspended' },
      );
    // The management contract is between the platform and the vertical: it does not exist for the public.
    const url = new URL(request.url);
    if (/^\/internal(\/|$)/i.test(decodedPath(url))) throw nothingHere();
    if (!application)
      throw new PlatformError('unavailable', 'This application is not running here at the moment.', {
        reason: 'vertical_not_running',
      });
    const gate = isBelow(application.publicPaths, url.pathname) ? null : options.gate;
    gate?.admit(served, { method: request.method, path: url.pathname }, clientAddress);
    const startedAtMs = options.now();
    const trace = enterTrace(request.headers);
    // An error that the application throws becomes a 500 further out.
    let status = 500;
    try {
      const env = { ...application.bindings, node, clientAddress };
      const answer = await serving.run(served, () => application.fetch(request, env));
      const response = gate?.hold(served, clientAddress, answer) ?? answer;
      status = response.status;
      return response;
    } finally {
      const atMs = options.now();
      const durationMs = Math.max(0, atMs - startedAtMs);
      const { method } = request;
      const place = placeOf(method, url.pathname);
      options.onServed({ ...served, method, place, status, durationMs, atMs, ...trace });
    }
  };

  const answer = async (request: Request, client: Client): Promise<Response> => {
    const url = new URL(request.url);
    const hostname = url.hostname.replace(/\.$/, '');
    if (options.apiHostnames.includes(hostname)) return options.controlPlane(request, client);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const explain = () => (isRead ? problemPage(url.pathname) : null);
    if (options.homeHostnames.includes(hostname)) return explain() ?? options.home(request, client);
    try {
      const proof = url.pathname.startsWith(CHALLENGE_PATH) ? await options.challenge(request) : null;
      if (proof) return proof;
      const destination = await destinationOf(hostname);
      if (!destination) throw unknownHost();
      return await toApplication(request, destination, client);
    } catch (error) {
      // An application explains its problems itself; this refusal has no application behind it.
      if (error instanceof PlatformError) return explain() ?? refusal(request.headers, error);
      throw error;
    }
  };

  return {
    fetch: async (request, client) => withoutSniffing(await answer(request, client)),
    invalidate: () => known.clear(),
  };
}

async function lookUp(
  hostname: string,
  { route, application, preview, originOf, sharedDomains }: RouterOptions,
): Promise<Destination | null> {
  const found = await route(hostname);
  if (!found) return null;
  const { tenant, scope, vertical, version, surface } = found;
  const served = { tenant, scope, vertical, version, surface };
  return {
    serving: found.serving,
    application: found.preview ? preview(found.preview) : application(vertical),
    served,
    node: {
      ...served,
      origin: originOf(found.hostname),
      cookieDomain: resolveCookieDomain({ host: found.hostname, surfaces: found.hostnames, sharedDomains }),
    },
  };
}

function isBelow(paths: readonly string[], path: string): boolean {
  return paths.some((base) => path === base || path.startsWith(`${base}/`));
}

/** No browser may guess another content type than the declared one. */
function withoutSniffing(response: Response): Response {
  if (response.headers.get('x-content-type-options') === 'nosniff') return response;
  // The headers of an answer may be immutable, such as those of a redirect.
  const answer = new Response(response.body, response);
  answer.headers.set('x-content-type-options', 'nosniff');
  return answer;
}

/**
 * The path with its escapes decoded one by one, so that `%69nternal` is not another path than `internal`, and an invalid
 * escape does not hide the valid ones.
 */
function decodedPath(url: URL): string {
  return url.pathname.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes.replace(/%([2-7][0-9a-f])/gi, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      );
    }
  });
}

/**
 * The place of a request, without the values in its address: `GET /api/orders/ord_1` becomes `GET/api/orders/id`. Issues and
 * measurements are told apart by place, and a place that holds values would be a new one each time.
 */
export function placeOf(verb: string, path: string): string {
  const words = path.slice(1).split('/', 5);
  return [verb, ...words.map((word) => (/^[a-z][a-z-]{0,23}$/.test(word) ? word : 'id'))].join('/');
}

function unknownHost(): PlatformError {
  const detail =
    'No application answers at this address. Check the address, or bind it with the control plane.';
  return new PlatformError('not_found', detail, { reason: 'unknown_host' });
}

function nothingHere(): PlatformError {
  return new PlatformError('not_found', 'There is nothing at this address.');
}

/**
 * The router: which application answers for a host name. It remembers where the names lead that it was asked for, and
 * forgets it when the directory says that something changed (design: architecture, "A request, end to end").
 */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import type { HostRoute } from '@freehold/directory';

/** What is known of a request's sender beside the request. */
export interface Client {
  /** The network address of the sender; null when it is not known. Never read from a header that anybody can write. */
  readonly clientAddress: string | null;
}

/** What a vertical is told about the node it serves. Comes from the router, never from a header. */
export interface NodeEnv extends Client {
  readonly node: {
    readonly tenant: TenantId;
    readonly scope: ScopeId;
    readonly vertical: string;
    readonly version: string;
    readonly surface: string;
    readonly origin: string;
  } | null;
}

type Fetch = (request: Request, client: Client) => Response | Promise<Response>;

export interface RouterOptions {
  /** The host names of the control plane: `api.localhost`. */
  readonly apiHostnames: readonly string[];
  readonly controlPlane: Fetch;
  /** Answers on `localhost` itself: readiness and a page that says where to go. */
  readonly home: Fetch;
  readonly homeHostnames: readonly string[];
  /** A vertical that runs in this process, by slug. */
  readonly vertical: (
    slug: string,
  ) => ((request: Request, env: NodeEnv) => Response | Promise<Response>) | null;
  /** Where a host name leads; null for a name that leads nowhere. */
  readonly route: (hostname: string) => Promise<HostRoute | null>;
  /** Answers a request for the document that proves a host name, whatever leads there yet; null for every other request. */
  readonly challenge?: (request: Request) => Promise<Response | null>;
  /** The origin of a host name as browsers show it. Default: that of the request, for where nothing stands in front. */
  readonly originOf?: (hostname: string) => string;
}

export interface Router {
  fetch(request: Request, client: Client): Promise<Response>;
  /** Forgets where host names lead; the next request for each asks again. */
  invalidate(): void;
}

/** How many host names are remembered. */
const REMEMBERED_MAX = 10_000;

export function makeRouter(options: RouterOptions): Router {
  const known = new Map<string, Promise<HostRoute | null>>();

  const routeOf = (hostname: string): Promise<HostRoute | null> => {
    const remembered = known.get(hostname);
    if (remembered) return remembered;
    const asked = options.route(hostname);
    // Anybody can make up names: what is remembered of them is not worth more than what is remembered of the others.
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(hostname, asked);
    // A failed read is not remembered: the next request tries again.
    asked.catch(() => {
      if (known.get(hostname) === asked) known.delete(hostname);
    });
    return asked;
  };

  const toVertical = async (
    request: Request,
    { url, route, clientAddress }: Client & { readonly url: URL; readonly route: HostRoute },
  ): Promise<Response> => {
    if (!route.serving) {
      return refusal(
        request.headers,
        new PlatformError('unavailable', 'This application is suspended. Ask whoever runs it for you.', {
          reason: 'suspended',
        }),
      );
    }
    // The management contract is between the platform and the vertical: it does not exist for the public.
    if (/^\/internal(\/|$)/i.test(decodedPath(url))) return refusal(request.headers, nothingHere());
    const vertical = options.vertical(route.vertical);
    if (!vertical) {
      return refusal(
        request.headers,
        new PlatformError('unavailable', 'This application is not running here at the moment.', {
          reason: 'vertical_not_running',
        }),
      );
    }
    const { tenant, scope, version, surface } = route;
    const origin = options.originOf?.(route.hostname) ?? url.origin;
    return vertical(request, {
      node: { tenant, scope, vertical: route.vertical, version, surface, origin },
      clientAddress,
    });
  };

  const answer = async (request: Request, client: Client): Promise<Response> => {
    const url = new URL(request.url);
    const hostname = url.hostname.replace(/\.$/, '');
    if (options.apiHostnames.includes(hostname)) return options.controlPlane(request, client);
    if (options.homeHostnames.includes(hostname)) return options.home(request, client);
    try {
      const proof = await options.challenge?.(request);
      if (proof) return proof;
      const route = await routeOf(hostname);
      return route
        ? await toVertical(request, { url, route, ...client })
        : refusal(request.headers, unknownHost());
    } catch (error) {
      if (error instanceof PlatformError) return refusal(request.headers, error);
      throw error;
    }
  };

  return {
    fetch: async (request, client) => withoutSniffing(await answer(request, client)),
    invalidate: () => known.clear(),
  };
}

/** What we say a thing is, it is, whoever of us says it: no browser looks into it and makes a page of it. */
function withoutSniffing(response: Response): Response {
  if (response.headers.get('x-content-type-options') === 'nosniff') return response;
  // The headers of an answer may be fixed, such as those of a redirect.
  const answer = new Response(response.body, response);
  answer.headers.set('x-content-type-options', 'nosniff');
  return answer;
}

/**
 * The path with its escapes undone one by one, so that `%69nternal` is not another path than `internal`, and an escape
 * that means nothing does not hide the ones that do.
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

function unknownHost(): PlatformError {
  return new PlatformError(
    'not_found',
    'No application answers at this address. Check the address, or bind it with the control plane.',
    {
      reason: 'unknown_host',
    },
  );
}

function nothingHere(): PlatformError {
  return new PlatformError('not_found', 'There is nothing at this address.');
}

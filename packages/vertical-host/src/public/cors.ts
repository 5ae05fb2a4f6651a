/** What the public surface tells browsers: which page may ask, how, and what it may read (Fetch standard, section 3.3). */
import { answerOtherMethod, REQUEST_ID_HEADER } from '@freehold/contracts/http';

/** How long a browser may go by a preflight: the request itself is held against the list in any case. */
const PREFLIGHT_SECONDS = 60;

/** Names of hosts have at most 253 characters; the rest is room for a scheme and a port. */
export const ORIGIN_LENGTH_MAX = 300;

/** `scheme://host[:port]` (RFC 6454, section 6.2), and nothing that could be a list, a path or a pattern. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

/**
 * Whether the header names one origin. `null` does not: sandboxed frames and files of whoever made them send it, so
 * that a list with `null` would be open to everybody.
 */
export function isOrigin(header: string | undefined): header is string {
  return header !== undefined && header.length <= ORIGIN_LENGTH_MAX && ORIGIN.test(header);
}

/**
 * Whether the list has exactly this origin. A search through a thousand takes tens of microseconds, less than making
 * an index of them; and an index that is kept would go on letting in what was taken off the list.
 * @throws TypeError for what is no list: of a text, `includes` would find any part.
 */
export function isListed(origin: string, allowedOrigins: readonly string[]): boolean {
  if (!Array.isArray(allowedOrigins)) throw new TypeError('allowedOrigins of the actor is no list');
  return allowedOrigins.includes(origin);
}

/**
 * Answers OPTIONS, preflights included, with what the path takes.
 * @throws PlatformError `method_not_allowed`, with `Allow`, for every other method.
 */
export function answerOptions(method: string, registered: readonly string[]): Response {
  const response = answerOtherMethod(method, registered);
  response.headers.set('access-control-allow-methods', [...new Set(registered)].sort().join(', '));
  response.headers.set('access-control-allow-headers', 'content-type, idempotency-key');
  response.headers.set('access-control-max-age', String(PREFLIGHT_SECONDS));
  return response;
}

export interface Dressing {
  /** The page that may read it; undefined when none may. */
  readonly origin?: string;
  readonly replayed?: boolean;
  readonly requestId: string;
}

/**
 * The response as the surface lets it go. Whatever a handler, an error handler or a middleware wrote about CORS and
 * cookies does not count.
 */
export function dressed(response: Response, { origin, replayed, requestId }: Dressing): Response {
  const result = writable(response);
  const { headers } = result;
  headers.delete('access-control-allow-credentials');
  if (!hasMember(headers.get('vary'), 'origin')) headers.append('vary', 'Origin');
  if (origin === undefined) {
    headers.delete('access-control-allow-origin');
    headers.delete('access-control-expose-headers');
  } else {
    headers.set('access-control-allow-origin', origin);
    headers.set(
      'access-control-expose-headers',
      `allow, etag, idempotency-replayed, retry-after, ${REQUEST_ID_HEADER}`,
    );
  }
  if (replayed) headers.set('idempotency-replayed', 'true');
  headers.set('x-content-type-options', 'nosniff');
  for (const [name, value] of [
    ['cache-control', 'no-store'],
    [REQUEST_ID_HEADER, requestId],
  ] as const)
    if (!headers.has(name)) headers.set(name, value);
  return result;
}

function hasMember(list: string | null, name: string): boolean {
  return (list ?? '').split(',').some((each) => ['*', name].includes(each.trim().toLowerCase()));
}

/** Returns the response itself where its headers can be changed: a copy would make a stream of a body that is text. */
function writable(response: Response): Response {
  try {
    response.headers.delete('set-cookie');
    return response;
  } catch {
    // A response of `fetch` is immutable.
    const copy = new Response(response.body, response);
    copy.headers.delete('set-cookie');
    return copy;
  }
}

/**
 * CORS of the public surface: the pages that may ask, the methods, and the headers that they may read (Fetch standard,
 * section 3.3); and origins as owners write them.
 */
import { answerOtherMethod, REQUEST_ID_HEADER } from '@freehold/contracts/http';
import { z } from 'zod';

/** The time that a browser caches a preflight: the request itself is checked against the list in any case. */
const PREFLIGHT_SECONDS = 60;

/** Names of hosts have at most 253 characters; the rest is room for a scheme and a port. */
const ORIGIN_LENGTH_MAX = 300;

/** `scheme://host[:port]` (RFC 6454, section 6.2): no list, path or pattern. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

/**
 * Whether the header names one origin. `null` does not: any sandboxed frame or file sends it, so that a list with
 * `null` would be open to all.
 */
export function isOrigin(header: string | undefined): header is string {
  return header !== undefined && header.length <= ORIGIN_LENGTH_MAX && ORIGIN.test(header);
}

/**
 * Whether the list has exactly this origin. A search through a thousand takes tens of microseconds, less than building
 * an index; and a cached index would still hold removed origins.
 * @throws TypeError for a value that is no list: `includes` of a text would find any part of it.
 */
export function isListed(origin: string, allowedOrigins: readonly string[]): boolean {
  if (!Array.isArray(allowedOrigins)) throw new TypeError('allowedOrigins of the actor is no list');
  return allowedOrigins.includes(origin);
}

/**
 * Answers OPTIONS, preflights included, with the methods of the path.
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

/** The response with the surface's own CORS headers and without cookies, whatever a handler or middleware set. */
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

/**
 * Returns the response without cookies, to be changed: itself when it has a type, because a copy would make a stream of
 * a body that is text. Without a type it is copied: a handler may share one response without a body.
 */
function writable(response: Response): Response {
  if (response.headers.has('content-type'))
    try {
      response.headers.delete('set-cookie');
      return response;
    } catch {
      // A response of `fetch` is immutable.
    }
  const copy = new Response(response.body, response);
  copy.headers.delete('set-cookie');
  return copy;
}

/**
 * The origin of a web site, for an operation's input: `https://Shop.example/` becomes `https://shop.example`, and
 * `https://münchen.example` the ASCII form that browsers send. Refuses patterns, paths, user names, and other schemes
 * than http and https. It changes its input, and so has no JSON Schema as an output: give outputs `z.string()`.
 */
export const webOrigin: z.ZodType<string, string> = z
  .string()
  .max(ORIGIN_LENGTH_MAX)
  .transform((text, issues) => {
    const origin = originOf(text.trim());
    if (origin !== null) return origin;
    issues.addIssue({
      code: 'custom',
      message: 'must be the address of a site, such as https://shop.example',
    });
    return z.NEVER;
  });

/** Null for a text that is not exactly an origin. The parser accepts stars in host names, where no page can be. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { href, origin, protocol } = new URL(text);
  const isSite = ['https:', 'http:'].includes(protocol) && isOrigin(origin);
  return isSite && href === `${origin}/` ? origin : null;
}

/**
 * The routes of a consent round (spec 4.7): the address at which a vertical asks for a URL, and the two that a
 * person's browser passes. None is an admin operation: a vertical shows its own secret, a browser its ticket.
 */
import { PLATFORM_SECRET_HEADER, PlatformError, parseInput } from '@freehold/contracts';
import {
  answerOtherMethod,
  CONNECT_URL_PATH,
  connectUrlRequest,
  type PlatformSecret,
  readJsonObject,
  refusal,
  requireVerticalSecret,
} from '@freehold/contracts/http';
import type { ConnectCookie, ConnectStep, ConsentRounds } from '@freehold/directory';
import type { Context, Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { COMMON_HEADERS } from '../http/serve.ts';

interface ConnectOptions {
  readonly rounds: ConsentRounds | undefined;
  /** The secret from which those of verticals are derived. Unset: every vertical is refused (403). */
  readonly platformSecret: PlatformSecret;
}

/** Mounts the addresses. Without rounds every vertical is refused, and a browser finds nothing. */
export function mountConnectRoutes(
  app: Hono<ControlPlaneEnv>,
  { rounds, platformSecret }: ConnectOptions,
): void {
  app.post(CONNECT_URL_PATH, async (c) => {
    const shown = c.req.header(PLATFORM_SECRET_HEADER);
    const vertical = await requireVerticalSecret(shown, rounds && platformSecret);
    if (!rounds) throw new TypeError('a vertical was admitted without consent rounds');
    const request = parseInput('The body', connectUrlRequest, await readJsonObject(c.req.raw));
    return Response.json(await rounds.requestUrl({ ...request, vertical }), { headers: COMMON_HEADERS });
  });
  app.all(CONNECT_URL_PATH, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
  if (!rounds) return;

  app.all('/connect/callback/:provider', (c) =>
    browserStep(c, () => {
      const cookies = cookiesOf(c.req.raw.headers);
      return rounds.finish({
        provider: c.req.param('provider'),
        parameters: new URL(c.req.url).searchParams,
        cookie: (name) => cookies.get(name),
        requestId: c.var.requestId,
      });
    }),
  );
  app.all('/connect/:ticket', (c) => browserStep(c, () => rounds.start(c.req.param('ticket'))));
}

/** Never in a Referer, never stored: the address is a secret while it works. */
const STEP_HEADERS = { ...COMMON_HEADERS, 'referrer-policy': 'no-referrer' } as const;

/** One step of a person's browser: a redirect, or a page with the refusal. */
async function browserStep(c: Context<ControlPlaneEnv>, step: () => Promise<ConnectStep>): Promise<Response> {
  const { method, headers } = c.req.raw;
  // A HEAD of a link checker or a prefetch must not use the ticket up.
  if (method === 'HEAD') return new Response(null, { status: 204, headers: STEP_HEADERS });
  if (method !== 'GET') return answerOtherMethod(method, ['GET']);
  try {
    requireIntent(headers);
    const { location, cookie } = await step();
    const response = new Response(null, { status: 303, headers: { ...STEP_HEADERS, location } });
    if (cookie) response.headers.append('set-cookie', serializeCookie(cookie));
    return response;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const response = refusal(headers, error, c.var.requestId);
    for (const [name, value] of Object.entries(STEP_HEADERS)) response.headers.set(name, value);
    return response;
  }
}

/** @throws PlatformError `forbidden`, reason `prefetch`. */
function requireIntent(headers: Headers): void {
  const purpose = `${headers.get('sec-purpose') ?? ''} ${headers.get('purpose') ?? ''}`;
  if (!/\bprefetch\b/i.test(purpose)) return;
  throw new PlatformError('forbidden', 'This address works once, and only when a person opens it.', {
    reason: 'prefetch',
  });
}

/** SameSite=Lax: the callback is a navigation that the provider's site begins. */
function serializeCookie({ name, value, maxAgeSeconds, secure }: ConnectCookie): string {
  const flags = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax`;
  return `${name}=${value}; ${flags}${secure ? '; Secure' : ''}`;
}

/** Of two cookies with one name neither counts. */
function cookiesOf(headers: Headers): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const twice = new Set<string>();
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (found.has(name)) twice.add(name);
    found.set(name, pair.slice(equals + 1).trim());
  }
  for (const name of twice) found.delete(name);
  return found;
}

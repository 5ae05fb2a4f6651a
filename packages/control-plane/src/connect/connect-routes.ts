/**
 * The routes of a consent round (spec 4.7): the door at which a vertical asks for a URL, and the two addresses that a
 * person's browser passes. None of them is an admin operation: a vertical shows its own secret, a browser its ticket.
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
import type { ControlPlaneEnv } from '../app.ts';
import { COMMON_HEADERS } from '../http/answer.ts';

interface ConnectOptions {
  readonly rounds: ConsentRounds | undefined;
  /** What the secrets that verticals show at the door are derived from. Unset: nobody is let in (403). */
  readonly platformSecret: PlatformSecret;
}

/** Mounts the door and the browser's addresses. Without rounds the door is shut, and the rest is not there. */
export function mountConnectRoutes(
  app: Hono<ControlPlaneEnv>,
  { rounds, platformSecret }: ConnectOptions,
): void {
  app.post(CONNECT_URL_PATH, async (c) => {
    const shown = c.req.header(PLATFORM_SECRET_HEADER);
    const vertical = await requireVerticalSecret(shown, rounds && platformSecret);
    if (!rounds) throw new TypeError('the door was opened with nothing behind it');
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

/** Never passed on to the next page, and never kept: the address is a secret while it works. */
const STEP_HEADERS = { ...COMMON_HEADERS, 'referrer-policy': 'no-referrer' } as const;

/** One step of a person's browser: a redirect, or a page that says why not. */
async function browserStep(c: Context<ControlPlaneEnv>, step: () => Promise<ConnectStep>): Promise<Response> {
  const { method, headers } = c.req.raw;
  // A look at the address must not spend it: link checkers send HEAD, and browsers fetch ahead.
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
    const response = refusal(headers, error);
    for (const [name, value] of Object.entries(STEP_HEADERS)) response.headers.set(name, value);
    return response;
  }
}

/** @throws PlatformError `forbidden`, reason `prefetch`. */
function requireIntent(headers: Headers): void {
  const purpose = `${headers.get('sec-purpose') ?? ''} ${headers.get('purpose') ?? ''}`;
  if (!/\bprefetch\b/i.test(purpose)) return;
  throw new PlatformError('forbidden', 'This address works once, and only when somebody goes there.', {
    reason: 'prefetch',
  });
}

/** SameSite=Lax: the callback is a navigation that the provider's site begins. */
function serializeCookie({ name, value, maxAgeSeconds, secure }: ConnectCookie): string {
  const flags = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax`;
  return `${name}=${value}; ${flags}${secure ? '; Secure' : ''}`;
}

/** Of two cookies of one name neither is believed. */
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

/** The answers of the provider: pages, redirects, JSON, each with the headers that go with it. */
import type { Exchange, ProviderContext } from './context.ts';
import { type PageContent, renderPage } from '../pages/layout.ts';

interface PageInit {
  /** Default 200. */
  readonly status?: number;
  readonly setCookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page, which no cache keeps, no other site frames, and where nothing runs but our own script. */
export function pageResponse(
  context: ProviderContext,
  exchange: Exchange,
  content: PageContent,
  init: PageInit = {},
): Response {
  const body = renderPage({ theme: context.theme, appName: exchange.appName }, content);
  const headers = new Headers({
    ...init.headers,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyOf(context),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': PERMISSIONS,
    'referrer-policy': exchange.query.has('token') ? REFERRER_POLICY_OF_LINKS : REFERRER_POLICY,
    'x-frame-options': 'DENY',
  });
  return finish(new Response(body, { status: init.status ?? 200, headers }), init.setCookies);
}

/** On to another page (RFC 9110, 15.4.4): whatever was posted is not posted again by going back. */
export function redirectTo(location: string, setCookies: readonly string[] = []): Response {
  const headers = { location, 'referrer-policy': REFERRER_POLICY };
  return finish(new Response(null, { status: 303, headers }), setCookies);
}

/** An answer to our own script. */
export function jsonResponse(value: unknown, setCookies: readonly string[] = []): Response {
  return finish(Response.json(value), setCookies);
}

/**
 * `no-referrer` would keep the pages' addresses in as well, but a browser then sends `Origin: null` with our own
 * forms (Fetch, section 3.1), and on plain http that header is all that tells them from another site's.
 */
const REFERRER_POLICY = 'same-origin';

/** A page whose address has a token in it tells nobody that address, ourselves included. `Origin` stays. */
const REFERRER_POLICY_OF_LINKS = 'strict-origin';

const PERMISSIONS = [
  'publickey-credentials-get=(self)',
  'publickey-credentials-create=(self)',
  ...['camera', 'geolocation', 'microphone', 'payment', 'usb', 'display-capture'].map((name) => `${name}=()`),
].join(', ');

function policyOf({ theme }: ProviderContext): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${theme.styleSources}`,
    `img-src 'self' data:${theme.imageSources}`,
    // The script asks for passkey challenges.
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function finish(response: Response, setCookies: readonly string[] = []): Response {
  response.headers.set('cache-control', 'no-store');
  response.headers.set('x-content-type-options', 'nosniff');
  for (const cookie of setCookies) response.headers.append('set-cookie', cookie);
  return response;
}

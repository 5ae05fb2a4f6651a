/** The answers of the provider: pages, redirects and JSON with their headers, and what forms do with a refusal. */
import { PlatformError } from '@freehold/contracts';
import type { Limited } from '../../accounts/contract.ts';
import { type PageContent, renderPage } from '../pages/layout.ts';
import type { Exchange, ProviderContext } from './context.ts';

interface PageInit {
  readonly status?: number;
  readonly setCookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns a page that no cache stores and no other site frames, and that runs no script but ours. */
export function pageResponse(exchange: Exchange, content: PageContent, init: PageInit = {}): Response {
  const body = renderPage(exchange, content);
  const headers = new Headers({
    ...init.headers,
    'content-type': 'text/html; charset=utf-8',
    'content-language': exchange.tag,
    'content-security-policy': policyOf(exchange),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': PERMISSIONS,
    'referrer-policy': exchange.query.has('token') ? REFERRER_POLICY_OF_LINKS : REFERRER_POLICY,
    'x-frame-options': 'DENY',
  });
  return finish(new Response(body, { status: init.status ?? 200, headers }), init.setCookies);
}

/** Redirects by 303 (RFC 9110, 15.4.4): going back does not repeat the POST. */
export function redirectTo(location: string, setCookies: readonly string[] = []): Response {
  const headers = { location, 'referrer-policy': REFERRER_POLICY };
  return finish(new Response(null, { status: 303, headers }), setCookies);
}

export function jsonResponse(value: unknown, setCookies: readonly string[] = []): Response {
  return finish(Response.json(value), setCookies);
}

/** The same page again with its fault (RFC 9110, 15.5.21). */
export function again(exchange: Exchange, page: PageContent): Response {
  return pageResponse(exchange, page, { status: 422 });
}

/** The same page again after too many attempts (RFC 6585, section 4). */
export async function tooMany(
  exchange: Exchange,
  { retryAfterMs }: Limited,
  page: (alert: string) => PageContent | Promise<PageContent>,
): Promise<Response> {
  const minutes = Math.max(1, Math.ceil(retryAfterMs / 60_000));
  const content = await page(exchange.t.frame.tooMany(minutes));
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return pageResponse(exchange, content, { status: 429, headers: { 'retry-after': seconds } });
}

/** A field that the directory refused. */
export interface Invalid {
  readonly outcome: 'invalid';
  readonly field: string;
  readonly message: string;
}

const REFUSALS: ReadonlySet<string> = new Set(['conflict', 'not_found', 'validation_failed']);

/** Returns the directory's answer, or the field that it refused. Every other failure stays one. */
export async function orInvalid<T>({ t }: Pick<Exchange, 't'>, answer: Promise<T>): Promise<T | Invalid> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'validation_failed') throw error;
    return { outcome: 'invalid', field: error.errors?.[0]?.path ?? '', message: t.frame.sentenceOf(error) };
  }
}

/** Returns the directory's answer, or the sentence of its refusal: another tab may have been quicker. */
export async function orRefusal<T>(
  { t }: Pick<Exchange, 't'>,
  answer: Promise<T>,
): Promise<T | { readonly refusal: string }> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PlatformError) || !REFUSALS.has(error.code)) throw error;
    return { refusal: t.frame.sentenceOf(error) };
  }
}

/**
 * `no-referrer` would hide the pages' addresses as well, but a browser then sends `Origin: null` with our own forms
 * (Fetch, section 3.1), and on plain http that header alone tells them from another site's.
 */
export const REFERRER_POLICY = 'same-origin';

/** For a page whose address holds a token: the address is never sent, `Origin` is. */
export const REFERRER_POLICY_OF_LINKS = 'strict-origin';

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

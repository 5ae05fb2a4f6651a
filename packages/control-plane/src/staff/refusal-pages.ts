/** Refusals for somebody who navigates with a browser: what is wrong, and where to go. Software gets problem documents. */
import type { PlatformError } from '@freehold/contracts';
import { wantsPage } from '@freehold/contracts/http';
import { html, pageResponse } from './page.ts';
import { RETURN_BYTES_MAX, signInAddress } from './sign-in-routes.ts';
import type { StaffOptions } from './staff-options.ts';

/**
 * The page of a 401 with a link to the sign-in, because a browser can do nothing about a challenge for a bearer token;
 * the header stays for whatever else reads it (RFC 9110, section 15.5.2). A link and no redirect: somebody who comes
 * back from the issuer without a session that counts would be sent round in circles.
 * @returns null for software, for a token that was refused, for what no link leads back to, and where nobody can sign in.
 */
export function signInPage(
  request: Request,
  error: PlatformError,
  staff: StaffOptions | undefined,
): Response | null {
  const { method, headers, url } = request;
  if (error.code !== 'unauthenticated' || (method !== 'GET' && method !== 'HEAD') || !wantsPage(headers))
    return null;
  if (headers.has('authorization') || !staff?.relyingParty()) return null;
  const { pathname, search } = new URL(url);
  const back = pathname.length + search.length > RETURN_BYTES_MAX ? '/' : pathname + search;
  return withHeaders(
    pageResponse({
      title: 'Sign in first',
      status: error.status,
      body: html`<p>This is for the staff of the platform and the builders of its tenants. <a href="${signInAddress(back)}">Sign in</a> to go on.</p><p><small>A program sends a token instead: <code>Authorization: Bearer …</code>. <a href="/docs">The reference</a> says more.</small></p>`,
    }),
    error,
  );
}

/** The page of a 429; null for software. */
export function tooManyPage(request: Request, error: PlatformError): Response | null {
  if (!wantsPage(request.headers)) return null;
  return withHeaders(
    pageResponse({
      title: 'Too many requests',
      status: error.status,
      body: html`<p>${error.message} They are counted for everybody who shares your network address.</p>`,
    }),
    error,
  );
}

function withHeaders(page: Response, { headers = {} }: PlatformError): Response {
  for (const [name, value] of Object.entries(headers)) page.headers.set(name, value);
  return page;
}

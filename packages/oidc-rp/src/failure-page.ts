/** The plain page that a person sees when a sign-in fails and the application has no page of its own for it. */
import { LOGIN_PATH } from './cookies.ts';
import type { OidcError } from './errors.ts';

/** Seconds after which trying again makes sense. */
const RETRY_AFTER_S = 30;

/**
 * An HTML answer with the error's own status. It holds only our own words and the code, which users quote in
 * reports; nothing from the request or the issuer, so there is nothing to escape.
 */
export function failureResponse(error: OidcError): Response {
  const heading = error.code === 'sign_out_incomplete' ? 'Sign-out incomplete' : 'Sign-in failed';
  const retry = error.retryable ? `<p><a href="${LOGIN_PATH}">Sign in again</a></p>` : '';
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8">' +
    `<meta name="viewport" content="width=device-width"><title>${heading}</title>` +
    `<h1>${heading}</h1><p>${error.message}</p>${retry}<p>Code: <code>${error.code}</code></p></html>`;
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  if (error.status === 503) headers.set('retry-after', String(RETRY_AFTER_S));
  return new Response(page, { status: error.status, headers });
}

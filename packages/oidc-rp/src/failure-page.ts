/** The plain page for a failed sign-in, when the application has no page of its own for it. */
import { createHash } from 'node:crypto';
import { LOGIN_PATH } from './cookies.ts';
import type { OidcError, OidcErrorCode } from './lib/errors.ts';
import { landingPath } from './safe-path.ts';

/** Seconds after which another attempt makes sense. */
const RETRY_AFTER_S = 30;

/** A link of the page. */
type FailureLink = 'again' | 'other_account' | 'start';

/**
 * The links that help, the likeliest first. Where the issuer is at fault, another attempt helps only after its
 * repair.
 */
const LINKS: Readonly<Record<OidcErrorCode, readonly FailureLink[]>> = {
  flow_expired: ['again', 'start'],
  state_mismatch: ['again', 'start'],
  issuer_mismatch: ['again', 'start'],
  response_invalid: ['again', 'start'],
  // An issuer that still knows the user would decline again at once.
  access_denied: ['again', 'other_account', 'start'],
  login_required: ['again', 'other_account', 'start'],
  authorization_failed: ['again', 'start'],
  issuer_unavailable: ['again', 'start'],
  issuer_misconfigured: ['again', 'start'],
  exchange_failed: ['again', 'start'],
  id_token_invalid: ['again', 'start'],
  userinfo_invalid: ['again', 'other_account', 'start'],
  cookie_too_large: ['other_account', 'start'],
  sign_in_refused: ['other_account', 'start'],
  sign_out_incomplete: ['start'],
  logout_request_invalid: ['start'],
  // These answer sign-outs too, which no link may begin.
  prefetch_refused: ['start'],
  navigation_required: ['start'],
  method_not_allowed: ['start'],
};

const LINK_TEXTS: Readonly<Record<FailureLink, string>> = {
  again: 'Try again',
  other_account: 'Use another account',
  start: 'Go to the start page',
};

const HEADINGS: Readonly<Partial<Record<OidcErrorCode, string>>> = {
  access_denied: 'You are not signed in',
  sign_out_incomplete: 'Signing out is not complete',
  prefetch_refused: 'Nothing has happened',
  navigation_required: 'Nothing has happened',
  method_not_allowed: 'Nothing has happened',
};

const STYLE =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}' +
  'body{max-width:34rem;margin:12vh auto;padding:0 1.5rem}' +
  'h1{font-size:1.5rem;line-height:1.25}ul{padding:0;list-style:none}li{margin:.75rem 0}small{opacity:.8}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/**
 * Returns an HTML answer with the error's status: the failure, links, and the code, which people quote in reports.
 * It holds only our own text, and in its links the place that the user was going to, if that is a safe path.
 */
export function failureResponse(error: OidcError, returnTo?: unknown): Response {
  const heading = HEADINGS[error.code] ?? 'Signing in did not work';
  const ways = LINKS[error.code].map(
    (way) => `<li><a href="${addressOf(way, returnTo)}">${LINK_TEXTS[way]}</a></li>`,
  );
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8">' +
    `<meta name="viewport" content="width=device-width"><title>${heading}</title><style>${STYLE}</style>` +
    `<main><h1>${heading}</h1><p>${error.message}</p><ul>${ways.join('')}</ul>` +
    `<p><small>Code: <code>${error.code}</code></small></p></main></html>`;
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  if (error.status === 503) headers.set('retry-after', String(RETRY_AFTER_S));
  return new Response(page, { status: error.status, headers });
}

/** Returns an address for an attribute: form-encoding leaves no character that would have to be escaped there. */
function addressOf(way: FailureLink, returnTo: unknown): string {
  if (way === 'start') return '/';
  const place = landingPath(returnTo);
  const query = [
    ...(way === 'other_account' ? ['switch'] : []),
    ...(place === null ? [] : [new URLSearchParams({ returnTo: place }).toString()]),
  ];
  return query.length === 0 ? LOGIN_PATH : `${LOGIN_PATH}?${query.join('&amp;')}`;
}

/**
 * Cross-site request forgery: a cookie rides along on whatever page made the browser send a request, so an unsafe
 * request says where it comes from before its cookie means anything (W3C Fetch Metadata; RFC 6454).
 */
import { PlatformError } from '../problems.ts';

export interface SameOriginRule {
  /**
   * True refuses also a request that no page made, for a session that only our own pages use. Default: let through,
   * because a client that sends neither header is no browser and cannot be tricked.
   */
  readonly pageOnly?: boolean;
}

/**
 * Refuses an unsafe request that a browser says another origin's page made, a sibling host included: on a platform
 * the sibling is another tenant. No page can set either header. `Sec-Fetch-Site` decides when it is there, since it
 * holds behind a proxy that ends TLS; older browsers, and all of them on plain HTTP, send `Origin` alone.
 * @param ownOrigin the origin that browsers see the application at, or where to learn it: most requests need not ask.
 * @throws PlatformError `forbidden`, reason `cross_site`.
 */
export function requireSameOrigin(
  headers: Headers,
  ownOrigin: string | (() => string),
  rule: SameOriginRule = {},
): void {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  const isOwn = (): boolean => origin === (typeof ownOrigin === 'string' ? ownOrigin : ownOrigin());
  const byOwnPage = site === null ? origin !== null && isOwn() : site === 'same-origin';
  const byNoPage = site === null ? origin === null : site === 'none';
  if (byOwnPage || (byNoPage && !rule.pageOnly)) return;
  throw new PlatformError('forbidden', 'This can be done only from a page of this site.', {
    reason: 'cross_site',
  });
}

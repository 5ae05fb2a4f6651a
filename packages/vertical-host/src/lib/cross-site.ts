/**
 * Requests that another site's page makes in a visitor's name. A session cookie rides along on them, so an unsafe
 * one is refused before the cookie is looked at.
 */
import { PlatformError } from '@freehold/contracts';

/**
 * Refuses an unsafe request that a browser says comes from elsewhere. Neither header can be set by a page.
 * `Sec-Fetch-Site` decides when it is there, since it holds behind a proxy that ends TLS; older browsers, and all
 * of them on plain HTTP, send `Origin` alone. A client that sends neither is no browser, and cannot be tricked.
 * @param ownOrigin the origin that the caller sees this app at.
 * @throws PlatformError `forbidden`, reason `cross_site`.
 */
export function assertSameSite(headers: Headers, ownOrigin: string): void {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  if (site === null && origin === null) return;
  // same-site is another subdomain, which another tenant may own.
  const isOwn = site !== null ? site === 'same-origin' || site === 'none' : origin === ownOrigin;
  if (isOwn) return;
  throw new PlatformError('forbidden', 'A page of another site may not do this.', { reason: 'cross_site' });
}

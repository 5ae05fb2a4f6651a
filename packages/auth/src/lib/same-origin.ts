/** Cross-site request forgery: a browser says where a request comes from, and we listen (W3C Fetch Metadata). */
import { PlatformError } from '@freehold/contracts';

/**
 * Refuses a request that a browser made on behalf of another origin, a sibling host included: on a platform the
 * sibling is another tenant. A request without either header comes from no browser and carries no cookie that
 * was not put there on purpose.
 * @param ownOrigin the origin the application is reached at, as browsers see it.
 * @throws PlatformError `forbidden`, reason `cross_origin`.
 */
export function requireSameOrigin(headers: Headers, ownOrigin: string): void {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  const sameSite = site === null || site === 'same-origin' || site === 'none';
  const sameOrigin = origin === null || origin === ownOrigin;
  if (!sameSite || !sameOrigin)
    throw new PlatformError('forbidden', 'This request was made by another site, and was refused.', {
      reason: 'cross_origin',
    });
}

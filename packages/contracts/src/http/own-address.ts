/**
 * Protection from DNS rebinding: for its browser, a page whose name was pointed here is of the same origin, so only the
 * name tells. Requests under a foreign name, or from a foreign page, are refused before they are read (MCP 2026-07-28,
 * "Security Warning" of the HTTP transport).
 */
import { PlatformError } from '../problems.ts';
import { requireSameOrigin } from './request.ts';

export interface OwnAddress {
  /** The origin of the application for browsers; undefined when it is not configured. */
  readonly origin: string | undefined;
  /** Further names that it answers to. */
  readonly hostnames: readonly string[];
}

/**
 * Refuses a request whose `Host` is not one of our names, or whose `Origin` is not ours. Without a configured name, only
 * loopback names are ours: a name from the request itself proves nothing.
 * @throws PlatformError `forbidden`, reason `foreign_host` or `cross_site`.
 */
export function requireOwnAddress({ url, headers }: Pick<Request, 'url' | 'headers'>, own: OwnAddress): void {
  const { host, origin } = new URL(url);
  const hostname = hostnameOf(headers.get('host') ?? host);
  const known = [...(own.origin === undefined ? [] : [new URL(own.origin).hostname]), ...own.hostnames].map(
    (each) => each.toLowerCase(),
  );
  const isOurs = known.length === 0 ? isLoopback(hostname) : known.includes(hostname);
  if (hostname === '' || !isOurs)
    throw new PlatformError('forbidden', 'This application is not reached under that name.', {
      reason: 'foreign_host',
    });
  const ownOrigin = own.origin ?? origin;
  // A foreign Origin is refused whatever Fetch Metadata say: they contradict each other only when one is forged.
  const sent = headers.get('origin');
  if (sent !== null && sent !== ownOrigin)
    throw new PlatformError('forbidden', 'This can be done only from a page of this site.', {
      reason: 'cross_site',
    });
  requireSameOrigin(headers, ownOrigin);
}

/** Returns the name of a `Host` header in lower case (RFC 9110, 7.2); empty for a malformed one. */
function hostnameOf(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? '';
}

/** Names that are never looked up by DNS (RFC 6761, 6.3). */
function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');
}

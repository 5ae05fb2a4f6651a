/**
 * DNS rebinding: a page whose name was made to lead here is of the same origin as far as its browser knows, so that
 * only the name itself tells. Requests under a foreign name, or from a foreign page, are refused before anything is
 * read (MCP 2026-07-28, "Security Warning" of the HTTP transport).
 */
import { PlatformError } from '../problems.ts';
import { requireSameOrigin } from './request.ts';

export interface OwnAddress {
  /** The origin that browsers see the application at; undefined when nobody said. */
  readonly origin: string | undefined;
  /** Further names that it answers to. */
  readonly hostnames: readonly string[];
}

/**
 * Refuses a request whose `Host` is not one of our names, or whose `Origin` is not ours. Where nobody said what our
 * name is, it is a loopback one: a name that we only know from the request itself proves nothing.
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
  // Fetch Metadata does not save a foreign Origin here: the two contradict each other only when one is forged.
  const sent = headers.get('origin');
  if (sent !== null && sent !== ownOrigin)
    throw new PlatformError('forbidden', 'This can be done only from a page of this site.', {
      reason: 'cross_site',
    });
  requireSameOrigin(headers, ownOrigin);
}

/** The name of a `Host` header (RFC 9110, section 7.2), in lower case; empty for what is none. */
function hostnameOf(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? '';
}

/** Names that no DNS server is asked about (RFC 6761, section 6.3). */
function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');
}

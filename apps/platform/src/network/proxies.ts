/**
 * The sender and the address of a request that came through proxies. Any sender can write `X-Forwarded-*`: the headers
 * count only when the connection comes from a proxy that the operator named, and only up to the nearest hop that is none.
 */
import { isIP } from 'node:net';
import { type AddressList, isPrivate, makeAddressList } from '../settings/address-list.ts';

/** A request as its sender meant it. */
export interface Seen {
  /** The same request, at the address that the sender's browser shows. */
  readonly request: Request;
  /** The network address of the sender; null when no trusted hop names it, and where the peer may be a proxy. */
  readonly clientAddress: string | null;
  /** Whether the sender used TLS; null where a proxy that is not trusted, or says nothing, hides it. */
  readonly isSecure: boolean | null;
  /** The reason for a null above; null otherwise. */
  readonly hidden: 'not_trusted' | 'not_said' | null;
}

/** @param peer the address at the other end of the connection. */
export type ProxyReader = (request: Request, peer: string | undefined) => Seen;

/** Names of this machine, which an operator uses without the proxy. */
export const LOCAL = /^(?:(?:.+\.)?localhost|127\.0\.0\.1|\[::1\])$/;

/** The proxies that gave themselves away are remembered; beyond, the first one is forgotten. */
const REMEMBERED_MAX = 1_000;

/** @param trusted addresses and ranges of proxies that overwrite these headers. None: the headers mean nothing. */
export function makeProxyReader(trusted: readonly string[]): ProxyReader {
  const isTrusted = trusted.length === 0 ? null : makeAddressList(trusted);
  /** Proxies that are not trusted. A program sends nothing that gives away the proxy which it came through. */
  const known = new Set<string>();

  const readUntrusted = (request: Request, address: string | null): Seen => {
    const isLocal = LOCAL.test(new URL(request.url).hostname);
    const isRelayed = PROXY_HEADERS.some((name) => request.headers.has(name));
    const isTold = isRelayed || request.headers.has(BROWSER_HEADER);
    // Where proxies are named, a sender on the internet is none, and could shed its address by a header.
    const canBeProxy = address !== null && (isTrusted === null || isPrivate(address));
    if (isTold && canBeProxy && !isLocal) remember(known, address);
    const isHidden = isTold || (!isLocal && address !== null && known.has(address));
    // A browser at a name of this machine sends its header without TLS.
    const isUnknown =
      canBeProxy && (isLocal ? isRelayed : isHidden || (isTrusted === null && isPrivate(address)));
    return {
      request,
      clientAddress: isUnknown ? null : address,
      isSecure: isHidden ? null : false,
      hidden: isHidden ? 'not_trusted' : null,
    };
  };

  return (request, peer) => {
    const address = plainAddress(peer);
    if (address === null || !isTrusted?.(address)) return readUntrusted(request, address);
    const meant = withForwardedUrl(request);
    const isSecure = readProtocol(meant);
    return {
      request: meant,
      clientAddress: readClient(request.headers.get('x-forwarded-for'), isTrusted),
      isSecure,
      hidden: isSecure === null ? 'not_said' : null,
    };
  };
}

/**
 * Whether the sender used TLS, by the proxy's word. A proxy behind another one says how that one came to it: a browser
 * that came over https gives it away, and would be redirected in a circle.
 */
function readProtocol({ url, headers }: Request): boolean | null {
  const protocol = nearest(headers.get('x-forwarded-proto'));
  if (protocol === 'https') return true;
  if (protocol !== 'http') return null;
  return headers.has(BROWSER_HEADER) && !LOCAL.test(new URL(url).hostname) ? null : false;
}

function remember(known: Set<string>, address: string): void {
  if (known.has(address)) return;
  const [first] = known;
  if (known.size >= REMEMBERED_MAX && first !== undefined) known.delete(first);
  known.add(address);
}

/**
 * Walks the hops from the nearest to the farthest, because each was written by the one after it: the first one that is no
 * trusted proxy is the sender. Null where a hop is missing or unreadable: with the address of the proxy, all senders
 * behind it would count as one.
 */
function readClient(header: string | null, isTrusted: AddressList): string | null {
  let client: string | null = null;
  for (const hop of (header ?? '').split(',').reverse()) {
    client = plainAddress(withoutPort(hop.trim()));
    if (client === null || !isTrusted(client)) return client;
  }
  return client;
}

/**
 * An address in one spelling: `::ffff:192.0.2.1` of a dual-stack socket is IPv4, and the interface behind `%` is left out.
 * Null for a text that is no address.
 */
function plainAddress(text: string | undefined): string | null {
  const address = (text ?? '')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .toLowerCase();
  return isIP(address) === 0 ? null : address;
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/** A proxy that is not trusted gives itself away by one of these. */
const PROXY_HEADERS = ['x-forwarded-proto', 'x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via'];
/** A browser sends it over TLS alone, and to this machine: it gives a proxy away that writes no header at all. */
const BROWSER_HEADER = 'sec-fetch-mode';

function withForwardedUrl(request: Request): Request {
  const protocol = nearest(request.headers.get('x-forwarded-proto'));
  const host = nearest(request.headers.get('x-forwarded-host'));
  const url = new URL(request.url);
  const scheme = protocol === 'http' || protocol === 'https' ? `${protocol}:` : url.protocol;
  const meant = URL.parse(`${scheme}//${isHost(host) ? host : url.host}${url.pathname}${url.search}`);
  return meant === null || meant.href === url.href ? request : new Request(meant, request);
}

/** The value that the nearest proxy wrote: the last one. */
function nearest(header: string | null): string {
  return header?.split(',').at(-1)?.trim() ?? '';
}

/** A host and perhaps a port: nothing that would become another part of a URL. */
function isHost(text: string): boolean {
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(text);
}

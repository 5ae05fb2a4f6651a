/**
 * The sender and the address of a request that came through proxies. Any sender can write `X-Forwarded-*`: the headers
 * count only when the connection comes from a proxy that the operator named, and only up to the nearest hop that is none.
 */
import { isIP } from 'node:net';
import { type AddressList, makeAddressList } from '../settings/address-list.ts';

/** A request as its sender meant it. */
export interface Seen {
  /** The same request, at the address that the sender's browser shows. */
  readonly request: Request;
  /** The network address of the sender; null when no trusted hop names it. */
  readonly clientAddress: string | null;
  /** Whether the sender used TLS; null where a proxy that is not trusted, or says nothing, hides it. */
  readonly isSecure: boolean | null;
  /** The reason for a null above; null otherwise. */
  readonly hidden: 'not_trusted' | 'not_said' | null;
}

/** @param peer the address at the other end of the connection. */
export type ProxyReader = (request: Request, peer: string | undefined) => Seen;

/** @param trusted addresses and ranges of proxies that overwrite these headers. None: the headers mean nothing. */
export function makeProxyReader(trusted: readonly string[]): ProxyReader {
  const isTrusted = trusted.length === 0 ? null : makeAddressList(trusted);
  return (request, peer) => {
    const address = plainAddress(peer);
    if (address === null || !isTrusted?.(address)) {
      const isHidden = cameThroughProxy(request.headers);
      return {
        request,
        clientAddress: address,
        isSecure: isHidden ? null : false,
        hidden: isHidden ? 'not_trusted' : null,
      };
    }
    const protocol = nearest(request.headers.get('x-forwarded-proto'));
    const isSaid = protocol === 'http' || protocol === 'https';
    return {
      request: withForwardedUrl(request),
      clientAddress: readClient(request.headers.get('x-forwarded-for'), isTrusted),
      isSecure: isSaid ? protocol === 'https' : null,
      hidden: isSaid ? null : 'not_said',
    };
  };
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

/**
 * Whether a proxy that is not trusted passed this request on. A browser sends `Sec-Fetch-*` over TLS alone (and to this
 * machine), so that it gives a proxy away which writes no header at all.
 */
function cameThroughProxy(headers: Headers): boolean {
  return PROXY_HEADERS.some((name) => headers.has(name));
}

const PROXY_HEADERS = [
  'x-forwarded-proto',
  'x-forwarded-for',
  'x-forwarded-host',
  'forwarded',
  'via',
  'sec-fetch-mode',
];

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

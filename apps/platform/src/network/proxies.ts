/**
 * Who asked, and under which address, when there are proxies in between. Anybody can write `X-Forwarded-*`: the
 * headers count only when the connection comes from a proxy that the operator named, and only as far back as the
 * last hop that is not one of them.
 */
import { type AddressList, makeAddressList, plainAddress } from '../settings/address-list.ts';

/** A request as its sender meant it. */
export interface Seen {
  /** The same request, at the address that the sender's browser shows. */
  readonly request: Request;
  /** The network address of the sender; null when nobody who is believed says it. */
  readonly clientAddress: string | null;
}

/** @param peer the address at the other end of the connection. */
export type ProxyReader = (request: Request, peer: string | undefined) => Seen;

/** @param trusted addresses and ranges of proxies that overwrite these headers. None: the headers mean nothing. */
export function makeProxyReader(trusted: readonly string[]): ProxyReader {
  const isTrusted = makeAddressList(trusted);
  return (request, peer) => {
    const address = plainAddress(peer);
    if (address === null || !isTrusted(address)) return { request, clientAddress: address };
    return {
      request: withForwardedUrl(request),
      clientAddress: readClient(request.headers.get('x-forwarded-for'), isTrusted),
    };
  };
}

/**
 * Walks the hops from the nearest to the farthest: each was written down by the one after it, so that the first one
 * that is no proxy of ours is as far as anybody vouches. Where a hop is missing or cannot be read, nobody knows who
 * asked: to take the proxy for the sender would be to take everybody behind it for one.
 */
function readClient(header: string | null, isTrusted: AddressList): string | null {
  let client: string | null = null;
  for (const hop of (header ?? '').split(',').reverse()) {
    client = plainAddress(withoutPort(hop.trim()));
    if (client === null || !isTrusted(client)) return client;
  }
  return client;
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

function withForwardedUrl(request: Request): Request {
  const protocol = nearest(request.headers.get('x-forwarded-proto'));
  const host = nearest(request.headers.get('x-forwarded-host'));
  const url = new URL(request.url);
  const scheme = protocol === 'http' || protocol === 'https' ? `${protocol}:` : url.protocol;
  const meant = URL.parse(`${scheme}//${isHost(host) ? host : url.host}${url.pathname}${url.search}`);
  return meant === null || meant.href === url.href ? request : new Request(meant, request);
}

/** The value that our own proxy wrote, where others wrote some before it. */
function nearest(header: string | null): string {
  return header?.split(',').at(-1)?.trim() ?? '';
}

/** A host and perhaps a port, and nothing that would make another part of an address of it. */
function isHost(text: string): boolean {
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(text);
}

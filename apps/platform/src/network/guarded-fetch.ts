/**
 * The fetch that goes to issuers and providers. A tenant chooses its issuer, so its address is hostile until proven
 * public; a provider is the operator's choice, and where its name leads is its owner's. Only public addresses are
 * reached, every address a name leads to is looked at, and the connection goes to what was looked at (no second look-up
 * could answer otherwise). An operator may allow more. Redirects are refused (design: identity, "SSRF guard"; OWASP,
 * Server-Side Request Forgery Prevention).
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, fetch as undiciFetch } from 'undici';
import { type AddressList, isRange, makeAddressList } from '../settings/address-list.ts';

/** Ranges that are not somebody else's public server (IANA special-purpose registries, RFC 6890 and its updates). */
const isSpecial = makeAddressList([
  ...[
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
  ],
  ...[
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
  ],
  ...['224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
/** All of IPv6 that is given out for the public so far; tunnels into IPv4 and the rest lie outside. */
const isPublicIpv6 = makeAddressList(['2000::/3']);

const ISSUER_SETTING = 'FREEHOLD_ALLOWED_ISSUERS';

/** A fetch as issuers are spoken to with. `issuer` is whose metadata or settings named the address. */
export type Fetch = (
  url: string,
  init: RequestInit,
  purpose?: { readonly issuer: string },
) => Promise<Response>;

export interface GuardedFetchOptions {
  /**
   * The operator's own issuer, whose origin is reached whatever it resolves to, on behalf of that issuer alone: another
   * one could name addresses there as its own endpoints. Null for none.
   */
  readonly ownIssuer: string | null;
  /** Host names, addresses and ranges in CIDR form that the operator allows: `id.corp.example`, `10.1.0.0/16`. */
  readonly allowed: readonly string[];
  /** The setting by which an operator allows more, for the words of a refusal. Default: that of issuers. */
  readonly setting?: string;
  /** Resolves a name to all its addresses. Default: the system's resolver. */
  readonly lookup?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

/** Thrown for an address that may not be reached. Names no address, so that it cannot be used to look around. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  constructor(setting = ISSUER_SETTING) {
    super(`This address is not public. An operator can allow it with ${setting}.`);
  }
}

/** A fetch that keeps to the rule. Rejects with {@link AddressRefused}, or with what fetch rejects with. */
export function makeGuardedFetch(options: GuardedFetchOptions): Fetch {
  const { ownIssuer, allowed, setting = ISSUER_SETTING, lookup = lookupAll } = options;
  const allowedHosts = new Set(
    allowed.filter((entry) => !isRange(entry)).map((entry) => entry.toLowerCase()),
  );
  const isAllowedRange: AddressList = makeAddressList(allowed.filter(isRange));
  const ownOrigin = ownIssuer === null ? null : new URL(ownIssuer).origin;

  const mayReach = (address: string): boolean => isPublic(address) || isAllowedRange(address);

  /** Called by the connection itself: what is answered here is what is connected to. */
  const guardedLookup: LookupFunction = (hostname, { all }, callback) => {
    lookup(hostname)
      .then((addresses) => {
        const [first] = addresses;
        // One private answer among public ones is how a rebinding name looks: all must be fine.
        const fine =
          first !== undefined &&
          (allowedHosts.has(hostname) || addresses.every(({ address }) => mayReach(address)));
        if (!fine) throw new AddressRefused(setting);
        if (all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      })
      .catch((error: Error) => callback(error, []));
  };
  const guarded = new Agent({ connect: { lookup: guardedLookup } });
  const open = new Agent();

  return async (url, init, purpose) => {
    const { origin, hostname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const isOwn = ownIssuer !== null && purpose?.issuer === ownIssuer && origin === ownOrigin;
    // A literal address is connected to without any look-up, so it is judged here.
    if (!isOwn && isIP(host) && !allowedHosts.has(host) && !mayReach(host)) throw new AddressRefused(setting);
    const response = await undiciFetch(url, {
      ...init,
      redirect: 'manual',
      dispatcher: isOwn ? open : guarded,
    } as never);
    return response as unknown as Response;
  };
}

/** Whether an address is a public one. */
export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !isSpecial(address);
  return family === 6 && isPublicIpv6(address) && !isSpecial(address);
}

function lookupAll(hostname: string): Promise<readonly LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
  systemLookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  return promise;
}

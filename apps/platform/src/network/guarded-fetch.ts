/**
 * The fetch that goes to issuers and providers. A tenant chooses its issuer and a provider's owner chooses its address, so
 * that both are hostile until proven public. Only public addresses are reached: all addresses of a name are judged, and the
 * connection goes to a judged one, so that no second look-up can differ. An operator may allow more. Redirects are not
 * followed (design: identity, "SSRF guard"; OWASP, Server-Side Request Forgery Prevention).
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { OpsFailureInput } from '@freehold/directory';
import { Agent, fetch as undiciFetch } from 'undici';
import { type AddressList, isPublic, isRange, makeAddressList } from '../settings/address-list.ts';

const ISSUER_SETTING = 'FREEHOLD_ALLOWED_ISSUERS';

/** `issuer` is the one whose metadata or settings named the address. */
export type Fetch = (
  url: string,
  init: RequestInit,
  purpose?: { readonly issuer: string },
) => Promise<Response>;

export interface GuardedFetchOptions {
  /**
   * The operator's own issuer; null for none. Its origin is reached at any address, on behalf of that issuer alone: another
   * issuer could name addresses there as its own endpoints.
   */
  readonly ownIssuer: string | null;
  /** Host names, addresses and ranges in CIDR form that the operator allows: `id.corp.example`, `10.1.0.0/16`. */
  readonly allowed: readonly string[];
  /** The setting by which an operator allows more, which a refusal names. Default: that of issuers. */
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

/** A fetch that rejects with {@link AddressRefused} for an address that is not allowed, or as `fetch` rejects. */
export function makeGuardedFetch(options: GuardedFetchOptions): Fetch {
  const { ownIssuer, allowed, setting = ISSUER_SETTING, lookup = lookupAll } = options;
  const allowedHosts = new Set(
    allowed.filter((entry) => !isRange(entry)).map((entry) => entry.toLowerCase()),
  );
  const isAllowedRange: AddressList = makeAddressList(allowed.filter(isRange));
  const ownOrigin = ownIssuer === null ? null : new URL(ownIssuer).origin;

  const mayReach = (address: string): boolean => isPublic(address) || isAllowedRange(address);

  /** Called by the connection itself, which goes to the address that is answered here. */
  const guardedLookup: LookupFunction = (hostname, { all }, callback) => {
    lookup(hostname)
      .then((addresses) => {
        const [first] = addresses;
        // A rebinding name mixes private answers with public ones: all must be allowed.
        const isAllowed =
          first !== undefined &&
          (allowedHosts.has(hostname) || addresses.every(({ address }) => mayReach(address)));
        if (!isAllowed) throw new AddressRefused(setting);
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
    // A literal address causes no look-up, so it is judged here.
    if (!isOwn && isIP(host) && !allowedHosts.has(host) && !mayReach(host)) throw new AddressRefused(setting);
    const response = await undiciFetch(url, {
      ...init,
      redirect: 'manual',
      dispatcher: isOwn ? open : guarded,
    } as never);
    return response as unknown as Response;
  };
}

function lookupAll(hostname: string): Promise<readonly LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
  systemLookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  return promise;
}

/**
 * The guarded fetch for providers. It reports an address that was refused to the operator, who can allow it; the caller
 * learns no more than that the provider cannot be reached.
 */
export function makeProviderFetch(
  guarded: Fetch,
  onFailure: (failure: OpsFailureInput) => void,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    try {
      return await guarded(url, init);
    } catch (error) {
      const refusal = refusalIn(error);
      if (refusal)
        onFailure({
          operation: 'connections.fetch',
          subject: new URL(url).hostname.slice(0, 128),
          reason: 'address_refused',
          detail: refusal.message,
        });
      throw error;
    }
  };
}

/** `fetch` wraps the error of a connection. */
function refusalIn(error: unknown): AddressRefused | null {
  if (error instanceof AddressRefused) return error;
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof AddressRefused ? cause : null;
}

/**
 * Chooses the Domain of an application's session cookie for its several host names (spec 5.4; RFC 6265, section 5.1.3;
 * the Public Suffix List with its private part).
 */
import { parse } from 'tldts';

export interface CookieDomainInput {
  readonly host: string;
  /** The host of every surface of this installation, the request's own among them or not. */
  readonly surfaces: readonly string[];
  /**
   * Domains under which the platform names different tenants: a cookie for one of them would reach another tenant.
   * Default: none.
   */
  readonly sharedDomains?: readonly string[];
}

/** Characters that the URL parser would drop, decode, or take for the end of the host. */
const NO_HOST = /[\p{Cc}\s/\\?#@%]/u;
/** RFC 1035, section 2.3.4, without the root's dot. */
const NAME_LENGTH_MAX = 253;
/** The same, with the underscore that some host names have. */
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** A domain of a `Set-Cookie` header has no underscore. */
const PLAIN_DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

/**
 * Returns the narrowest domain that covers every surface, or undefined for a host-only cookie. A domain needs all of
 * this: more than one host; none is an IP address or malformed; the common domain has more than one label, ends in a
 * listed suffix and is not a public suffix itself; and it is not shared between tenants.
 */
export function resolveCookieDomain(input: CookieDomainInput): string | undefined {
  const hosts = [input.host, ...input.surfaces].map(canonicalHost);
  if (!hosts.every((host) => host !== null)) return undefined;
  // One host needs no Domain, and without one no sibling host receives the cookie.
  if (new Set(hosts).size < 2) return undefined;
  const domain = commonParent(hosts);
  if (!isRegistrable(domain)) return undefined;
  const shared = (input.sharedDomains ?? []).map(canonicalHost);
  // A malformed shared domain cannot be avoided.
  if (shared.some((each) => each === null || isUnder(each, domain))) return undefined;
  return domain;
}

/** Returns the host in lower case and punycode, without port and root dot; null when it is no host name. */
function canonicalHost(host: string): string | null {
  if (NO_HOST.test(host) || !URL.canParse(`http://${host}`)) return null;
  const name = new URL(`http://${host}`).hostname.replace(/\.$/, '');
  return name.length <= NAME_LENGTH_MAX && name.split('.').every((label) => LABEL.test(label)) ? name : null;
}

function commonParent(hosts: readonly string[]): string {
  const [first = [], ...rest] = hosts.map((host) => host.split('.').reverse());
  let length = 0;
  while (length < first.length && rest.every((labels) => labels[length] === first[length])) length += 1;
  return first.slice(0, length).reverse().join('.');
}

/** Whether a domain lies below a suffix of the Public Suffix List, its private part included. */
function isRegistrable(domain: string): boolean {
  if (!PLAIN_DOMAIN.test(domain)) return false;
  const { isIp, isIcann, isPrivate, domain: registrable } = parse(domain, { allowPrivateDomains: true });
  return isIp === false && (isIcann === true || isPrivate === true) && registrable !== null;
}

function isUnder(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

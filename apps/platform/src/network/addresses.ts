/** The names and origins that people reach the platform under. */
import type { Settings } from '../settings/settings.ts';

/** Names that always mean this machine, whatever name the public knows it by. */
const LOCAL_HOSTNAMES = ['localhost', '127.0.0.1', '[::1]'];

export interface Addresses {
  /** The platform's own name, under which the others lie: `localhost`. */
  readonly domain: string;
  /** The control plane's. */
  readonly apiHostname: string;
  readonly apiHostnames: readonly string[];
  readonly homeHostnames: readonly string[];
  /** Origins by the operator's word; undefined where nothing stands in front, and a request's own is right. */
  readonly publicOriginOf: ((hostname: string) => string) | undefined;
}

/** @param publicUrl an origin with a host name, or null for `localhost`. */
export function addressesUnder(publicUrl: URL | null): Addresses {
  const domain = publicUrl?.hostname ?? 'localhost';
  const apiHostname = `api.${domain}`;
  return {
    domain,
    apiHostname,
    apiHostnames: [...new Set([apiHostname, 'api.localhost'])],
    homeHostnames: [...new Set([domain, ...LOCAL_HOSTNAMES])],
    publicOriginOf: publicUrl === null ? undefined : originUnder(publicUrl),
  };
}

/** The scheme and port are the public ones, whatever this process listens on. */
function originUnder({ protocol, port }: URL): (hostname: string) => string {
  return (hostname) => `${protocol}//${hostname}${port === '' ? '' : `:${port}`}`;
}

export interface OwnAddresses extends Omit<Addresses, 'publicOriginOf'> {
  /** The origin of a host name as browsers show it. */
  readonly originOf: (hostname: string) => string;
  /** The same, where an operator's word says it; undefined where a request's own port is right. */
  readonly publicOriginOf: ((hostname: string) => string) | undefined;
  /** Where browsers and verticals reach the control plane. */
  readonly apiOrigin: () => string;
  /** What this process listens on. */
  readonly port: () => number;
  listensOn(port: number): void;
}

export function openAddresses(settings: Pick<Settings, 'port' | 'publicUrl'>): OwnAddresses {
  let { port } = settings;
  const addresses = addressesUnder(settings.publicUrl);
  const originOf = addresses.publicOriginOf ?? ((hostname: string): string => `http://${hostname}:${port}`);
  return {
    ...addresses,
    originOf,
    apiOrigin: () => originOf(addresses.apiHostname),
    port: () => port,
    listensOn: (known) => {
      port = known;
    },
  };
}

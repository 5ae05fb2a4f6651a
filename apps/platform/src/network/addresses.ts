/** The names and origins that people reach the platform under. */

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

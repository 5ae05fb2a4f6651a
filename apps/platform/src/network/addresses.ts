/** The names and origins that people reach the platform under. */
import type { Settings } from '../settings/settings.ts';

/** Names that always mean this machine, beside the platform's public name. */
const LOCAL_HOSTNAMES = ['localhost', '127.0.0.1', '[::1]'];

export interface OwnAddresses {
  /** The platform's own name, below which the others lie: `localhost`. */
  readonly domain: string;
  /** The control plane's name, and its other names. */
  readonly apiHostname: string;
  readonly apiHostnames: readonly string[];
  readonly homeHostnames: readonly string[];
  /** The origin of a host name as browsers show it. */
  readonly originOf: (hostname: string) => string;
  /** The same, where the operator sets a public URL; undefined where the port of a request is right. */
  readonly publicOriginOf: ((hostname: string) => string) | undefined;
  /** Where browsers and verticals reach the control plane. */
  readonly apiOrigin: () => string;
  /** The port that this process listens on. */
  readonly port: () => number;
  listensOn(port: number): void;
}

export function openAddresses(settings: Pick<Settings, 'port' | 'publicUrl'>): OwnAddresses {
  let { port } = settings;
  const { publicUrl } = settings;
  const domain = publicUrl?.hostname ?? 'localhost';
  const apiHostname = `api.${domain}`;
  const publicOriginOf = publicUrl === null ? undefined : originUnder(publicUrl);
  // With port 0 the port is known only when the process listens.
  const originOf = publicOriginOf ?? ((hostname: string): string => `http://${hostname}:${port}`);
  return {
    domain,
    apiHostname,
    apiHostnames: [...new Set([apiHostname, 'api.localhost'])],
    homeHostnames: [...new Set([domain, ...LOCAL_HOSTNAMES])],
    originOf,
    publicOriginOf,
    apiOrigin: () => originOf(apiHostname),
    port: () => port,
    listensOn: (known) => {
      port = known;
    },
  };
}

/** The scheme and port are the public ones, not those that this process listens on. */
function originUnder({ protocol, port }: URL): (hostname: string) => string {
  return (hostname) => `${protocol}//${hostname}${port === '' ? '' : `:${port}`}`;
}

/** Where the platform is reached, from the moment it listens: with port 0 the port is known only then. */
import { type Addresses, addressesUnder } from '../network/addresses.ts';
import type { Settings } from '../settings/settings.ts';

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

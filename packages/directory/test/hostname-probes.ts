/** A world of host names in memory: what is written beside them, and what is served at them. */
import type { HostnameProbes, LookupOutcome } from '../src/index.ts';

export interface HostnameWorld {
  readonly probes: HostnameProbes;
  /** TXT records by name, or what a name server says instead. */
  readonly txt: Map<string, readonly string[] | LookupOutcome>;
  /** Answers by address; an error for a server that is not there. */
  readonly pages: Map<string, Response | Error>;
  /** The look-ups, in order. */
  readonly asked: string[];
  /** Waited for before a TXT record is answered: for tests in which something happens meanwhile. */
  meanwhile: () => Promise<void>;
}

export function makeHostnameWorld(): HostnameWorld {
  const world: HostnameWorld = {
    txt: new Map(),
    pages: new Map(),
    asked: [],
    meanwhile: async () => undefined,
    probes: {
      resolver: {
        resolveTxt: async (name) => {
          world.asked.push(`TXT ${name}`);
          await world.meanwhile();
          const found = world.txt.get(name) ?? 'nxdomain';
          return typeof found === 'string'
            ? { outcome: found, values: [] }
            : { outcome: 'found', values: found };
        },
        resolveAddress: async () => ({ outcome: 'found', cname: [], addresses: ['192.0.2.7'] }),
      },
      fetch: async (url) => {
        world.asked.push(`GET ${url}`);
        const page = world.pages.get(url) ?? new TypeError('there is no server');
        if (page instanceof Error) throw page;
        return page.clone();
      },
    },
  };
  return world;
}

/**
 * Looks up the addresses and TXT records of host names, with the name servers of this machine or others (RFC 1035). A name
 * server's silence is an outcome and no error: a person has to learn whether a record is missing or a server is down.
 */
import { Resolver } from 'node:dns/promises';
import type { HostnameResolver, LookupOutcome } from '@freehold/directory';
import { isPublic } from '../settings/address-list.ts';

export interface NodeResolverOptions {
  /** Addresses with or without a port: `192.0.2.53`, `192.0.2.53:5353`, `[2001:db8::53]:53`. Default: the machine's own. */
  readonly servers?: readonly string[];
  /** The time of one try, in milliseconds. Default: 2,000; there are two. */
  readonly timeoutMs?: number;
}

const TRIES = 2;
/** The longest chain of aliases that is followed. */
const ALIASES_MAX = 8;

const OUTCOMES: Readonly<Record<string, LookupOutcome>> = {
  ENOTFOUND: 'nxdomain',
  ENODATA: 'nodata',
  ESERVFAIL: 'servfail',
  ETIMEOUT: 'timeout',
  EREFUSED: 'refused',
};

/** @throws TypeError for a server that is no address. */
export function makeNodeResolver({ servers, timeoutMs = 2_000 }: NodeResolverOptions = {}): HostnameResolver {
  const open = (): Resolver => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
    if (servers) resolver.setServers([...servers]);
    return resolver;
  };
  // Throws now for an entry that is no address.
  open();

  return {
    resolveTxt: async (name) => {
      const { outcome, values } = await settled(open().resolveTxt(name));
      // A long text comes in parts of 255 bytes, to be joined (RFC 7208, section 3.3).
      return { outcome, values: values.map((parts) => parts.join('')) };
    },
    resolveAddress: async (name) => {
      const resolver = open();
      const [cname, v4, v6] = await Promise.all([
        aliasesOf(resolver, name),
        settled(resolver.resolve4(name)),
        settled(resolver.resolve6(name)),
      ]);
      const addresses = [...v4.values, ...v6.values].filter(isPublic);
      if (addresses.length > 0) return { outcome: 'found', cname, addresses };
      // A name inside this network must be answered as one that does not exist: its name servers may know more than the
      // public ones, and a builder may ask for any name.
      const isAnswered = v4.outcome === 'found' || v4.outcome === 'nxdomain';
      return { outcome: isAnswered ? 'nodata' : v4.outcome, cname: [], addresses };
    },
  };
}

async function aliasesOf(resolver: Resolver, name: string): Promise<string[]> {
  const aliases: string[] = [];
  for (let at = name; aliases.length < ALIASES_MAX; ) {
    const { values } = await settled(resolver.resolveCname(at));
    const [next] = values;
    if (next === undefined || aliases.includes(next)) break;
    aliases.push(next);
    at = next;
  }
  return aliases;
}

async function settled<T>(
  looking: Promise<T[]>,
): Promise<{ readonly outcome: LookupOutcome; readonly values: readonly T[] }> {
  try {
    const values = await looking;
    return { outcome: values.length > 0 ? 'found' : 'nodata', values };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { outcome: OUTCOMES[code] ?? 'failed', values: [] };
  }
}

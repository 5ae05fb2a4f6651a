/** The ports through which host names are looked up: the wiring brings the resolver and the fetch. */
import type { z } from 'zod';
import type { addressFound, lookupOutcome } from '../declarations/hostname-records.ts';

export type LookupOutcome = z.infer<typeof lookupOutcome>;

/** The TXT records of one name, each with its parts joined. Empty unless `found`. */
export interface TxtAnswer {
  readonly outcome: LookupOutcome;
  readonly values: readonly string[];
}

export type AddressAnswer = Readonly<z.infer<typeof addressFound>>;

/** A look-up that fails is an answer: neither member rejects for anything that a name server says or leaves unsaid. */
export interface HostnameResolver {
  resolveTxt(name: string): Promise<TxtAnswer>;
  /** Where a name leads: the aliases on the way, and the addresses at its end. */
  resolveAddress(name: string): Promise<AddressAnswer>;
}

export interface HostnameProbes {
  readonly resolver: HostnameResolver;
  /**
   * Fetches the document of the HTTP challenge from wherever the name leads, which anybody may have chosen: it must reach
   * public addresses only, and follow no redirect.
   */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/**
 * Looks for the challenge of one claim, and for the addresses of its name. It reports what was observed and judges nothing.
 * The wiring brings the resolver and the fetch.
 */
import type { z } from 'zod';
import type {
  addressFound,
  DnsCheck,
  HostnameChecks,
  HttpCheck,
  lookupOutcome,
} from '../declarations/hostnames.ts';
import type { Deadline } from '../verticals/client.ts';
import { challengeOf } from './challenge.ts';

export type LookupOutcome = z.infer<typeof lookupOutcome>;

/** The TXT records of one name, each with its parts joined. Empty unless `found`. */
export interface TxtAnswer {
  readonly outcome: LookupOutcome;
  readonly values: readonly string[];
}

export type AddressAnswer = Readonly<z.infer<typeof addressFound>>;

/** A failed look-up is an answer: no member rejects because of a name server. */
export interface HostnameResolver {
  resolveTxt(name: string): Promise<TxtAnswer>;
  /**
   * The aliases on the way, and the public addresses at the end. A name without one, whether it is unknown or leads to
   * private addresses, is `nodata` without aliases, so that no builder reads a private network through this platform.
   */
  resolveAddress(name: string): Promise<AddressAnswer>;
}

export interface HostnameProbes {
  readonly resolver: HostnameResolver;
  /**
   * Fetches the document of the HTTP challenge. The owner of the name chooses the address, so that the fetch must reach
   * public addresses only, and follow no redirect.
   */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** The most time for all look-ups of one check, which run side by side. */
const CHECK_TIMEOUT_MS = 10_000;
/** The document has 64 characters; a longer one is another. */
const DOCUMENT_BYTES_MAX = 1_024;
const OBSERVED_MAX = 20;
const OBSERVED_CHARS_MAX = 255;

export interface LookUpRequest {
  readonly hostname: string;
  readonly token: string;
  readonly methods: readonly ('dns' | 'http')[];
  /** The token of another holder, to tell whether its record is still there; null without one. */
  readonly holderToken: string | null;
}

export interface LookedUp extends HostnameChecks {
  /** Whether the holder's TXT record was among those found; null when the look-up did not tell. */
  readonly holderPresent: boolean | null;
}

export async function lookUp(
  { resolver, fetch }: HostnameProbes,
  { hostname, token, methods, holderToken }: LookUpRequest,
  deadline: Deadline,
): Promise<LookedUp> {
  const signal = deadline(CHECK_TIMEOUT_MS);
  const expected = challengeOf(hostname, token);
  const txt = within<TxtAnswer>(signal, resolver.resolveTxt(expected.dns.name), { values: [] });
  const address = within<AddressAnswer>(signal, resolver.resolveAddress(hostname), {
    cname: [],
    addresses: [],
  });
  const http = methods.includes('http') ? fetchDocument(fetch, expected.http, signal) : null;
  const { outcome, values } = await txt;
  const { cname, addresses, outcome: addressOutcome } = await address;
  const dns: DnsCheck = {
    method: 'dns',
    name: expected.dns.name,
    type: 'TXT',
    outcome,
    expected: expected.dns.value,
    observed: shown(values),
    ok: values.some((value) => value.trim() === expected.dns.value),
  };
  const fetched = await http;
  return {
    checks: [...(methods.includes('dns') ? [dns] : []), ...(fetched === null ? [] : [fetched])],
    address: { outcome: addressOutcome, cname: shown(cname), addresses: shown(addresses) },
    holderPresent: holderToken === null ? null : presence(hostname, holderToken, { outcome, values }),
  };
}

function presence(hostname: string, token: string, { outcome, values }: TxtAnswer): boolean | null {
  if (outcome === 'found')
    return values.some((value) => value.trim() === challengeOf(hostname, token).dns.value);
  return outcome === 'nxdomain' || outcome === 'nodata' ? false : null;
}

async function fetchDocument(
  fetch: HostnameProbes['fetch'],
  { url, body: expected }: { readonly url: string; readonly body: string },
  signal: AbortSignal,
): Promise<HttpCheck> {
  const check = { method: 'http', url, expected } as const;
  try {
    const response = await raced(
      signal,
      fetch(url, { redirect: 'manual', signal, headers: { accept: 'text/plain' } }),
    );
    const text = (await raced(signal, beginningOf(response))).trim();
    const ok = response.status === 200 && text === expected;
    const observed = text.slice(0, OBSERVED_CHARS_MAX);
    return { ...check, outcome: 'found', status: response.status, observed, ok };
  } catch {
    // A private address is refused, which is answered as no server: see `resolveAddress`.
    const outcome = signal.aborted ? 'timeout' : 'unreachable';
    return { ...check, outcome, status: null, observed: null, ok: false };
  }
}

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = '';
  for (let bytes = 0; reader && bytes < DOCUMENT_BYTES_MAX; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  reader?.cancel().catch(() => undefined);
  return text;
}

/** The answer, or the empty answer of a look-up that failed or took too long. */
async function within<T>(signal: AbortSignal, work: Promise<T>, empty: Omit<T, 'outcome'>): Promise<T> {
  try {
    return await raced(signal, work);
  } catch {
    return { ...empty, outcome: signal.aborted ? 'timeout' : 'failed' } as T;
  }
}

/** Also bounds a port that ignores the signal. */
async function raced<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(new Error('the check took too long'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function shown(values: readonly string[]): string[] {
  return values.slice(0, OBSERVED_MAX).map((value) => value.slice(0, OBSERVED_CHARS_MAX));
}

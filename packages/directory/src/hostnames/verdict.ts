/**
 * Judges what the look-ups found: whether a claim becomes the holder of its name, and whether a holder still is one.
 *
 * This platform answers the document of the HTTP challenge itself for every claim on a name that leads here, so that the
 * document shows where a name leads and not whose it is. It counts only for a name that no other tenant claims or ever
 * held: a name whose holder left may lead here for years. A DNS record, which only the owner of the domain can set,
 * outranks it.
 */
import type { DnsCheck, HostnameReason, HttpCheck } from '../declarations/hostnames.ts';
import type { LookedUp } from './look-up.ts';
import type { HostnameRow } from './store.ts';

type Verdict =
  /** `takesOver`: the holder loses the name. */
  | { readonly proven: 'dns' | 'http'; readonly takesOver: boolean }
  | { readonly proven: null; readonly reason: HostnameReason };

export interface ClaimSituation {
  /** Another claim that holds the name; null without one. */
  readonly holder: Pick<HostnameRow, 'method'> | null;
  /** Whether another tenant claims the name, holder or not. */
  readonly isContested: boolean;
  /** Whether another tenant ever held the name, also one that is gone. */
  readonly wasHeldByOther: boolean;
}

export interface Evidence extends Pick<LookedUp, 'checks'> {
  /** Whether the holder's record was there; null where it was not looked for. */
  readonly holderPresent: boolean | null;
}

/** Judges a claim that does not hold its name yet. */
export function judgeClaim(
  { holder, isContested, wasHeldByOther }: ClaimSituation,
  { checks, holderPresent }: Evidence,
): Verdict {
  const dns = checks.find((check) => check.method === 'dns');
  const http = checks.find((check) => check.method === 'http');
  if (dns?.ok) {
    if (holder === null) return { proven: 'dns', takesOver: false };
    const givesWay = holder.method === 'http' || (holder.method === 'dns' && holderPresent === false);
    return givesWay ? { proven: 'dns', takesOver: true } : { proven: null, reason: 'hostname_taken' };
  }
  if (http?.ok) {
    if (holder === null && !isContested && !wasHeldByOther) return { proven: 'http', takesOver: false };
    return { proven: null, reason: 'dns_required' };
  }
  return { proven: null, reason: dns ? reasonOfDns(dns) : http ? reasonOfHttp(http) : 'lookup_failed' };
}

/** Whether the record of a holder is there: `unknown` without an answer, or when its proof is of another kind. */
export function judgeHolder(
  method: HostnameRow['method'],
  { checks }: Pick<LookedUp, 'checks'>,
): { readonly record: 'present' | 'gone' | 'unknown'; readonly reason: HostnameReason | null } {
  if (checks.some(({ ok }) => ok)) return { record: 'present', reason: null };
  const own = checks.find((check) => check.method === method);
  const reason = own?.method === 'dns' ? reasonOfDns(own) : own ? reasonOfHttp(own) : null;
  if (reason === null || reason === 'lookup_failed') return { record: 'unknown', reason };
  return { record: 'gone', reason };
}

/** Whether another tenant may claim a name that is held. */
export function isContestable({ method, missingSinceMs }: HostnameRow): boolean {
  return method === 'http' || (method === 'dns' && missingSinceMs !== null);
}

function reasonOfDns({ outcome }: DnsCheck): HostnameReason {
  if (outcome === 'found') return 'record_wrong';
  return outcome === 'nxdomain' || outcome === 'nodata' ? 'record_missing' : 'lookup_failed';
}

function reasonOfHttp({ outcome, status }: HttpCheck): HostnameReason {
  if (outcome !== 'found' || status === null || status >= 500) return 'lookup_failed';
  return status === 404 || status === 410 ? 'record_missing' : 'record_wrong';
}

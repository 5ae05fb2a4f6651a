/** The judgement of look-ups, by itself. */
import { describe, expect, test } from 'vitest';
import type { DnsCheck, HttpCheck } from '../declarations/hostnames.ts';
import { type ClaimSituation, type Evidence, judgeClaim } from './verdict.ts';

const dns = (ok: boolean): DnsCheck => ({
  method: 'dns',
  name: '_freehold-challenge.shop.example',
  type: 'TXT',
  outcome: ok ? 'found' : 'nxdomain',
  expected: 'x',
  observed: ok ? ['x'] : [],
  ok,
});
const http: HttpCheck = {
  method: 'http',
  url: 'http://shop.example/',
  outcome: 'found',
  status: 200,
  expected: 'x',
  observed: 'x',
  ok: true,
};
const free: ClaimSituation = { holder: null, isContested: false, wasHeldByOther: false };
const evidence = (byDns: boolean, holderPresent: boolean | null = null): Evidence => ({
  checks: [dns(byDns), http],
  holderPresent,
});

test('the document proves a name that no other tenant claims, holds or ever held', () => {
  expect(judgeClaim(free, evidence(false))).toEqual({ proven: 'http', takesOver: false });
});

describe('the document does not prove a name', () => {
  const situations: [string, Partial<ClaimSituation>][] = [
    ['that another tenant claims', { isContested: true }],
    ['that another tenant held before', { wasHeldByOther: true }],
    ['that another tenant holds by the document', { holder: { method: 'http' } }],
  ];
  test.each(situations)('%s; a record does', (_, situation) => {
    const at = { ...free, ...situation };
    expect(judgeClaim(at, evidence(false))).toEqual({ proven: null, reason: 'dns_required' });
    expect(judgeClaim(at, evidence(true))).toMatchObject({ proven: 'dns' });
  });
});

test.each([
  [true, 'hostname_taken'],
  [null, 'hostname_taken'],
] as const)(
  'a record does not take a name from a holder whose own record is there (%s)',
  (present, reason) => {
    const at: ClaimSituation = { holder: { method: 'dns' }, isContested: true, wasHeldByOther: true };
    expect(judgeClaim(at, evidence(true, present))).toEqual({ proven: null, reason });
    expect(judgeClaim(at, evidence(true, false))).toEqual({ proven: 'dns', takesOver: true });
  },
);

import { describe, expect, test } from 'vitest';
import {
  type CookieRules,
  clearCookie,
  fitsInCookie,
  readCookies,
  readOnlyCookie,
  setCookie,
} from './cookies.ts';
import { OidcError } from './lib/errors.ts';

const hostOnly: CookieRules = { hintCookieName: 'sb_oidc_idt', cookieDomain: undefined };
const widened: CookieRules = { ...hostOnly, cookieDomain: 'app.example' };
const https = 'https://app.example';
const cookieHeader = (value: string): Headers => new Headers({ cookie: value });

describe('attributes', () => {
  // spec B-04, B-05, B-06
  test.each([
    ['flow', 'sb_oidc_flow=v; Path=/api/auth; Max-Age=600; HttpOnly; Secure; SameSite=Lax'],
    ['session', 'sb_session=v; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax'],
    ['hint', 'sb_oidc_idt=v; Path=/api/auth/logout; Max-Age=604800; HttpOnly; Secure; SameSite=Strict'],
  ] as const)('of the %s cookie', (kind, line) => {
    expect(setCookie(hostOnly, kind, https, 'v')).toEqual([line]);
  });

  test('Secure follows the canonical origin, so that plain-http hosting can sign in', () => {
    expect(setCookie(hostOnly, 'session', 'http://umbrel.local', 'v')[0]).not.toContain('Secure');
  });

  test.each(['flow', 'session', 'hint'] as const)('clearing the %s cookie repeats its attributes', (kind) => {
    const attributes = (line: string | undefined): string[] =>
      (line ?? '').split('; ').filter((part) => !/^(sb_|Max-Age)/.test(part));
    for (const rules of [hostOnly, widened]) {
      const set = setCookie(rules, kind, https, 'v').at(-1);
      const cleared = clearCookie(rules, kind, https).at(-1);
      expect(attributes(cleared)).toEqual(attributes(set));
      expect(cleared).toMatch(/^sb_\w+=; .*Max-Age=0;/);
    }
  });

  test('with a domain, a host-only cookie left from before is cleared first', () => {
    const [first, second] = setCookie(widened, 'session', https, 'v');
    expect(first).toMatch(/^sb_session=; Path=\/; Max-Age=0;/);
    expect(first).not.toContain('Domain');
    expect(second).toMatch(/^sb_session=v; Path=\/; Domain=app\.example;/);
    expect(clearCookie(widened, 'session', https)).toHaveLength(2);
  });
});

describe('the budget of 4,096 bytes for name and value', () => {
  const room = 4096 - 'sb_session='.length;

  test('exactly 4,096 fit', () => {
    expect(setCookie(hostOnly, 'session', https, 'v'.repeat(room))).toHaveLength(1);
  });

  test('4,097 are a loud error', () => {
    expect(() => setCookie(hostOnly, 'session', https, 'v'.repeat(room + 1))).toThrow(OidcError);
    expect(() => setCookie(hostOnly, 'session', https, 'v'.repeat(room + 1))).toThrow(/cookie/);
  });

  test('bytes are counted, not characters', () => {
    expect(fitsInCookie('n', 'ü'.repeat(2047))).toBe(true);
    expect(fitsInCookie('n', 'ü'.repeat(2048))).toBe(false);
  });
});

describe('reading', () => {
  test('only the exact name counts, wherever it stands', () => {
    const headers = cookieHeader('xsb_session=1; sb_session2=2;sb_session=3 ; sb_session');
    expect(readCookies(headers, 'sb_session')).toEqual(['3']);
  });

  test.each(['', '=', ';;;', 'sb_session', '=sb_session', 'a=sb_session', '\u00ff=\u00ff'])(
    'nothing in %j',
    (value) => {
      expect(readCookies(cookieHeader(value), 'sb_session')).toEqual([]);
    },
  );

  test('a value may contain an equals sign, and repeats count once', () => {
    expect(readCookies(cookieHeader('a=b=c; a=b=c; a=d'), 'a')).toEqual(['b=c', 'd']);
  });

  const accept = (value: string): string | null => (value.startsWith('good') ? value : null);

  test('of several values the one that is accepted is taken, in any place', () => {
    expect(readOnlyCookie(cookieHeader('a=bad; a=good1; a=worse'), 'a', accept)).toBe('good1');
    expect(readOnlyCookie(cookieHeader('a=good1; a=good1'), 'a', accept)).toBe('good1');
  });

  test('two different accepted values are ambiguous, and neither is taken', () => {
    expect(readOnlyCookie(cookieHeader('a=good1; a=good2'), 'a', accept)).toBeNull();
  });

  test('a flood of candidates is not verified at all', () => {
    const flood = Array.from({ length: 9 }, (_, index) => `a=bad${index}`).join('; ');
    expect(readOnlyCookie(cookieHeader(`a=good; ${flood}`), 'a', accept)).toBeNull();
  });
});

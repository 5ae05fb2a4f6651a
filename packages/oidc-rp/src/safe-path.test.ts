import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { landingPath, safePath } from './safe-path.ts';

const ORIGINS = ['https://app.example', 'http://localhost:3000', 'https://evil.example'];

describe('B-18: safePath accepts a same-origin absolute path', () => {
  test.each([
    ['/', '/'],
    ['/inbox', '/inbox'],
    ['/inbox?folder=1&q=a+b#top', '/inbox?folder=1&q=a+b#top'],
    ['/a/../b', '/b'],
    ['/a b', '/a%20b'],
    ['/übersicht', '/%C3%BCbersicht'],
    ['/search?q=100%', '/search?q=100%'],
  ])('%j', (value, result) => {
    expect(safePath(value)).toBe(result);
  });

  test('an address in the query is not an address to go to', () => {
    const path = '/authorize?redirect_uri=https%3A%2F%2Fother.example%2Fcb';
    expect(safePath(path)).toBe(path);
  });
});

describe('B-18: safePath refuses everything else', () => {
  test.each([
    [undefined],
    [null],
    [7],
    [['/a']],
    [''],
    ['a'],
    ['?a'],
    ['#a'],
    ['https://evil.example/'],
    ['HTTPS://app.example/'],
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['//evil.example'],
    ['///evil.example'],
    ['/\\evil.example'],
    ['\\\\evil.example'],
    ['/a\\b'],
    ['/%5Cevil.example'],
    ['/%5cevil.example'],
    ['/%255Cevil.example'],
    ['/%2Fevil.example'],
    ['/%2f%2fevil.example'],
    ['/%252Fevil.example'],
    ['/%25252Fevil.example'],
    ['/.//evil.example'],
    ['/a/..//evil.example'],
    ['/..%2F/evil.example'],
    ['/.%2F%2Fevil.example'],
    ['/\t/evil.example'],
    ['/\n/evil.example'],
    ['/\r\nset-cookie:a=b'],
    ['/%0d%0aset-cookie:a=b'],
    ['/%250d%250aset-cookie:a=b'],
    ['/a?q=%0a'],
    ['/a\u0000'],
    ['/a\u007f'],
    ['/a\u0085'],
    ['/%09/evil.example'],
    [' /a'],
    ['\t/a'],
    [`/%${'25'.repeat(12)}2Fevil.example`],
  ])('%j', (value) => {
    expect(safePath(value)).toBeNull();
  });
});

test('B-18: every accepted path stays on the origin, however often it is decoded', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2f',
      '%5c',
      '%252f',
      '%09',
      '\t',
      '?',
      '#',
      '@',
      ':',
      'evil.example',
      'https:',
    ),
    fc.string({ unit: anyCharacter, maxLength: 4 }),
  );
  const value = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`);
  let accepted = 0;
  fc.assert(
    fc.property(value, fc.constantFrom(...ORIGINS), (candidate, origin) => {
      const path = safePath(candidate);
      if (path === null) return;
      accepted += 1;
      expect(path).toMatch(/^\/(?!\/)[\x21-\x7e]*$/);
      expect(new URL(path, origin).origin).toBe(origin);
      expect(new URL(`${origin}${path}`).origin).toBe(origin);
      expect(safePath(path)).toBe(path);
      let decoded = path;
      for (let round = 0; round < 4; round += 1) {
        decoded = decoded.replace(/%[0-7][0-9a-f]/gi, (hex) =>
          String.fromCharCode(Number.parseInt(hex.slice(1), 16)),
        );
        expect(new URL(decoded, origin).origin).toBe(origin);
      }
    }),
    { numRuns: 500 },
  );
  // Refusing everything would satisfy the rest.
  expect(accepted).toBeGreaterThan(20);
});

test.each([
  '/api/auth/login',
  '/api/auth/logout?federated',
  '/api/auth',
  '/API/auth/logout',
  '/api/%61uth/logout',
  '/x/../api/auth/login',
])('a landing is never a sign-in route: %s', (path) => {
  expect(landingPath(path)).toBeNull();
});

test('a landing may merely begin like one', () => {
  expect(landingPath('/api/authors')).toBe('/api/authors');
});

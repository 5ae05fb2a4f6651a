/** The paths to return to. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { authUrl, returnPath } from './paths.ts';

test.each([
  ['/', '/'],
  ['/orders?id=1#top', '/orders?id=1#top'],
  ['/api/auth/security', '/api/auth/security'],
  ['/api/orders', '/api/orders'],
])('B-18: %s is taken', (value, path) => {
  expect(returnPath(value)).toBe(path);
});

test.each([
  'https://evil.example/',
  '//evil.example',
  '/\\evil.example',
  '/%2f%2fevil.example',
  '/a/..//evil.example',
  '\\\\evil.example',
  'javascript:alert(1)',
  '/\tevil',
  '/a\r\nset-cookie: x=1',
  '',
  'orders',
  '/api/auth/logout',
  '/api/auth/login?returnTo=/',
  '/api/auth/security/',
  '/api/auth/security?done=password_changed',
  '/api/auth/%73ecurity',
  `/${'a'.repeat(512)}`,
])('B-18: %j is not', (value) => {
  expect(returnPath(value)).toBeNull();
});

test('B-18: every accepted path stays on the origin, unchanged and inside our own addresses', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.string(),
        fc.string().map((tail) => `/${tail}`),
      ),
      (value) => {
        const path = returnPath(value);
        if (path === null) return;
        expect(new URL(path, 'https://app.example').origin).toBe('https://app.example');
        const url = new URL(authUrl('login', { returnTo: path }), 'https://app.example');
        expect([url.origin, url.pathname, url.searchParams.get('returnTo')]).toEqual([
          'https://app.example',
          '/api/auth/login',
          path,
        ]);
      },
    ),
  );
});

import { describe, expect, test } from 'vitest';
import { resolveOrigin } from './origin.ts';

const at = (url: string, headers: Record<string, string> = {}): { url: string; headers: Headers } => ({
  url,
  headers: new Headers(headers),
});
const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'app.example' };

// spec B-02
test('BASE_URL forces the origin, whatever the request and its proxies say', () => {
  const rules = { env: { baseUrl: 'https://fixed.example' }, trustForwarded: true };
  expect(resolveOrigin(rules, at('http://10.0.0.1:8080/x', forwarded))).toBe('https://fixed.example');
});

test('without BASE_URL the origin is the request’s own, and forwarded headers count for nothing', () => {
  const rules = { env: {}, trustForwarded: false };
  expect(resolveOrigin(rules, at('http://10.0.0.1:8080/x', forwarded))).toBe('http://10.0.0.1:8080');
});

describe('with trusted forwarded headers', () => {
  const rules = { env: {}, trustForwarded: true };

  test('one well-formed value each is believed', () => {
    expect(resolveOrigin(rules, at('http://10.0.0.1:8080/x', forwarded))).toBe('https://app.example');
    expect(
      resolveOrigin(rules, at('http://10.0.0.1/x', { ...forwarded, 'x-forwarded-host': '[::1]:8443' })),
    ).toBe('https://[::1]:8443');
  });

  test.each([
    { 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'app.example' },
    { 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'app.example' },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example, app.example' },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'app.example/path' },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'user@evil.example' },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a:b:c' },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': '' },
  ])('anything else leaves the request’s own origin: %j', (headers) => {
    expect(resolveOrigin(rules, at('http://10.0.0.1:8080/x', headers))).toBe('http://10.0.0.1:8080');
  });
});

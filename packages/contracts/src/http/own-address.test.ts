import { describe, expect, test } from 'vitest';
import type { PlatformError } from '../problems.ts';
import { type OwnAddress, requireOwnAddress } from './own-address.ts';

const DEPLOYED: OwnAddress = { origin: 'https://pipes.example', hostnames: [] };
const UNSAID: OwnAddress = { origin: undefined, hostnames: [] };

/** Returns the reason of the refusal of a request with these headers, or null. */
function verdict(own: OwnAddress, url: string, headers: Record<string, string> = {}): string | null {
  try {
    requireOwnAddress({ url, headers: new Headers(headers) }, own);
    return null;
  } catch (error) {
    return (error as PlatformError).reason ?? 'thrown';
  }
}

describe('D-11 the name that a request is made under', () => {
  test.each([
    [DEPLOYED, 'https://pipes.example/api/mcp', null],
    [DEPLOYED, 'http://pipes.example:8080/api/mcp', null],
    [DEPLOYED, 'https://evil.example/api/mcp', 'foreign_host'],
    [DEPLOYED, 'https://pipes.example.evil.example/api/mcp', 'foreign_host'],
    [DEPLOYED, 'http://127.0.0.1/api/mcp', 'foreign_host'],
    [{ ...DEPLOYED, hostnames: ['inside.example'] }, 'http://inside.example/api/mcp', null],
    [{ origin: undefined, hostnames: ['inside.example'] }, 'http://inside.example/api/mcp', null],
    [{ origin: undefined, hostnames: ['inside.example'] }, 'http://localhost/api/mcp', 'foreign_host'],
    [UNSAID, 'http://localhost:3000/api/mcp', null],
    [UNSAID, 'http://127.0.0.1:3000/api/mcp', null],
    [UNSAID, 'http://[::1]:3000/api/mcp', null],
    [UNSAID, 'http://pipes.localhost:3000/api/mcp', null],
    [UNSAID, 'http://evil.example:3000/api/mcp', 'foreign_host'],
    [UNSAID, 'http://192.168.1.10/api/mcp', 'foreign_host'],
    [UNSAID, 'http://localhost.evil.example/api/mcp', 'foreign_host'],
  ])('%j at %s: %s', (own, url, reason) => {
    expect(verdict(own, url)).toBe(reason);
  });

  test.each([
    ['pipes.example', null],
    ['PIPES.example:443', null],
    ['evil.example', 'foreign_host'],
    ['pipes.example@evil.example', 'foreign_host'],
    ['evil.example@pipes.example', 'foreign_host'],
    ['pipes.example, evil.example', 'foreign_host'],
    ['pipes.example/', 'foreign_host'],
    ['pipes.example:port', 'foreign_host'],
    ['', 'foreign_host'],
  ])('the Host header counts, not the address that the server made of it: %j', (host, reason) => {
    expect(verdict(DEPLOYED, 'https://pipes.example/api/mcp', { host })).toBe(reason);
  });
});

describe('D-11 the page that a request is made by', () => {
  test.each([
    [{}, null],
    [{ origin: 'https://pipes.example' }, null],
    [{ origin: 'https://pipes.example', 'sec-fetch-site': 'same-origin' }, null],
    [{ 'sec-fetch-site': 'none' }, null],
    [{ origin: 'http://pipes.example' }, 'cross_site'],
    [{ origin: 'https://pipes.example:8443' }, 'cross_site'],
    [{ origin: 'https://evil.example' }, 'cross_site'],
    [{ origin: 'null' }, 'cross_site'],
    [{ origin: '' }, 'cross_site'],
    // A page under a name that leads here is of the same origin as far as its browser knows.
    [{ origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }, 'cross_site'],
    [{ 'sec-fetch-site': 'cross-site' }, 'cross_site'],
    [{ 'sec-fetch-site': 'same-site' }, 'cross_site'],
  ] as [Record<string, string>, string | null][])('%j: %s', (headers, reason) => {
    expect(verdict(DEPLOYED, 'https://pipes.example/api/mcp', headers)).toBe(reason);
  });

  test('DNS rebinding is refused though Host and Origin agree', () => {
    const headers = {
      host: 'evil.example:3000',
      origin: 'http://evil.example:3000',
      'sec-fetch-site': 'same-origin',
    };
    expect(verdict(UNSAID, 'http://evil.example:3000/api/mcp', headers)).toBe('foreign_host');
  });
});

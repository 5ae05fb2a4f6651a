import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { parseReturnUrl, wayBack } from './consent.ts';

const production = (hostname: string) => `https://${hostname}`;
const development = (hostname: string) => `http://${hostname}:8787`;

function refusalOf(text: string, originOf: (hostname: string) => string) {
  try {
    parseReturnUrl(text, originOf);
  } catch (error) {
    if (error instanceof PlatformError) return { status: error.status, reason: error.reason };
    throw error;
  }
  return null;
}

describe('spec 7.6, D-16: addresses to come back to', () => {
  test.each([
    ['https://acme.example.com/', production],
    ['https://acme.example.com/settings?tab=1#connections', production],
    ['HTTPS://ACME.example.com', production],
    ['http://acme.localhost:8787/settings', development],
    ['https://acme.example.com:8443/', (hostname: string) => `https://${hostname}:8443`],
    // A proxy in front may end TLS although the platform itself does not.
    ['https://acme.example.com/', development],
  ])('%s is taken', (text, originOf) => {
    expect(refusalOf(text, originOf)).toBeNull();
  });

  test.each([
    ['', production, 'return_url_invalid'],
    ['/settings', production, 'return_url_invalid'],
    ['https://', production, 'return_url_invalid'],
    ['https://user:pw@acme.example.com/', production, 'return_url_invalid'],
    ['https://user@acme.example.com/', production, 'return_url_invalid'],
    ['http://acme.example.com/', production, 'return_url_not_https'],
    // Plain http is for names under localhost, whatever the wiring says of others.
    ['http://acme.example.com:8787/', development, 'return_url_not_https'],
    ['http://acme.localhost.example.com:8787/', development, 'return_url_not_https'],
    ['javascript:alert(1)', production, 'return_url_not_https'],
    ['data:text/html,x', production, 'return_url_not_https'],
    ['ftp://acme.example.com/', production, 'return_url_not_https'],
    ['https://acme.example.com:444/', production, 'return_url_unbound'],
    ['http://acme.localhost:9999/', development, 'return_url_unbound'],
    ['http://acme.localhost:8787/', production, 'return_url_unbound'],
  ])('%s is refused with 400: %#', (text, originOf, reason) => {
    expect(refusalOf(text, originOf)).toEqual({ status: 400, reason });
  });
});

test('the way back keeps the application’s own query and fragment, and nothing under our names', () => {
  const from = 'https://acme.example.com/s?tab=1&error=mine&connection=c&subjectRef=r&connection=d#here';
  expect(wayBack(from, 'Büro & Co', { connection: 'con_1' })).toBe(
    'https://acme.example.com/s?tab=1&connection=con_1&subjectRef=B%C3%BCro+%26+Co#here',
  );
  expect(wayBack(from, 'ref', { error: 'consent_denied' })).toBe(
    'https://acme.example.com/s?tab=1&error=consent_denied&subjectRef=ref#here',
  );
});

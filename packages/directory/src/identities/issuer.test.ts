/** Which issuers are good, and which mean the same place. */
import { expect, test } from 'vitest';
import { parseIssuer } from './issuer.ts';

test.each([
  ['https://login.example.com', 'https://login.example.com'],
  ['https://login.example.com/', 'https://login.example.com'],
  ['https://LOGIN.example.com:443/realms/acme/', 'https://login.example.com/realms/acme'],
  ['https://login.example.com/realms/ACME', 'https://login.example.com/realms/ACME'],
  ['https://login.example.com:8443', 'https://login.example.com:8443'],
  ['http://localhost:8788', 'http://localhost:8788'],
  ['http://issuer.localhost', 'http://issuer.localhost'],
  ['http://127.0.0.1:9000/', 'http://127.0.0.1:9000'],
])('C-03: %s is an issuer, known as %s, and kept as it was written', (issuer, issuerKey) => {
  expect(parseIssuer(issuer)).toEqual({ issuer, issuerKey });
});

test.each([
  ['login.example.com', /web address/],
  ['http://login.example.com', /https/],
  ['ftp://login.example.com', /https/],
  ['javascript:alert(1)', /https/],
  ['https://user@login.example.com', /no user/],
  ['https://:secret@login.example.com', /no password/],
  ['https://login.example.com?tenant=acme', /no query/],
  ['https://login.example.com/?', /no query/],
  ['https://login.example.com#top', /no fragment/],
  [' https://login.example.com', /white space/],
  ['https://login.example.com\n', /white space/],
  ['https://lögin.example.com', /ASCII/],
  ['http://localhost.example.com', /https/],
])('C-03: %j is no issuer, and the answer says why', (issuer, why) => {
  expect(() => parseIssuer(issuer)).toThrow(
    expect.objectContaining({
      code: 'validation_failed',
      reason: 'issuer_invalid',
      message: expect.stringMatching(why),
      errors: [{ path: 'issuer', message: expect.stringMatching(why) }],
    }),
  );
});

import { expect, test } from 'vitest';
import { parseSender } from './message.ts';
import { parseSmtpUrl } from './smtp-url.ts';

test.each([
  ['smtp://mail.test', { host: 'mail.test', port: 587, protection: 'required', credentials: null }],
  ['smtp://mail.test:25/', { port: 25, protection: 'required' }],
  ['smtp://mail.test?tls=off', { protection: 'off' }],
  ['smtps://mail.test', { port: 465, protection: 'implicit' }],
  ['smtps://mail.test?tls=required', { protection: 'implicit' }],
  ['smtp://localhost:1025', { host: 'localhost', port: 1025, protection: 'off' }],
  ['smtp://mail.localhost', { protection: 'off' }],
  ['smtp://127.0.0.9', { protection: 'off' }],
  ['smtp://[::1]:25', { host: '::1', protection: 'off' }],
  ['smtp://localhost?tls=required', { protection: 'required' }],
  ['smtp://localhost.evil.test', { protection: 'required' }],
  ['smtp://10.0.0.1', { protection: 'required' }],
  ['smtp://127.evil.test', { protection: 'required' }],
  ['smtp://a%40b:p%3A%2F%23@mail.test', { credentials: { user: 'a@b', password: 'p:/#' } }],
])('%s', (text, expected) => {
  expect(parseSmtpUrl(text)).toMatchObject(expected);
});

test.each([
  'mail.test:587',
  'http://mail.test',
  'smtp://',
  'smtp://mail.test/path',
  'smtp://user:se/cret@mail.test',
  'smtp://mail.test#x',
  'smtp://mail.test?tls=maybe',
  'smtp://mail.test?secure=true',
  'smtps://mail.test?tls=off',
  'smtp://user@mail.test',
  'smtp://:secret@mail.test',
  'smtp://user:secret%@mail.test',
])('%s is refused in one sentence that repeats no password', (text) => {
  expect(() => parseSmtpUrl(text)).toThrow(
    expect.objectContaining({
      code: 'settings_invalid',
      message: expect.stringMatching(/^The address of the mail server [^\n]+\.$/),
    }),
  );
  expect(() => parseSmtpUrl(text)).not.toThrow(/cret/);
});

test.each([
  ['robot@acme.test', { name: '', address: 'robot@acme.test' }],
  ['Acme Trades <robot@acme.test>', { name: 'Acme Trades', address: 'robot@acme.test' }],
  ['"Acme, Trades" <robot@acme.test>', { name: 'Acme, Trades', address: 'robot@acme.test' }],
])('the sender %s', (text, expected) => {
  expect(parseSender(text)).toEqual(expected);
});

test.each([
  '',
  'Acme',
  'a@acme.test, b@acme.test',
  'Acme <a@acme.test>, b@acme.test',
  'A\r\nBcc: x <a@acme.test>',
])('the sender %j is refused', (text) => {
  expect(() => parseSender(text)).toThrow(expect.objectContaining({ code: 'settings_invalid' }));
});

/** Parsing host names, and names that the platform gives out itself. */
import { describe, expect, test } from 'vitest';
import { parseHostname } from './host-name.ts';

describe('spec C-17: one spelling', () => {
  test.each([
    ['Acme.Example.COM', 'acme.example.com'],
    ['acme.example.com.', 'acme.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['ＡＣＭＥ.example', 'acme.example'],
    ['localhost', 'localhost'],
    ['acme.localhost', 'acme.localhost'],
    ['4you.example', '4you.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('%j is %j', (text, name) => {
    expect(parseHostname(text)).toBe(name);
  });

  test.each([
    'example',
    '127.0.0.1',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '１２７.0.0.1',
    '[::1]',
    '::1',
    'acme.example:8080',
    'user@acme.example',
    'http://acme.example',
    'acme.example/path',
    'acme.example?x',
    '*.example.com',
    'a..example',
    '.example.com',
    'acme.example..',
    '-a.example',
    'a-.example',
    'a_b.example',
    'a b.example',
    'a%2eb.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(126)}toolong`,
    '',
    '.',
  ])('%j is refused', (text) => {
    expect(() => parseHostname(text)).toThrowError(expect.objectContaining({ code: 'validation_failed' }));
  });
});

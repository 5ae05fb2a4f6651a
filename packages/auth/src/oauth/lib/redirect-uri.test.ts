/** Redirect URIs: the code goes to the registered receiver, or nowhere. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRegisteredRedirect, redirectKind, withAnswer } from './redirect-uri.ts';

const REGISTERED = [
  'https://agent.example/callback',
  'http://127.0.0.1:1/callback',
  'http://[::1]/callback',
  'cursor://a/b',
];
const character = fc.constantFrom(...'abc.:/@#?%\\&=0127[] \t<>');
const edited = fc
  .record({
    base: fc.constantFrom(...REGISTERED),
    at: fc.nat(40),
    cut: fc.nat(4),
    put: fc.string({ unit: character, maxLength: 6 }),
  })
  .map(({ base, at, cut, put }) => base.slice(0, at) + put + base.slice(at + cut));

test('a changed address is refused, unless only the port of a loopback address changed', () => {
  fc.assert(
    fc.property(edited, (asked) => {
      if (!isRegisteredRedirect(REGISTERED, asked) || REGISTERED.includes(asked)) return;
      const { protocol, hostname, pathname, search, hash, username } = new URL(asked);
      expect(protocol).toBe('http:');
      expect(['127.0.0.1', '[::1]']).toContain(hostname);
      expect([pathname, search, hash, username]).toEqual(['/callback', '', '', '']);
    }),
    { numRuns: 2_000 },
  );
});

test('an answer leaves the address before it as it is', () => {
  for (const uri of [...REGISTERED, 'https://agent.example/callback?tenant=%41&x'])
    expect(withAnswer(uri, { code: 'c d', state: undefined }).startsWith(uri)).toBe(true);
  expect(new URL(withAnswer('https://a.example/?x=1', { code: 'c d' })).searchParams.get('code')).toBe('c d');
});

test('a host that would end a directive of a policy is none of a program', () => {
  for (const host of ['agent.example;sandbox', 'agent.example,x', '*.example', "'self'"])
    expect(redirectKind(`https://${host}/callback`)).toBeNull();
  for (const host of ['xn--bcher-kva.example', 'my_agent.example:8443', '[2001:db8::1]'])
    expect(redirectKind(`https://${host}/callback`)).toBe('web');
});

test('schemes that a browser or a system acts on are none of a program', () => {
  for (const scheme of ['javascript', 'data', 'file', 'vbscript', 'blob', 'mailto', 'intent', 'JAVASCRIPT'])
    expect(redirectKind(`${scheme}:x`)).toBeNull();
  expect(redirectKind('com.example.app:/callback')).toBe('scheme');
});

/** the Domain of the session cookie, decided by the real Public Suffix List. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveCookieDomain } from './cookie-domain.ts';

const pick = (host: string, ...surfaces: string[]) => resolveCookieDomain({ host, surfaces });

describe('A-40: widens to what all surfaces share', () => {
  test.each<[string, string[], string]>([
    ['app.acme.com', ['app.acme.com', 'book.acme.com'], 'acme.com'],
    ['acme.com', ['book.acme.com'], 'acme.com'],
    ['a.shop.acme.com', ['b.shop.acme.com'], 'shop.acme.com'],
    ['a.shop.acme.com', ['b.shop.acme.com', 'www.acme.com'], 'acme.com'],
    ['app.acme.co.uk', ['book.acme.co.uk'], 'acme.co.uk'],
    ['app.me.github.io', ['book.me.github.io'], 'me.github.io'],
    ['APP.Acme.COM.:8443', ['book.acme.com:8443'], 'acme.com'],
    ['app.bücher.de', ['book.xn--bcher-kva.de'], 'xn--bcher-kva.de'],
  ])('%s with %j gets %s', (host, surfaces, domain) => {
    expect(pick(host, ...surfaces)).toBe(domain);
  });
});

describe('A-40: stays host-only', () => {
  test.each<[string, string, string[]]>([
    ['on one host', 'app.acme.com', ['app.acme.com', 'APP.acme.com:443']],
    ['without surfaces', 'app.acme.com', []],
    ['on a public suffix', 'acme.com', ['other.com']],
    ['on a public suffix of two labels', 'acme.co.uk', ['other.co.uk']],
    ['on a private suffix', 'me.github.io', ['you.github.io']],
    ['on a private suffix of a host provider', 'a.workers.dev', ['b.workers.dev']],
    ['on a private suffix that an old list lacks', 'a.up.railway.app', ['b.up.railway.app']],
    ['on a suffix that is a surface itself', 'github.io', ['me.github.io']],
    ['when a surface lies elsewhere', 'app.acme.com', ['book.acme.com', 'acme.example.org']],
    ['when the request came to another host', 'other.org', ['app.acme.com', 'book.acme.com']],
    ['when the labels only look alike', 'app.acme.com', ['book.evilacme.com']],
    ['on localhost', 'localhost', ['app.localhost']],
    ['below localhost', 'a.app.localhost:8080', ['b.app.localhost:8080']],
    ['on a single label', 'a.intranet', ['b.intranet']],
    ['on an unlisted suffix', 'a.app.internal', ['b.app.internal']],
    ['on IPv4', '192.168.1.5', ['10.168.1.5']],
    ['on IPv4 written otherwise', '0x7f.1', ['127.0.0.1:80']],
    ['on IPv6', '[::1]:8080', ['[::2]:8080']],
    ['on an address and a name', '192.168.1.5', ['app.acme.com']],
    ['on what is no host', 'app.acme.com/x', ['book.acme.com']],
    ['on credentials', 'user@app.acme.com', ['book.acme.com']],
    ['on nothing', '', ['book.acme.com']],
    ['on an empty label', 'app..acme.com', ['book.acme.com']],
  ])('%s', (_, host, surfaces) => {
    expect(pick(host, ...surfaces)).toBeUndefined();
  });

  test.each([
    ['platform.com', 'platform.com'],
    ['a domain below', 'eu.platform.com'],
    ['an unreadable one', 'not a host'],
  ])('where tenants are neighbours: %s', (_, shared) => {
    const input = {
      host: 'acme-app.platform.com',
      surfaces: ['acme-book.platform.com'],
      sharedDomains: [shared],
    };
    expect(resolveCookieDomain(input)).toBeUndefined();
  });

  test('but a domain of its own below a shared one is its own', () => {
    const input = {
      host: 'app.acme.platform.com',
      surfaces: ['book.acme.platform.com'],
      sharedDomains: ['platform.com'],
    };
    expect(resolveCookieDomain(input)).toBe('acme.platform.com');
  });
});

test('A-40: whatever the hosts are, the Domain covers every one of them or is not set', () => {
  const label = fc.constantFrom('a', 'b', 'app', 'com', 'uk', 'co', 'github', 'io', 'localhost', '10', '');
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(host, fc.array(host, { maxLength: 3 }), (own, surfaces) => {
      const domain = pick(own, ...surfaces);
      if (domain === undefined) return true;
      expect(domain).toContain('.');
      return [own, ...surfaces].every((each) => `.${each.replace(/\.$/, '')}`.endsWith(`.${domain}`));
    }),
    { numRuns: 500 },
  );
});

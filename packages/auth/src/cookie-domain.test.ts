/** A-40: the Domain of the session cookie, decided by the real Public Suffix List. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveCookieDomain } from './cookie-domain.ts';

const pick = (host: string, ...surfaces: string[]) => resolveCookieDomain({ host, surfaces });

/** Two siblings directly below a name. */
const below = (name: string) => pick(`a.${name}`, `b.${name}`);

const LABEL = 'x'.repeat(63);

describe('A-40: widens to the domain that all surfaces share', () => {
  test.each<[string, string[], string]>([
    ['app.acme.com', ['app.acme.com', 'book.acme.com'], 'acme.com'],
    ['acme.com', ['book.acme.com'], 'acme.com'],
    ['book.acme.com', ['acme.com'], 'acme.com'],
    ['a.shop.acme.com', ['b.shop.acme.com'], 'shop.acme.com'],
    ['a.shop.acme.com', ['b.shop.acme.com', 'www.acme.com'], 'acme.com'],
    ['a.b.c.d.acme.com', ['e.acme.com'], 'acme.com'],
    ['app.acme.co.uk', ['book.acme.co.uk'], 'acme.co.uk'],
    ['app.acme.com', ['app.acme.com', 'app.acme.com', 'book.acme.com'], 'acme.com'],
    // An underscore is no letter of a domain name, but the domain that covers it has none.
    ['a_b.acme.com', ['c.acme.com'], 'acme.com'],
  ])('%s with %j gets %s', (host, surfaces, domain) => {
    expect(pick(host, ...surfaces)).toBe(domain);
  });

  test.each<[string, string, string]>([
    ['upper case and a port', 'APP.Acme.COM:8443', 'book.acme.com:443'],
    ['the root’s dot', 'app.acme.com.', 'book.acme.com'],
    ['the root’s dot before a port', 'app.acme.com.:8443', 'book.ACME.com.'],
    ['the full stop of another script', 'app。acme。com', 'book.acme.com'],
    ['wide letters', 'ａｐｐ.acme.com', 'book.acme.com'],
  ])('%s makes no difference', (_, host, surface) => {
    expect(pick(host, surface)).toBe('acme.com');
  });

  test.each<[string, string, string]>([
    ['app.bücher.de', 'book.xn--bcher-kva.de', 'xn--bcher-kva.de'],
    ['app.bücher.de', 'book.BÜCHER.de', 'xn--bcher-kva.de'],
    ['a.食狮.公司.cn', 'b.xn--85x722f.xn--55qx5d.cn', 'xn--85x722f.xn--55qx5d.cn'],
  ])('an international name, %s or %s, is written in ASCII: %s', (host, surface, domain) => {
    expect(pick(host, surface)).toBe(domain);
  });

  test.each([
    'me.github.io',
    'acme.workers.dev',
    'bucket.s3.amazonaws.com',
    'acme.up.railway.app',
    'acme.eu.com',
    'tail1.ts.net',
    'nas.home.arpa',
    'acme.gov.uk',
  ])('%s is a domain of its own, below a suffix that others share', (name) => {
    expect(below(name)).toBe(name);
  });

  test.each(['www.ck', 'city.kawasaki.jp'])(
    '%s is an exception to a wildcard, and a domain of its own',
    (name) => {
      expect(below(name)).toBe(name);
      expect(pick(name, `a.${name}`)).toBe(name);
    },
  );

  test.each(['a.foo.ck', 'a.x.kawasaki.jp'])('%s is below the domain of a wildcard', (name) => {
    expect(below(name)).toBe(name);
  });

  test('labels of 63 characters, and names of 253', () => {
    expect(below(`${LABEL}.com`)).toBe(`${LABEL}.com`);
    const name = `${'y'.repeat(55)}.${LABEL}.${LABEL}.${LABEL}.com`;
    expect(`a.${name}`).toHaveLength(253);
    expect(below(name)).toBe(name);
  });
});

describe('A-40: stays host-only', () => {
  test.each<[string, string, string[]]>([
    ['on one host', 'app.acme.com', ['app.acme.com', 'APP.acme.com:443', 'app.acme.com.']],
    ['without surfaces', 'app.acme.com', []],
    ['when a surface lies elsewhere', 'app.acme.com', ['book.acme.com', 'acme.example.org']],
    ['when no two surfaces share anything', 'app.acme.com', ['book.example.org', 'shop.other.net']],
    ['when the request came to another host', 'other.org', ['app.acme.com', 'book.acme.com']],
    ['when the request came to a host of the same suffix', 'other.com', ['app.acme.com', 'book.acme.com']],
    ['when the labels only look alike', 'app.acme.com', ['book.evilacme.com']],
    ['when the name continues behind', 'app.acme.com', ['book.acme.com.evil.org']],
    ['when a letter only looks alike', 'app.acme.com', ['book.аcme.com']],
    ['on an address and a name', '192.168.1.5', ['app.acme.com']],
    ['on a name and an address', 'app.acme.com', ['book.acme.com', '10.0.0.1']],
  ])('%s', (_, host, surfaces) => {
    expect(pick(host, ...surfaces)).toBeUndefined();
  });

  test.each([
    ...['com', 'co.uk', 'gov.uk', 'de', 'cn', '公司.cn', 'xn--55qx5d.cn', 'onion', 'home.arpa'],
    ...['github.io', 'workers.dev', 'pages.dev', 'vercel.app', 'netlify.app', 'fly.dev', 'herokuapp.com'],
    ...['s3.amazonaws.com', 'cloudfront.net', 'azurewebsites.net', 'up.railway.app', 'trycloudflare.com'],
    ...['duckdns.org', 'ts.net', 'eu.com', 'blogspot.com'],
    // The domain of a wildcard.
    ...['foo.ck', 'x.kawasaki.jp', 'kawasaki.jp', 'ck'],
  ])('on the public suffix %s, whatever its case', (suffix) => {
    expect(below(suffix)).toBeUndefined();
    expect(below(suffix.toUpperCase())).toBeUndefined();
    expect(below(`${suffix}.`)).toBeUndefined();
    expect(pick(suffix, `a.${suffix}`)).toBeUndefined();
  });

  test.each(['localhost', 'intranet', 'app.localhost', 'internal', 'app.internal', 'umbrel.local', 'local'])(
    'on %s, which is on no list',
    (name) => {
      expect(below(name)).toBeUndefined();
      expect(pick(name, `a.${name}`)).toBeUndefined();
      expect(pick(`${name}:8080`, `a.${name}:8080`)).toBeUndefined();
    },
  );

  test.each<[string, string, string]>([
    ['IPv4', '192.168.1.5', '10.168.1.5'],
    ['IPv4 with a port', '192.168.1.5:8080', '10.168.1.5:8080'],
    ['IPv4 with a dot behind', '192.168.1.5.', '10.168.1.5.'],
    ['IPv4 in hexadecimal', '0x7f.1', '127.0.0.1:80'],
    ['IPv4 in octal', '0300.0250.1.5', '0300.0250.1.6'],
    ['IPv4 as one number', '2130706433', '2130706434'],
    ['IPv4 with fewer parts', '127.1', '127.2'],
    ['IPv4 with labels before it', 'a.192.168.1.5', 'b.192.168.1.5'],
    ['IPv4 out of range', 'a.1.2.3.256', 'b.1.2.3.256'],
    ['IPv4 in wide digits', '１９２.168.1.5', '192.168.1.6'],
    ['IPv6', '[::1]:8080', '[::2]:8080'],
    ['IPv6 without brackets', '::1', '::2'],
    ['IPv6 with IPv4 in it', '[::ffff:192.168.1.5]', '[::ffff:192.168.1.6]'],
    ['IPv6 with a zone', '[fe80::1%25eth0]', '[fe80::2%25eth0]'],
    ['a name that says an address', 'a.1-2-3-4', 'b.1-2-3-4'],
  ])('on %s', (_, host, surface) => {
    expect(pick(host, surface)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['a space', ' '],
    ['dots', '...'],
    ['an empty label', 'app..acme.com'],
    ['a dot before', '.acme.com'],
    ['two dots behind', 'app.acme.com..'],
    ['a path', 'app.acme.com/x'],
    ['a slash', 'app.acme.com/'],
    ['a backslash', 'app.acme.com\\'],
    ['a query', 'app.acme.com?'],
    ['a fragment', 'app.acme.com#'],
    ['a scheme', 'https://app.acme.com'],
    ['credentials', 'user@app.acme.com'],
    ['empty credentials', '@app.acme.com'],
    ['an encoded dot', 'app%2eacme.com'],
    ['a tab', 'app.ac\tme.com'],
    ['a line break', 'app.acme.com\r\n'],
    ['a space around', ' app.acme.com '],
    ['a semicolon', 'app.acme.com; Secure'],
    ['a null', 'app.acme.com\u0000'],
    ['two hosts', 'app.acme.com,book.acme.com'],
    ['a port that is none', 'app.acme.com:99999'],
    ['a port in words', 'app.acme.com:https'],
    ['a label of 64 characters', `${'x'.repeat(64)}.acme.com`],
    ['a name of more than 253', `${`${LABEL}.`.repeat(4)}acme.com`],
  ])('when a host is %s', (_, host) => {
    expect(pick(host, 'book.acme.com')).toBeUndefined();
    expect(pick('book.acme.com', 'acme.com', host)).toBeUndefined();
  });

  test.each(['my_app.acme.com', '-acme.com', 'acme-.com', `${'x'.repeat(64)}.com`])(
    'when the domain would be %s, which a cookie cannot name',
    (name) => {
      expect(below(name)).toBeUndefined();
    },
  );

  test.each([
    ['platform.com', 'platform.com'],
    ['a domain below', 'eu.platform.com'],
    ['it in other words', 'PLATFORM.com.:443'],
    ['an unreadable one', 'not a host'],
    ['nothing', ''],
  ])('where tenants are neighbours: %s', (_, shared) => {
    const input = {
      host: 'acme-app.platform.com',
      surfaces: ['acme-book.platform.com'],
      sharedDomains: [shared],
    };
    expect(resolveCookieDomain(input)).toBeUndefined();
  });

  test('a domain of its own below a shared one is set', () => {
    const input = {
      host: 'app.acme.platform.com',
      surfaces: ['book.acme.platform.com'],
      sharedDomains: ['platform.com'],
    };
    expect(resolveCookieDomain(input)).toBe('acme.platform.com');
  });
});

test('A-40: for all hosts, the Domain covers every one of them or is not set', () => {
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

test('A-40: for all texts, the Domain is one that a cookie can name', () => {
  const piece = fc.oneof(fc.constantFrom('app.', 'acme.com', '.', 'co.uk', ':80', 'ü', '_'), fc.string());
  const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, text, (host, surface) => {
      const domain = pick(host, surface);
      return domain === undefined || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain);
    }),
    { numRuns: 500 },
  );
});

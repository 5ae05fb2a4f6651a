import { describe, expect, test } from 'vitest';
import { makeProxyReader } from './proxies.ts';

const read = makeProxyReader(['10.0.0.0/8', '2001:db8::1']);
const CLIENT = '198.51.100.7';

const request = (headers: Record<string, string> = {}, init: RequestInit = {}) =>
  new Request('http://acme.test:8787/orders?x=1', { ...init, headers });

/** The headers of a sender elsewhere, who meant another address. */
const forwarded = {
  'x-forwarded-for': CLIENT,
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'pipes.apps.test',
};

describe('a direct sender', () => {
  test.each(['203.0.113.9', '2001:db8::2', '11.0.0.1', '::ffff:203.0.113.9'])(
    'from %s has the address of the connection, and headers change nothing',
    (peer) => {
      const asked = request(forwarded);
      const seen = read(asked, peer);
      expect(seen.request).toBe(asked);
      expect(seen.clientAddress).toBe(peer.replace('::ffff:', ''));
    },
  );

  test('without an address is unknown', () => {
    const asked = request(forwarded);
    expect(read(asked, undefined)).toMatchObject({ request: asked, clientAddress: null });
  });

  test('is no trusted proxy when none is configured, not on this machine either', () => {
    const asked = request(forwarded);
    const seen = makeProxyReader([])(asked, '127.0.0.1');
    expect(seen).toMatchObject({ request: asked, clientAddress: null });
  });

  test.each([
    ['127.0.0.1', 'http://localhost:8787/outbox', {}, '127.0.0.1'],
    ['127.0.0.1', 'http://acme.localhost:8787/', { 'sec-fetch-mode': 'navigate' }, '127.0.0.1'],
    // A proxy on this machine, which says that it is one, or is none.
    ['127.0.0.1', 'http://localhost:8787/outbox', { via: '1.1 balancer' }, null],
    ['127.0.0.1', 'http://acme.test/', {}, null],
    ['10.0.0.9', 'http://acme.test/', {}, null],
    ['fd00::9', 'http://acme.test/', {}, null],
    ['203.0.113.9', 'http://acme.test/', {}, '203.0.113.9'],
    ['203.0.113.9', 'http://acme.test/', { 'x-forwarded-for': CLIENT }, null],
    ['203.0.113.9', 'http://acme.test/', { 'sec-fetch-mode': 'cors' }, null],
  ])('where no proxy is named, %s at %s with %j has the address %s', (peer, url, headers, address) => {
    const seen = makeProxyReader([])(new Request(url, { headers }), peer);
    expect(seen.clientAddress).toBe(address);
  });

  test.each([
    ['192.168.0.9', { via: '1.1 balancer' }, null],
    ['192.168.0.10', {}, '192.168.0.10'],
    ['203.0.113.9', { via: '1.1 balancer' }, '203.0.113.9'],
  ])(
    'where proxies are named, and it is none of them, %s with %j has the address %s',
    (peer, headers, address) => {
      expect(read(request(headers), peer).clientAddress).toBe(address);
    },
  );

  test('that was found to be a proxy stays one for programs, which send nothing that gives it away', () => {
    const silent = makeProxyReader([]);
    const peer = '203.0.113.9';
    const program = () => silent(request(), peer);
    expect(program()).toMatchObject({ clientAddress: peer, isSecure: false, hidden: null });
    silent(request({ 'sec-fetch-mode': 'navigate' }), peer);
    expect(program()).toMatchObject({ clientAddress: null, isSecure: null, hidden: 'not_trusted' });
    expect(silent(request(), '203.0.113.10')).toMatchObject({ isSecure: false, hidden: null });
    // Senders that look like proxies take no more room than a thousand.
    for (let sender = 0; sender < 1_000; sender += 1)
      silent(request({ via: '1.1 x' }), `2001:db8::${sender.toString(16)}`);
    expect(program()).toMatchObject({ isSecure: false });
  });

  test('at a name of this machine makes it no proxy at other names', () => {
    const open = makeProxyReader([]);
    open(new Request('http://localhost:8787/', { headers: { 'sec-fetch-mode': 'navigate' } }), '127.0.0.1');
    expect(open(request(), '127.0.0.1')).toMatchObject({ isSecure: false, hidden: null });
  });
});

describe('a sender through a trusted proxy', () => {
  test.each(['10.1.2.3', '::ffff:10.1.2.3', '2001:DB8::1', '2001:db8::1%eth0'])(
    'at %s has the address that the proxy names, and the URL too',
    (peer) => {
      const seen = read(request(forwarded), peer);
      expect(seen.clientAddress).toBe(CLIENT);
      expect(seen.request.url).toBe('https://pipes.apps.test/orders?x=1');
    },
  );

  test.each([
    // The sender's own value stands to the left of the proxy's.
    [`127.0.0.1, ${CLIENT}`, CLIENT],
    [`10.0.0.99, ${CLIENT}, 10.0.0.2`, CLIENT],
    [`${CLIENT}:4711`, CLIENT],
    ['[2001:db8::77]:4711', '2001:db8::77'],
    ['::ffff:198.51.100.7', CLIENT],
    ['10.0.0.5', '10.0.0.5'],
    ['10.0.0.5, 10.0.0.6', '10.0.0.5'],
  ])('with the hops %j is %s', (hops, client) => {
    expect(read(request({ 'x-forwarded-for': hops }), '10.0.0.1').clientAddress).toBe(client);
  });

  test.each([
    'unknown',
    `${CLIENT}, unknown`,
    `${CLIENT}, nonsense, 10.0.0.3`,
    '',
    `${CLIENT},`,
    '10.0.0.5, ',
  ])('is unknown when a hop is missing or cannot be read: %j', (hops) => {
    expect(read(request({ 'x-forwarded-for': hops }), '10.0.0.1').clientAddress).toBeNull();
  });

  test('is unknown when the proxy does not name it', () => {
    expect(read(request(), '10.0.0.1').clientAddress).toBeNull();
  });

  test.each([
    [{}, 'http://acme.test:8787/orders?x=1'],
    [{ 'x-forwarded-proto': 'https' }, 'https://acme.test:8787/orders?x=1'],
    [{ 'x-forwarded-host': 'pipes.test' }, 'http://pipes.test/orders?x=1'],
    [
      { 'x-forwarded-host': 'pipes.test:8443', 'x-forwarded-proto': 'https' },
      'https://pipes.test:8443/orders?x=1',
    ],
    [{ 'x-forwarded-host': 'evil.test, pipes.test' }, 'http://pipes.test/orders?x=1'],
    [{ 'x-forwarded-proto': 'javascript' }, 'http://acme.test:8787/orders?x=1'],
    [{ 'x-forwarded-host': 'pipes.test/evil?' }, 'http://acme.test:8787/orders?x=1'],
    [{ 'x-forwarded-host': 'user@pipes.test' }, 'http://acme.test:8787/orders?x=1'],
    [{ 'x-forwarded-host': 'pipes.test:99999' }, 'http://acme.test:8787/orders?x=1'],
  ])('with %j is at %s', (headers, url) => {
    expect(read(request(headers), '10.0.0.1').request.url).toBe(url);
  });

  test('keeps method, headers and body', async () => {
    const asked = request(
      { ...forwarded, 'content-type': 'application/json' },
      { method: 'POST', body: '{"a":1}' },
    );
    const seen = read(asked, '10.0.0.1').request;
    expect(seen.method).toBe('POST');
    expect(seen.headers.get('content-type')).toBe('application/json');
    expect(await seen.json()).toEqual({ a: 1 });
  });
});

describe('whether the sender used TLS', () => {
  test.each([
    ['10.0.0.1', { 'x-forwarded-proto': 'https' }, true, null],
    ['10.0.0.1', { 'x-forwarded-proto': 'http' }, false, null],
    ['10.0.0.1', { 'x-forwarded-proto': 'https, http' }, false, null],
    ['10.0.0.1', {}, null, 'not_said'],
    // Another proxy before it ended TLS.
    ['10.0.0.1', { 'x-forwarded-proto': 'http', 'sec-fetch-mode': 'navigate' }, null, 'not_said'],
    ['10.0.0.1', { 'x-forwarded-proto': 'https, http', 'sec-fetch-mode': 'cors' }, null, 'not_said'],
    [
      '10.0.0.1',
      { 'x-forwarded-proto': 'http', 'sec-fetch-mode': 'navigate', 'x-forwarded-host': 'acme.localhost' },
      false,
      null,
    ],
    ['203.0.113.9', {}, false, null],
    ['203.0.113.9', { 'x-forwarded-proto': 'https' }, null, 'not_trusted'],
    ['203.0.113.9', { via: '1.1 balancer' }, null, 'not_trusted'],
    ['203.0.113.9', { 'sec-fetch-mode': 'navigate' }, null, 'not_trusted'],
  ])('from %s with %j: %s, %s', (peer, headers, isSecure, hidden) => {
    expect(read(request(headers), peer)).toMatchObject({ isSecure, hidden });
  });
});

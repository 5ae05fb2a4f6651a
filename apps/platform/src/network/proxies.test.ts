import { describe, expect, test } from 'vitest';
import { makeProxyReader } from './proxies.ts';

const read = makeProxyReader(['10.0.0.0/8', '2001:db8::1']);
const CLIENT = '198.51.100.7';

const request = (headers: Record<string, string> = {}, init: RequestInit = {}) =>
  new Request('http://acme.test:8787/orders?x=1', { ...init, headers });

/** The headers that say somebody came from elsewhere, and meant another address. */
const forwarded = {
  'x-forwarded-for': CLIENT,
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'pipes.apps.test',
};

describe('somebody who comes directly', () => {
  test.each(['203.0.113.9', '2001:db8::2', '11.0.0.1', '::ffff:203.0.113.9'])(
    'from %s is who the connection says, and headers change nothing',
    (peer) => {
      const asked = request(forwarded);
      const seen = read(asked, peer);
      expect(seen.request).toBe(asked);
      expect(seen.clientAddress).toBe(peer.replace('::ffff:', ''));
    },
  );

  test('without an address is nobody known', () => {
    const asked = request(forwarded);
    expect(read(asked, undefined)).toEqual({ request: asked, clientAddress: null });
  });

  test('is nobody’s proxy when none is configured, not on this machine either', () => {
    const asked = request(forwarded);
    expect(makeProxyReader([])(asked, '127.0.0.1')).toEqual({ request: asked, clientAddress: '127.0.0.1' });
  });
});

describe('somebody who comes through a proxy of ours', () => {
  test.each(['10.1.2.3', '::ffff:10.1.2.3', '2001:DB8::1', '2001:db8::1%eth0'])(
    'at %s is who it says, at the address that it says',
    (peer) => {
      const seen = read(request(forwarded), peer);
      expect(seen.clientAddress).toBe(CLIENT);
      expect(seen.request.url).toBe('https://pipes.apps.test/orders?x=1');
    },
  );

  test.each([
    // What the sender wrote himself stands to the left of what our proxy wrote.
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
  ])('is nobody known when a hop is missing or cannot be read: %j', (hops) => {
    expect(read(request({ 'x-forwarded-for': hops }), '10.0.0.1').clientAddress).toBeNull();
  });

  test('is nobody known when the proxy says nothing of them', () => {
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

/** Look-ups against a real name server on the loopback. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openPlatform } from '../../../../packages/directory/test/platform.ts';
import { type DnsServer, startDnsServer } from '../../test/dns-server.ts';
import { makeNodeResolver } from './resolver.ts';

let dns: DnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
});
afterEach(() => dns.close());

const resolver = () => makeNodeResolver({ servers: [dns.address], timeoutMs: 150 });

describe('spec C-17: TXT records', () => {
  test('all of a name are returned, a long one with its parts joined', async () => {
    const long = 'x'.repeat(300);
    dns.zone.set('TXT _a.shop.example', ['one', long]);
    const { outcome, values } = await resolver().resolveTxt('_a.shop.example');
    expect(outcome).toBe('found');
    expect([...values].sort()).toEqual(['one', long]);
  });

  test.each([
    ['NXDOMAIN', 'nxdomain'],
    ['SERVFAIL', 'servfail'],
    ['REFUSED', 'refused'],
    ['silence', 'timeout'],
    [[], 'nodata'],
  ] as const)('%s is %s, and no rejection', async (entry, outcome) => {
    dns.zone.set('TXT _a.shop.example', entry);
    expect(await resolver().resolveTxt('_a.shop.example')).toEqual({ outcome, values: [] });
  });

  test('a server that does not answer is an outcome too', async () => {
    const { outcome, values } = await makeNodeResolver({
      servers: ['127.0.0.1:1'],
      timeoutMs: 150,
    }).resolveTxt('shop.example');
    expect(['failed', 'timeout']).toContain(outcome);
    expect(values).toEqual([]);
  });

  test('a record that was just set is seen, and a removed one is not', async () => {
    const one = resolver();
    dns.zone.set('A _a.shop.example', ['192.0.2.1']);
    expect((await one.resolveTxt('_a.shop.example')).outcome).toBe('nodata');
    dns.zone.set('TXT _a.shop.example', ['now']);
    expect((await one.resolveTxt('_a.shop.example')).values).toEqual(['now']);
    dns.zone.delete('TXT _a.shop.example');
    expect((await one.resolveTxt('_a.shop.example')).outcome).toBe('nodata');
  });
});

test("a name's aliases and addresses", async () => {
  dns.zone.set('A shop.example', ['93.184.215.14']);
  dns.zone.set('AAAA shop.example', ['2606:2800:21f:cb07:0:0:0:7']);
  expect(await resolver().resolveAddress('shop.example')).toEqual({
    outcome: 'found',
    cname: [],
    addresses: ['93.184.215.14', '2606:2800:21f:cb07::7'],
  });
  dns.zone.set('CNAME www.shop.example', ['shop.example']);
  dns.zone.set('A www.shop.example', ['93.184.215.14']);
  expect((await resolver().resolveAddress('www.shop.example')).cname).toEqual(['shop.example']);
  expect((await resolver().resolveAddress('unknown.example')).outcome).toBe('nodata');
});

test('a circle of aliases ends', async () => {
  dns.zone.set('CNAME a.example', ['b.example']);
  dns.zone.set('CNAME b.example', ['a.example']);
  dns.zone.set('A a.example', ['93.184.215.14']);
  expect((await resolver().resolveAddress('a.example')).cname).toEqual(['b.example', 'a.example']);
});

test('a name that leads to private addresses is answered as one that does not exist', async () => {
  dns.zone.set('A db.internal.example', ['10.1.2.3', '192.168.0.7']);
  dns.zone.set('AAAA db.internal.example', ['fd00:0:0:0:0:0:0:7']);
  dns.zone.set('CNAME alias.example', ['db.internal.example']);
  dns.zone.set('A alias.example', ['10.1.2.3']);
  dns.zone.set('TXT only-text.example', ['text']);
  const unknown = await resolver().resolveAddress('unknown.internal.example');
  for (const name of ['db.internal.example', 'alias.example', 'only-text.example'])
    expect(await resolver().resolveAddress(name), name).toEqual(unknown);
  dns.zone.set('A mixed.example', ['93.184.215.14', '10.1.2.3']);
  expect((await resolver().resolveAddress('mixed.example')).addresses).toEqual(['93.184.215.14']);
});

test('a server that is no address is refused at once', () => {
  expect(() => makeNodeResolver({ servers: ['not an address'] })).toThrow();
});

test('spec C-17: a name is pending, fails without its record, and is active with it', async () => {
  const platform = await openPlatform({
    hostnames: { resolver: resolver(), fetch: () => Promise.reject(new TypeError('no such host')) },
  });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const bound = await platform.hostname(scope, 'shop.example');
  const { dns: wanted } = bound.verification.challenge ?? expect.fail('no challenge');
  expect(wanted.name).toBe('_freehold-challenge.shop.example');
  const verify = () =>
    platform.value<{ verified: boolean; reason: string | null; checks: unknown[] }>('hostnames.verify', {
      body: { hostname: 'shop.example' },
    });

  expect(await verify()).toMatchObject({
    verified: false,
    reason: 'record_missing',
    hostname: { status: 'failed' },
    checks: [
      { method: 'dns', outcome: 'nxdomain', expected: wanted.value, observed: [] },
      { method: 'http', ok: false },
    ],
  });
  dns.zone.set(`TXT ${wanted.name}`, ['freehold-challenge=another-token']);
  expect(await verify()).toMatchObject({
    reason: 'record_wrong',
    checks: [{ observed: ['freehold-challenge=another-token'] }, {}],
  });
  dns.zone.set(`TXT ${wanted.name}`, 'silence');
  expect(await verify()).toMatchObject({ reason: 'lookup_failed', checks: [{ outcome: 'timeout' }, {}] });
  dns.zone.set(`TXT ${wanted.name}`, ['v=spf1 -all', wanted.value]);
  dns.zone.set('A shop.example', ['93.184.215.14']);
  expect(await verify()).toMatchObject({
    verified: true,
    reason: null,
    hostname: { status: 'active', verification: { method: 'dns' } },
    address: { addresses: ['93.184.215.14'] },
  });
  expect((await platform.admin.routes()).map(({ hostname }) => hostname)).toEqual(['shop.example']);
});

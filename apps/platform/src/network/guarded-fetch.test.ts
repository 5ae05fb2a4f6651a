import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPublic } from '../settings/address-list.ts';
import { AddressRefused, makeGuardedFetch } from './guarded-fetch.ts';

let requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(`${request.headers.host}${request.url}`);
  if (request.url === '/redirect') response.writeHead(302, { location: '/elsewhere' });
  response.end('reached');
});
let port: number;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

/** A resolver that gives every name the same addresses. */
const names =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

async function reach(
  url: string,
  {
    purpose,
    ...options
  }: Partial<Parameters<typeof makeGuardedFetch>[0]> & {
    readonly purpose?: { readonly issuer: string };
  } = {},
): Promise<string> {
  requests = [];
  const guarded = makeGuardedFetch({ ownIssuer: null, allowed: [], ...options });
  const response = await guarded(url, {}, purpose);
  return `${response.status} ${await response.text()}`;
}

const refusal = async (url: string, options: Parameters<typeof reach>[1] = {}): Promise<unknown> => {
  const error = await reach(url, options).then(
    () => 'reached',
    (thrown) => thrown,
  );
  // `fetch` wraps the error of a connection.
  return (error as Error).cause ?? error;
};

test.each([
  '127.0.0.1',
  '[::1]',
  '10.0.0.1',
  '169.254.169.254',
  '192.168.1.1',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '0.0.0.0',
  '127.1',
  '0x7f000001',
  '2130706433',
])('the literal address %s is refused without a connection', async (host) => {
  expect(await refusal(`http://${host}:${port}/`)).toBeInstanceOf(AddressRefused);
  expect(requests).toEqual([]);
});

test('a name that leads to a private address is refused, also when another of its addresses is public', async () => {
  for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['fd00::1'], []]) {
    expect(await refusal(`http://id.example.test:${port}/`, { lookup: names(...addresses) })).toBeInstanceOf(
      AddressRefused,
    );
  }
  expect(requests).toEqual([]);
});

test('the refusal names no address', () => {
  expect(new AddressRefused().message).not.toMatch(/\d+\.\d+/);
});

test('the connection goes to the address that was looked at', async () => {
  const lookup = names('127.0.0.1');
  expect(await reach(`http://id.example.test:${port}/a`, { lookup, allowed: ['127.0.0.0/8'] })).toBe(
    '200 reached',
  );
  expect(requests).toEqual([`id.example.test:${port}/a`]);
});

test('an operator allows names, addresses and ranges; nothing beside them', async () => {
  const lookup = names('127.0.0.1');
  expect(await reach(`http://id.corp.test:${port}/`, { lookup, allowed: ['id.corp.test'] })).toBe(
    '200 reached',
  );
  expect(await reach(`http://127.0.0.1:${port}/`, { allowed: ['127.0.0.1'] })).toBe('200 reached');
  expect(
    await refusal(`http://other.corp.test:${port}/`, { lookup, allowed: ['id.corp.test'] }),
  ).toBeInstanceOf(AddressRefused);
  expect(await refusal(`http://127.0.0.1:${port}/`, { allowed: ['10.0.0.0/8'] })).toBeInstanceOf(
    AddressRefused,
  );
});

describe("the operator's own issuer", () => {
  const own = () => {
    const ownIssuer = `http://localhost:${port}`;
    return { ownIssuer, purpose: { issuer: ownIssuer } };
  };

  test('is reached at any address, at its own port only', async () => {
    expect(await reach(`http://localhost:${port}/.well-known/openid-configuration`, own())).toBe(
      '200 reached',
    );
    expect(
      await refusal(`http://localhost:${port + 1}/`, { ...own(), lookup: names('127.0.0.1') }),
    ).toBeInstanceOf(AddressRefused);
  });

  test('is not reached on behalf of another issuer, whatever that one says of itself', async () => {
    const { ownIssuer } = own();
    const options = { ownIssuer, lookup: names('127.0.0.1') };
    const url = `${ownIssuer}/token`;
    expect(await refusal(url, options)).toBeInstanceOf(AddressRefused);
    for (const issuer of ['https://id.evil.test', `${ownIssuer}/`])
      expect(await refusal(url, { ...options, purpose: { issuer } })).toBeInstanceOf(AddressRefused);
    expect(requests).toEqual([]);
  });
});

test('a redirect is handed back and not followed', async () => {
  expect(await reach(`http://127.0.0.1:${port}/redirect`, { allowed: ['127.0.0.1'] })).toMatch(/^302 /);
  expect(requests).toEqual([`127.0.0.1:${port}/redirect`]);
});

test.each<[string, boolean]>([
  ['8.8.8.8', true],
  ['100.64.0.1', false],
  ['172.31.255.255', false],
  ['172.32.0.1', true],
  ['198.19.0.1', false],
  ['255.255.255.255', false],
  ['2606:4700::1111', true],
  ['2001:4860:4860::8888', true],
  ['2001::1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['::', false],
  ['::ffff:8.8.8.8', false],
  ['not an address', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublic(address)).toBe(expected);
});

import { makeOutbox } from '@freehold/mail';
import { expect, test } from 'vitest';
import { makeHome } from './home.ts';
import { makeLocalOutbox } from './mail.ts';

function open({
  hasOutbox = true,
  isReady = true,
  originOf,
  isSilent = false,
}: {
  isReady?: boolean;
  hasOutbox?: boolean;
  originOf?: (name: string) => string;
  isSilent?: boolean;
} = {}) {
  const outbox = makeOutbox({ now: () => 0 });
  const home = makeHome({
    ready: async () => isReady,
    degraded: () => [],
    routes: isSilent ? null : async () => [{ hostname: 'acme.localhost', serving: true } as never],
    apiHostname: 'api.localhost',
    outbox: hasOutbox ? makeLocalOutbox(outbox) : null,
    ...(originOf === undefined ? {} : { originOf }),
  });
  const get = async (path: string, clientAddress: string | null = '127.0.0.1') =>
    home.fetch(new Request(`http://localhost:8787${path}`, { headers: { accept: 'text/html' } }), {
      clientAddress,
    });
  return { get, outbox, home };
}

test('names the applications, the control plane and the outbox', async () => {
  const page = await (await open().get('/')).text();
  expect(page).toContain('href="http://acme.localhost:8787"');
  expect(page).toContain('http://api.localhost:8787/openapi.json');
  expect(page).toContain('href="/outbox"');
  expect(await (await open({ hasOutbox: false }).get('/')).text()).not.toContain('outbox');
});

test('without a list of applications it neither names any nor says that there are none', async () => {
  const page = await (await open({ isSilent: true }).get('/')).text();
  expect(page).toContain('Freehold is running');
  expect(page).not.toMatch(/Applications|acme|None yet/);
});

test('names them by their public origins where the operator sets one', async () => {
  const page = await (await open({ originOf: (name) => `https://${name}` }).get('/')).text();
  expect(page).toContain('href="https://acme.localhost"');
});

test('the outbox is read on this machine', async () => {
  const { get, outbox } = open();
  await outbox.send({ to: 'ada@example.org', subject: 'Your sign-up', text: 'Secret link' });
  for (const address of ['127.0.0.1', '::1']) {
    expect(await (await get('/outbox', address)).text()).toContain('Your sign-up');
    expect(await (await get('/outbox/1', address)).text()).toContain('Secret link');
  }
});

test.each(['192.0.2.7', '10.0.0.1', '::2', null])(
  'a request from elsewhere is refused: %s',
  async (address) => {
    const { get, outbox } = open();
    await outbox.send({ to: 'ada@example.org', subject: 'Your sign-up', text: 'Secret link' });
    for (const path of ['/outbox', '/outbox/1', '/outbox/1/html']) {
      const response = await get(path, address);
      expect(response.status).toBe(403);
      expect(await response.text()).not.toMatch(/sign-up|Secret/);
    }
  },
);

test.each<[string, string, Record<string, string>]>([
  ['another name that leads here', 'http://evil.example:8787', {}],
  ['the public name, through a proxy on this machine', 'https://apps.example.org', {}],
  ['a caller that a proxy speaks for', 'http://localhost:8787', { 'x-forwarded-for': '203.0.113.9' }],
  ['a caller that claims to be local', 'http://localhost:8787', { 'x-forwarded-for': '127.0.0.1' }],
  ['an unreadable hop', 'http://localhost:8787', { 'x-forwarded-for': 'garbage' }],
  ['a proxy of another kind', 'http://localhost:8787', { forwarded: 'for=203.0.113.9' }],
  ['a proxy that only says that it is one', 'http://localhost:8787', { via: '1.1 proxy' }],
])('a request %s is refused', async (_name, origin, headers) => {
  const { outbox, home } = open();
  await outbox.send({ to: 'ada@example.org', subject: 'Your sign-up', text: 'Secret link' });
  const response = await home.fetch(new Request(`${origin}/outbox`, { headers }), {
    clientAddress: '127.0.0.1',
  });
  expect(response.status).toBe(403);
  expect(await response.text()).not.toMatch(/sign-up|Secret/);
});

test('where mail leaves there is no outbox', async () => {
  expect((await open({ hasOutbox: false }).get('/outbox')).status).toBe(404);
});

test.each([
  [true, 200, 'ready'],
  [false, 503, 'not ready'],
])('readiness is computed for each request: %s', async (isReady, status, word) => {
  const response = await open({ isReady }).get('/readyz');
  expect([response.status, await response.json()]).toEqual([status, { status: word }]);
});

/** The document lists every address that the API answers at, and none that it does not (C-32). */
import { adminOperations } from '@freehold/directory/declarations';
import { expect, test } from 'vitest';
import { controlPlaneApp, openApiDocument } from '../src/index.ts';
import { hostAdminDouble } from './support/host-admin-double.ts';

const TEMPLATE = /:(\w+)/g;
const noPrincipal = () => Promise.reject(new Error('no call comes in this test'));

/** Everything that can be mounted, mounted. */
function wholeApp() {
  return controlPlaneApp({
    hostAdmin: hostAdminDouble(),
    onIncident: () => undefined,
    now: () => 0,
    newRequestId: () => 'req_new',
    origin: () => 'https://control.example',
    platformSecret: 'a secret of these tests that is long enough',
    connect: {} as never,
    staff: {
      signIns: {} as never,
      relyingParty: () => ({
        handle: noPrincipal,
        handleBackchannelLogout: noPrincipal,
        session: () => null,
      }),
    },
  });
}

const { paths } = openApiDocument(adminOperations);

test('every address is in the document, and every one of the document answers', () => {
  const served = new Set(
    wholeApp()
      .routes.map(({ path }) => path)
      .filter((path) => path !== '/*')
      .map((path) => path.replaceAll(TEMPLATE, '{$1}')),
  );
  expect([...served].sort()).toEqual(Object.keys(paths).sort());
});

test('every address beside the operations takes the methods that the document lists, and says so', async () => {
  const app = wholeApp();
  const operations = new Set(Object.values(adminOperations).map(({ name }) => name as string));
  for (const [path, methods] of Object.entries(paths)) {
    const ids = Object.values(methods).map(({ operationId }) => String(operationId).replace(/\.short$/, ''));
    // Those of the operations are gone over by the fuzzer; those of the relying party have tests of their own.
    if (ids.some((id) => operations.has(id)) || path.startsWith('/api/auth/')) continue;
    const response = await app.request(path.replaceAll(/\{\w+\}/g, 'x'), { method: 'PROPFIND' });
    const documented = Object.keys(methods).map((method) => method.toUpperCase());
    const expected = [...documented, ...(documented.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort();
    expect([path, response.status]).toEqual([path, 405]);
    expect([path, response.headers.get('allow')]).toEqual([path, expected.join(', ')]);
  }
});

test('the page of a problem code is one form of its address: both forms vary by Accept, and the page runs nothing', async () => {
  const app = wholeApp();
  const page = await app.request('/problems/conflict', { headers: { accept: 'text/html' } });
  const json = await app.request('/problems/conflict', { headers: { accept: 'application/json' } });
  expect([page, json].map(({ headers }) => [headers.get('content-type'), headers.get('vary')])).toEqual([
    ['text/html; charset=utf-8', 'accept'],
    ['application/json', 'accept'],
  ]);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('Read the present state and decide again.');
});

/** The helper that a vertical asks the platform for a tenant with (spec 4.3, C-21). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { PlatformRequestError } from './ask-platform.ts';
import { ConnectUrlRequestError } from './request-connect-url.ts';
import { requestTenant, type TenantOrder, TenantRequestError } from './request-tenant.ts';

const order: TenantOrder = {
  controlPlaneUrl: 'https://example.com/api/',
  platformSecret: 'fh_vrt_fieldwork_secret',
  slug: 'acme',
  name: 'Acme',
};
const record = { id: 'tnt_01jd0000000000000000000001', slug: 'acme', name: 'Acme', status: 'active' };

async function sentBy(more: Partial<TenantOrder>): Promise<Request> {
  const sent: Request[] = [];
  const fetch = async (request: Request) => {
    sent.push(request);
    return Response.json(record, { status: 201 });
  };
  await requestTenant({ ...order, ...more }, { fetch });
  return sent[0] as Request;
}

async function refusalOf(response: Response): Promise<TenantRequestError> {
  const error = await requestTenant(order, { fetch: async () => response }).catch((thrown) => thrown);
  if (error instanceof TenantRequestError) return error;
  throw new Error('it was not refused', { cause: error });
}

test('carries slug and name, the secret in its header, and the key where there is one', async () => {
  const request = await sentBy({ idempotencyKey: 'key-1' });
  expect([request.method, request.url]).toEqual(['POST', 'https://example.com/api/tenants']);
  expect(request.headers.get('x-platform-secret')).toBe('fh_vrt_fieldwork_secret');
  expect(request.headers.get('idempotency-key')).toBe('key-1');
  expect(request.headers.has('authorization')).toBe(false);
  expect(request.redirect).toBe('manual');
  expect(await request.json()).toEqual({ slug: 'acme', name: 'Acme' });
  expect((await sentBy({})).headers.has('idempotency-key')).toBe(false);
});

test.each([
  [201, true],
  [200, false],
])('an answer with status %d is a tenant; created: %s', async (status, created) => {
  // Fields that the platform adds later are dropped.
  const fetch = async () => Response.json({ ...record, etag: '7' }, { status });
  expect(await requestTenant(order, { fetch })).toEqual({ ...record, created });
});

test('a refusal has an error of its own, with the status, the code and the reason of the platform', async () => {
  const refused = new PlatformError('forbidden', 'This vertical may not create tenants.', {
    reason: 'not_granted',
  });
  const error = await refusalOf(problemDocument(refused));
  expect(error).toMatchObject({
    name: 'TenantRequestError',
    status: 403,
    code: 'forbidden',
    reason: 'not_granted',
    detail: 'This vertical may not create tenants.',
  });
  expect(error).toBeInstanceOf(PlatformRequestError);
  expect(error).not.toBeInstanceOf(ConnectUrlRequestError);
});

test('an answer that is no tenant is a 502, also a redirect', async () => {
  for (const response of [
    Response.json({ ...record, id: 'acme' }),
    new Response('<html>'),
    new Response(null, { status: 302, headers: { location: 'https://evil.example' } }),
  ])
    expect(await refusalOf(response)).toMatchObject({ status: 502, code: 'runtime_fault' });
});

test('a control plane that cannot be reached is the very TypeError of fetch', async () => {
  const failed = new TypeError('fetch failed');
  await expect(requestTenant(order, { fetch: () => Promise.reject(failed) })).rejects.toBe(failed);
});

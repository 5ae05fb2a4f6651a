/** Which reads are known again by their ETag. */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { expect, test } from 'vitest';
import { hostAdminDouble, TOKEN } from '../../test/support/host-admin-double.ts';
import { controlPlaneApp } from '../app.ts';
import { successStatuses } from '../declared/operations.ts';

const AT = '2026-11-21T08:00:00.000Z';
const TENANT = 'tnt_01jd0000000000000000000001';
const SCOPE = 'scp_01jd0000000000000000000001';
const times = { createdAt: AT, updatedAt: AT, etag: '7' };

const VALUES: Readonly<Record<string, unknown>> = {
  'tenants.get': { id: TENANT, slug: 'acme', name: 'Acme', status: 'active', ...times },
  'scopes.get': {
    ...{ id: SCOPE, tenant: TENANT, slug: 'main', name: 'Main', vertical: 'fieldwork', kind: 'live' },
    ...{ status: 'active', version: '1.0.0', bound: false },
    ...times,
  },
};

test('a record that was not changed is 304; a scope, whose version changes without it, is answered anew', async () => {
  const hostAdmin = hostAdminDouble(({ operation }) => ({ value: VALUES[operation], etag: '7' }));
  const onIncident = (error: unknown): never => {
    throw error;
  };
  const app = controlPlaneApp({ hostAdmin, onIncident, now: () => 0, newRequestId: () => 'req_1' });
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'if-none-match': '"7"' };
    const response = await app.fetch(new Request(`https://control.example${path}`, { headers }));
    expect(response.headers.get('etag')).toBe('"7"');
    return response.status;
  };
  expect(await read(`/tenants/${TENANT}`)).toBe(304);
  expect(await read(`/tenants/${TENANT}/scopes/${SCOPE}`)).toBe(200);
  const promised = (operation: AdminOperation) => successStatuses(operation).includes(304);
  expect(promised(adminOperations['tenants.get'])).toBe(true);
  expect(promised(adminOperations['scopes.get'])).toBe(false);
});

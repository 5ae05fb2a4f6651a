/** No change of another caller is overwritten: `If-Match`, walked over every operation that could (C-01). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import {
  type AdminOperation,
  adminOperations,
  type OperationRecord,
  type TenantRecord,
} from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import { expect, test } from 'vitest';
import { carriesEtag, routesOf, takesIfMatch } from '../src/declared/operations.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import { expectDocumented } from './support/conformance.ts';
import { openFixture } from './support/fixture.ts';
import { OPERATIONS, prepare } from './support/walk.ts';

const TIMEOUT_MS = 120_000;

/** A change of what is there already, and no condition on it. One that takes a condition now fails a test. */
const WITHOUT_IF_MATCH: Readonly<Record<string, string>> = {
  'previews.end': 'A preview never changes: there is no other version of it that could be meant.',
  'staff-programs.end': 'A grant never changes: there is no other version of it that could be meant.',
  'snapshots.delete': 'A snapshot never changes: there is no other version of it that could be meant.',
  'scope-backups.delete': 'A backup never changes: there is no other version of it that could be meant.',
  'directory-backups.delete': 'A backup never changes: there is no other version of it that could be meant.',
};

/** A read of one thing by its own address, whose answer has no version. */
const WITHOUT_ETAG: Readonly<Record<string, string>> = {
  'operations.get':
    'The record of work in progress changes with every step and has no version; what can be done with it, calling it off, is the same at each of them.',
};

/** Operations whose walked request makes something new: there is no version yet that could match. */
const MAKES_NEW: readonly string[] = [
  ...['connections.create', 'hostnames.bind', 'identities.add', 'scopes.provision', 'staff.put'],
  ...['tenants.create', 'vertical-versions.register', 'verticals.create'],
];

/** Answers about something that are made when they are asked for, and nothing that could be sent back changed. */
const isRecord = ({ method, path, output }: AdminOperation) =>
  method === 'GET' && /\/:\w+$/.test(path) && 'shape' in output && !('items' in (output.shape as object));

test('every change of what is there takes a condition, or says why it has none', () => {
  const changes = OPERATIONS.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method));
  const without = changes.filter((operation) => !takesIfMatch(operation)).map(({ name }) => name);
  expect(without.sort()).toEqual(Object.keys(WITHOUT_IF_MATCH).sort());
});

test('what a condition is compared with can be read: a single thing shows its version, or says why it has none', () => {
  // Walks of events, and rows of tables, are answers of an application, which has no versions of them.
  const singles = OPERATIONS.filter((operation) => isRecord(operation) && operation.audit !== 'access');
  const without = singles.filter(({ etag }) => etag !== true).map(({ name }) => name);
  expect(without.sort()).toEqual(Object.keys(WITHOUT_ETAG).sort());
  // The same address is read with the version that a change of it takes.
  const reads = new Map(OPERATIONS.filter(({ method }) => method === 'GET').map((each) => [each.path, each]));
  for (const operation of OPERATIONS.filter((each) => takesIfMatch(each) && each.method !== 'POST')) {
    const read = reads.get(operation.path);
    if (read && !('items' in ((read.output as { shape?: object }).shape ?? {})))
      expect([read.name, read.etag]).toEqual([read.name, true]);
  }
});

test('412 and the tag are documented exactly where the condition is', () => {
  const { paths } = openApiDocument(adminOperations);
  for (const address of routesOf(adminOperations))
    for (const [method, operation] of address) {
      const { path } = operation;
      const documented = paths[openApiPath(path)]?.[method.toLowerCase()] as {
        readonly parameters: readonly { readonly $ref?: string }[];
        readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
      };
      const has = (name: string) =>
        documented.parameters.some(({ $ref }) => $ref === `#/components/parameters/${name}`);
      expect([path, method, has('IfMatch')]).toEqual([path, method, takesIfMatch(operation)]);
      expect([path, method, '412' in documented.responses]).toEqual([path, method, takesIfMatch(operation)]);
      for (const [status, { headers = {} }] of Object.entries(documented.responses))
        if (Number(status) < 300)
          expect([path, method, status, 'ETag' in headers]).toEqual([
            path,
            method,
            status,
            carriesEtag(operation, Number(status)),
          ]);
    }
});

test(
  'a stale condition is 412 and changes nothing, and the version that the refusal names is taken (C-01)',
  async () => {
    const fixture = await openFixture();
    const nothingThere: string[] = [];
    for (const operation of OPERATIONS.filter(takesIfMatch)) {
      const { name } = operation;
      const tenantFixture = await fixture.build(`if-${name.replaceAll(/[^a-z]/g, '-')}`);
      const ask = await prepare(operation, fixture, { tenantFixture });
      const before = await fixture.logged();
      const stale = await fixture.send(ask({ ifMatch: '"a-version-that-never-was"' }));
      expect.soft([name, stale.status, await stale.clone().text()]).toEqual([name, 412, expect.any(String)]);
      await expectDocumented(operation, stale.clone(), { counted: false, replayed: false });
      expect.soft([name, await fixture.logged()]).toEqual([name, before]);
      const etag = stale.headers.get('etag');
      if (etag === null) nothingThere.push(name);
      const fresh = await fixture.send(ask(etag === null ? {} : { ifMatch: etag }));
      expect
        .soft([name, fresh.status, await fresh.clone().text()])
        .toEqual([name, operation.success, expect.any(String)]);
      await expectDocumented(operation, fresh, { counted: false, replayed: false });
      expect.soft(await fixture.logged(), name).toBeGreaterThan(before);
    }
    expect(nothingThere.sort()).toEqual(MAKES_NEW);
    expect([fixture.incidents, fixture.platform.incidents]).toEqual([[], []]);
  },
  TIMEOUT_MS,
);

test('a reap of a tenant that was changed meanwhile stops at 412: nothing of it is erased, and no work begins (C-03)', async () => {
  const fixture = await openFixture();
  const { tenant } = fixture.ours.names;
  const params = { tenant };
  const { platform } = fixture;
  const reap = OPERATIONS.find(({ name }) => name === 'tenants.reap') as AdminOperation;
  const ask = await prepare(reap, fixture, { tenantFixture: fixture.ours });
  const seen = await platform.call('tenants.get', { params });
  // Another caller changes it twice.
  for (const status of ['active', 'deleting'])
    await platform.call('tenants.set-status', { params, body: { status } });
  const refused = await fixture.send(ask({ ifMatch: `"${seen.etag}"` }));
  expect([refused.status, await refused.json()]).toMatchObject([412, { code: 'precondition_failed' }]);
  const plan = new Request(ask({ ifMatch: `"${seen.etag}"` }));
  const planned = await fixture.send(new Request(`${plan.url}?dryRun=true`, plan));
  expect(planned.status).toBe(412);

  const after = await platform.call('tenants.get', { params });
  expect((after.value as TenantRecord).status).toBe('deleting');
  const { items } = await platform.value<{ items: OperationRecord[] }>('operations.list', { query: params });
  expect(items.filter(({ name }) => name === 'tenants.reap')).toEqual([]);
  const begun = await fixture.send(ask({ ifMatch: `"${after.etag}"` }));
  expect(begun.status).toBe(202);
  const record = (await begun.json()) as OperationRecord;
  expect(await platform.finish({ status: 202, value: record, replayed: false })).toMatchObject({
    state: 'done',
  });
});

test('where a connection may act is changed under the version of the connection', async () => {
  const fixture = await openFixture();
  const { tenant, connection, scope } = fixture.ours.names;
  const { platform } = fixture;
  const params = { tenant, connection };
  const put = (permission: string, ifMatch?: string) =>
    platform.call('connection-grants.put', {
      params,
      body: { scope, permission },
      ...(ifMatch === undefined ? {} : { ifMatch }),
    });
  const { etag: first = '' } = await platform.call('connection-grants.list', { params });
  expect((await platform.call('connections.get', { params })).etag).toBe(first);
  expect((await platform.call('connections.credential', { params })).etag).toBe(first);
  const { etag: second = '' } = await put('order.read', first);
  expect(second).not.toBe(first);
  // Two who have read the same: the later one is told.
  await expect(put('order.complete', first)).rejects.toMatchObject({ code: 'precondition_failed' });
  const revoked = (ifMatch: string) =>
    platform.call('connection-grants.delete', { params, query: { scope }, ifMatch });
  await expect(revoked(first)).rejects.toMatchObject({ code: 'precondition_failed' });
  const list = () => platform.call('connection-grants.list', { params });
  expect(await list()).toMatchObject({ etag: second, value: { items: [{ permission: 'order.read' }] } });
  await revoked(second);
  expect((await list()).value).toMatchObject({ items: [] });
  expect((await list()).etag).not.toBe(second);
});

test('a grant that was not given leaves the version that it was asked under', async () => {
  const fixture = await openFixture();
  const { tenant, connection, scope } = fixture.ours.names;
  const { platform } = fixture;
  const params = { tenant, connection };
  const { etag = '' } = await platform.call('connections.get', { params });
  platform.fieldwork.fault = async () =>
    problemDocument(new PlatformError('not_found', 'There is no such permission.'));
  const put = () =>
    platform.call('connection-grants.put', {
      params,
      body: { scope, permission: 'order.read' },
      ifMatch: etag,
    });
  await expect(put()).rejects.toMatchObject({ code: 'not_found' });
  platform.fieldwork.fault = null;
  const { etag: after } = await put();
  expect(Number(after)).toBeGreaterThan(Number(etag));
});

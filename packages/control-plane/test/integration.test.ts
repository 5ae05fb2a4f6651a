/** The API, the client and the real host administration together. */

import type { ConnectionsOptions } from '@freehold/directory';
import { type AdminLogEntry, type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { makeKeyring } from '@freehold/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { ControlPlaneError, makeControlPlaneClient, makeTenantClient } from '../src/client/index.ts';
import { expectDocumented } from './support/conformance.ts';
import { openRealPlatform } from './support/real-platform.ts';
import { hostileParts, partsOf, requestOf, validInputs } from './support/requests.ts';

const failureOf = (call: Promise<unknown>): Promise<ControlPlaneError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (error) => (error instanceof ControlPlaneError ? error : Promise.reject(error)),
  );

test('a tenant is created, listed, changed under its version, and its creation replayed (C-01, C-02)', async () => {
  await using platform = await openRealPlatform();
  const client = makeControlPlaneClient(platform.clientOptions());

  const body = { slug: 'acme', name: 'Acme' };
  const made = await client.tenants.create.response({ body }, { idempotencyKey: 'make-acme' });
  expect(made).toMatchObject({ status: 201, replayed: false, value: { slug: 'acme', status: 'active' } });
  expect(made.head?.hash).toMatch(/^[0-9a-f]{64}$/);
  const tenant = made.value.id;
  expect((await client.tenants.list()).items).toEqual([made.value]);

  const replayed = await client.tenants.create.response({ body }, { idempotencyKey: 'make-acme' });
  expect(replayed).toMatchObject({ status: 201, replayed: true, value: made.value });
  const reused = await failureOf(
    client.tenants.create({ body: { slug: 'other', name: 'Other' } }, { idempotencyKey: 'make-acme' }),
  );
  expect(reused).toMatchObject({ status: 409, code: 'conflict' });
  expect((await client.tenants.create.response({ body })).status).toBe(200);

  const { etag } = await client.tenants.get.response({ params: { tenant } });
  const suspend = { params: { tenant }, body: { status: 'suspended' as const } };
  const changed = await client.tenants.setStatus.response(suspend, { ifMatch: etag ?? 'none' });
  expect(changed.value.status).toBe('suspended');
  expect(changed.etag).not.toBe(etag);
  const stale = await failureOf(
    client.tenants.setStatus({ params: { tenant }, body: { status: 'active' } }, { ifMatch: etag ?? 'none' }),
  );
  expect(stale).toMatchObject({ status: 412, code: 'precondition_failed' });
  expect((await client.tenants.get({ params: { tenant } })).status).toBe('suspended');

  const rows: AdminLogEntry[] = [];
  for await (const row of client.adminLog.list.iterate({ query: { tenant, limit: 1 } })) rows.push(row);
  expect(rows.map(({ action }) => action)).toEqual(['tenants.set-status', 'tenants.create']);
  expect(rows.every(({ actor, requestId }) => actor.kind === 'service' && requestId.startsWith('req_'))).toBe(
    true,
  );
  expect(rows[1]?.requestId).toBe(made.requestId);
  expect(rows[0]?.hash).toBe(changed.head?.hash);
  expect(await client.adminLog.verify()).toMatchObject({ firstBad: null });
  expect(platform.incidents).toEqual([]);
});

test('a created thing is where its Location says, and unchanged until it changes', async () => {
  await using platform = await openRealPlatform();
  const headers = { authorization: `Bearer ${platform.secret}`, 'content-type': 'application/json' };
  const made = await platform.send(
    new Request('https://control.example/tenants', {
      method: 'POST',
      headers,
      body: '{"slug":"acme","name":"Acme"}',
    }),
  );
  const at = new URL(made.headers.get('location') ?? '', 'https://control.example');
  const read = (more: Record<string, string>) =>
    platform.send(new Request(at, { headers: { ...headers, ...more } }));
  const found = await read({});
  expect(await found.json()).toEqual(await made.json());
  expect(found.headers.get('etag')).toBe(made.headers.get('etag'));
  expect((await read({ 'if-none-match': found.headers.get('etag') ?? '' })).status).toBe(304);
});

test('a tenant’s client provisions itself and sees no other tenant (C-33)', async () => {
  await using platform = await openRealPlatform();
  const staff = makeControlPlaneClient(platform.clientOptions());
  const ours = await staff.tenants.create({ body: { slug: 'ours', name: 'Ours' } });
  const theirs = await staff.tenants.create({ body: { slug: 'theirs', name: 'Theirs' } });
  const { secret } = await staff.pushTokens.create({
    body: { name: 'ci', tenant: ours.id, kind: 'operate' },
  });

  const client = makeTenantClient(platform.clientOptions(secret), ours.id);
  const scope = await client.scopes.provision({
    body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
  });
  expect(scope).toMatchObject({ tenant: ours.id, vertical: 'fieldwork' });
  expect((await client.scopes.list()).items.map(({ id }) => id)).toEqual([scope.id]);
  expect((await client.tenants.list()).items.map(({ id }) => id)).toEqual([ours.id]);

  const wide = makeControlPlaneClient(platform.clientOptions(secret));
  expect(await failureOf(wide.tenants.get({ params: { tenant: theirs.id } }))).toMatchObject({ status: 404 });
  expect(await failureOf(wide.adminLog.list())).toMatchObject({ status: 403, reason: 'staff_only' });
  await staff.pushTokens.revoke({ params: { token: (await staff.pushTokens.list()).items[0]?.id as never } });
  expect(await failureOf(client.tenants.list())).toMatchObject({ status: 401, reason: 'token_invalid' });
});

test('whatever is sent to the real host administration is answered as documented (C-32)', async () => {
  const rateLimit = { calls: 1_000_000, windowSeconds: 60 };
  await using platform = await openRealPlatform({ connections: everybodysLedger, rateLimit });
  const staff = makeControlPlaneClient(platform.clientOptions());
  const { id: tenant } = await staff.tenants.create({ body: { slug: 'acme', name: 'Acme' } });
  const provision = { params: { tenant }, body: { slug: 'main', name: 'Main', vertical: 'fieldwork' } };
  const { id: scope } = await staff.scopes.provision(provision);
  const { secret: push } = await staff.pushTokens.create({ body: { name: 'ci', tenant, kind: 'operate' } });
  const { id: connection } = await staff.connections.create({
    params: { tenant },
    body: {
      provider: 'ledger',
      scope,
      subjectRef: 'the books',
      apiKey: 'a key of the ledger'.replaceAll(' ', '-'),
    },
  });
  const known: Readonly<Record<string, string>> = { tenant, scope, connection, provider: 'ledger' };

  /** Valid requests with ids that exist, ones with ids that do not, and hostile ones, from both kinds of token. */
  const requests = (operation: AdminOperation) =>
    fc.tuple(
      fc.oneof(
        hostileParts(operation),
        validInputs(operation).map((input) => partsOf(operation, input)),
        validInputs(operation).map((input) => partsOf(operation, withKnown(input, known))),
      ),
      fc.constantFrom(platform.secret, push),
    );
  const seen = new Set<number>();
  // The call that ends the tenant comes last.
  const order = Object.values<AdminOperation>(adminOperations).sort(
    (left, right) => Number(left.name === 'tenants.set-status') - Number(right.name === 'tenants.set-status'),
  );
  for (const operation of order) {
    await fc.assert(
      fc.asyncProperty(requests(operation), async ([parts, token]) => {
        const response = await platform.send(requestOf(operation.method, parts, token));
        seen.add(response.status);
        // An address that hostile text turned into another one answers by that one's declaration.
        const problem = response.headers.get('content-type') === 'application/problem+json';
        if (problem && /unknown_address|method_not_allowed/.test(await response.clone().text())) return;
        if (new URL(requestOf(operation.method, parts, token).url).pathname !== parts.path) return;
        expect([500, 502, 503]).not.toContain(response.status);
        const hasKey = parts.headers.some(([name]) => name === 'idempotency-key');
        await expectDocumented(operation, response, { counted: true, replayed: hasKey ? null : false });
      }),
      { numRuns: runs(30) },
    );
  }
  expect(platform.incidents).toEqual([]);
  for (const status of [200, 201, 400, 403, 404, 409]) expect(seen).toContain(status);
  // Thirty requests an operation: it grows with the table, and no single one of them is slow.
}, 60_000);

/** A provider that takes any key, and says of each that it is another account's. */
let accounts = 0;
const everybodysLedger: ConnectionsOptions = {
  providers: {
    ledger: { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } },
  },
  keyring: makeKeyring(['a sealing key of the tests, 32 bytes and more']),
  baseUrl: () => 'https://control.example',
  fetch: async () => Response.json({ sub: ++accounts }),
};

function withKnown<T>(value: T, known: Readonly<Record<string, string>>): T {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, known[name] ?? withKnown(member, known)]),
  ) as T;
}

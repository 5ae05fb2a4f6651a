/** A key makes every change one change: walked over the real host administration, operation by operation (C-01). */

import {
  type AdminLogEntry,
  type AdminOperation,
  adminOperations,
  type OperationRecord,
} from '@freehold/directory/declarations';
import { MCP_META } from '@freehold/operations/mcp';
import { expect, test } from 'vitest';
import { makeControlPlaneClient } from '../src/client/index.ts';
import { takesIdempotencyKey } from '../src/declared/operations.ts';
import { adminToolsOf } from '../src/mcp/admin-tools.ts';
import { expectDocumented } from './support/conformance.ts';
import { type Fixture, openFixture } from './support/fixture.ts';
import { OPERATIONS, prepare, RECIPES } from './support/walk.ts';

const UNSAFE = OPERATIONS.filter(({ method }) => method !== 'GET');
const WALKED = UNSAFE.filter(takesIdempotencyKey);

/** Whose answer holds a secret, which is not kept to be shown again. */
const SHOWN_ONCE = [
  'owner-claim.mint',
  'owner-recovery.mint',
  'owner-replacement.mint',
  'previews.open',
  'push-tokens.create',
  'push-tokens.rotate',
  'service-tokens.create',
  'service-tokens.rotate',
];

const TIMEOUT_MS = 120_000;

/** Operations whose thing is read in its list, because it has no address of its own. */
const NO_LOCATION: Readonly<Record<string, string>> = {
  'identities.add': 'read in the list of the tenant’s identities',
  'snapshots.take': 'read in the list of the scope’s snapshots',
  'imports.create': 'read in the list of the scope’s backups',
  'owner-claim.mint': 'a link, which is shown this once',
  'owner-recovery.mint': 'a link, which is shown this once',
  'owner-replacement.mint': 'a link, which is shown this once',
  'verticals.deploy': 'made below the address of the vertical’s versions, which says where it is by its id',
  'previews.create': 'read in the list of the vertical’s previews',
  'previews.open': 'a link, which is shown this once',
  'hostnames.bind': 'read in the list of host names',
  'push-tokens.create': 'read in the list of tokens',
  'push-tokens.rotate': 'read in the list of tokens',
  'service-tokens.create': 'read in the list of tokens',
  'service-tokens.rotate': 'read in the list of tokens',
};

/** POSTs without a key: one only reads, and one sends a test message again, and stores nothing. */
const WITHOUT_KEY = ['query.run', 'alerts.test'];

/** Operations without any input, so that all their calls are alike. */
const NO_INPUT = ['directory-backups.create'];

test('every operation that changes something takes a key, and every POST that only reads refuses it', () => {
  const names = WALKED.map(({ name }) => name);
  for (const name of ['connections.verify', 'connection-grants.put', 'imports.create', 'verticals.deploy'])
    expect(names).toContain(name);
  expect(UNSAFE.filter((each) => !takesIdempotencyKey(each)).map(({ name }) => name)).toEqual(WITHOUT_KEY);
  for (const { audit, name } of WALKED) expect(audit, name).toBe('audit');
  const known = OPERATIONS.map(({ name }) => name);
  expect(
    [...Object.keys(RECIPES), ...Object.keys(NO_LOCATION), ...SHOWN_ONCE, ...NO_INPUT].filter(
      (name) => !known.includes(name),
    ),
  ).toEqual([]);
});

/** Rows of the admin log from here on, oldest first. */
async function rowsAfter({ platform }: Fixture, sequence: number): Promise<AdminLogEntry[]> {
  return (await platform.adminLog()).filter((row) => row.sequence > sequence);
}

/** Long work goes on after its answer; everything that it writes down is there afterwards. */
async function finish({ platform }: Fixture, operation: AdminOperation, body: unknown): Promise<void> {
  if (operation.success !== 202) return;
  const { id } = body as OperationRecord;
  const record = await platform.finish({ status: 202, value: { id }, replayed: false });
  expect.soft([operation.name, record.state, record.problem]).toEqual([operation.name, 'done', null]);
}

/** One change and two calls. Answers whether the second one was answered again. */
async function walk(fixture: Fixture, operation: AdminOperation): Promise<'replayed' | 'shown once'> {
  const { name } = operation;
  const tenantFixture = await fixture.build(`walk-${name.replaceAll(/[^a-z]/g, '-')}`);
  const ask = await prepare(operation, fixture, { tenantFixture });
  const before = await fixture.logged();
  const key = `key-of-${name}`;

  const first = await fixture.send(ask({ key }));
  const served = { counted: false, replayed: false };
  expect
    .soft([name, first.status, await first.clone().text()])
    .toEqual([name, operation.success, expect.any(String)]);
  await expectDocumented(operation, first.clone(), served);
  const value = operation.success === 204 ? null : await first.json();
  await finish(fixture, operation, value);
  const location = first.headers.get('location');
  if (operation.success === 201 || operation.success === 202)
    expect.soft([name, location === null]).toEqual([name, name in NO_LOCATION]);
  if (location !== null) {
    const headers = fixture.credentials.service;
    const found = await fixture.send(new Request(new URL(location, 'https://control.example'), { headers }));
    expect.soft([name, location, found.status]).toEqual([name, location, 200]);
  }
  const logged = await rowsAfter(fixture, before);
  const own = logged.filter(({ action }) => action === name).map(({ outcome }) => outcome);
  expect.soft([name, own]).toEqual([name, own.includes('intent') ? ['intent', 'done'] : ['done']]);

  const second = await fixture.send(ask({ key }));
  const text = await second.clone().text();
  const isKept = second.status === operation.success;
  await expectDocumented(operation, second, { counted: false, replayed: isKept });
  if (!isKept)
    expect
      .soft([name, second.status, text])
      .toEqual([name, 409, expect.stringContaining('secret_shown_once')]);
  else if (operation.success === 202)
    expect.soft(JSON.parse(text).id, name).toBe((value as OperationRecord).id);
  else expect.soft([name, text === '' ? null : JSON.parse(text)]).toEqual([name, value]);
  if (isKept && first.headers.has('etag'))
    expect.soft(second.headers.get('etag'), name).toBe(first.headers.get('etag'));
  expect.soft([name, await rowsAfter(fixture, before)]).toEqual([name, logged]);

  if (!NO_INPUT.includes(name)) {
    const other = await fixture.build(`other-${name.replaceAll(/[^a-z]/g, '-')}`);
    const askOther = await prepare(operation, fixture, { tenantFixture: other, seed: 2 });
    const prepared = await fixture.logged();
    const reused = await fixture.send(askOther({ key }));
    expect
      .soft([name, reused.status, JSON.parse((await reused.clone().text()) || 'null')])
      .toMatchObject([name, 409, { reason: 'idempotency_key_reused' }]);
    await expectDocumented(operation, reused, served);
    expect.soft([name, await fixture.logged()]).toEqual([name, prepared]);
  }
  return isKept ? 'replayed' : 'shown once';
}

test(
  'the same call with the same key is done once, and another one with that key is refused (C-01)',
  async () => {
    const fixture = await openFixture();
    const shownOnce: string[] = [];
    for (const operation of WALKED) {
      // The directory is replaced only where nothing else is going on.
      const place = operation.name === 'directory.restore' ? await openFixture() : fixture;
      if ((await walk(place, operation)) === 'shown once') shownOnce.push(operation.name);
    }
    expect(shownOnce.sort()).toEqual(SHOWN_ONCE);
    expect([fixture.incidents, fixture.platform.incidents]).toEqual([[], []]);
  },
  TIMEOUT_MS,
);

const QUERY = {
  params: { tenant: 'tnt_01jd0000000000000000000000', scope: 'scp_01jd0000000000000000000000' },
  body: { sql: 'SELECT 1' },
} as const;

test('the client sends a read that is a POST without a key, and every change with one', async () => {
  const keys: (string | null)[] = [];
  const fetch = async (request: Request) => {
    keys.push(request.headers.get('idempotency-key'));
    return Response.json({}, { status: 418 });
  };
  const newIdempotencyKey = () => 'k-1';
  const client = makeControlPlaneClient({
    baseUrl: 'https://control.example',
    token: 'fh_svc_none',
    fetch,
    newIdempotencyKey,
  });
  await expect(client.query.run(QUERY as never)).rejects.toMatchObject({ status: 418 });
  await expect(client.tenants.create({ body: { slug: 'a', name: 'A' } })).rejects.toMatchObject({
    status: 418,
  });
  expect(keys).toEqual([null, '"k-1"']);
});

test('a tool that only reads refuses the key as well', () => {
  const toolOf = (name: string) => adminToolsOf(adminOperations).find((each) => each.operation.name === name);
  const meta = { [MCP_META.idempotencyKey]: 'k-1' };
  const given = { ...QUERY.params, ...QUERY.body };
  expect(() => toolOf('query.run')?.read(given, meta)).toThrow(/is not looked at by this tool/);
  expect(toolOf('query.run')?.read(given, {})).toMatchObject(QUERY);
  expect(toolOf('tenants.create')?.read({ slug: 'a', name: 'A' }, meta)).toMatchObject({
    idempotencyKey: 'k-1',
  });
});

test('a read that is a POST refuses the key, because it would mean nothing', async () => {
  const fixture = await openFixture();
  const operation = OPERATIONS.find(({ name }) => name === 'query.run') as AdminOperation;
  const ask = await prepare(operation, fixture, { tenantFixture: fixture.ours });
  expect((await fixture.send(ask())).status).toBe(200);
  const refused = await fixture.send(ask({ key: 'a-key' }));
  expect([refused.status, await refused.clone().json()]).toMatchObject([400, { code: 'validation_failed' }]);
  expect(await refused.clone().text()).toContain('Idempotency-Key');
  await expectDocumented(operation, refused, { counted: false, replayed: false });
});

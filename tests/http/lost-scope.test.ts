/**
 * The database of a scope is damaged, or gone: its backup is laid down again, into the same scope and into a new one, with
 * its members, its attachment and its sealed data. The damaged file is put aside.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScopeId, TenantId } from '@freehold/contracts';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

const COPY_HOST = 'copied.localhost';
const PHOTO = 'the bytes of a photo';

let opened: EmbeddedPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;
/** Ada owns the demo. After the backup bob, who was a dispatcher, became a technician, and cleo was removed. */
const [ada, bob, cleo, dan] = [new Caller(), new Caller(), new Caller(), new Caller()];
const made = {
  customer: '',
  other: '',
  order: '',
  attachment: '',
  backup: '',
  backedUpAt: '',
  bob: '',
  cleo: '',
};

async function open(place?: EmbeddedPlatform['place']): Promise<void> {
  opened = await openEmbeddedPlatform({}, place);
  client = makeControlPlaneClient({
    baseUrl: opened.place.url('api.localhost'),
    token: opened.token,
    fetch: throughCaller,
  });
}

/** Closes the platform, does something to its files, and starts it again. */
async function whileClosed(work: (database: string) => void): Promise<void> {
  await opened.platform.close();
  work(databaseOf(opened.scope.scopeId));
  await open(opened.place);
}

const kindOf = (): string => join(opened.place.dataDirectory, 'scope-fieldwork');
const databaseOf = (scope: string): string => join(kindOf(), `${scope}.sqlite`);
const asideFiles = (): string[] => readdirSync(kindOf()).filter((name) => name.includes('.damaged-'));

async function post<T>(caller: Caller, url: string, json: unknown): Promise<T> {
  const answer = await caller.ask(url, { json });
  expect(answer.status, `${url}: ${answer.text}`).toBeLessThan(300);
  return answer.json<T>();
}

async function join_(caller: Caller, login: string): Promise<string> {
  const { url } = await post<{ url: string }>(ada, `${opened.app}/api/invites`, { role: 'technician' });
  await signIn(caller, opened.app, login);
  const token = new URL(url).searchParams.get('invite');
  return (await post<{ principal: string }>(caller, `${opened.app}/api/accept-invite`, { token })).principal;
}

async function finished(id: string): Promise<{ state: string; result?: unknown; problem?: unknown }> {
  return client.operations.get({ params: { operation: id as never }, query: { wait: '30s' } });
}

interface Place {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
}

const inDemo = (): Place => ({
  tenant: opened.scope.tenantId as TenantId,
  scope: opened.scope.scopeId as ScopeId,
});

async function restore(params: Place): Promise<Record<string, unknown>> {
  const body = { from: { backup: made.backup as never } };
  const ended = await finished((await client.scopes.restore({ params, body })).id);
  expect(ended.state, JSON.stringify(ended.problem)).toBe('done');
  return ended.result as Record<string, unknown>;
}

const dryRun = (params: Place) =>
  client.scopes.restore({
    params,
    query: { dryRun: true },
    body: { from: { backup: made.backup as never } },
  });

/** Everything that a restored scope must still have, seen by its owner. */
async function expectWhole(app: string): Promise<void> {
  const me = await ada.ask(`${app}/api/me`);
  expect(me.json(), me.text).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
  const customer = await ada.ask(`${app}/api/customers/${made.customer}`);
  expect(customer.json(), customer.text).toMatchObject({ name: 'Wren Bakery', phone: '0555 1' });
  const history = await ada.ask(`${app}/api/customers/${made.customer}/history`);
  expect(history.json(), history.text).toMatchObject({
    items: [{ payload: { name: 'Wren Bakery' }, actor: { name: 'Ada Lovelace' } }],
  });
  const file = await ada.ask(`${app}/api/orders/${made.order}/attachments/${made.attachment}`);
  expect([file.status, file.text]).toEqual([200, JSON.stringify(PHOTO)]);
}

/** Bob has the role of today, and cleo gets in nowhere. */
async function expectTeamOfToday(app: string): Promise<void> {
  const me = await bob.ask(`${app}/api/me`);
  expect(me.json(), me.text).toMatchObject({ status: 'member', roles: [{ key: 'technician' }] });
  expect((await bob.ask(`${app}/api/customers`, { json: { name: 'Not his to add' } })).status).toBe(403);
  expect((await cleo.ask(`${app}/api/orders`)).status).toBe(403);
}

beforeAll(async () => {
  await open();
  await signIn(ada, opened.app, 'ada');
  expect((await ada.ask(`${opened.app}/api/me`)).status).toBe(200);
  made.bob = await join_(bob, 'bob');
  await post(ada, `${opened.app}/api/members/${made.bob}/role`, { role: 'dispatcher' });
  made.cleo = await join_(cleo, 'cleo');
  const { app } = opened;
  const customer = { name: 'Wren Bakery', phone: '0555 1' };
  made.customer = (await post<{ id: string }>(ada, `${app}/api/customers`, customer)).id;
  made.other = (await post<{ id: string }>(ada, `${app}/api/customers`, { name: 'Larch Hotel' })).id;
  const order = { customer: made.customer, title: 'Oven' };
  made.order = (await post<{ id: string }>(ada, `${app}/api/orders`, order)).id;
  made.attachment = (
    await post<{ id: string }>(ada, `${app}/api/orders/${made.order}/attachments?filename=a.jpg`, PHOTO)
  ).id;
  const begun = await client.scopeBackups.create({ params: inDemo(), body: {} });
  const { id, at } = (await finished(begun.id)).result as { id: string; at: string };
  Object.assign(made, { backup: id, backedUpAt: at });
  await post(ada, `${app}/api/customers`, { name: 'Too late for the backup' });
  await post(ada, `${app}/api/members/${made.cleo}/remove`, {});
  await post(ada, `${app}/api/members/${made.bob}/role`, { role: 'technician' });
}, 60_000);
afterAll(async () => {
  for (const caller of [ada, bob, cleo, dan]) caller[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
});

test('C-04, C-19: a restore and a rewind leave the team as it is today', async () => {
  await client.scopes.rewind({ params: inDemo(), body: { at: made.backedUpAt } });
  await expectTeamOfToday(opened.app);
  expect(await restore(inDemo())).toMatchObject({ roles: 'kept' });
  await expectTeamOfToday(opened.app);
  await expectWhole(opened.app);
}, 60_000);

test('C-04, C-19: a damaged database is restored from its backup, and put aside', async () => {
  await whileClosed((path) => {
    const bytes = readFileSync(path);
    bytes.fill('x', 0, 4_096);
    writeFileSync(path, bytes);
  });
  expect((await ada.ask(`${opened.app}/api/customers`)).status).toBe(503);
  expect(await dryRun(inDemo())).toMatchObject({
    present: 'damaged',
    copy: { scope: opened.scope.scopeId, members: 3, attachments: { files: 1, missing: 0 } },
  });
  const restored = await restore(inDemo());
  expect(restored).toMatchObject({ attachments: { copied: 0, missing: 0 }, roles: 'limited' });
  expect(asideFiles()).toEqual([restored.setAside]);
  expect(restored.setAside).toMatch(/^scp_\w+\.sqlite\.damaged-\d{8}T\d{6}Z$/);
  await expectWhole(opened.app);
  await expectTeamOfToday(opened.app);
}, 60_000);

test('C-04, C-19: a database that is gone is restored from its backup', async () => {
  await whileClosed((path) => {
    for (const each of [path, `${path}-wal`, `${path}-shm`]) rmSync(each, { force: true });
    renameSync(join(kindOf(), `${opened.scope.scopeId}.history`), join(kindOf(), 'elsewhere'));
  });
  expect(await dryRun(inDemo())).toMatchObject({ present: 'missing', copy: { members: 3 }, undo: false });
  expect(await restore(inDemo())).not.toHaveProperty('setAside');
  await expectWhole(opened.app);
  await expectTeamOfToday(opened.app);
}, 60_000);

test('C-04, C-19: into a new scope come the members, the owner, the attachment and the sealed data', async () => {
  const { tenantId: tenant } = opened.scope;
  const { id: scope } = await client.scopes.provision({
    params: { tenant: tenant as never },
    body: { slug: 'copied', name: 'Copied', vertical: 'fieldwork' },
  });
  await client.hostnames.bind({ body: { hostname: COPY_HOST, tenant: tenant as never, scope } });
  const params = { tenant: tenant as TenantId, scope };
  expect(await client.ownerSeat.get({ params })).toMatchObject({ reason: 'window_open' });
  expect(await restore(params)).toMatchObject({ members: 2, attachments: { copied: 1, missing: 0 } });

  // No one can be the first any more; the owner of the copy is the owner, and cleo, who was removed since, stays outside.
  const app = opened.place.url(COPY_HOST);
  expect(await client.ownerSeat.get({ params })).toMatchObject({ state: 'claimed' });
  await signIn(dan, app, 'dan');
  expect((await dan.ask(`${app}/api/customers`)).status).toBe(403);
  await signIn(ada, app, 'ada');
  await expectWhole(app);
  await signIn(bob, app, 'bob');
  await signIn(cleo, app, 'cleo');
  await expectTeamOfToday(app);

  // Erasing in one of the two does not reach the other: each has keys of its own.
  const erased = await post<{ subject: string }>(ada, `${app}/api/customers/${made.other}/erase`, {});
  expect(erased.subject).toBe(made.other);
  const history = `/api/customers/${made.other}/history`;
  expect((await ada.ask(app + history)).text).toContain('$shredded');
  expect((await ada.ask(opened.app + history)).text).toContain('Larch Hotel');
}, 60_000);

test('C-04, C-19: a backup of a scope that was reaped comes back with its members, in a new scope', async () => {
  const params = inDemo();
  await client.scopes.setStatus({ params, body: { status: 'archived' } });
  const reaped = await finished((await client.scopes.reap({ params, body: { backup: false } })).id);
  expect(reaped.state).toBe('done');
  expect(asideFiles()).toEqual([]);
  const tenant = params.tenant;
  const { id: scope } = await client.scopes.provision({
    params: { tenant },
    body: { slug: 'again', name: 'Again', vertical: 'fieldwork' },
  });
  // The files of a reaped scope are gone for good: the result says so.
  expect(await restore({ tenant, scope })).toMatchObject({
    attachments: { copied: 0, missing: 1 },
    members: 3,
  });
  expect(await client.ownerSeat.get({ params: { tenant, scope } })).toMatchObject({ state: 'claimed' });
  expect(existsSync(databaseOf(scope))).toBe(true);
}, 60_000);

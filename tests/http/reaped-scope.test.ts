/**
 * The control plane reaps a scope on the running platform: its tenant's identity directory no longer names it, and its
 * neighbour keeps its members.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

let opened: EmbeddedPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;
const ada = new Caller();

beforeAll(async () => {
  opened = await openEmbeddedPlatform();
  const baseUrl = opened.place.url('api.localhost');
  client = makeControlPlaneClient({ baseUrl, token: opened.token, fetch: throughCaller });
  await signIn(ada, opened.app, 'ada');
  expect((await ada.ask(`${opened.app}/api/me`)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
});

/** The settings of the sign-in at the development issuer. */
function choice(): Record<string, string> {
  const text = readFileSync(join(opened.place.dataDirectory, 'secrets.json'), 'utf8');
  const { issuerClientSecret } = JSON.parse(text) as { issuerClientSecret: string };
  const issuer = `http://localhost:${opened.place.issuerPort}`;
  return {
    'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: 'freehold' }),
    OIDC_CLIENT_SECRET: issuerClientSecret,
  };
}

/** Everything in the tenant's identity database, as text. */
function identityText(): string {
  const file = join(opened.place.dataDirectory, 'identity', `${opened.scope.tenantId}.sqlite`);
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    return JSON.stringify(tables.map(({ name }) => database.prepare(`SELECT * FROM ${name}`).all()));
  } finally {
    database.close();
  }
}

/** Makes an instance of the demo's tenant, in which bob has signed in. */
async function makeNeighbour(slug: string) {
  using bob = new Caller();
  const tenant = opened.scope.tenantId as never;
  const { id: scope } = await client.scopes.provision({
    params: { tenant },
    body: {
      slug,
      name: 'Neighbour',
      vertical: 'fieldwork',
      config: { ...choice(), NOTE: 'Ring twice.' },
    },
  });
  await client.hostnames.bind({ body: { hostname: `${slug}.localhost`, tenant, scope } });
  await signIn(bob, opened.place.url(`${slug}.localhost`), 'bob');
  const me = await bob.ask(`${opened.place.url(`${slug}.localhost`)}/api/me`);
  expect(me.status, me.text).toBe(200);
  return { tenant, scope };
}

async function reap(at: Awaited<ReturnType<typeof makeNeighbour>>): Promise<void> {
  const begun = await client.scopes.reap({ params: at, body: { backup: false } });
  await expect
    .poll(async () => (await client.operations.get({ params: { operation: begun.id } })).state, {
      timeout: 20_000,
    })
    .toBe('done');
}

test('C-04: nothing of a reaped scope is left in the identity directory of its tenant', async () => {
  const at = await makeNeighbour('neighbour');
  const { scope } = at;
  const before = identityText();
  for (const each of [scope, '"key":"NOTE"', 'bob']) expect(before).toContain(each);

  await client.scopes.setStatus({ params: at, body: { status: 'archived' } });
  await reap(at);

  const after = identityText();
  for (const each of [scope, '"key":"NOTE"', 'bob']) expect(after).not.toContain(each);
  // The other application of the tenant has its owner, signed in as before.
  expect(after).toContain(opened.scope.scopeId);
  expect((await ada.ask(`${opened.app}/api/orders`)).status).toBe(200);
  expect(opened.incidents).toEqual([]);
}, 60_000);

test('a scope whose database is gone leaves neither attachments nor members behind when it is reaped', async () => {
  const at = await makeNeighbour('lost');
  const { scope } = at;
  expect(identityText()).toContain(scope);
  await client.scopes.setStatus({ params: at, body: { status: 'archived' } });
  await opened.platform.close();
  const { place } = opened;
  const file = join(place.dataDirectory, 'scope-fieldwork', `${scope}.sqlite`);
  for (const path of [file, file.replace(/sqlite$/, 'history')]) rmSync(path, { recursive: true });
  const photos = join(place.dataDirectory, 'blobs', scope);
  mkdirSync(join(photos, 'aa'), { recursive: true });
  writeFileSync(join(photos, 'aa', 'a'.repeat(64)), 'a photo of the customer');
  opened = await openEmbeddedPlatform({}, place);
  const baseUrl = place.url('api.localhost');
  client = makeControlPlaneClient({ baseUrl, token: opened.token, fetch: throughCaller });
  await reap(at);
  expect(existsSync(photos)).toBe(false);
  expect(identityText()).not.toContain(scope);
  expect(identityText()).toContain(opened.scope.scopeId);
}, 60_000);

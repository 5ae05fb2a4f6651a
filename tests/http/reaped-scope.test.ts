/**
 * The control plane reaps a scope on the running platform: its tenant's identity directory no longer names it, and its
 * neighbour keeps its members.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

const NEIGHBOUR = 'neighbour.localhost';

let opened: EmbeddedPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;
const ada = new Caller();
const bob = new Caller();

beforeAll(async () => {
  opened = await openEmbeddedPlatform();
  const baseUrl = opened.place.url('api.localhost');
  client = makeControlPlaneClient({ baseUrl, token: opened.token, fetch: throughCaller });
  await signIn(ada, opened.app, 'ada');
  expect((await ada.ask(`${opened.app}/api/me`)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  bob[Symbol.dispose]();
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

test('C-04: nothing of a reaped scope is left in the identity directory of its tenant', async () => {
  const tenant = opened.scope.tenantId as never;
  const { id: scope } = await client.scopes.provision({
    params: { tenant },
    body: {
      slug: 'neighbour',
      name: 'Neighbour',
      vertical: 'fieldwork',
      config: { ...choice(), NOTE: 'Ring twice.' },
    },
  });
  await client.hostnames.bind({ body: { hostname: NEIGHBOUR, tenant, scope } });
  await signIn(bob, opened.place.url(NEIGHBOUR), 'bob');
  const me = await bob.ask(`${opened.place.url(NEIGHBOUR)}/api/me`);
  expect(me.status, me.text).toBe(200);
  const before = identityText();
  for (const each of [scope, '"key":"NOTE"', 'bob']) expect(before).toContain(each);

  const at = { tenant, scope };
  await client.scopes.setStatus({ params: at, body: { status: 'archived' } });
  const begun = await client.scopes.reap({ params: at, body: { backup: false } });
  await expect
    .poll(async () => (await client.operations.get({ params: { operation: begun.id } })).state, {
      timeout: 20_000,
    })
    .toBe('done');

  const after = identityText();
  for (const each of [scope, '"key":"NOTE"', 'bob']) expect(after).not.toContain(each);
  // The other application of the tenant has its owner, signed in as before.
  expect(after).toContain(opened.scope.scopeId);
  expect((await ada.ask(`${opened.app}/api/orders`)).status).toBe(200);
  expect(opened.incidents).toEqual([]);
}, 60_000);

/** An operator's first task: another customer, with only the commands of the guide. */
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from './embedded-platform.ts';

let opened: EmbeddedPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;

beforeAll(async () => {
  opened = await openEmbeddedPlatform();
  const baseUrl = opened.place.url('api.localhost');
  client = makeControlPlaneClient({ baseUrl, token: opened.token, fetch: throughCaller });
}, 60_000);
afterAll(() => opened?.[Symbol.asyncDispose]());

/** Makes a customer with an instance at a name below the platform's own. */
async function newCustomer(slug: string, more: { readonly config?: Record<string, string | null> } = {}) {
  const { id: tenant } = await client.tenants.create({ body: { slug, name: slug } });
  const { id: scope } = await client.scopes.provision({
    params: { tenant },
    body: { slug: 'fieldwork', name: slug, vertical: 'fieldwork', ...more },
  });
  await client.hostnames.bind({ body: { hostname: `${slug}.localhost`, tenant, scope } });
  return { params: { tenant, scope }, app: opened.place.url(`${slug}.localhost`) };
}

// spec C-04, A-14, A-25
test('an instance that was provisioned without settings lets its first person in, as the owner', async () => {
  const { params, app } = await newCustomer('pipes');
  using grace = new Caller();
  // The issuer learns of a new address a moment later.
  await expect
    .poll(() => signIn(grace, app, 'grace').then(() => true, String), { timeout: 10_000 })
    .toBe(true);
  expect((await grace.ask(`${app}/api/me`)).json()).toMatchObject({
    status: 'member',
    roles: [{ key: 'owner' }],
  });
  expect(await client.ownerSeat.get({ params })).toMatchObject({ state: 'claimed' });
});

test('the log names the delivered settings, and no value of them', async () => {
  const { params } = await newCustomer('sparks');
  const { items } = await client.adminLog.list({
    query: { scope: params.scope, action: 'scopes.provision' },
  });
  expect(items.at(-1)?.after).toMatchObject({ configKeys: ['platform:auth'] });
  expect(JSON.stringify(items)).not.toContain(`:${opened.place.issuerPort}`);
});

// spec A-16
test('an instance with sign-in turned off signs no one in, and has no secret of the platform’s', async () => {
  const { app, params } = await newCustomer('quiet', { config: { 'platform:auth': null } });
  using noPrincipal = new Caller();
  const me = await noPrincipal.ask(`${app}/api/me`);
  expect([me.status, me.json<{ reason: string }>().reason]).toEqual([503, 'sign_in_not_configured']);
  const { keys } = await client.scopes.configure({ params, body: { config: { 'platform:auth': null } } });
  expect(keys).toEqual([]);
});

/** An instance with two host names below one domain: who signs in at one is signed in at the other, and at no other. */
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { expect, test } from 'vitest';
import { Caller, throughCaller } from '../support/http.ts';
import { newPlace } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

const DOMAIN = 'pipeworks.dev';

// spec A-40
test('two surfaces of an instance share a session, and a neighbour below the shared domain does not', async () => {
  const place = await newPlace();
  await using opened = await openEmbeddedPlatform({ FREEHOLD_PUBLIC_URL: place.url(DOMAIN) }, place);
  const client = makeControlPlaneClient({
    baseUrl: place.url(`api.${DOMAIN}`),
    token: opened.token,
    fetch: throughCaller,
  });
  const open = async (slug: string, hostnames: Readonly<Record<string, string>>, scopeSlug = 'fieldwork') => {
    const { id: tenant } = await client.tenants.create({ body: { slug, name: slug } });
    const { id: scope } = await client.scopes.provision({
      params: { tenant },
      body: { slug: scopeSlug, name: slug, vertical: 'fieldwork' },
    });
    for (const [surface, hostname] of Object.entries(hostnames))
      await client.hostnames.bind({ body: { hostname, surface, tenant, scope } });
  };
  const [office, shop, neighbour] = [`office.pipes.${DOMAIN}`, `shop.pipes.${DOMAIN}`, `sparks.${DOMAIN}`];
  await open('pipes', { app: office, shop });
  await open('sparks', { app: neighbour });

  using ada = new Caller();
  // The issuer learns of a new address a moment later.
  await expect
    .poll(() => signIn(ada, place.url(office), 'ada').then(() => true, String), { timeout: 10_000 })
    .toBe(true);
  const cookie = ada.cookie(office, 'sb_session');
  expect(cookie).toMatchObject({ domain: `pipes.${DOMAIN}` });
  const meAt = async (hostname: string) => {
    using browser = new Caller();
    const headers = { cookie: `sb_session=${cookie?.value}` };
    return (await browser.ask(`${place.url(hostname)}/api/me`, { headers })).json<{ status: string }>();
  };
  expect(await meAt(shop)).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
  expect(await meAt(neighbour)).toMatchObject({ status: 'signed_out' });

  // A name of another instance below the same domain: the cookies of both stay with their hosts.
  const neighbourBelow = `print.pipes.${DOMAIN}`;
  await open('pipes', { app: neighbourBelow }, 'second');
  using bea = new Caller();
  await signIn(bea, place.url(office), 'bea');
  expect(bea.cookie(office, 'sb_session')).toMatchObject({ domain: undefined });

  // Signing out at one ends the session at both.
  await ada.navigate(`${place.url(office)}/api/auth/logout`);
  expect(await meAt(shop)).toMatchObject({ status: 'signed_out' });

  // A name of its own has a cookie of its own.
  using grace = new Caller();
  await signIn(grace, place.url(neighbour), 'grace');
  expect(grace.cookie(neighbour, 'sb_session')).toMatchObject({ domain: undefined });
  expect(opened.incidents).toEqual([]);
});

/** After its window the owner seat is closed to sign-ins, and a link from the control plane opens it once. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { continueAs, DESKTOP, launchBrowser, PHONE, see, signInAt, visit } from '../support/browser.ts';
import { throughCaller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let browser: Browser;
let app: string;

beforeAll(async () => {
  place = await newPlace();
  await (await startPlatform(place)).stop();
  // Fifteen minutes pass while the platform is down.
  const identities = join(place.dataDirectory, 'identity');
  const [file] = readdirSync(identities).filter((name) => name.endsWith('.sqlite'));
  const db = new DatabaseSync(join(identities, file as string));
  expect(db.prepare('UPDATE seats SET window_ends_at = window_ends_at - 15 * 60 * 1000').run().changes).toBe(
    1,
  );
  db.close();
  [platform, browser] = await Promise.all([startPlatform(place), launchBrowser()]);
  app = place.url('acme.localhost');
});
afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  place?.remove();
});

// spec, C-11, C-12
test('after the window a claim link from the control plane makes an owner, once', async () => {
  const { body: scopes } = await platform.control<{ items: { id: string; tenant: string }[] }>('/scopes');
  const scope = `/tenants/${scopes.items[0]?.tenant}/scopes/${scopes.items[0]?.id}`;
  expect(platform.output()).toContain('owner-claim');

  const linus = await visit(browser, DESKTOP);
  await signInAt(linus.page, app, 'Linus Torvalds');
  await see(linus.page, 'You are not a member here');
  await see(linus.page, /time to claim it by signing in is over/);
  expect((await platform.control(`${scope}/owner-seat`)).body).toMatchObject({
    state: 'pending',
    reason: 'window_closed',
  });

  const retired = await platform.control<{ url: string }>(`${scope}/owner-claim`, 'POST');
  const made = await platform.control<{ url: string; expiresAt: string }>(`${scope}/owner-claim`, 'POST');
  expect([retired.status, made.status]).toEqual([201, 201]);
  expect(made.body.url).toMatch(new RegExp(`^${app}/\\?claim=[\\w-]+$`));

  // A new link retires the earlier one.
  const margaret = await visit(browser, PHONE);
  await margaret.page.goto(retired.body.url);
  await margaret.page.getByRole('link', { name: 'Sign in to claim' }).click();
  await continueAs(margaret.page, 'Margaret Hamilton');
  await margaret.page.getByRole('button', { name: 'Become the owner' }).click();
  await see(margaret.page, /link/i);
  expect((await platform.control(`${scope}/owner-seat`)).body).toMatchObject({
    state: 'pending',
    reason: 'claim_outstanding',
  });

  await linus.page.goto(made.body.url);
  await linus.picture('20-claim');
  await linus.page.getByRole('button', { name: 'Become the owner' }).click();
  await see(linus.page, 'Open your first order');
  expect((await platform.control(`${scope}/owner-seat`)).body).toMatchObject({
    state: 'claimed',
    reason: null,
  });

  // The link is spent for every person, and no other can be made.
  await margaret.page.goto(made.body.url);
  await margaret.page.getByRole('button', { name: 'Become the owner' }).click();
  await margaret.page.getByRole('alert').first().waitFor();
  await margaret.picture('21-claim-spent');
  expect(await margaret.page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(403);
  expect((await platform.control(`${scope}/owner-claim`, 'POST')).status).toBe(409);
  expect([...linus.faults, ...margaret.faults]).toEqual([]);
});

// spec
test('inside the window the first person who signs in with the link is the owner, and no later page asks for it', async () => {
  const client = makeControlPlaneClient({
    baseUrl: place.url('api.localhost'),
    token: platform.serviceToken(),
    fetch: throughCaller,
  });
  const { id: tenant } = await client.tenants.create({ body: { slug: 'pipes', name: 'Pipes & Sons' } });
  const { id: scope } = await client.scopes.provision({
    params: { tenant },
    body: { slug: 'fieldwork', name: 'Pipes & Sons', vertical: 'fieldwork' },
  });
  await client.hostnames.bind({ body: { hostname: 'pipes.localhost', tenant, scope } });
  const { url } = await client.ownerClaim.mint({ params: { tenant, scope } });

  const { page, faults } = await visit(browser, DESKTOP);
  await page.goto(url);
  await page.getByRole('link', { name: 'Sign in to claim' }).click();
  await continueAs(page, 'Grace Hopper');
  await see(page, 'You are the owner');
  await page.goto(`${place.url('pipes.localhost')}/customers`);
  await see(page, 'No customers yet');
  expect(faults).toEqual([]);
});

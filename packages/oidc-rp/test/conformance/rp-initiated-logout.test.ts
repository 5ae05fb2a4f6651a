/** oidcc-client-rp-initiated-logout-rp-basic, module by module. */
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { ALICE, APP } from '../../../testkit/src/oidc/fixture.ts';
import { mountOidcRoutes } from '../../src/mount.ts';
import { makeClient, signedIn, signInWith } from './client.ts';

// No state is sent, since the landing page does nothing that a forged return could abuse. A correct issuer
// therefore returns none, and one that returns any must not disturb the landing.
test.each([
  ['oidcc-client-test-rp-init-logout', 'returns the state as sent', echoed],
  ['oidcc-client-test-rp-init-logout-other-state', 'returns a state that was never sent', () => 'another'],
  ['oidcc-client-test-rp-init-logout-no-state', 'returns no state', () => null],
])('%s: the issuer %s', async (_module, _fault, returnedState) => {
  const client = await makeClient();
  const { browser, rp, issuer } = client;
  const app = new Hono();
  mountOidcRoutes(app, { resolve: () => rp });
  app.get('/signed-out', (c) => c.json({ user: rp.sessionFromHeaders(c.req.raw.headers) }));
  expect(await signInWith(client)).toEqual(signedIn());

  const logoutUrl = `${APP}/api/auth/logout?federated&returnTo=%2Fsigned-out`;
  const logout = await app.request(browser.request(logoutUrl));
  browser.store(logoutUrl, logout);
  const asked = new URL(logout.headers.get('location') ?? '');
  expect(`${asked.origin}${asked.pathname}`).toBe(`${issuer.url}/logout`);
  expect([...asked.searchParams.keys()]).toEqual(['id_token_hint', 'client_id', 'post_logout_redirect_uri']);
  const hint = asked.searchParams.get('id_token_hint') ?? '';
  await expect(rp.issuer.verifyJwt(hint, { audience: 'client-1' })).resolves.toMatchObject({
    sub: ALICE.sub,
  });

  const landing = new URL(asked.searchParams.get('post_logout_redirect_uri') ?? '');
  const state = returnedState(asked.searchParams);
  if (state !== null) landing.searchParams.set('state', state);
  const landed = await app.request(browser.request(landing.href, { crossSite: true }));
  expect(landed.status).toBe(200);
  expect(await landed.json()).toEqual({ user: null });
  expect(['sb_session', 'sb_oidc_idt', 'sb_oidc_flow'].flatMap((name) => browser.values(name))).toEqual([]);
  // The next sign-in works as before.
  expect(await signInWith(client)).toEqual(signedIn());
});

function echoed(asked: URLSearchParams): string | null {
  return asked.get('state');
}

/** Signing out at the issuer alone: it tells the control plane, over a socket, and the session here is over. */
import { expect, onTestFinished, test } from 'vitest';
import { startIssuer } from '../../../../apps/issuer/src/index.ts';
import { makeStaffSignIn } from '../../../../apps/platform/src/staff-sign-in.ts';
import { listen } from '../../../vertical-host/test/mcp/listen.ts';
import { makeBrowser } from '../connect/browser.ts';
import { type House, openHouse } from './house.ts';

const CLIENT_SECRET = 'the client secret of the platform at the issuer';

/** The first form of a page, as a browser would send it. */
function formOf(page: string): [action: string, init: RequestInit] {
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
  if (action === undefined) throw new Error('the page has no form');
  const fields = [...page.matchAll(/<(?:input|button)[^>]* name="([^"]+)"[^>]* value="([^"]*)"/g)];
  const body = new URLSearchParams(
    fields.map(([, name = '', value = '']): [string, string] => [name, value]),
  );
  return [action, { method: 'POST', body }];
}

test('spec 5.5: who signs out at the issuer is signed out here, and so is a copy of their cookie', async () => {
  let house: House | undefined;
  const server = await listen(
    async (request) => (await house?.send(request)) ?? new Response(null, { status: 503 }),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { origin } = server;
  const issuer = await startIssuer({
    port: 0,
    env: {},
    onError: () => undefined,
    clients: [
      {
        clientId: 'freehold',
        clientSecret: CLIENT_SECRET,
        redirectUris: [`${origin}/api/auth/callback`],
        postLogoutRedirectUris: [`${origin}/`],
        backchannelLogoutUri: `${origin}/api/auth/backchannel-logout`,
      },
    ],
  });
  onTestFinished(() => issuer.close());
  const client = { url: issuer.url, clientId: 'freehold', clientSecret: CLIENT_SECRET };
  house = await openHouse({
    origin: () => origin,
    relyingParty: () =>
      makeStaffSignIn({
        client: () => client,
        origin: () => origin,
        platformSecret: 'the platform secret of these tests, long enough',
        allowedIssuers: [],
        now: Date.now,
      }),
  });
  house.clock.ms = Date.now();
  await house.invite('ada', 'admin');

  const browser = makeBrowser({}, []);
  const signIn = await (await browser.go(`${origin}/auth/login`)).response.text();
  const action = /<form[^>]* action="([^"]+)"/.exec(signIn)?.[1] ?? '';
  await browser.go(new URL(action, issuer.url), {
    method: 'POST',
    body: new URLSearchParams({ login: 'ada' }),
  });
  const me = async () => (await browser.go(`${origin}/auth/me`)).response.status;
  const forged = await house.post('/api/auth/backchannel-logout', { logout_token: 'e30.e30.' });
  expect(forged.status).toBe(400);
  expect(await me()).toBe(200);

  const [end, confirmed] = formOf(await (await browser.go(`${issuer.url}/session/end`)).response.text());
  await browser.go(new URL(end, issuer.url), confirmed);
  expect(await me()).toBe(401);
});

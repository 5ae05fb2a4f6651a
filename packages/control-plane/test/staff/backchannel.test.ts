/** Signing out at the issuer alone: it tells the control plane, over a socket, and the session here is over. */
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../vertical-host/test/mcp/listen.ts';
import { makeBrowser } from '../connect/browser.ts';
import type { Fixture } from './fixture.ts';
import { chooses, openFixtureWithIssuer } from './fixture-with-issuer.ts';

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
  let fixture: Fixture | undefined;
  const server = await listen(
    async (request) => (await fixture?.send(request)) ?? new Response(null, { status: 503 }),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { origin } = server;
  const { issuer, ...opened } = await openFixtureWithIssuer(origin, { isTold: true });
  fixture = opened.fixture;
  await fixture.invite('ada', 'admin');

  const browser = makeBrowser({}, []);
  await chooses(browser, issuer, (await browser.go(`${origin}/auth/login`)).response, 'ada');
  const me = async () => (await browser.go(`${origin}/auth/me`)).response.status;
  const forged = await fixture.post('/api/auth/backchannel-logout', { logout_token: 'e30.e30.' });
  expect(forged.status).toBe(400);
  expect(await me()).toBe(200);

  const [end, confirmed] = formOf(await (await browser.go(`${issuer.url}/session/end`)).response.text());
  await browser.go(new URL(end, issuer.url), confirmed);
  expect(await me()).toBe(401);
});

/** A sign-out at the issuer signs out of the application, without a visit of the browser. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let app: string;

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place);
  app = place.url('acme.localhost');
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  place?.remove();
});

const me = async (caller: Caller) => (await caller.ask(`${app}/api/me`)).json();

// OpenID Connect Back-Channel Logout 1.0; design: identity, "Sessions and cookies".
test('a person who signs out at the issuer is signed out here with the next request, and no other person is', async () => {
  using ada = new Caller();
  using elsewhere = new Caller();
  using grace = new Caller();
  await signIn(ada, app, 'ada');
  await signIn(elsewhere, app, 'ada');
  await signIn(grace, app, 'grace');
  expect(await me(ada)).toMatchObject({ status: 'member' });

  const issuer = `http://localhost:${place.issuerPort}`;
  const asks = await ada.ask(`${issuer}/session/end`);
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(asks.text)?.[1] ?? '';
  const action = /<form[^>]* action="([^"]+)"/.exec(asks.text)?.[1] ?? '';
  await ada.ask(new URL(action, issuer).href, { form: { xsrf, logout: 'yes' } });

  expect(await me(ada)).toMatchObject({ status: 'signed_out' });
  // Another browser has another session at the issuer.
  expect(await me(elsewhere)).toMatchObject({ status: 'member' });
  expect(await me(grace)).toMatchObject({ status: 'stranger' });
  expect(platform.output()).not.toMatch(/Development issuer:|"level":"error"/);
});

test("a call of the address without the issuer's signature signs no one out", async () => {
  using ada = new Caller();
  await signIn(ada, app, 'ada');
  using anonymous = new Caller();
  for (const form of [{}, { logout_token: 'nonsense' }, { logout_token: 'e30.e30.' }]) {
    const answer = await anonymous.ask(`${app}/api/auth/backchannel-logout`, { method: 'POST', form });
    expect(answer.status).toBe(400);
  }
  expect(await me(ada)).toMatchObject({ status: 'member' });
});

/** An application that takes access tokens: a program finds the issuer, gets a token, and calls the API. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ask, Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { obtainAccessToken } from '../support/program.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let app: string;
const caller = new Caller();

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place, { FREEHOLD_SIGN_IN: 'tokens' });
  app = place.url('acme.localhost');
}, 60_000);
afterAll(async () => {
  caller[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
});

const issuerUrl = () => `http://localhost:${place.issuerPort}`;

async function tokenOf(login: string, resource = app): Promise<string> {
  // Each person has a browser of their own.
  using browser = new Caller();
  return await obtainAccessToken(browser, { issuer: issuerUrl(), clientId: 'freehold-cli', resource, login });
}

const call = (path: string, token: string, ask: Ask = {}) =>
  caller.ask(`${app}${path}`, { ...ask, headers: { ...ask.headers, authorization: `Bearer ${token}` } });

// RFC 9728, section 5.1; RFC 6750, section 3.1: without credentials there is no error to report.
test('without a token the answer points to the metadata that names the issuer', async () => {
  const refused = await caller.ask(`${app}/api/orders`);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(refused.json()).toMatchObject({ code: 'unauthenticated' });
  // There are no pages to sign in at.
  expect(refused.json()).not.toHaveProperty('loginUrl');
  const where = /^Bearer resource_metadata="([^"]+)"$/.exec(
    refused.headers.get('www-authenticate') ?? '',
  )?.[1];
  expect(where).toBe(`${app}/.well-known/oauth-protected-resource`);

  const metadata = await caller.ask(where ?? '');
  expect(metadata.status).toBe(200);
  expect(metadata.json()).toEqual({
    resource: app,
    authorization_servers: [issuerUrl()],
    bearer_methods_supported: ['header'],
    resource_name: 'Acme Trades',
  });
});

// spec A-15, A-20, A-25
test("the first caller with a token owns the application, and has the token's name", async () => {
  const token = await tokenOf('ada');
  expect((await call('/api/me', token)).json()).toMatchObject({
    status: 'member',
    subject: { name: 'Ada Lovelace', email: 'ada@example.test', emailVerified: true },
    roles: [{ key: 'owner' }],
    signIn: { mode: 'tokens' },
  });
  const made = await call('/api/customers', token, { json: { name: 'Mrs Harper' } });
  expect(made.status).toBe(201);
  expect((await call('/api/customers', token)).json()).toMatchObject({ items: [{ name: 'Mrs Harper' }] });
});

test('a second person’s token is that of a non-member', async () => {
  const token = await tokenOf('linus');
  expect((await call('/api/me', token)).json()).toMatchObject({ status: 'stranger', principal: null });
  const refused = await call('/api/orders', token);
  expect([refused.status, refused.json()]).toMatchObject([
    403,
    { code: 'forbidden', reason: 'not_a_member' },
  ]);
});

test('a token for another resource is refused as invalid', async () => {
  for (const resource of ['http://globex.localhost:8787', 'urn:other', `${app}/api`]) {
    const refused = await call('/api/orders', await tokenOf('ada', resource));
    expect(refused.status, resource).toBe(401);
    expect(refused.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", resource_metadata="[^"]+"$/,
    );
  }
});

test('a client that writes the address with a slash is served as well', async () => {
  expect((await call('/api/me', await tokenOf('ada', `${app}/`))).json()).toMatchObject({ status: 'member' });
});

test.each(['e30.e30.', 'nonsense', 'eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.eyJzdWIiOiJhZGEifQ.'])(
  'the forged token %s is refused',
  async (token) => {
    expect((await call('/api/orders', token)).status).toBe(401);
    expect((await call('/api/me', token)).json()).toMatchObject({ status: 'signed_out' });
  },
);

test('there is no sign-in, and the start said what to do instead', async () => {
  expect((await caller.ask(`${app}/api/auth/login`)).status).toBe(501);
  expect(platform.output()).toContain(`an access token of ${issuerUrl()} for the resource ${app}`);
  expect(platform.output()).not.toContain('"level":"error"');
});

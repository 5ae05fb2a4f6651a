/** The platform in production with accounts of its own: no issuer, no demo, no outbox, and no mail without a server. */
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
const caller = new Caller();

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place, {
    NODE_ENV: 'production',
    PLATFORM_SECRET: 'a secret of production that is long enough',
    FREEHOLD_SIGN_IN: 'directory',
    FREEHOLD_PUBLIC_URL: place.url('localhost'),
    FREEHOLD_TRUSTED_PROXIES: '192.0.2.1',
  });
}, 60_000);
afterAll(async () => {
  caller[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
});

function controlPlane() {
  return makeControlPlaneClient({
    baseUrl: place.url('api.localhost'),
    token: platform.serviceToken(),
    fetch: async (request) => {
      const text = await request.text();
      const answer = await caller.ask(request.url, {
        method: request.method,
        headers: Object.fromEntries(request.headers),
        ...(text === '' ? {} : { json: JSON.parse(text) }),
      });
      return new Response(answer.text, { status: answer.status, headers: answer.headers });
    },
  });
}

test('nothing of development is there', async () => {
  expect((await caller.ask(`${place.url('localhost')}/outbox`)).status).toBe(404);
  expect((await caller.ask(`${place.url('acme.localhost')}/api/me`)).status).toBe(404);
  await expect(caller.ask(`http://localhost:${place.issuerPort}/`)).rejects.toThrow('ECONNREFUSED');
  expect(platform.output()).toContain('none: set FREEHOLD_SMTP_URL and FREEHOLD_MAIL_FROM');
  expect(platform.output()).not.toMatch(/Outbox|Issuer/);
});

test('a mail that cannot be sent is reported to the operator alone', async () => {
  const client = controlPlane();
  const tenant = await client.tenants.create({ body: { slug: 'pipes', name: 'Pipes & Sons' } });
  const scope = await client.scopes.provision({
    params: { tenant: tenant.id },
    body: { slug: 'fieldwork', name: 'Pipes & Sons', vertical: 'fieldwork' },
  });
  const hostname = 'pipes.localhost';
  await client.hostnames.bind({ body: { hostname, tenant: tenant.id, scope: scope.id } });

  const app = place.url(hostname);
  expect((await caller.ask(`${app}/api/me`)).json()).toMatchObject({ signIn: { mode: 'directory' } });
  const asked = await caller.ask(`${app}/api/auth/sign-up`, {
    form: { email: 'ada@example.org', name: 'Ada' },
    headers: { origin: app, accept: 'text/html' },
  });
  expect(asked.status).toBe(200);
  expect(asked.text).toContain('Check your mail');
  await expect.poll(() => platform.output()).toContain('There is no mail server to send through.');
  expect(platform.output()).not.toContain('ada@example.org');
});

test('a witness beside the data is warned of, and never makes the log ok', async () => {
  const client = controlPlane();
  await client.tenants.create({ body: { slug: 'witnessed', name: 'Witnessed' } });
  const { status, anchor, head } = await client.adminLog.verify();
  expect({ status, anchor }).toEqual({ status: 'unanchored', anchor: head });
  expect(platform.output()).toContain(`${place.anchorFile} lies beside the data`);
});

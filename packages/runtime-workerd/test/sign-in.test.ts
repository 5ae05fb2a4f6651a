/** Signing in to an application that was deployed: the platform judges it, and the application is told. */
import { createHash } from 'node:crypto';
import type { Mail } from '@freehold/auth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, ProgramStore } from '../../app/test/program-client.ts';
import { notes } from './bundles/plain.ts';
import { ACME, OTHER, openPlace, type Place } from './place.ts';

const PASSWORD = 'a long and quiet sentence';
const ORIGIN = 'http://shop.localhost';

let place: Place;
const mails: Mail[] = [];
let cookie = '';
/** The credentials of a program that Ada let in. */
let program = '';

beforeAll(async () => {
  place = openPlace({ vertical: 'notes', mailer: { send: async (mail) => void mails.push(mail) } });
  const script = await place.upload(notes('1.0.0', []), 'hostile.ts');
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  expect((await place.provision(ACME)).status).toBe(200);
  await signUp();
}, 60_000);

afterAll(() => place.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  place.visit(path, ACME, { headers: { cookie, ...headers } });
const configure = async (config: Record<string, string | null>) =>
  expect((await place.manage('configure', ACME, { config })).status).toBe(200);
const form = (path: string, fields: Record<string, string>) =>
  place.visit(path, ACME, {
    method: 'POST',
    headers: { origin: ORIGIN, cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields),
  });

/** A person makes an account, and is signed in. */
async function signUp(): Promise<void> {
  await configure({ SIGN_UP: 'open' });
  expect((await form('/api/auth/sign-up', { email: 'ada@example.com' })).status).toBe(200);
  const link = /http:\/\/shop\.localhost\/\S+/.exec(mails.at(-1)?.text ?? '')?.[0] ?? '';
  const token = new URL(link).searchParams.get('token') ?? '';
  const made = await form('/api/auth/sign-up/finish', { token, name: 'Ada', password: PASSWORD });
  expect(made.status).toBe(303);
  cookie =
    made.headers
      .getSetCookie()
      .find((each) => each.startsWith('sb_session='))
      ?.split(';')[0] ?? '';
  // The first person here takes the seat that waits for an owner.
  expect((await get('/api/me')).status).toBe(200);
}

test('a person who made an account is signed in, and has the seat that waited for an owner', async () => {
  expect(await (await get('/api/me')).json()).toMatchObject({
    status: 'member',
    roles: [{ key: 'owner' }],
    subject: { name: 'Ada', email: 'ada@example.com' },
    signIn: { mode: 'directory', securityUrl: '/api/auth/security' },
  });
  expect((await get('/api/notes/count')).status).toBe(200);
});

test('what another site’s page sends has no caller', async () => {
  const foreign = { method: 'POST', headers: { cookie, origin: 'https://elsewhere.example' } };
  const refused = await place.visit('/api/sessions/end-all', ACME, foreign);
  expect(await refused.json()).toMatchObject({ code: 'forbidden', reason: 'cross_site' });
  expect(await (await get('/api/me')).json()).toMatchObject({ status: 'member' });
});

test('delivered settings count at the next request, and the secret of an issuer is not shown', async () => {
  await configure({ OIDC_CLIENT_SECRET: 'of the tenant', OIDC_AUDIENCE: 'notes' });
  const { items } = (await (await get('/api/settings')).json()) as {
    items: { key: string; value: unknown; from: string }[];
  };
  expect(items.find(({ key }) => key === 'OIDC_AUDIENCE')).toMatchObject({
    from: 'delivered',
    value: 'notes',
  });
  expect(items.find(({ key }) => key === 'OIDC_CLIENT_SECRET')).toMatchObject({
    from: 'delivered',
    value: null,
  });
  const input = JSON.stringify({ scopeId: ACME.scope });
  const said = await (await get(`/identity?${new URLSearchParams({ method: 'getConfig', input })}`)).text();
  expect([said.includes('OIDC_AUDIENCE'), said.includes('of the tenant')]).toEqual([true, false]);
});

test('the operator replaces the owner, and the platform tells the holder in its own words', async () => {
  const asked = { origin: ORIGIN, by: 'the operator', why: 'She left.', replace: true };
  const made = await place.manage('owner-replacement', ACME, asked);
  expect([made.status, await made.json()]).toMatchObject([201, { notice: 'mail' }]);
  expect(mails.at(-1)).toMatchObject({
    to: 'ada@example.com',
    subject: 'The owner of Shop is being replaced',
    text: expect.stringContaining('She left.'),
  });
});

test('a sign-in that is not set up is answered by the application, as where it is compiled in', async () => {
  await configure({ AUTH_PROVIDER: 'oidc' });
  for (const path of ['/api/auth/login', '/api/me']) {
    const refused = await get(path);
    expect([refused.status, await refused.json()]).toMatchObject([
      500,
      { reason: 'sign_in_not_configured', requestId: expect.any(String) },
    ]);
  }
  const page = await get('/api/auth/login', { accept: 'text/html', 'sec-fetch-mode': 'navigate' });
  expect([page.status, page.headers.get('content-type')]).toEqual([500, 'text/html; charset=utf-8']);
  await configure({ AUTH_PROVIDER: null });
  expect(await (await get('/api/me')).json()).toMatchObject({ status: 'member' });
});

test('a program is let in by the platform, and the application is told which one calls', async () => {
  const described = await place.visit('/.well-known/oauth-protected-resource/api/mcp', ACME);
  expect(await described.json()).toMatchObject({
    resource: `${ORIGIN}/api/mcp`,
    authorization_servers: [ORIGIN],
  });
  const callback = 'http://127.0.0.1/callback';
  const registered = await place.visit('/oauth/register', ACME, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Desktop',
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const verifier = 'v'.repeat(43);
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: callback,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const page = await (await get(`/oauth/authorize?${asked}`)).text();
  // The permissions that the bundle declared, in its words, and of them what Ada has.
  const offered = [...page.matchAll(/name="permission\.([^"]+)"/g)].map(([, key]) => key);
  expect(offered).toEqual(['note.read', 'note.write']);
  const ticket = / name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const answered = await form('/oauth/consent', { ticket, access: 'read', answer: 'yes' });
  const code = new URL(answered.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', client_id, code, code_verifier: verifier };
  const tokens = await place.visit('/oauth/token', ACME, {
    method: 'POST',
    body: new URLSearchParams(grant),
  });
  program = `Bearer ${((await tokens.json()) as { access_token: string }).access_token}`;
  const me = await place.visit('/api/me', ACME, { headers: { authorization: program } });
  expect(await me.json()).toMatchObject({ status: 'member', program: { name: 'Desktop', access: 'read' } });
  const count = await place.visit('/api/notes/count', ACME, { headers: { authorization: program } });
  expect(count.status).toBe(200);
  const shown = await (await get('/oauth/programs')).text();
  expect(shown).toContain('Desktop');
  // The application counts what a program reads, and the platform shows it.
  expect(shown).toMatch(/<code>note\/count<\/code> × 1/);
});

describe('a person is asked before an application destroys something', () => {
  const call = async (request: Request) => {
    const { method, headers } = request;
    const body = method === 'POST' ? await request.text() : null;
    const given = { ...Object.fromEntries(headers), cookie, origin: ORIGIN };
    return place.visit('/api/mcp', ACME, { method, headers: given, body });
  };
  const clear = async (answer: (message: string) => Promise<boolean>): Promise<boolean> => {
    const at = { at: { origin: ORIGIN }, call };
    const client = await connect(at, new ProgramStore(), null, async (message) => ({
      action: 'accept',
      content: { ok: await answer(message) },
    }));
    const { isError = false } = await client.callTool({ name: 'note_clear' });
    await client.close();
    return isError;
  };

  test('and the answer meets the call there', async () => {
    const asked: string[] = [];
    const answering = (ok: boolean) => async (message: string) => {
      asked.push(message);
      return ok;
    };
    expect([await clear(answering(false)), await clear(answering(true))]).toEqual([true, false]);
    expect(asked).toEqual([1, 2].map(() => 'Delete all notes (note_clear)?'));
  });

  test('and a change of the instance does not wait for them: the call ends, and nothing is done', async () => {
    const refused = await clear(async () => {
      await place.runtime.settingsChanged('notes');
      return true;
    });
    expect(refused).toBe(true);
    expect((await get('/api/notes/count')).status).toBe(200);
  });
});

test('new secrets end the sessions, and programs with them, where none is to be held', async () => {
  const rotated = await place.manage('session-secret/rotate', ACME, { by: 'operator', keepFormer: false });
  expect(rotated.status).toBe(200);
  expect(await (await get('/api/me')).json()).toMatchObject({ status: 'signed_out' });
  const refused = await place.visit('/api/notes/count', ACME, { headers: { authorization: program } });
  expect(refused.status).toBe(401);
});

test('an instance that is deleted is deleted from the directory of its tenant', async () => {
  expect((await place.manage('delete-scope', ACME)).status).toBe(200);
  await expect(place.directory(ACME.tenant).ownerSeat({ scopeId: ACME.scope })).rejects.toMatchObject({
    code: 'not_found',
  });
});

// spec A-04
test('an application that lets no person in recognises none, and says where to change that', async () => {
  const app = notes('1.0.0', []);
  const closed = `
    import { unauthenticated } from '@freehold/app';
    import { hostedApp } from '@freehold/app/worker/hosted';
    import { notes } from './plain.ts';
    const app = notes('1.0.0', []);
    const slug = 'other';
    const closed = { ...app, manifest: { ...app.manifest, slug }, authenticatedPrincipal: unauthenticated() };
    export const { Instance, Declaration } = hostedApp(closed);`;
  const script = await place.upload({ ...app, manifest: { ...app.manifest, slug: 'other' } }, closed);
  await place.runtime.serve({ vertical: 'other', archiveScript: script });
  expect((await place.provision(OTHER)).status).toBe(200);
  for (const path of ['/api/auth/login', '/api/me']) {
    const refused = await place.visit(path, OTHER);
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('signedIn()')]);
  }
});

/** A hostile bundle: what it tries, and what happens (docs/threat-model.md). */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { directoryIssuer, makePasswordHasher } from '@freehold/auth';
import type { TenantId } from '@freehold/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { notes } from './bundles/plain.ts';
import { ACME, BESIDE, BOLT, type Instance, openPlace, type Place, SECOND } from './place.ts';

const PATIENT = { timeout: 10_000 };

let place: Place;
let server: Server;
let port: number;
let visits = 0;

beforeAll(async () => {
  process.env.FREEHOLD_TEST_SECRET = 'of the platform';
  server = createServer((_request, response) => {
    visits++;
    response.end('private');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  place = openPlace({ vertical: 'notes', limits: { silenceMs: 4_000, heapMib: 128 } });
  const script = await place.upload(notes('1.0.0', []), 'hostile.ts');
  await place.runtime.serve({ vertical: 'notes', archiveScript: script });
  for (const instance of [ACME, BOLT, SECOND]) expect((await place.provision(instance)).status).toBe(200);
}, 60_000);

afterAll(async () => {
  delete process.env.FREEHOLD_TEST_SECRET;
  server.close();
  await place.close();
});

const tryOut = async (path: string, instance: Instance = ACME, query: Record<string, string> = {}) =>
  (await place.visit(`${path}?${new URLSearchParams(query)}`, instance)).json() as Promise<{
    readonly answer?: unknown;
    readonly thrown?: string;
  }>;

describe('outside of its process', () => {
  test('the environment is empty, and so is env', async () => {
    const { answer } = await tryOut('/env');
    expect(answer).toMatchObject({ env: [] });
    expect(JSON.stringify(answer)).not.toContain('of the platform');
  });

  test('it sees no file of the machine', async () => {
    const said = JSON.stringify(await tryOut('/files'));
    expect(said).not.toContain('root:');
    expect(said).not.toContain('"home"');
  });

  test('it starts no program', async () => {
    const said = JSON.stringify(await tryOut('/fork'));
    expect(said).not.toContain('uid=');
    expect(said).toMatch(/thrown|not implemented|undefined/i);
  });

  test('it opens no socket', async () => {
    expect(JSON.stringify(await tryOut('/connect', ACME, { port: String(port) }))).not.toContain(
      '"connected"',
    );
    expect(visits).toBe(0);
  });

  test.each([
    ['the metadata address of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
    ['a service on this machine, by address', () => `http://127.0.0.1:${port}/`],
    ['the same, by name', () => `http://localhost:${port}/`],
    ['the same, in IPv6', () => `http://[::ffff:127.0.0.1]:${port}/`],
    ['a private network', () => 'http://10.0.0.1/'],
    ['the capabilities of its process', () => 'http://platform.internal/settings'],
  ])('it does not reach %s', async (_what, url) => {
    const { answer, thrown } = await tryOut('/fetch', ACME, { url: url() });
    expect([answer, thrown]).toEqual([undefined, expect.any(String)]);
    expect(visits).toBe(0);
  });

  test('it does not reach them as a provider of language models either', async () => {
    const { answer } = await tryOut('/model', ACME, { url: `http://127.0.0.1:${port}/` });
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('capability_refused') });
    expect(visits).toBe(0);
  });
});

describe('other tenants', () => {
  const identity = (method: string, input: object, as: Instance = ACME) =>
    tryOut('/identity', as, { method, input: JSON.stringify(input) });

  test.each([
    ['the members of another tenant', 'listMembers', { scopeId: BOLT.scope }],
    ['the members of another scope of its tenant', 'listMembers', { scopeId: SECOND.scope }],
    ['the settings of another scope of its tenant', 'getConfig', { scopeId: SECOND.scope }],
    ['every account, through a method that is not its own', 'importAccount', { scopeId: ACME.scope }],
    ['the seals of the directory', 'resealSecrets', {}],
    ['a method of every object', 'constructor', { scopeId: ACME.scope }],
  ])('it does not get %s', async (_what, method, input) => {
    expect(await identity(method, input)).toMatchObject({
      answer: { ok: false, failure: { code: 'forbidden', reason: 'capability_refused' } },
    });
  });

  test.each(['/../identity', '/%2e%2e/identity', '/..%2fidentity', '//identity', '/x/../../settings'])(
    'the address %s of the attachments leads nowhere else',
    async (path) => {
      const { answer } = await tryOut('/blobs', ACME, { path });
      expect(answer).toEqual({ status: 404 });
    },
  );

  test('a capability that was put aside by another tenant’s request cannot be used', async () => {
    await tryOut('/note', BOLT);
    const { answer, thrown } = await tryOut('/noted', ACME, { scope: BOLT.scope });
    const said = JSON.stringify({ answer, thrown });
    expect(said).toMatch(/different|cannot|disposed/i);
    expect(said).not.toContain('"ok":true');
  });

  test('what a module keeps is shared by its instances: this wall is not one', async () => {
    await tryOut('/note', BOLT);
    expect(await tryOut('/noted', ACME, { scope: BOLT.scope })).toMatchObject({
      answer: { tenant: BOLT.tenant },
    });
  });

  test('its lines are not those of a tenant that does not use it', async () => {
    const foreign = { tenant: 'tnt_00000000000000000000000009', scope: 'scp_00000000000000000000000009' };
    expect(await tryOut('/forge', ACME, foreign)).toEqual({ answer: 'spoke' });
    const forged = () => place.lines.filter((line) => line.kind === 'console' && line.text === 'forged');
    await expect.poll(() => forged().length, PATIENT).toBe(1);
    expect(forged()).toMatchObject([{ level: 'log' }]);
    expect(JSON.stringify(forged())).not.toContain(foreign.scope);
    // The host names the object that spoke. One that took over the whole process names whom it likes.
    const line = { kind: 'console', digest: '', atMs: 0, level: 'log', text: 'taken over' };
    const batch = [foreign, ACME].map((named) => JSON.stringify({ ...line, ...named })).join('\n');
    const socketPath = join(place.folder, 'notes/services.sock');
    const sent = request({ socketPath, method: 'POST', path: '/telemetry' });
    sent.end(batch);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
    const said = place.lines.filter((each) => each.kind === 'console' && each.text === 'taken over');
    expect(said).toEqual([line, { ...line, ...ACME }]);
  });

  test('its lines are not those of another instance of its own either', async () => {
    expect(await tryOut('/forge', ACME, { ...SECOND })).toEqual({ answer: 'spoke' });
    const said = async () => {
      // A batch that was cut off with its request is sent with the next line.
      await tryOut('/say', BOLT);
      return place.lines.filter((line) => line.kind === 'console' && line.text === 'forged').length;
    };
    await expect.poll(said, { ...PATIENT, interval: 500 }).toBe(2);
    expect(place.lines.filter((line) => 'scope' in line && line.scope === SECOND.scope)).toEqual([]);
  });

  test('a visitor with a long request id does not drop the lines of its request', async () => {
    const headers = { 'x-request-id': 'r'.repeat(1_000) };
    const isSaid = async () => {
      expect((await place.visit('/say', ACME, { headers })).status).toBe(200);
      return place.lines.some((line) => line.kind === 'console' && line.scope === ACME.scope);
    };
    await expect.poll(isSaid, { ...PATIENT, interval: 500 }).toBe(true);
    expect(place.lines.filter(({ kind }) => kind === 'dropped')).toEqual([]);
  });

  test('a visitor cannot speak as the platform', async () => {
    const call = Buffer.from(JSON.stringify({ ...BOLT, node: null, serving: null })).toString('base64');
    const response = await place.visit('/headers', ACME, {
      headers: { 'x-freehold-call': call, 'x-freehold-scope': BOLT.scope, 'x-other': 'stays' },
    });
    const seen = (await response.json()) as Record<string, string>;
    expect(seen['x-freehold-call']).not.toBe(call);
    expect(seen).toMatchObject({ 'x-other': 'stays' });
    expect(seen['x-freehold-scope']).toBeUndefined();
  });
});

describe('the accounts of its tenant', () => {
  const PASSWORD = 'a long and quiet sentence';
  const identity = async (method: string, input: object, as: Instance = ACME) =>
    tryOut('/identity', as, { method, input: JSON.stringify(input) });
  const refused = { answer: { ok: false, failure: { code: 'forbidden', reason: 'capability_refused' } } };
  const signedIn = async (): Promise<string> => {
    const answer = await place.visit('/api/auth/login', ACME, {
      method: 'POST',
      headers: { origin: 'http://shop.localhost', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ email: 'ada@example.com', password: PASSWORD, returnTo: '/' }),
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    const set = answer.headers.getSetCookie().find((each) => each.startsWith('sb_session='));
    return set?.split(';')[0] ?? '';
  };
  let account: { readonly issuer: string; readonly sub: string };
  let cookie: string;

  beforeAll(async () => {
    const passwordHash = await makePasswordHasher({
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    }).hash(PASSWORD);
    const imported = { email: 'ada@example.com', emailVerified: true, name: 'Ada', passwordHash };
    const { userId } = await place.directory(ACME.tenant).importAccount(imported);
    account = { issuer: directoryIssuer(ACME.tenant as TenantId), sub: userId };
    cookie = await signedIn();
  });

  test.each([
    ['the secret that signs sessions', 'sessionSecret', {}],
    ['the same, with the settings', 'readInstanceConfig', { scopeId: ACME.scope }],
    ['a password judged right', 'finishPassword', { email: 'ada@example.com', valid: true }],
    ['a link to a new password', 'beginReset', { email: 'ada@example.com' }],
    ['a new password', 'setPassword', { email: 'ada@example.com', passwordHash: 'x' }],
    ['an account by its address', 'findAccount', { email: 'ada@example.com' }],
    ['what is behind a session', 'recognise', { scopeId: ACME.scope, knownVersion: '', presented: [] }],
    ['a profile of its own words', 'resolvePrincipal', { scopeId: ACME.scope }],
    ['a sign-in that never was', 'recordSignIn', { scopeId: ACME.scope }],
    ['new secrets, which sign everybody out', 'rotateSessionSecret', { scopeId: ACME.scope }],
    [
      'mails that lead elsewhere',
      'putConfig',
      { scopeId: ACME.scope, config: { BASE_URL: 'https://x.invalid' } },
    ],
    ['the end of an instance', 'forgetScope', { scopeId: ACME.scope }],
    ['the members of another vertical', 'standingForCopy', { scopeId: BESIDE.scope }],
    ['members of another scope', 'moveMembersIn', { scopeId: ACME.scope, from: BESIDE.scope, copied: null }],
  ])('it does not get %s', async (_what, method, input) => {
    expect(await identity(method, input)).toMatchObject(refused);
  });

  test('it speaks for no person whom the platform did not recognise there', async () => {
    expect(await identity('listSessions', account)).toMatchObject(refused);
    expect(await identity('endAllSessions', { ...account, nowMs: 9e15 })).toMatchObject(refused);
    const subject = { ...account, email: 'eve@example.com', name: 'Eve', emailVerified: true };
    const claim = { scopeId: ACME.scope, token: 't'.repeat(43), subject };
    expect(await identity('claimOwner', claim)).toMatchObject(refused);
    expect(await identity('claimInvite', claim)).toMatchObject(refused);
  });

  test('it learns who calls, and sees neither the cookie nor a way to be another', async () => {
    const visit = await place.visit('/headers', ACME, { headers: { cookie: `own=1; ${cookie}; b=2` } });
    expect(await visit.json()).toMatchObject({ cookie: 'own=1; b=2' });
    const me = await place.visit('/api/me', ACME, { headers: { cookie } });
    expect(await me.json()).toMatchObject({ subject: { name: 'Ada', email: 'ada@example.com' } });
    // Now it may ask about her, with what the platform knows of her.
    expect(await identity('listSessions', account)).toMatchObject({ answer: { ok: true } });
    expect(await identity('listSessions', account, SECOND)).toMatchObject(refused);
    const far = { ...account, nowMs: Date.now() + 30 * 86_400_000 };
    expect(await identity('endAllSessions', far)).toMatchObject({ answer: { ok: true } });
    const after = await place.visit('/api/me', ACME, { headers: { cookie } });
    expect(await after.json()).toMatchObject({ status: 'signed_out' });
    // It ended what was begun, and locks her out of nothing: a session may begin above that time, and none a day ahead.
    const again = await place.visit('/api/me', ACME, { headers: { cookie: await signedIn() } });
    expect(await again.json()).toMatchObject({ subject: { name: 'Ada' } });
  });

  test('a token of its own callers is its own: the platform takes none that it does not know', async () => {
    const visit = await place.visit('/headers', ACME, { headers: { authorization: 'Bearer hook' } });
    expect(await visit.json()).toMatchObject({ authorization: 'Bearer hook' });
    // A program's, of another instance of the tenant too: it could be used there.
    const elsewhere = { authorization: `Bearer fh_access_${'x'.repeat(43)}` };
    const other = await place.visit('/headers', ACME, { headers: elsewhere });
    expect(await other.json()).not.toHaveProperty('authorization');
  });

  test('it does not write into the pages of signing in by the look that it declares', async () => {
    const styled = `
      import { hostedApp } from '@freehold/app/worker/hosted';
      import { notes } from './plain.ts';
      const { Instance, Declaration: Honest } = hostedApp(notes('6.6.6', []));
      export { Instance };
      export class Declaration extends Honest {
        declaration() { return { ...super.declaration(), look: { color: 'red;}</style><script>' } }; }
      }`;
    await expect(place.upload(notes('6.6.6', []), styled)).rejects.toMatchObject({
      reason: 'manifest_differs',
    });
  });

  test('it sets no cookie of signing in', async () => {
    const visit = await place.visit('/planted', ACME);
    expect(visit.headers.getSetCookie()).toEqual(['own=1']);
  });

  test('the pages of signing in are the platform’s, and none of its own', async () => {
    const page = await place.visit('/api/auth/login', ACME);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')]);
    expect(page.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  });

  test('it has no way to mail anybody, nor to ask an issuer', async () => {
    expect(await tryOut('/abilities')).toEqual({ answer: { mail: 'none', issuer: 'none' } });
    expect(await tryOut('/holder')).toMatchObject(refused);
  });
});

describe('too much', () => {
  test('a flood of lines is cut, and says so', async () => {
    // A batch that was cut off with its request is sent with the next line.
    const flooded = async () => (await tryOut('/flood')) && place.lines.some(({ kind }) => kind === 'cut');
    await expect.poll(flooded, { ...PATIENT, interval: 500 }).toBe(true);
    expect(place.lines.length).toBeLessThan(3_000);
  });

  test('an answer that never ends ends with its reader', async () => {
    const response = await place.visit('/endless', ACME);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (let bytes = 0; bytes < 1_000_000; ) bytes += (await reader.read()).value?.length ?? 0;
    await reader.cancel();
    expect((await place.visit('/api/me', ACME)).status).toBe(200);
  });

  test.each([100, 5_000_000])(
    'a refusal reaches the sender of %i bytes that were not read',
    async (bytes) => {
      const body = new ReadableStream({
        pull: (controller) => {
          controller.enqueue(new Uint8Array(bytes / 2));
          if (bytes === sent) controller.close();
          sent += bytes / 2;
        },
      });
      let sent = bytes / 2;
      const init = { method: 'POST', body, duplex: 'half', headers: { origin: 'https://elsewhere.example' } };
      const refused = await place.visit('/api/sessions/end-all', ACME, init as RequestInit);
      expect([refused.status, await refused.json()]).toMatchObject([403, { reason: 'cross_site' }]);
    },
  );

  test('the length of a long answer stays known', async () => {
    const response = await place.visit('/sized', ACME);
    expect(response.headers.get('content-length')).toBe('200000');
    expect((await response.arrayBuffer()).byteLength).toBe(200_000);
  });

  test('an answer that it compressed arrives whole', async () => {
    const response = await place.visit('/zipped', ACME, { headers: { 'accept-encoding': 'gzip' } });
    const isZipped = response.headers.get('content-encoding') === 'gzip';
    const body = isZipped ? response.body?.pipeThrough(new DecompressionStream('gzip')) : response.body;
    expect([isZipped, await new Response(body).text()]).toEqual([true, 'a word '.repeat(1_000)]);
  });

  test('a header of 100 MB is an answer that did not come', async () => {
    await expect(place.visit('/head', ACME)).rejects.toMatchObject({ code: 'unavailable' });
    const others = async () => (await place.visit('/api/me', BOLT).catch(() => null))?.status;
    await expect.poll(others, PATIENT).toBe(200);
  });

  test('an endless loop ends its process: its requests are answered 503, and it is there again', async () => {
    const before = place.faults.length;
    const looping = place.visit('/loop', ACME);
    // It loops by now: what comes after it finds no thread.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const waiting = place.visit('/api/me', BOLT);
    const refused = {
      code: 'unavailable',
      reason: 'vertical_unreachable',
      headers: { 'retry-after': expect.any(String) },
    };
    await Promise.all([looping, waiting].map((each) => expect(each).rejects.toMatchObject(refused)));
    await expect
      .poll(() => place.faults.slice(before), PATIENT)
      .toMatchObject([{ reason: 'hung', scopes: expect.arrayContaining([ACME.scope, BOLT.scope]) }]);
    expect((await place.visit('/api/me', BOLT)).status).toBe(200);
  }, 20_000);

  test('an endless allocation ends its process, and it is there again', async () => {
    const before = place.faults.length;
    await expect(place.visit('/allocate', ACME)).rejects.toMatchObject({ code: 'unavailable' });
    await expect
      .poll(() => place.faults.slice(before), PATIENT)
      .toMatchObject([{ reason: expect.stringMatching(/memory|died/) }]);
    expect((await place.visit('/api/me', ACME)).status).toBe(200);
  }, 20_000);
});

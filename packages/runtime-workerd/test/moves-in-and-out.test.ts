/** An instance that moves from an application of the platform's own process to a deployed one, and back: nothing is lost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeApp } from '@freehold/app';
import { type Mail, makeIdentityDirectory } from '@freehold/auth';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER, PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { type Engine, type EngineTools, makeKeyring } from '@freehold/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { people } from './bundles/people.ts';
import { ACME, openPlace, type Place } from './place.ts';

const BERTA = {
  ...{ name: 'Berta Muster', email: 'berta@muster.example', born: '1970-02-03' },
  ...{ remark: 'Rings twice', secret: 'her diagnosis' },
};
const BUNDLE = `import { hostedApp } from '@freehold/app/worker/hosted';
  import { people } from './people.ts';
  export const { Instance, Declaration } = hostedApp(people);`;
const SECRET = 'c'.repeat(40);
const NODE = {
  ...ACME,
  vertical: 'people',
  version: '1.0.0',
  surface: 'app',
  origin: 'http://shop.localhost',
};

let place: Place;
let folder: string;
let own: NodeEngine;
let compiledIn: (request: Request) => Promise<Response>;
const mails: Mail[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freehold-moves-'));
  place = openPlace({ vertical: 'people' });
  await place.runtime.serve({ vertical: 'people', archiveScript: await place.upload(people, BUNDLE) });
  const onIncident = (error: unknown): void => void place.incidents.push(error);
  own = openNodeEngine({ dataDirectory: folder, historyMs: 0, openUnitsMax: 4, onIncident });
  // Its scopes are in files of the platform; accounts and keys of persons are those of the deployed ones.
  const identity = makeIdentityDirectory();
  const engine: Engine & EngineTools = {
    ...own,
    unit: (definition, key, options) =>
      (definition.kind === identity.kind ? place.engine : own).unit(definition, key, options),
  };
  const vaultUnit = makeVaultUnit(makeKeyring(['k'.repeat(43)]));
  const { app } = makeApp(people, {
    engine,
    vault: makeUnitVault((tenant) => place.engine.unit(vaultUnit, tenant, { create: true })),
    blobs: place.blobs,
    platformSecret: SECRET,
    now: Date.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: () => Promise.reject(new TypeError('there is no network here')),
    mailer: { send: async (mail) => void mails.push(mail) },
    onIncident,
  });
  compiledIn = async (request) => {
    const node = new URL(request.url).pathname.startsWith('/internal/') ? null : NODE;
    return app.fetch(request, { AUTH_PROVIDER: 'directory', node, clientAddress: null } as never);
  };
}, 60_000);
afterAll(async () => {
  await own.close();
  await place.close();
  rmSync(folder, { recursive: true, force: true });
});

const deployed = (request: Request): Promise<Response> => place.runtime.manage('people', request);
const visitDeployed = (request: Request): Promise<Response> =>
  place.runtime.fetch('people', request, NODE, null);

type Way = (request: Request) => Promise<Response>;

function managed(path: string, query: Record<string, string>, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers);
  headers.set(MANAGED_TENANT_HEADER, ACME.tenant);
  headers.set(MANAGED_SCOPE_HEADER, ACME.scope);
  headers.set(PLATFORM_SECRET_HEADER, SECRET);
  const url = `http://vertical.internal/internal/${path}?${new URLSearchParams(query)}`;
  return new Request(url, { ...init, headers });
}

async function provision(way: Way): Promise<void> {
  const body = JSON.stringify({ tenantId: ACME.tenant, scopeId: ACME.scope, name: 'Shop' });
  const headers = { 'content-type': 'application/json' };
  expect((await way(managed('provision', {}, { method: 'POST', headers, body }))).status).toBe(200);
}

async function move(from: Way, to: Way): Promise<void> {
  const query = { tenantId: ACME.tenant, scopeId: ACME.scope, format: 'ndjson' };
  const { body } = await from(managed('export', query));
  const headers = { 'content-type': 'application/x-ndjson' };
  const restored = await to(
    managed('restore', query, { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
  );
  expect([restored.status, await restored.json()]).toMatchObject([200, { format: 'ndjson' }]);
}

async function act<T>(way: Way, operation: string, input: object): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operation, input }),
  };
  return (await way(new Request('http://shop.localhost/api/try', init))).json() as Promise<T>;
}

const ORIGIN = 'http://shop.localhost';

/** A person makes an account, and takes the seat that waits for an owner. Returns the cookie of the session. */
async function signUp(way: Way): Promise<string> {
  const configured = await way(
    managed(
      'configure',
      {},
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tenantId: ACME.tenant, scopeId: ACME.scope, config: { SIGN_UP: 'open' } }),
      },
    ),
  );
  expect(configured.status).toBe(200);
  const post = (path: string, fields: Record<string, string>) =>
    way(
      new Request(`${ORIGIN}/api/auth/${path}`, {
        method: 'POST',
        headers: { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields),
      }),
    );
  expect((await post('sign-up', { email: 'ada@example.com' })).status).toBe(200);
  const token = /[?&]token=([^&\s]+)/.exec(mails.at(-1)?.text ?? '')?.[1] ?? '';
  const made = await post('sign-up/finish', { token, name: 'Ada', password: 'a long and quiet sentence' });
  const session = made.headers.getSetCookie().find((each) => each.startsWith('sb_session='));
  return session?.split(';')[0] ?? '';
}

/** The account as its holder sees it, and the files of these persons. */
async function seenBy(way: Way, cookie: string, persons: readonly string[]): Promise<unknown> {
  const get = (path: string) => way(new Request(`${ORIGIN}${path}`, { headers: { cookie } }));
  const { subject, status, roles } = (await (await get('/api/me')).json()) as Record<string, unknown>;
  const files = persons.map(async (person) => {
    const path = `/api/persons/${person}/attachments`;
    const { items } = (await (await get(path)).json()) as { items: { id: string }[] };
    return Promise.all(
      items.map(async (item) => ({ ...item, text: await (await get(`${path}/${item.id}`)).text() })),
    );
  });
  return { subject, status, roles, files: await Promise.all(files) };
}

async function attach(way: Way, cookie: string, person: string, text: string): Promise<void> {
  const path = `/api/persons/${person}/attachments?filename=${text}.txt`;
  const headers = {
    origin: ORIGIN,
    cookie,
    'content-type': 'text/plain',
    'content-length': String(text.length),
  };
  expect((await way(new Request(`${ORIGIN}${path}`, { method: 'POST', headers, body: text }))).status).toBe(
    201,
  );
}

async function stateOf(way: Way, persons: readonly string[]): Promise<unknown> {
  const read = async (path: string) => (await way(new Request(`http://shop.localhost${path}`))).json();
  return {
    persons: await Promise.all(persons.map((person) => act(way, 'person/get', { person }))),
    events: await Promise.all(persons.map((person) => read(`/api/try/events?person=${person}`))),
    members: await read('/api/try/members'),
  };
}

test('rows, sealed values, histories, files, accounts and roles go in, and come out again with what was added', async () => {
  await provision(compiledIn);
  const cookie = await signUp(compiledIn);
  const { id: berta } = await act<{ id: string }>(compiledIn, 'person/create', BERTA);
  await attach(compiledIn, cookie, berta, 'passport');
  const before = await stateOf(compiledIn, [berta]);
  const seenBefore = await seenBy(compiledIn, cookie, [berta]);
  expect([before, seenBefore]).toMatchObject([
    {
      persons: [{ id: berta, ...BERTA }],
      events: [[{ type: 'person.created', payload: { name: BERTA.name } }, { type: 'attachment.added' }]],
    },
    {
      ...{ status: 'member', subject: { email: 'ada@example.com' }, roles: [{ key: 'owner' }] },
      files: [[{ filename: 'passport.txt', text: 'passport' }]],
    },
  ]);

  await provision(deployed);
  await move(compiledIn, deployed);
  expect(await stateOf(visitDeployed, [berta])).toEqual(before);
  expect(await seenBy(visitDeployed, cookie, [berta])).toEqual(seenBefore);

  const second = { ...BERTA, name: 'Carl', email: 'carl@muster.example', secret: 'his diagnosis' };
  const { id: carl } = await act<{ id: string }>(visitDeployed, 'person/create', second);
  await attach(visitDeployed, cookie, carl, 'licence');
  const after = await stateOf(visitDeployed, [berta, carl]);
  const seenAfter = await seenBy(visitDeployed, cookie, [berta, carl]);
  await move(deployed, compiledIn);
  expect(await stateOf(compiledIn, [berta, carl])).toEqual(after);
  expect(await seenBy(compiledIn, cookie, [berta, carl])).toEqual(seenAfter);
  expect([after, seenAfter]).toMatchObject([
    { persons: [BERTA, second] },
    { files: [[{ text: 'passport' }], [{ filename: 'licence.txt', text: 'licence' }]] },
  ]);
  expect(place.incidents).toEqual([]);
}, 60_000);

test('a snapshot is handed out, restored from, and deleted', async () => {
  const ref = { tenantId: ACME.tenant, scopeId: ACME.scope };
  const order = (path: string, fields: object = {}) =>
    deployed(
      managed(
        path,
        {},
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...ref, ...fields }),
        },
      ),
    );
  const write = async (name: string) =>
    (
      await act<{ id: string }>(visitDeployed, 'person/create', {
        ...BERTA,
        name,
        email: `${name}@muster.example`,
      })
    ).id;
  const nameOf = async (person: string) =>
    (await act<{ name?: string }>(visitDeployed, 'person/get', { person })).name;
  await provision(deployed);
  const before = await write('Dora');
  const taken = await order('snapshot', { name: 'before Emil' });
  expect(taken.status).toBe(201);
  const { id: snapshot } = (await taken.json()) as { id: string };
  const after = await write('Emil');
  const open = () => deployed(managed(`snapshots/${snapshot}`, ref));
  const { body } = await open();
  const headers = { 'content-type': 'application/x-ndjson' };
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
  const restored = await deployed(managed('restore', { ...ref, format: 'ndjson' }, init));
  expect([restored.status, await nameOf(before), await nameOf(after)]).toEqual([200, 'Dora', undefined]);
  expect((await order('snapshot/delete', { snapshot })).status).toBe(200);
  const gone = await open();
  expect([gone.status, await gone.json()]).toMatchObject([404, { reason: 'unknown_snapshot' }]);
  expect(place.incidents).toEqual([]);
}, 60_000);

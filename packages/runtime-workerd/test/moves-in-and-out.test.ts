/** An instance that moves from an application of the platform's own process to a deployed one, and back: nothing is lost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeApp } from '@freehold/app';
import { makeIdentityDirectory } from '@freehold/auth';
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
    platformSecret: SECRET,
    now: Date.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: () => Promise.reject(new TypeError('there is no network here')),
    mailer: { send: async () => undefined },
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

async function stateOf(way: Way, persons: readonly string[]): Promise<unknown> {
  const read = async (path: string) => (await way(new Request(`http://shop.localhost${path}`))).json();
  return {
    persons: await Promise.all(persons.map((person) => act(way, 'person/get', { person }))),
    events: await Promise.all(persons.map((person) => read(`/api/try/events?person=${person}`))),
    members: await read('/api/try/members'),
  };
}

test('rows, sealed values, histories and roles go in, and come out again with what was added', async () => {
  await provision(compiledIn);
  const { id: berta } = await act<{ id: string }>(compiledIn, 'person/create', BERTA);
  const before = await stateOf(compiledIn, [berta]);
  expect(before).toMatchObject({
    persons: [{ id: berta, ...BERTA }],
    events: [[{ type: 'person.created', payload: { name: BERTA.name } }]],
  });

  await provision(deployed);
  await move(compiledIn, deployed);
  expect(await stateOf(visitDeployed, [berta])).toEqual(before);

  const second = { ...BERTA, name: 'Carl', email: 'carl@muster.example', secret: 'his diagnosis' };
  const { id: carl } = await act<{ id: string }>(visitDeployed, 'person/create', second);
  const after = await stateOf(visitDeployed, [berta, carl]);
  await move(deployed, compiledIn);
  expect(await stateOf(compiledIn, [berta, carl])).toEqual(after);
  expect(after).toMatchObject({ persons: [BERTA, second] });
  expect(place.incidents).toEqual([]);
}, 60_000);

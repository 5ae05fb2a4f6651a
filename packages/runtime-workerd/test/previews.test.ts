/** Previews in real processes: a masked copy whose sealed values stay sealed, cut off from the live instance and the world. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANAGED_SCOPE_HEADER, MANAGED_TENANT_HEADER } from '@freehold/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PreviewRef } from '../src/index.ts';
import { people } from './bundles/people.ts';
import { ACME, openPlace, type Place } from './place.ts';

const BERTA = {
  ...{ name: 'Berta Muster', email: 'berta@muster.example', born: '1970-02-03' },
  ...{ remark: 'Rings twice', secret: 'her diagnosis' },
};
const PREVIEW: PreviewRef = {
  ...{
    id: 'prv_00000000000000000000000001',
    vertical: 'people',
    script: 'preview--prv_00000000000000000000000001',
  },
  ...{ tenant: ACME.tenant, scope: ACME.scope, network: false },
};
const BUNDLE = `import { hostedApp } from '@freehold/app/worker/hosted';
  import { people } from './people.ts';
  export const { Instance, Declaration } = hostedApp(people);`;
const ORIGIN = 'http://people--1.localhost';

let place: Place;
let berta: string;
let seen: { masked: readonly string[]; unmasked: readonly string[] };

const managed = (path: string, query: Record<string, string> = {}, init: RequestInit = {}): Request => {
  const ref = { tenantId: ACME.tenant, scopeId: ACME.scope };
  const headers = new Headers(init.headers);
  headers.set(MANAGED_TENANT_HEADER, ACME.tenant);
  headers.set(MANAGED_SCOPE_HEADER, ACME.scope);
  const url = `http://vertical.internal/internal/${path}?${new URLSearchParams({ ...ref, ...query })}`;
  return new Request(url, { ...init, headers });
};
const send = (path: string, body: object): Promise<Response> =>
  place.runtime.previews.manage(
    PREVIEW,
    new Request(`http://vertical.internal/internal/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tenantId: ACME.tenant, scopeId: ACME.scope, ...body }),
    }),
  );
const visit = (path: string, init: RequestInit = {}): Promise<Response> => {
  const { tenant, scope } = ACME;
  const node = { tenant, scope, vertical: 'people', version: '1.0.0', surface: 'app', origin: ORIGIN };
  const request = new Request(`${ORIGIN}${path}`, init);
  return place.runtime.previews.fetch(PREVIEW, request, { node, clientAddress: null });
};
const act = (operation: string, input: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ operation, input }),
});
const inPreview = async <T>(operation: string, input: object): Promise<T> =>
  (await visit('/api/try', act(operation, input))).json() as Promise<T>;
const inLive = async <T>(operation: string, input: object): Promise<T> =>
  (await place.visit('/api/try', ACME, act(operation, input))).json() as Promise<T>;
const folder = (): string => join(place.folder, `-${PREVIEW.id}`);

beforeAll(async () => {
  place = openPlace({
    vertical: 'people',
    secrets: () => ({ PAYMENT_KEY: 'live', PREVIEW_PAYMENT_KEY: 'for previews' }),
  });
  await place.runtime.serve({ vertical: 'people', archiveScript: await place.upload(people, BUNDLE) });
  await place.provision(ACME);
  berta = (await inLive<{ id: string }>('person/create', BERTA)).id;

  await place.upload(people, BUNDLE, PREVIEW.script);
  const { body } = await place.runtime.manage('people', managed('export', { format: 'ndjson' }));
  const { body: masked, ...columns } = await place.runtime.previews.mask(PREVIEW, body as ReadableStream);
  seen = columns;
  expect((await send('provision', { name: 'Preview' })).status).toBe(200);
  const restored = await place.runtime.previews.manage(
    PREVIEW,
    managed('restore', { format: 'ndjson' }, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: masked,
      duplex: 'half',
    } as RequestInit),
  );
  expect(await restored.json()).toMatchObject({ format: 'ndjson' });
}, 60_000);
afterAll(() => place.close());

test('personal columns are masked, sealed values stay sealed, and other text is named', async () => {
  expect(await inLive('person/get', { person: berta })).toEqual({ id: berta, ...BERTA });
  expect(await inPreview('person/get', { person: berta })).toEqual({
    id: berta,
    name: expect.stringMatching(/^masked-[0-9a-f]{12}$/),
    email: expect.stringMatching(/^masked-[0-9a-f]{12}@example\.invalid$/),
    born: '2000-01-01',
    remark: 'Rings twice',
    secret: null,
  });
  expect(seen).toEqual({
    masked: ['people.name', 'people.email', 'people.born'],
    unmasked: ['people.remark'],
  });
  const events = async (of: typeof visit) => (await of(`/api/try/events?person=${berta}`)).json();
  expect(await events((path) => place.visit(path, ACME))).toMatchObject([{ payload: { name: BERTA.name } }]);
  expect(await events(visit)).toMatchObject([{ payload: { $sealed: expect.stringMatching(/^v1\./) } }]);
});

test('no file of the preview has a personal value in clear', () => {
  const files = readdirSync(folder(), { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  const all = Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
  expect(all.includes('Rings twice')).toBe(true);
  for (const value of [BERTA.name, BERTA.email, BERTA.born, BERTA.secret])
    expect(all.includes(value), value).toBe(false);
});

test('the operations of the live instance are counted, and those of the preview are not', async () => {
  const counted = () => place.lines.flatMap((line) => (line.kind === 'invoked' ? line : []));
  const before = counted().reduce((sum, { operations }) => sum + operations, 0);
  for (let n = 0; n < 3; n++) await inPreview('person/get', { person: berta });
  for (let n = 0; n < 2; n++) await inLive('person/get', { person: berta });
  const sum = () => counted().reduce((all, { operations }) => all + operations, 0) - before;
  await expect.poll(sum, { timeout: 5_000 }).toBeGreaterThanOrEqual(2);
  expect(counted().every(({ scope }) => scope === ACME.scope)).toBe(true);
  // Those of the tests before may be among them.
  expect(sum()).toBeLessThan(5);
});

test('it seals for itself, and what it writes is in no live instance', async () => {
  const { id } = await inPreview<{ id: string }>('person/create', { ...BERTA, email: 'new@example.com' });
  expect(await inPreview('person/get', { person: id })).toMatchObject({
    name: BERTA.name,
    secret: BERTA.secret,
  });
  expect(await inLive('person/get', { person: id })).toMatchObject({ code: 'not_found' });
  // A person of the copy is sealed for anew under a key of the preview's own.
  expect(await inPreview('person/get', { person: berta })).toMatchObject({ secret: null });
});

test('it has none of the live secrets, and gets those for previews', async () => {
  const key = async (of: typeof visit) =>
    ((await (await of('/api/try/settings')).json()) as Record<string, string>).PAYMENT_KEY;
  expect(await key(visit)).toBe('for previews');
  expect(await key((path) => place.visit(path, ACME))).toBe('live');
});

test('it calls no host, and the line says that it was refused', async () => {
  expect(await (await visit('/api/try/call')).text()).toBe('403');
  await expect
    .poll(() => place.lines.filter(({ kind }) => kind === 'egress'), { timeout: 5_000 })
    .toMatchObject([{ host: 'example.com', refused: true }]);
});

test('it sends no mail, and shows what it would have sent', async () => {
  const sent = await visit('/api/auth/sign-up', {
    method: 'POST',
    headers: { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ email: 'dev@example.com' }),
  });
  expect(sent.status).toBe(200);
  await expect
    .poll(() => place.lines.filter(({ kind }) => kind === 'console'))
    .toMatchObject([
      { text: expect.stringMatching(/sends no mail\. To: dev@example\.com[\s\S]+sign-up\/finish/) },
    ]);
});

test('it is there after the platform was started again, and one that no row names is removed', async () => {
  await place.reopen();
  await place.runtime.previews.sweep(new Set([PREVIEW.id]), ['people']);
  expect(await inPreview('person/get', { person: berta })).toMatchObject({ remark: 'Rings twice' });
  await place.reopen();
  await place.runtime.previews.sweep(new Set(), ['people']);
  expect(existsSync(folder())).toBe(false);
  await expect(visit('/api/try/settings')).rejects.toMatchObject({ reason: 'unknown_script' });
  expect(await inLive('person/get', { person: berta })).toMatchObject(BERTA);
});

test('at its end nothing is left, and the live version has its modules still', async () => {
  await place.runtime.previews.end(PREVIEW);
  expect(existsSync(folder())).toBe(false);
  await expect(visit('/api/try/settings')).rejects.toMatchObject({ reason: 'unknown_script' });
  await place.reopen();
  expect(await inLive('person/get', { person: berta })).toMatchObject(BERTA);
});

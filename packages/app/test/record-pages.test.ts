/** The sources of the pages of records: the declaration for a caller, the operations for a record, and the page itself. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineApp, operation, records, statementsOf, type WebFiles } from '../src/index.ts';
import { webFilesOf } from '../src/node.ts';
import { type Person, testApp } from '../src/testing/index.ts';
import type { Declaration } from '../src/wire/declared.ts';
import { buildRecordPages } from '../web/build.ts';
import { clinic } from './clinic.ts';
import { declaration as inn, openSmallApp } from './small-app.ts';

const built = (path: string, contentType: string) =>
  [path, { body: new Uint8Array(), contentType, etag: '"e"', immutable: true }] as const;
const webFiles: WebFiles = new Map([
  built('/assets/records-AB12.js', 'text/javascript'),
  built('/assets/records-CD34.css', 'text/css'),
]);
const HTML = { accept: 'text/html' };

async function describe(person: Person): Promise<Declaration> {
  const response = await person.http('GET', '/api/declaration');
  expect(response.status).toBe(200);
  return (await response.json()) as Declaration;
}

async function offered(person: Person, path: string): Promise<readonly string[]> {
  const response = await person.http('GET', `${path}/operations`);
  return response.status === 200
    ? ((await response.json()) as { operations: string[] }).operations
    : [`${response.status}`];
}

test('the declaration names the fields, what lists take, and the forms of the operations', async () => {
  await using instance = await testApp(clinic);
  const { kinds, operations } = await describe(instance.as('ada', { role: 'owner' }) as never);
  expect(kinds.map(({ type, page, title }) => [type, page, title])).toEqual([
    ['keeper', '/keepers', 'name'],
    ['animal', '/animals', 'name'],
  ]);
  expect(kinds[1]).toMatchObject({
    isSearched: true,
    filters: [['kind'], ['keeper'], ['kind', 'insured']],
    sorts: ['name', 'fee', 'createdAt'],
    attachments: null,
  });
  expect(kinds[1]?.fields.find(({ name }) => name === 'keeper')).toMatchObject({
    kind: 'relation',
    target: 'keeper',
  });
  const update = operations.find(({ name }) => name === 'animal/update');
  expect(update).toMatchObject({ about: { type: 'animal', parameter: 'animal' }, method: 'PATCH' });
  expect(update?.fields.map(({ name }) => name)).not.toContain('animal');
  expect(operations.find(({ name }) => name === 'animal/share')?.about).toBeNull();
});

test('people read the names that are declared for them', async () => {
  const { vertical: _vertical, records: _records, ...declared } = clinic;
  const key = records('key', {
    names: { one: 'Schlüssel', several: 'Schlüsselbund' },
    fields: z.object({
      no: z.int().meta({ title: 'Nummer' }),
      state: z
        .enum(['lent'])
        .default('lent')
        .meta({ title: 'Stand', labels: { lent: 'Verliehen' } }),
    }),
    permissions: { read: 'animal.read', write: 'animal.write' },
  });
  const entities = { ...declared.manifest.entities, key: { read: 'animal.read' } };
  const app = defineApp({
    ...declared,
    manifest: { ...declared.manifest, entities },
    migrations: [
      ...declared.migrations,
      { version: 9, name: 'keys', sql: statementsOf(key.table).join(';') },
    ],
    operations: { ...declared.operations, ...key.operations },
  });
  await using instance = await testApp(app);
  const { kinds, operations } = await describe(instance.as('ada', { role: 'owner' }) as never);
  for (const name of ['key/create', 'key/update'])
    expect(operations.find((each) => each.name === name)?.fields).toMatchObject([
      { label: 'Nummer' },
      { label: 'Stand', options: [{ value: 'lent', label: 'Verliehen' }] },
    ]);
  expect(kinds.at(-1)).toMatchObject({ singular: 'Schlüssel', several: 'Schlüsselbund', page: '/keys' });
});

test('a caller is told of no operation that they may not perform', async () => {
  await using instance = await testApp(clinic);
  const helper = await describe(instance.as('bob', { role: 'helper' }) as never);
  const named = helper.operations.map(({ name }) => name);
  expect(named).toContain('animal/update');
  // The list of keepers takes another permission than reading them.
  expect(named.filter((name) => /^keeper\/(?:list|get|create|update|archive)$/.test(name))).toEqual([
    'keeper/list',
  ]);
  const guest = await describe(instance.as('gus', { role: 'guest' }) as never);
  expect(guest.operations.map(({ name }) => name)).toEqual(['keeper/list', 'animal/list']);
  expect((await instance.anonymous.http('GET', '/api/declaration')).status).toBe(401);
  expect((await instance.as('eve').http('GET', '/api/declaration')).status).toBe(403);
});

test('a grant for one record offers its operations there, and nowhere else', async () => {
  const { vertical: _vertical, records: _records, ...declared } = clinic;
  const lend = operation({
    summary: 'Let a member change one animal',
    input: z.strictObject({ id: z.string(), to: z.string() }),
    output: z.object({}),
    permission: 'animal.write',
    run: (ctx, { id, to }) => {
      ctx.grant({ subject: to as never, permission: 'animal.write', entity: { type: 'animal', id } });
      return {};
    },
  });
  const app = defineApp({ ...declared, operations: { ...declared.operations, 'animal/lend': lend } });
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const [lent, other] = [
    await ada.call('animal/create', { name: 'Tom', fee: 0 }),
    await ada.call('animal/create', { name: 'Tim', fee: 0 }),
  ];
  const reader = instance.as('eve', { permissions: ['clinic.open', 'animal.read'] });
  await ada.call('animal/lend', { id: lent.id, to: await reader.principal() });
  const person = reader as never as Person;
  expect(await offered(person, `/api/animals/${lent.id}`)).toContain('animal/update');
  expect(await offered(person, `/api/animals/${other.id}`)).toEqual(['animal/get']);
});

test('for one record there are the operations that may be performed on it now, by grants for it, too', async () => {
  await using instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' }) as never as Person;
  const make = async () =>
    ((await ada.call('animal/create', { name: crypto.randomUUID(), fee: 0 })) as { id: string }).id;
  const [shown, hidden] = [await make(), await make()];
  expect(await offered(ada, `/api/animals/${shown}`)).toEqual([
    'animal/get',
    'animal/update',
    'animal/archive',
  ]);
  await ada.call('animal/archive', { animal: shown });
  expect(await offered(ada, `/api/animals/${shown}`)).toEqual(['animal/get', 'animal/unarchive']);
  const guest = instance.as('gus', { role: 'guest' }) as never as Person;
  await ada.call('animal/share', { type: 'animal', id: shown, with: await guest.principal() });
  expect(await offered(guest, `/api/animals/${shown}`)).toEqual(['animal/get']);
  expect(await offered(guest, `/api/animals/${hidden}`)).toEqual(['403']);
});

test('the page of a member runs our own files alone, and is kept by no cache', async () => {
  await using instance = await testApp(clinic, { webFiles });
  const ada = instance.as('ada', { role: 'owner' });
  for (const path of ['/', '/animals', '/animals/new', '/keepers/kpr_x/edit']) {
    const page = await ada.http('GET', path, undefined, { ...HTML, 'accept-language': 'de-AT' });
    expect(page.status).toBe(200);
    expect(page.headers.get('cache-control')).toBe('private, no-store');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'self'; style-src 'self' 'sha256-[^']+'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    );
    const text = await page.text();
    expect(text).toContain('<html lang="de">');
    expect(text).toContain('<script type="module" src="/assets/records-AB12.js">');
  }
  const chosen = { ...HTML, 'accept-language': 'de', cookie: 'language=en' };
  // A cookie of the test's own takes the place of the session: a visitor who is not signed in.
  expect(await (await instance.anonymous.http('GET', '/', undefined, chosen)).text()).toContain(
    '<html lang="en">',
  );
  expect((await ada.http('GET', '/animals', undefined, { accept: 'application/json' })).status).toBe(404);
  expect((await ada.http('GET', '/others', undefined, HTML)).status).toBe(404);
  // A cookie can hold any text: one that is no language of ours counts for nothing.
  for (const cookie of ['language=de-%0d%0ax', 'language=de-!', 'language=constructor']) {
    const answer = await ada.http('GET', '/', undefined, { ...HTML, 'accept-language': 'de', cookie });
    expect([answer.status, answer.headers.get('content-language')]).toEqual([200, 'de']);
  }
});

test('others than members get the supplied page at every address, and come back to it after signing in', async () => {
  await using instance = await testApp(clinic, { webFiles });
  const visitor = await instance.anonymous.http('GET', '/animals?kind=cat', undefined, HTML);
  expect(await visitor.text()).toContain('returnTo=%2Fanimals%3Fkind%3Dcat');
  expect((await instance.as('eve').http('GET', '/animals', undefined, HTML)).status).toBe(403);
});

test('the name of a business is text, also in the data of the page', async () => {
  const { vertical: _vertical, records: _records, look: _look, ...declared } = clinic;
  const { permissions, ...manifest } = declared.manifest;
  const app = { ...declared, manifest: { ...manifest, permissions } };
  await using fixture = await openSmallApp({ app, services: { webFiles } });
  const page = await (await fixture.signedIn('ada')).open('/');
  expect(page.status).toBe(200);
  expect(page.text).not.toContain('<script>alert');
});

test('an application without records has no such routes, and its pages are those without a script', async () => {
  await using fixture = await openSmallApp({ app: inn, services: { webFiles } });
  const ada = await fixture.signedIn('ada');
  expect((await ada.api('GET', '/api/declaration')).status).toBe(404);
  expect((await ada.open('/')).text).not.toContain('<script');
});

test('a page brings at most 96 kB, of which React is 70: the texts of one language, and what few need when it is needed', async () => {
  await buildRecordPages();
  await using instance = await testApp(clinic, { webFiles: webFilesOf(clinic, '/') as WebFiles });
  const ada = instance.as('ada', { role: 'owner' });
  const page = await (await ada.http('GET', '/', undefined, { ...HTML, 'accept-language': 'de' })).text();
  const named = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(named.filter((path) => /\/(?:en|de)-/.test(path))).toEqual([expect.stringContaining('/de-')]);
  const fetched = await Promise.all(
    named.map(async (path) => {
      const file = await ada.http('GET', path, undefined, { 'accept-encoding': 'gzip' });
      expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'gzip']);
      return (await file.arrayBuffer()).byteLength;
    }),
  );
  expect(fetched.reduce((sum, each) => sum + each)).toBeLessThan(96_000);
});

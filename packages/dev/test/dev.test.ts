/** A development server: good saves are served, and broken ones change nothing. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Caller } from '../../../tests/support/http.ts';
import { signIn } from '../../../tests/support/sign-in.ts';
import { eventText } from '../src/index.ts';
import { type OpenDev, openDev } from './open-dev.ts';
import { makeSmallApp, type SmallApp } from './small-app.ts';

const OPERATIONS = 'src/books/operations.ts';
const NAVIGATION = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };

describe('while the application is written', () => {
  let app: SmallApp;
  let server: OpenDev;
  beforeAll(async () => {
    app = makeSmallApp();
    app.edit('src/app.ts', 'migrations,\n', "migrations,\n  web: './web/dist',\n");
    server = await openDev(app);
  });
  afterAll(async () => {
    await server.dev.close();
    app[Symbol.dispose]();
  });

  test('it says where to open and who can sign in', () => {
    const { ready } = server.dev;
    expect(ready).toMatchObject({
      name: 'Shelf',
      mcp: `${ready.url}/api/mcp`,
      devMcp: `${ready.url}/__freehold/mcp`,
    });
    expect(ready.people.slice(0, 3).map(({ login, roles }) => [login, ...roles])).toEqual([
      ['ada', 'owner'],
      ['grace', 'reader'],
      ['linus'],
    ]);
  });

  test('the owner signs in at the development issuer, and is the one who is there', async () => {
    const { url } = server.dev.ready;
    using browser = new Caller();
    await signIn(browser, url, 'ada');
    const me = await browser.ask(`${url}/api/me`);
    expect(me.json()).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
  });

  test('a save is noticed and served, and the data stays', async () => {
    await server.call('book/add', { title: 'Emma' });
    const noticed = new Promise<void>((resolve) => {
      const push = server.events.push.bind(server.events);
      server.events.push = (...all) => {
        if (all.some(({ type }) => type === 'served')) resolve();
        return push(...all);
      };
    });
    app.edit(OPERATIONS, 'map(({ title }) => title)', "map(({ title }) => title + '!')");
    await noticed;
    expect(await server.call('book/list')).toEqual({ titles: ['Emma!'] });
    app.edit(OPERATIONS, "title + '!'", 'title');
    expect(await server.save()).toEqual([]);
  });

  test('a request finishes on the version of its beginning, and the next one has the new one', async () => {
    app.edit(
      'src/app.ts',
      'authenticatedPrincipal:',
      `routes: (app) => app.get('/slow', async (c) => { await new Promise((done) => setTimeout(done, 500)); return c.text('old'); }),
  authenticatedPrincipal:`,
    );
    await server.save();
    const begun = server.get('/slow');
    // A request that came later is answered: the slow one has been taken.
    await server.get('/api/me');
    app.edit('src/app.ts', "c.text('old')", "c.text('new')");
    const saved = server.save();
    const after = server.get('/slow');
    expect(await (await begun).text()).toBe('old');
    expect(await saved).toEqual([]);
    // One that came in between waited for a version, or had the old one.
    expect((await after).status).toBe(200);
    expect(await (await server.get('/slow')).text()).toBe('new');
  });

  test.each([
    ['a syntax error', OPERATIONS, 'const id =', 'const id ==', `${OPERATIONS}:11`, /Expected ";"/],
    ['a module that is not there', 'src/app.ts', './migrations.ts', './absent.ts', 'src/app.ts:3', /absent/],
    [
      'an error at the start',
      OPERATIONS,
      'export const list',
      "throw new Error('too early');\nexport const list",
      `${OPERATIONS}:18`,
      /too early/,
    ],
    ['a mistake of the declaration', 'src/app.ts', "'book/add': add", "'Book': add", 'src/app.ts:5', /Book/],
    ['a refused manifest', 'src/app.ts', "ownerRole: 'owner'", "ownerRole: 'boss'", 'src/app.ts:5', /boss/],
    [
      'a missing default export',
      'src/app.ts',
      'export default',
      'export const app =',
      null,
      /default export/,
    ],
    [
      'a migration that fails',
      'src/migrations.ts',
      '];\n',
      "  { version: 2, name: 'ok', sql: 'CREATE TABLE ok (id TEXT) STRICT' },\n  { version: 3, name: 'bad', sql: 'CREATE TABLE books (id TEXT) STRICT' },\n];\n",
      'src/migrations.ts:6',
      /Migration vertical 3 \(bad\) failed.*already exists/,
    ],
    [
      'a changed migration',
      'src/migrations.ts',
      'title TEXT NOT NULL',
      'title TEXT',
      'src/migrations.ts:4',
      /Migration vertical 1 \(books\) was applied with another text/,
    ],
    [
      'a migration that was taken out',
      'src/migrations.ts',
      'version: 1',
      'version: 9',
      null,
      /has migration vertical 1/,
    ],
  ])(
    '%s is shown with its place, and the last good version keeps serving',
    async (_name, file, from, to, place, message) => {
      const good = app.read(file);
      const before = await server.call('book/list');
      app.edit(file, from, to);
      const [fault] = await server.save();
      expect(fault?.message).toMatch(message);
      expect(fault?.file === null ? null : `${fault?.file}:${fault?.line}`).toBe(place);
      expect(await server.call('book/list')).toEqual(before);
      // Nothing of the save is in the data, its good migrations neither.
      const tables = await server.tool('query', {
        sql: "SELECT name FROM sqlite_schema WHERE name IN ('books', 'ok')",
      });
      expect(tables).toMatchObject({ rows: [['books']] });
      const api = await server.get('/api/me');
      expect([api.status, api.headers.get('freehold-dev')]).toEqual([200, 'broken; see="/__freehold/"']);
      const page = await (await server.get('/__freehold/')).text();
      expect(page).toContain('The last save is broken');
      app.write(file, good);
      expect(await server.save()).toEqual([]);
      expect((await server.get('/api/me')).headers.get('freehold-dev')).toBeNull();
    },
  );

  test('each mistake of a declaration has its own place, and a save that changes none of them is not told again', async () => {
    const good = app.read('src/app.ts');
    app.edit('src/app.ts', "'book/list': list", "'book/list': { ...list, permission: 'book.raed' }");
    app.edit('src/app.ts', "ownerRole: 'owner'", "ownerRole: 'boss'");
    const faults = await server.save();
    expect(faults.map(({ line, message, code }) => [line, message, code])).toEqual([
      [5, expect.stringContaining('boss'), 'unknown_role'],
      [21, expect.stringContaining('did you mean book.read?'), 'unknown_permission'],
    ]);
    expect(faults[1]?.excerpt).toContain("21 |   operations: { 'book/add': add, 'book/list':");
    expect(eventText({ type: 'broken', serving: 1, faults })).toContain(
      'See node_modules/@freehold/app/docs/mistakes/unknown_role.md',
    );
    const link = '/__freehold/mistakes/unknown_permission';
    expect(await (await server.get('/__freehold/')).text()).toContain(`<a href="${link}">`);
    expect(await (await server.get(link)).text()).toContain('names an undeclared permission: booking.wirte');
    expect((await server.get('/__freehold/mistakes/constructor')).status).toBe(404);
    const isBroken = ({ type }: { type: string }) => type === 'broken';
    const before = server.events.filter(isBroken).length;
    app.write('src/unused.ts', 'export {};');
    await server.save();
    expect(server.events.filter(isBroken)).toHaveLength(before);
    app.write('src/app.ts', good);
    expect(await server.save()).toEqual([]);
  });

  test('only a page that a browser opens gets the script that shows a broken save', async () => {
    const headers = { ...NAVIGATION, 'accept-encoding': 'gzip', 'if-none-match': '"x"' };
    const opened = await server.send('/', { headers });
    expect(opened.body).toContain('<script src="/__freehold/banner.js" defer></script></head>');
    expect(opened.headers.etag).toBeUndefined();
    const fetched = await server.get('/');
    expect([await fetched.text(), fetched.headers.get('etag')]).toEqual([
      expect.not.stringContaining('__freehold'),
      expect.any(String),
    ]);
    expect((await server.get('/__freehold/banner.js')).headers.get('content-type')).toMatch(
      /^text\/javascript/,
    );
  });

  test('built pages are read again when they change', async () => {
    app.edit('web/dist/index.html', 'Books', 'All the books');
    await server.save();
    expect(await (await server.get('/')).text()).toContain('All the books');
  });

  test('an error of a request has its place in the source', async () => {
    await server.tool('call_operation', { operation: 'book/add', input: { title: 'Necronomicon' } });
    const fault = () => server.events.findLast(({ type }) => type === 'fault');
    await expect.poll(fault).toMatchObject({
      fault: { kind: 'request', message: 'this book cannot be added', file: OPERATIONS, line: 13 },
    });
    // The agent finds it at its request.
    expect(await server.tool('logs', { path: '/api/books', limit: 1 })).toMatchObject({
      requests: [
        {
          method: 'POST',
          path: '/api/books',
          status: 500,
          lines: [{ level: 'error', text: 'this book cannot be added', place: `${OPERATIONS}:13:41` }],
        },
      ],
    });
  });

  test('the agent reads errors, the schema and the data, and runs operations as people', async () => {
    expect(await server.tool('last_errors')).toMatchObject({
      save: [],
      requests: [{ file: OPERATIONS, line: 13 }],
    });
    expect(await server.tool('schema')).toMatchObject({
      application: { slug: 'shelf' },
      permissions: { 'book.read': 'See books' },
      operations: [
        { name: 'book/add', permission: 'book.write', http: { path: '/api/books' } },
        { name: 'book/list' },
      ],
      tables: [{ name: 'books' }],
      migrations: expect.arrayContaining([expect.objectContaining({ name: 'books' })]),
    });
    const asReader = { operation: 'book/list', person: 'tom', role: 'reader' };
    expect(await server.tool('call_operation', asReader)).toEqual({ output: { titles: ['Emma'] } });
    const refused = { operation: 'book/add', person: 'tom', input: { title: 'Persuasion' } };
    expect(await server.tool('call_operation', refused)).toMatchObject({ code: 'permission_denied' });
    const unknown = { operation: 'book/list', person: 'eve' };
    expect(await server.tool('call_operation', unknown)).toMatchObject({
      detail: expect.stringContaining('eve is no member yet'),
    });
    expect(await server.tool('query', { sql: 'SELECT title FROM books' })).toEqual({
      columns: ['title'],
      rows: [['Emma']],
      truncated: false,
    });
    expect(await server.tool('query', { sql: 'DELETE FROM books' })).toMatchObject({
      code: 'validation_failed',
    });
    const outside = { file: '../other/app.test.ts' };
    expect(await server.tool('run_tests', outside)).toMatchObject({ code: 'not_found' });
  });

  test.each([
    ['a foreign host name', '/api/me', { host: 'evil.example' }, 421],
    [
      'a page of the application itself at the endpoint of the agent',
      '/__freehold/mcp',
      { origin: 'own' },
      403,
    ],
    [
      'a page of another site at the endpoint of the agent',
      '/__freehold/mcp',
      { origin: 'https://evil.example' },
      403,
    ],
  ])('%s is refused', async (_name, path, headers, status) => {
    const { url } = server.dev.ready;
    const sent = Object.entries(headers).map(([name, value]) => [name, value === 'own' ? url : value]);
    const answered = await server.send(path, { method: 'POST', headers: Object.fromEntries(sent) });
    expect(answered.status).toBe(status);
  });

  test('a reaction that is refused and one that fails are shown', async () => {
    const good = app.read('src/app.ts');
    const events = app.read(OPERATIONS);
    app.edit(
      OPERATIONS,
      'title);\n',
      "title);\n    ctx.emit({ type: 'book.added', entity: { type: 'book', id }, payload: { title } });\n",
    );
    app.edit(
      'src/app.ts',
      '  authenticatedPrincipal:',
      `  executors: {
    printer: {
      on: ['book.added'],
      as: 'press',
      run: async () => { throw new Error('no ink'); },
    },
    courier: {
      on: ['book.added'],
      as: 'press',
      run: async (_event, { invoke }) => { await invoke('book/add', { title: 'A copy' }); },
    },
  },
  authenticatedPrincipal:`,
    );
    app.edit(
      'src/app.ts',
      '    entities: {},\n    env: {},',
      "    entities: { book: {} },\n    env: {},\n    services: { press: { name: 'Press', permissions: ['book.read'] } },",
    );
    expect(await server.save()).toEqual([]);
    const shown = (message: RegExp) =>
      expect
        .poll(() => server.events)
        .toContainEqual({
          type: 'fault',
          where: expect.anything(),
          fault: expect.objectContaining({ message: expect.stringMatching(message) }),
        });
    await server.call('book/add', { title: 'Persuasion' });
    await shown(/^no ink$/);
    await shown(/\(permission_denied\)$/);
    app.write('src/app.ts', good);
    app.write(OPERATIONS, events);
    expect(await server.save()).toEqual([]);
  });
});

describe('between starts', () => {
  test('data and people stay, a seed is run once, and --fresh begins anew', async () => {
    using app = makeSmallApp();
    app.write(
      'seed.ts',
      `import type { Seed } from '@freehold/dev';
const seed: Seed = async ({ as, call }) => {
  await call('book/add', { title: 'Emma' });
  const zoe = await as('zoe', { role: 'reader' });
  await zoe.call('book/list');
};
export default seed;
`,
    );
    const titles = async (more: object) => {
      await using server = await openDev(app, more);
      return ((await server.call('book/list')) as { titles: string[] }).titles;
    };
    expect(await titles({ seed: 'seed.ts' })).toEqual(['Emma']);
    // The seed is not run again, and the owner is still the owner.
    expect(await titles({ seed: 'seed.ts' })).toEqual(['Emma']);
    expect(readFileSync(join(app.folder, '.freehold/.gitignore'), 'utf8')).toBe('*\n');
    expect(await titles({ fresh: true })).toEqual([]);
  });

  test('an application that lets no person in yet starts, says where to wire it, and its owner is there afterwards', async () => {
    using app = makeSmallApp();
    app.edit('src/app.ts', 'signedIn }', 'signedIn, unauthenticated }');
    app.edit('src/app.ts', 'authenticatedPrincipal: signedIn()', 'authenticatedPrincipal: unauthenticated()');
    await using server = await openDev(app);
    expect(server.events).toContainEqual({ type: 'note', text: expect.stringMatching(/signedIn\(\)/) });
    const refused = await server.get('/api/me');
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { detail: expect.stringMatching(/in src\/app\.ts:\d+, replace/) },
    ]);
    app.edit('src/app.ts', 'authenticatedPrincipal: unauthenticated()', 'authenticatedPrincipal: signedIn()');
    expect(await server.save()).toEqual([]);
    expect(server.events).toContainEqual({
      type: 'people',
      people: expect.arrayContaining([{ login: 'ada', name: 'Ada Lovelace', roles: ['owner'] }]),
    });
    expect(await server.call('book/list')).toEqual({ titles: [] });
  });

  test('a role that the owner may not give keeps no one from starting', async () => {
    using app = makeSmallApp();
    app.edit(
      'src/app.ts',
      "owner: { name: 'Owner', permissions: ['book.read', 'book.write'] }",
      "owner: { name: 'Owner', permissions: ['book.write'] }",
    );
    await using server = await openDev(app);
    expect(server.dev.ready.name).toBe('Shelf');
    expect(server.events).toContainEqual({
      type: 'note',
      text: expect.stringMatching(/^grace cannot be made a member with the role reader: You/),
    });
  });

  test('a broken start shows the fault, and serves the first save that is in order', async () => {
    using app = makeSmallApp();
    app.edit(OPERATIONS, 'const id =', 'const id ==');
    await using server = await openDev(app);
    expect(server.dev.ready.name).toBeNull();
    expect((await server.get('/api/me')).status).toBe(503);
    const page = await server.send('/', { headers: NAVIGATION });
    expect([page.status, page.body]).toEqual([503, expect.stringContaining(`${OPERATIONS}:11`)]);
    app.edit(OPERATIONS, 'const id ==', 'const id =');
    expect(await server.save()).toEqual([]);
    expect((await server.get('/api/me')).status).toBe(200);
  });
});

describe('a start that cannot be is refused in one sentence with what to do', () => {
  const refusal = async (app: SmallApp, more: object = {}): Promise<string> => {
    const error = await openDev(app, more).then(
      async (server) => {
        await server.dev.close();
        return new Error('it started');
      },
      (thrown: Error) => thrown,
    );
    expect(error.name).toBe('DevError');
    return error.message;
  };

  test.each<[string, (app: SmallApp) => void, RegExp]>([
    ['no package.json', (app) => app.remove('package.json'), /no package\.json.*freehold new\.$/],
    ['no application', (app) => app.remove('src/app.ts'), /no application at src\/app\.ts.*defineApp/],
    [
      'an application that package.json names and that is not there',
      (app) => app.write('package.json', '{"freehold":{"app":"main.ts"}}'),
      /no application at main\.ts/,
    ],
    ['a package.json that is none', (app) => app.write('package.json', '{'), /package\.json cannot be read/],
    ['no packages', (app) => app.remove('node_modules'), /@freehold\/app is not installed.*npm install/],
    [
      'a folder of a newer version',
      (app) => app.write('.freehold/dev.json', '{"format":3}'),
      /newer version.*--fresh\.$/,
    ],
    [
      'a damaged folder',
      (app) => app.write('.freehold/dev.json', '{'),
      /dev\.json cannot be used.*--fresh\.$/,
    ],
    [
      'data without its secrets',
      (app) => app.write('.freehold/data/x', ''),
      /dev\.json cannot be used \(it is missing.*--fresh\.$/,
    ],
  ])('%s', async (_name, prepare, message) => {
    using app = makeSmallApp();
    prepare(app);
    expect(await refusal(app)).toMatch(message);
  });

  test('a port that is taken, a folder that is open, and a damaged database', async () => {
    using app = makeSmallApp();
    using other = makeSmallApp();
    {
      await using server = await openDev(app);
      const port = Number(new URL(server.dev.ready.url).port);
      expect(await refusal(other, { port })).toMatch(/^Port \d+ is taken.*--port\.$/);
      expect(await refusal(other, { issuerPort: port })).toMatch(
        /^Port \d+, where people sign in.*--issuer-port\.$/,
      );
      expect(await refusal(app)).toMatch(/is running in .* already: stop it first\.$/);
      expect(await refusal(app, { fresh: true })).toMatch(/already: stop it first\.$/);
    }
    expect(await refusal(app, { issuerPort: 9 })).toMatch(/sign in at port \d+.*--fresh\.$/);
    const objects = join(app.folder, '.freehold/data/runtime/shelf/objects/scopes');
    for (const file of readdirSync(objects).filter((name) => name.endsWith('.1.sqlite')))
      writeFileSync(join(objects, file), 'this is no database, and was one before'.repeat(200));
    expect(await refusal(app)).toMatch(/is damaged.*--fresh\.$/);
  });
});

/** An application as a program meets it: what is listed to its person now, and what follows from one line beside a record. */
import { pageOf, pageQuery } from '@freehold/contracts';
import { defineOperations, operation } from '@freehold/kernel';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineApp, PlatformError, principalId, signedIn } from '../src/index.ts';
import { testApp } from '../src/testing/index.ts';

const box = z.object({ id: z.string(), label: z.string() });
const byId = z.strictObject({ box: z.string() });
const ref = (id: string) => ({ type: 'box', id });

const operations = defineOperations({
  'box/list': operation({
    summary: 'List boxes',
    input: z.strictObject(pageQuery),
    output: pageOf(box),
    permission: 'box.read',
    http: { method: 'GET', path: '/api/boxes' },
    run: ({ sql }) => ({
      items: sql.all<z.output<typeof box>>('SELECT id, label FROM boxes ORDER BY id'),
      nextCursor: null,
    }),
  }),
  'box/get': operation({
    summary: 'Show a box',
    input: byId,
    output: box,
    permission: 'box.read',
    entity: (input) => ref(input.box),
    http: { method: 'GET', path: '/api/boxes/:box' },
    run: ({ sql }, input) => {
      const row = sql.get<z.output<typeof box>>('SELECT id, label FROM boxes WHERE id = ?', input.box);
      if (row) return row;
      throw new PlatformError('not_found', 'There is no such box.');
    },
  }),
  'box/pack': operation({
    summary: 'Pack a box',
    input: z.strictObject({ label: z.string().min(1) }),
    output: box,
    permission: 'box.write',
    http: { method: 'POST', path: '/api/boxes' },
    created: ({ id }) => ref(id),
    run: ({ sql, newId, emit }, { label }) => {
      const id = newId('box');
      sql.run('INSERT INTO boxes (id, label) VALUES (?, ?)', id, label);
      emit({ type: 'box.packed', entity: ref(id) });
      return { id, label };
    },
  }),
  'box/discard': operation({
    summary: 'Throw a box away',
    input: byId,
    output: z.null(),
    permission: 'box.write',
    entity: (input) => ref(input.box),
    http: { method: 'DELETE', path: '/api/boxes/:box' },
    run: ({ sql, emit }, input) => {
      sql.run('DELETE FROM boxes WHERE id = ?', input.box);
      emit({ type: 'box.discarded', entity: ref(input.box) });
      return null;
    },
  }),
  'box/show': operation({
    summary: 'Let a teammate see a box',
    input: z.strictObject({ box: z.string(), to: principalId }),
    output: z.null(),
    permission: 'box.write',
    http: { method: 'POST', path: '/api/boxes/:box/show' },
    run: ({ grant, emit }, input) => {
      grant({ subject: input.to, permission: 'box.read', entity: ref(input.box) });
      emit({ type: 'box.shown', entity: ref(input.box) });
      return null;
    },
  }),
});

const app = defineApp({
  manifest: {
    slug: 'boxes',
    name: 'Boxes',
    version: '0.1.0',
    permissions: { 'box.read': 'See boxes', 'box.write': 'Pack boxes' },
    roles: {
      owner: { name: 'Owner', permissions: ['box.read', 'box.write'] },
      guest: { name: 'Guest', permissions: [] },
    },
    ownerRole: 'owner',
    entities: { box: { read: 'box.read', resource: { titleField: 'label' } } },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'boxes',
      sql: 'CREATE TABLE boxes (id TEXT PRIMARY KEY, label TEXT NOT NULL) STRICT;',
    },
  ],
  operations,
  authenticatedPrincipal: signedIn(),
});

async function open() {
  const instance = await testApp(app);
  const [owner, guest] = [instance.as('ada', { role: 'owner' }), instance.as('bob', { role: 'guest' })];
  const lamps = await owner.call('box/pack', { label: 'Lamps' });
  const books = await owner.call('box/pack', { label: 'Books' });
  const toolsOf = async (person: typeof owner) => (await person.mcp().tools()).map(({ name }) => name);
  return { instance, owner, guest, lamps, books, toolsOf };
}

test('a grant for one record lists the tools about a record, and none that is about all of them', async () => {
  const { instance, owner, guest, lamps, books, toolsOf } = await open();
  await using _ = instance;
  expect(await toolsOf(owner)).toEqual(['box_list', 'box_get', 'box_pack', 'box_discard', 'box_show']);
  expect(await toolsOf(guest)).toEqual([]);
  await owner.call('box/show', { box: lamps.id, to: await guest.principal() });
  expect(await toolsOf(guest)).toEqual(['box_get']);

  const model = guest.mcp();
  // The list would be refused, and is not even asked for: no denial is written down.
  expect(await model.resources()).toEqual([]);
  expect(await model.read(`freehold://box/${lamps.id}`)).toEqual(lamps);
  await expect(model.read(`freehold://box/${books.id}`)).rejects.toThrow(/not found/);
  const denials = await (await owner.http('GET', '/api/denials')).json();
  expect(denials).toMatchObject({ items: [{ operation: 'box/get', entity: { id: books.id } }] });
});

test.each(['auto', 'legacy'] as const)(
  'a person who may do it is asked before something is destroyed, by a client of %s',
  async (mode) => {
    const { instance, owner, guest, lamps, books } = await open();
    await using _ = instance;
    const asked: string[] = [];
    const discard = async (person: typeof owner, box: string, ok: boolean) => {
      const client = new Client(
        { name: 'desktop', version: '1.0.0' },
        { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
      );
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { ok } };
      });
      const fetch = (url: string | URL, { method = 'GET', body, headers }: RequestInit = {}) =>
        person.http(method, new URL(url).pathname, body == null ? undefined : JSON.parse(String(body)), {
          ...Object.fromEntries(new Headers(headers)),
        });
      const transport = new StreamableHTTPClientTransport(new URL('http://localhost/api/mcp'), { fetch });
      await client.connect(transport);
      const { isError = false } = await client.callTool({ name: 'box_discard', arguments: { box } });
      await client.close();
      return isError;
    };
    const left = async () => (await owner.call('box/list', {})).items.map(({ id }) => id);
    expect(await discard(owner, lamps.id, false)).toBe(true);
    expect(await left()).toEqual([lamps.id, books.id]);
    expect(await discard(owner, lamps.id, true)).toBe(false);
    expect(asked).toEqual([1, 2].map(() => `Throw a box away (box_discard)?\n\nbox: ${lamps.id}`));
    expect(await discard(guest, books.id, true)).toBe(true);
    expect(asked).toHaveLength(2);
    expect(await left()).toEqual([books.id]);
  },
);

test('a history says what happened to a record, and who did it', async () => {
  const { instance, owner, guest, lamps } = await open();
  await using _ = instance;
  await owner.call('box/show', { box: lamps.id, to: await guest.principal() });
  const history = await owner.mcp().read(`freehold://box/${lamps.id}/history`);
  expect(history).toMatchObject({
    items: [{ type: 'box.packed', actor: { principal: await owner.principal() } }, { type: 'box.shown' }],
    nextCursor: null,
  });
});

/** Records that lie in records, and actors that are no people. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorId, EntityRef, PrincipalId } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  type OperationContext,
  operation,
  type Vertical,
} from '../src/index.ts';
import { guest, openShop, owner, shop as shopVertical } from './shop.ts';

const ref = z.strictObject({ type: z.string(), id: z.string() });
const steward = 'service:steward' as ActorId;
const connection = 'connection:con_01arz3ndektsv4rrffq69g5fav' as ActorId;
const scenarios = new Map<string, (ctx: OperationContext) => unknown>();

/** A building has rooms, a room has shelves; a folder lies in a folder. */
const archive: Vertical = defineVertical({
  manifest: {
    ...shopVertical.manifest,
    slug: 'archive',
    entities: {
      box: { parent: 'shelf' },
      shelf: { parent: 'room' },
      room: { parent: 'building' },
      building: {},
      folder: { parent: 'folder' },
      bill: {},
    },
    services: { steward: { name: 'Steward', permissions: ['box.read', 'box.list'] } },
  },
  migrations: shopVertical.migrations,
  operations: defineOperations({
    'thing/read': operation({
      summary: 'Read a thing',
      input: ref,
      output: z.string(),
      permission: 'box.read',
      entity: (input) => input,
      readOnly: true,
      run: (_ctx, { id }) => id,
    }),
    'thing/put': operation({
      summary: 'Put a thing into another one',
      input: z.strictObject({ thing: ref, into: ref.nullable() }),
      output: z.null(),
      permission: 'box.pack',
      run: (ctx, { thing, into }) => {
        ctx.setParent(thing, into);
        return null;
      },
    }),
    'thing/share': operation({
      summary: 'Share a thing',
      input: z.strictObject({ thing: ref, with: z.string(), until: z.int().optional() }),
      output: z.null(),
      permission: 'box.list',
      run: (ctx, input) => {
        ctx.grant({
          subject: input.with as PrincipalId,
          permission: 'box.read',
          entity: input.thing,
          ...(input.until === undefined ? {} : { expiresAtMs: input.until }),
        });
        return null;
      },
    }),
    'thing/list': operation({
      summary: 'What one may read',
      input: z.strictObject({ type: z.string() }),
      output: z.union([z.literal('all'), z.array(z.string())]),
      permission: 'box.list',
      readOnly: true,
      run: (ctx, { type }) => {
        const reach = ctx.reach('box.read', type);
        return reach === 'all' ? reach : [...reach].sort();
      },
    }),
    'test/run': operation({
      summary: 'Do what the test says',
      input: z.strictObject({ what: z.string() }),
      output: z.unknown(),
      permission: 'box.list',
      run: (ctx, { what }) => scenarios.get(what)?.(ctx),
    }),
  }),
});

const thing = (type: string, id: string): EntityRef => ({ type, id });
const openArchive = async () => {
  const shop = await openShop({ vertical: archive });
  const run = (principal: ActorId, operationName: string, input: unknown) =>
    shop.scope.invoke({ principal, operation: operationName, input });
  const put = (what: EntityRef, into: EntityRef | null) => run(owner, 'thing/put', { thing: what, into });
  const canRead = async (who: ActorId, what: EntityRef) =>
    run(who, 'thing/read', what).then(
      () => true,
      (error) => {
        expect(error.code).toBe('permission_denied');
        return false;
      },
    );
  return { ...shop, run, put, canRead, [Symbol.asyncDispose]: () => shop[Symbol.asyncDispose]() };
};

test('a grant on a record covers what lies in it, and nothing beside or above', async () => {
  await using archived = await openArchive();
  const { put, run, canRead } = archived;
  const [fixture, room, shelf, box] = [
    thing('building', 'h'),
    thing('room', 'r'),
    thing('shelf', 's'),
    thing('box', 'b'),
  ];
  await put(room, fixture);
  await put(shelf, room);
  await put(box, shelf);
  await put(thing('room', 'other'), fixture);
  await run(owner, 'thing/share', { thing: room, with: guest });
  expect(await canRead(guest, room)).toBe(true);
  expect(await canRead(guest, shelf)).toBe(true);
  expect(await canRead(guest, box)).toBe(true);
  expect(await canRead(guest, fixture)).toBe(false);
  expect(await canRead(guest, thing('room', 'other'))).toBe(false);
  expect((await run(guest, 'thing/list', { type: 'box' })).output).toEqual(['b']);
  expect((await run(guest, 'thing/list', { type: 'building' })).output).toEqual([]);
  expect(await archived.scope.explain({ principal: guest, permission: 'box.read', entity: box })).toEqual([
    { by: 'grant', entity: room, expiresAtMs: null },
  ]);
  // Moved away, it is out of reach; taken out, too.
  await put(shelf, thing('room', 'other'));
  expect(await canRead(guest, box)).toBe(false);
  await put(shelf, room);
  expect(await canRead(guest, box)).toBe(true);
  await put(box, null);
  expect(await canRead(guest, box)).toBe(false);
});

test('a grant on a parent ends with its expiry, below it as well', async () => {
  await using archived = await openArchive();
  const { put, run, canRead, clock } = archived;
  await put(thing('box', 'b'), thing('shelf', 's'));
  await run(owner, 'thing/share', { thing: thing('shelf', 's'), with: guest, until: clock.ms + 10 });
  expect(await canRead(guest, thing('box', 'b'))).toBe(true);
  clock.ms += 10;
  expect(await canRead(guest, thing('box', 'b'))).toBe(false);
});

test('a permission through a parent is given on for no longer than its giver holds it', async () => {
  await using archived = await openArchive();
  const { put, run, clock } = archived;
  await put(thing('box', 'b'), thing('shelf', 's'));
  await run(owner, 'thing/share', { thing: thing('shelf', 's'), with: guest, until: clock.ms + 10 });
  const anonymous = 'prn_01arz3ndektsv4rrffq69g5fa9';
  await expect(
    run(guest, 'thing/share', { thing: thing('box', 'b'), with: anonymous }),
  ).rejects.toMatchObject({ code: 'permission_denied', reason: 'grant_outlives_holder' });
  await run(guest, 'thing/share', { thing: thing('box', 'b'), with: anonymous, until: clock.ms + 10 });
});

test('records lie in the type that the manifest says, never in themselves, and at most four deep', async () => {
  await using archived = await openArchive();
  const { put } = archived;
  await expect(put(thing('box', 'b'), thing('building', 'h'))).rejects.toMatchObject({ code: 'internal' });
  const folders = Array.from({ length: 7 }, (_, i) => thing('folder', `f${i}`));
  for (let i = 1; i < 5; i++) await put(folders[i] as EntityRef, folders[i - 1] as EntityRef);
  const tooDeep = { code: 'conflict', reason: 'parents_too_deep' };
  await expect(put(folders[5] as EntityRef, folders[4] as EntityRef)).rejects.toMatchObject(tooDeep);
  // From above as well: what is put somewhere brings its own depth along.
  await expect(put(folders[0] as EntityRef, folders[6] as EntityRef)).rejects.toMatchObject(tooDeep);
  const cycle = { code: 'conflict', reason: 'parents_cycle' };
  await expect(put(folders[0] as EntityRef, folders[3] as EntityRef)).rejects.toMatchObject(cycle);
  await expect(put(folders[0] as EntityRef, folders[0] as EntityRef)).rejects.toMatchObject(cycle);
});

test('who reaches a record is exactly who holds a grant on it or on something it lies in', async () => {
  await using archived = await openArchive();
  const { put, run, canRead } = archived;
  const nodes = 8;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(nodes - 1), fc.nat(nodes - 1)), { maxLength: 12 }),
      fc.uniqueArray(fc.nat(nodes - 1), { maxLength: 3 }),
      fc.uuid(),
      async (edges, shared, run_) => {
        const folder = (i: number) => thing('folder', `${run_}-${i}`);
        const parents = new Map<number, number>();
        for (const [child, parent] of edges)
          await put(folder(child), folder(parent)).then(
            () => parents.set(child, parent),
            (error) => expect(error.code).toBe('conflict'),
          );
        for (const each of shared) await run(owner, 'thing/share', { thing: folder(each), with: guest });
        const reachable = (node: number): boolean => {
          const seen = [node];
          for (let at = parents.get(node); at !== undefined; at = parents.get(at)) seen.push(at);
          expect(seen.length).toBeLessThanOrEqual(5);
          return seen.some((each) => shared.includes(each));
        };
        const expected = Array.from({ length: nodes }, (_, i) => i).filter(reachable);
        for (let i = 0; i < nodes; i++) expect(await canRead(guest, folder(i))).toBe(expected.includes(i));
        const { output } = await run(guest, 'thing/list', { type: 'folder' });
        const mine = (output as string[]).filter((id) => id.startsWith(run_));
        expect(mine).toEqual(expected.map((i) => folder(i).id).sort());
      },
    ),
    { numRuns: 25 },
  );
});

test('a service may do what the manifest says, and a connection what it was granted', async () => {
  await using archived = await openArchive();
  const { run, scope, canRead } = archived;
  expect((await run(steward, 'thing/list', { type: 'box' })).output).toBe('all');
  await expect(run(steward, 'thing/put', { thing: thing('box', 'b'), into: null })).rejects.toMatchObject({
    code: 'permission_denied',
  });
  const entity = thing('box', 'b');
  expect(await scope.explain({ principal: steward, permission: 'box.read', entity })).toEqual([
    { by: 'service', service: 'steward' },
  ]);
  // spec D-02
  expect(await canRead(connection, entity)).toBe(false);
  await run(owner, 'thing/share', { thing: entity, with: connection });
  expect(await canRead(connection, entity)).toBe(true);
  expect(await canRead(connection, thing('box', 'c'))).toBe(false);
  expect((await scope.listDenials({ actor: connection, limit: 10 })).items).toHaveLength(2);
});

test('an undeclared service has no permissions', async () => {
  await using archived = await openArchive();
  await expect(
    archived.run('service:butler' as ActorId, 'thing/list', { type: 'box' }),
  ).rejects.toMatchObject({ code: 'permission_denied' });
});

test('a service that names an undeclared permission fails at start', () => {
  const services = { steward: { name: 'Steward', permissions: ['box.explode'] } };
  expect(() => defineVertical({ ...archive, manifest: { ...archive.manifest, services } })).toThrow(
    'box.explode',
  );
});

test('a record is not reached through a parent of a type that the manifest no longer gives it', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const box = { type: 'box', id: 'b' };
  const shelf = { type: 'shelf', id: 's' };
  {
    await using shop = await openShop({ vertical: archive, dataDirectory });
    await shop.run(owner, 'thing/put', { thing: box, into: shelf });
    await shop.run(owner, 'thing/share', { thing: shelf, with: guest });
    await shop.run(guest, 'thing/read', box);
  }
  const entities = { ...archive.manifest.entities, box: { parent: 'room' } };
  const moved = defineVertical({ ...archive, manifest: { ...archive.manifest, entities } });
  await using shop = await openShop({ vertical: moved, dataDirectory });
  await expect(shop.run(guest, 'thing/read', box)).rejects.toMatchObject({ code: 'permission_denied' });
  expect((await shop.run(guest, 'thing/list', { type: 'box' })).output).toEqual([]);
});

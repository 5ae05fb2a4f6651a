/** Calls through a program: the person and the grant must both allow them, and the record says which program it was. */
import type { ActorId, ProgramGrant } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { defineVertical } from '../src/index.ts';
import { guest, onScenario, openShop, owner, packer, scopeId, shop as shopVertical, tenant } from './shop.ts';

const NAMED = { id: 'grt_01j00000000000000000000000', name: 'Claude Desktop' };
const everything: ProgramGrant = { ...NAMED, access: 'all' };
const reading: ProgramGrant = { ...NAMED, access: 'read' };
const some = (...permissions: string[]): ProgramGrant => ({ ...NAMED, access: 'some', permissions });
const denied = { code: 'permission_denied', reason: 'program_not_allowed' };

type Shop = Awaited<ReturnType<typeof openShop>>;

async function open() {
  const shop = await openShop();
  const through = (program: ProgramGrant, operation: string, input: object, principal: ActorId = owner) =>
    shop.host.operations(scopeId, { principal, program }, tenant).invoke({ operation, input });
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  return { shop, through, box };
}

const denialsOf = async (shop: Shop) => (await shop.scope.listDenials({ limit: 5 })).items;

test('a program that may do all acts as its person, and history and invocation name it', async () => {
  const { shop, through, box } = await open();
  await using _ = shop;
  const { invocation } = await through(everything, 'box/ship', { box });
  const program = { grant: NAMED.id, name: NAMED.name };
  const { items } = await shop.scope.history({ entity: { type: 'box', id: box }, limit: 5 });
  expect(items.map(({ type, actor, program: by }) => [type, actor, by])).toEqual([
    ['box.packed', owner, undefined],
    ['box.shipped', owner, program],
  ]);
  const recorded = await shop.scope.invocation({ invocation: invocation as never });
  expect(recorded.invocation).toMatchObject({ principal: owner, program });
  // Effects within the call are the program’s, too.
  const [shipped] = recorded.items;
  const { items: effects } = await shop.scope.effects({ event: shipped?.id as never });
  expect(effects).toMatchObject([{ type: 'bill.written', program }]);
});

test('it may never do more than its person may do now', async () => {
  const { shop, through, box } = await open();
  await using _ = shop;
  const lacks = { code: 'permission_denied', reason: 'box_read' };
  await expect(through(everything, 'box/read', { box }, guest)).rejects.toMatchObject(lacks);
  await expect(through(some('box.read'), 'box/read', { box }, guest)).rejects.toMatchObject(lacks);
  await shop.run(owner, 'box/share', { box, with: guest });
  await through(some('box.read'), 'box/read', { box }, guest);
  await shop.run(owner, 'box/unshare', { box, with: guest });
  await expect(through(some('box.read'), 'box/read', { box }, guest)).rejects.toMatchObject(lacks);
});

test('a role that is taken away counts at the next call', async () => {
  const { shop, through } = await open();
  await using _ = shop;
  await through(everything, 'box/pack', { label: 'y' }, packer);
  const [{ role } = { role: '' }] = (await shop.scope.assignments({})).filter(
    ({ principal }) => principal === packer,
  );
  await shop.scope.revokeRole({ principal: packer, role, by: 'platform' });
  await expect(through(everything, 'box/pack', { label: 'z' }, packer)).rejects.toMatchObject({
    reason: 'box_pack',
  });
});

test('a program that may only read changes nothing; the refusal names it, and so does the denial', async () => {
  const { shop, through, box } = await open();
  await using _ = shop;
  await through(reading, 'box/read', { box });
  const refused = await through(reading, 'box/ship', { box }).catch((error: unknown) => error);
  expect(refused).toMatchObject(denied);
  expect(String(refused)).toContain('Claude Desktop may not do this for you, because it may only read');
  expect(await denialsOf(shop)).toMatchObject([
    {
      actor: owner,
      permission: 'box.ship',
      operation: 'box/ship',
      program: { grant: NAMED.id, name: NAMED.name },
    },
  ]);
  const { items } = await shop.scope.history({ entity: { type: 'box', id: box }, limit: 5 });
  expect(items).toHaveLength(1);
});

test('a program with some permissions has these alone: at the door, inside, nested, and in what it can reach', async () => {
  const { shop, through, box } = await open();
  await using _ = shop;
  await expect(through(some('box.list'), 'box/read', { box })).rejects.toMatchObject(denied);
  expect((await through(some('box.list'), 'box/list', {})).output).toEqual({ reach: [] });
  expect((await through(some('box.list', 'box.read'), 'box/list', {})).output).toEqual({ reach: 'all' });
  // Shipping writes a bill, too.
  await expect(through(some('box.ship'), 'box/ship', { box })).rejects.toMatchObject(denied);
  await through(some('box.ship', 'bill.write'), 'box/ship', { box });
  const entity = { type: 'box', id: box };
  const asks = onScenario('asks', (ctx) => [ctx.can('box.read', entity), ctx.can('box.list')]);
  expect((await through(some('box.list'), 'test/run', { what: asks })).output).toEqual([false, true]);
  const checks = onScenario('checks', (ctx) => ctx.check('box.read', entity));
  await expect(through(some('box.list'), 'test/run', { what: checks })).rejects.toMatchObject(denied);
  // It gives no permission away that it was not let in with.
  await expect(through(some('box.list'), 'box/share', { box, with: guest })).rejects.toMatchObject(denied);
});

test('checks outside of operations and holdings know the program', async () => {
  const { shop } = await open();
  await using _ = shop;
  const { scope } = shop;
  const program = some('box.list');
  await expect(scope.check({ principal: owner, permission: 'box.read', program })).rejects.toMatchObject(
    denied,
  );
  await scope.check({ principal: owner, permission: 'box.list', program });
  expect((await scope.holdings({ principal: owner, program })).permissions).toEqual(['box.list']);
});

test('a reader of history reads no more through a program than it was let in for', async () => {
  const readable = { ...shopVertical.manifest, entities: { box: { read: 'box.read' }, bill: {} } };
  await using shop = await openShop({ vertical: defineVertical({ ...shopVertical, manifest: readable }) });
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  const read = (program: ProgramGrant) =>
    shop.scope.history({ entity: { type: 'box', id: box }, limit: 5, reader: owner, program });
  expect((await read(reading)).items).toHaveLength(1);
  expect(await read(some('box.list'))).toMatchObject({ items: [], withheld: true });
});

test('a request cannot bring a program of its own, nor shed the one that it comes through', async () => {
  const { shop, box } = await open();
  await using _ = shop;
  const stub = shop.host.operations(scopeId, { principal: owner, program: reading }, tenant);
  const sent = { operation: 'box/ship', input: { box }, program: everything, principal: owner };
  await expect(stub.invoke(sent)).rejects.toMatchObject(denied);
  expect(await denialsOf(shop)).toHaveLength(1);
});

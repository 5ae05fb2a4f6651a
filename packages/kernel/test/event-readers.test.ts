/** Events as one reader may read them: by the permission on each entity, and saying that something was left out. */
import type { ActorId, EventId, InvocationId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { defineVertical } from '../src/index.ts';
import { guest, openShop, owner, scopeId, shop, tenant } from './shop.ts';

const withReads = (entities: Record<string, { read?: string }>) =>
  defineVertical({ ...shop, manifest: { ...shop.manifest, entities } });

/** A box that was shipped with a bill, and shared with the guest, who may not read bills. */
async function openShipped(entities: Record<string, { read?: string }>) {
  const opened = await openShop({ vertical: withReads(entities) });
  const invoke = async (operation: string, input: object) =>
    (await opened.scope.invoke({ principal: owner, operation, input })).output as Record<string, string>;
  const { box } = (await invoke('box/pack', { label: 'Glass' })) as { box: string };
  const { bill } = (await invoke('box/ship', { box })) as { bill: string };
  await invoke('box/share', { box, with: guest });
  const entity = { type: 'box', id: box };
  const billEntity = { type: 'bill', id: bill };
  const shipped = (await opened.scope.history({ entity, limit: 10 })).items.at(-1);
  const written = (await opened.scope.history({ entity: billEntity, limit: 10 })).items[0];
  return {
    ...opened,
    entity,
    billEntity,
    shipped: shipped?.id as EventId,
    written: written?.id as EventId,
    invocation: written?.invocation as InvocationId,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Returns the answers of every read for one reader: the types of the events, and whether some were left out. */
async function readAs(opened: Awaited<ReturnType<typeof openShipped>>, reader?: ActorId) {
  const { scope, entity, billEntity, shipped, written, invocation } = opened;
  const as = reader === undefined ? {} : { reader };
  const answers = {
    box: await scope.history({ entity, limit: 10, ...as }),
    bill: await scope.history({ entity: billEntity, limit: 10, ...as }),
    effects: await scope.effects({ event: shipped, ...as }),
    cause: await scope.cause({ event: written, ...as }),
    invocation: await scope.invocation({ invocation, ...as }),
  };
  return Object.fromEntries(
    Object.entries(answers).map(([name, { items, withheld }]) => [
      name,
      [...items.map(({ type }) => type), ...(withheld ? ['withheld'] : [])].join(' '),
    ]),
  );
}

const WHOLE = {
  box: 'box.packed box.shipped',
  bill: 'bill.written',
  effects: 'bill.written',
  cause: 'bill.written box.shipped',
  invocation: 'bill.written',
};

test('a reader gets the events of entities that they may read, by a role or one record, and is told of others', async () => {
  await using opened = await openShipped({ box: { read: 'box.read' }, bill: { read: 'bill.write' } });
  expect(await readAs(opened, owner)).toEqual(WHOLE);
  expect(await readAs(opened, guest)).toEqual({
    box: 'box.packed box.shipped',
    bill: 'withheld',
    effects: 'withheld',
    cause: 'box.shipped withheld',
    invocation: 'withheld',
  });
  await opened.scope.invoke({
    principal: owner,
    operation: 'box/unshare',
    input: { box: opened.entity.id, with: guest },
  });
  expect(await readAs(opened, guest)).toMatchObject({ box: 'withheld', cause: 'withheld' });
});

test('an entity without a declared reading is read by no member, and by the platform whole', async () => {
  await using opened = await openShipped({ box: { read: 'box.read' }, bill: {} });
  expect(await readAs(opened, owner)).toMatchObject({
    box: WHOLE.box,
    bill: 'withheld',
    effects: 'withheld',
  });
  expect(await readAs(opened)).toEqual(WHOLE);
});

test('spec C-10: the reads of staff have no reader, and are complete', async () => {
  await using opened = await openShipped({ box: {}, bill: {} });
  const { host, shipped, written, entity } = opened;
  const ref = { tenantId: tenant, scopeId: scopeId as never };
  const of = { entityType: entity.type, entityId: entity.id, limit: 10 };
  const history = await host.entityHistoryLocal({ ...ref, ...of });
  const effects = await host.eventEffectsLocal({ ...ref, event: shipped });
  const cause = await host.eventCauseLocal({ ...ref, event: written });
  for (const answer of [history, effects, cause]) expect(answer).not.toHaveProperty('withheld');
  expect([history, effects, cause].map(({ items }) => items.length)).toEqual([2, 1, 2]);
});

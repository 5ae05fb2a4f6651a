/** Things for rent: records, with a state of their own that repairs change. */
import {
  defineOperations,
  lineOfText,
  money,
  type OperationContext,
  operation,
  PlatformError,
  type RecordOf,
  records,
  type Subscription,
} from '@freehold/app';
import { z } from 'zod';
import { SHOP } from './shop.ts';

const fields = z.object({
  name: lineOfText(120),
  dailyCents: money('EUR').meta({ title: 'A day' }),
  depositCents: money('EUR').meta({ title: 'Deposit' }),
  state: z.enum(['for_rent', 'in_repair']).default('for_rent'),
});

export const items = records('item', {
  fields,
  search: ['name'],
  filter: ['state'],
  sort: ['createdAt', 'name'],
  permissions: { read: 'item.read', write: 'item.write' },
});
export type Item = RecordOf<(typeof fields)['shape']>;

const ofItem = z.strictObject({ item: items.id });
const itemEntity = (id: string) => ({ type: 'item', id });

export const repairOperations = defineOperations({
  'item/repair': operation({
    summary: 'Send to repair',
    description: 'It is not for rent until it is back.',
    input: ofItem,
    output: z.object({}),
    permission: 'item.repair',
    entity: ({ item }) => itemEntity(item),
    http: { method: 'POST', path: '/api/items/:item/repair' },
    offered: ({ state }) => state === 'for_rent',
    // A second damage finds it there already.
    run: (ctx, { item }) => move(ctx, item, ['for_rent', 'in_repair'], 'in_repair', 'item.sent_to_repair'),
  }),

  'item/repaired': operation({
    summary: 'Take back from repair',
    input: ofItem,
    output: z.object({}),
    permission: 'item.repair',
    entity: ({ item }) => itemEntity(item),
    http: { method: 'POST', path: '/api/items/:item/repaired' },
    offered: ({ state }) => state === 'in_repair',
    run: (ctx, { item }) => move(ctx, item, ['in_repair'], 'for_rent', 'item.repaired'),
  }),
});

/** A thing that came back damaged goes to repair by itself: the return is the cause, the repair its effect. */
export const damageSubscription: Subscription = {
  on: ['booking.damaged'],
  as: SHOP,
  operation: 'item/repair',
  input: ({ payload }) => ({ item: z.object({ item: items.id }).parse(payload).item }),
};

function move(
  ctx: OperationContext,
  id: string,
  from: readonly Item['state'][],
  to: Item['state'],
  type: string,
): Record<string, never> {
  const { name, state } = items.load(ctx, id);
  if (!from.includes(state))
    throw new PlatformError('invalid_transition', `${name} is ${state.replaceAll('_', ' ')}.`, {
      reason: `item_is_${state}`,
    });
  ctx.sql.run('UPDATE items SET state = ?, updated_at = ? WHERE id = ?', to, ctx.now, id);
  ctx.emit({ type, entity: itemEntity(id) });
  return {};
}

/** Things for rent. */
import {
  cutPage,
  decodeCursor,
  defineOperations,
  idSchema,
  lineOfText,
  type OperationContext,
  operation,
  PlatformError,
  pageOf,
  pageQuery,
  type SqlDatabase,
  type Subscription,
} from '@freehold/app';
import { z } from 'zod';
import { SHOP } from './manifest.ts';

export const itemId = idSchema('itm');
export const cents = z.int().min(0).max(10_000_000);

const item = z
  .object({
    id: itemId,
    name: z.string(),
    dailyCents: z.int().describe('For each day that is begun'),
    depositCents: z.int(),
    state: z.enum(['for_rent', 'in_repair', 'retired']),
  })
  .meta({ id: 'Item' });
export type Item = z.infer<typeof item>;

export const itemEntity = (id: string) => ({ type: 'item', id });

export const itemOperations = defineOperations({
  'item/list': operation({
    summary: 'List what is for rent',
    input: z.strictObject(pageQuery),
    output: pageOf(item),
    permission: 'item.read',
    http: { method: 'GET', path: '/api/items' },
    run: ({ sql }, { limit, cursor }) => {
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      const rows = sql.all<Item>(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`, after, limit + 1);
      return cutPage(
        rows,
        limit,
        ({ id }) => id,
        (row) => row,
      );
    },
  }),

  'item/get': operation({
    summary: 'Show a thing for rent',
    input: z.strictObject({ item: itemId }),
    output: item,
    permission: 'item.read',
    entity: (input) => itemEntity(input.item),
    http: { method: 'GET', path: '/api/items/:item' },
    run: ({ sql }, input) => loadItem(sql, input.item),
  }),

  'item/create': operation({
    summary: 'Add a thing for rent',
    input: z.strictObject({ name: lineOfText(120), dailyCents: cents, depositCents: cents }),
    output: item,
    permission: 'item.write',
    http: { method: 'POST', path: '/api/items' },
    created: ({ id }) => itemEntity(id),
    run: (ctx, { name, dailyCents, depositCents }) => {
      const id = ctx.newId('itm');
      ctx.sql.run(
        `INSERT INTO items (id, name, daily_cents, deposit_cents, state) VALUES (?, ?, ?, ?, 'for_rent')`,
        id,
        name,
        dailyCents,
        depositCents,
      );
      ctx.emit({ type: 'item.created', entity: itemEntity(id), payload: { name, dailyCents } });
      return loadItem(ctx.sql, id);
    },
  }),

  'item/repair': operation({
    summary: 'Send a thing to repair: it is not for rent until it is back',
    input: z.strictObject({ item: itemId }),
    output: item,
    permission: 'item.repair',
    entity: (input) => itemEntity(input.item),
    http: { method: 'POST', path: '/api/items/:item/repair' },
    run: (ctx, input) => move(ctx, input.item, ['for_rent', 'in_repair'], 'in_repair', 'item.sent_to_repair'),
  }),

  'item/repaired': operation({
    summary: 'Take a thing back from repair',
    input: z.strictObject({ item: itemId }),
    output: item,
    permission: 'item.repair',
    entity: (input) => itemEntity(input.item),
    http: { method: 'POST', path: '/api/items/:item/repaired' },
    run: (ctx, input) => move(ctx, input.item, ['in_repair'], 'for_rent', 'item.repaired'),
  }),

  'item/retire': operation({
    summary: 'Retire a thing for good',
    input: z.strictObject({ item: itemId }),
    output: item,
    permission: 'item.write',
    entity: (input) => itemEntity(input.item),
    http: { method: 'POST', path: '/api/items/:item/retire' },
    mcp: { destructive: true },
    run: (ctx, input) => move(ctx, input.item, ['for_rent', 'in_repair'], 'retired', 'item.retired'),
  }),
});

/** A thing that came back damaged goes to repair by itself: the return is the cause, the repair its effect. */
export const damageSubscription: Subscription = {
  on: ['booking.damaged'],
  as: SHOP,
  operation: 'item/repair',
  input: ({ payload }) => ({ item: z.object({ item: itemId }).parse(payload).item }),
};

const SELECT = `SELECT id, name, daily_cents AS dailyCents, deposit_cents AS depositCents, state FROM items`;

/** @throws PlatformError `not_found` */
export function loadItem(sql: SqlDatabase, id: string): Item {
  const row = sql.get<Item>(`${SELECT} WHERE id = ?`, id);
  if (row) return row;
  throw new PlatformError('not_found', 'There is no such thing for rent.', { reason: 'unknown_item' });
}

function move(
  { sql, emit }: Pick<OperationContext, 'sql' | 'emit'>,
  id: string,
  from: readonly Item['state'][],
  to: Item['state'],
  type: string,
): Item {
  const { name, state } = loadItem(sql, id);
  if (!from.includes(state))
    throw new PlatformError('invalid_transition', `${name} is ${state.replaceAll('_', ' ')}.`, {
      reason: `item_is_${state}`,
    });
  sql.run('UPDATE items SET state = ? WHERE id = ?', to, id);
  emit({ type, entity: itemEntity(id) });
  return loadItem(sql, id);
}

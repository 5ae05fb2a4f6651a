/** The first look in the morning: what is on today, and what waits. */
import { fromTimestamp, timestamp } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { ADDRESSES } from '../lib/addresses.ts';
import { orderSummary } from '../orders/schema.ts';
import { ORDER_STATES, type OrderState } from '../orders/states.ts';
import { countByState, countUnassigned, listOrders } from '../orders/store.ts';

/** More appointments than this in the span are counted by the list of orders, not shown here. */
const TODAY_MAX = 50;

const counts = z.object(
  Object.fromEntries(ORDER_STATES.map((state) => [state, z.int()])) as Record<OrderState, z.ZodInt>,
);

export const dashboardOperations = {
  'dashboard/summary': operation({
    summary: 'Count the work orders you may see, and list the appointments of a day',
    description: 'The day is the caller’s: only they know their time zone.',
    input: z.strictObject({ from: timestamp, to: timestamp }),
    output: z.object({
      counts,
      unassigned: z.int().describe('Open orders without an assignee'),
      today: z.array(orderSummary),
    }),
    permission: 'order.list',
    http: ADDRESSES['dashboard/summary'],
    run: (ctx, { from, to }) => {
      const reach = ctx.reach('order.read', 'order');
      const found = countByState(ctx.sql, reach);
      const { items } = listOrders(ctx.sql, {
        reach,
        between: { fromMs: fromTimestamp(from), toMs: fromTimestamp(to) },
        sort: 'due',
        limit: TODAY_MAX,
      });
      return {
        counts: Object.fromEntries(
          ORDER_STATES.map((state) => [state, found.find((each) => each.state === state)?.count ?? 0]),
        ) as Record<OrderState, number>,
        unassigned: countUnassigned(ctx.sql, reach),
        today: items.filter(({ state }) => state !== 'cancelled'),
      };
    },
  }),
};

/**
 * Reminders: what waits to be done. They are raised and settled by what happens to orders (a subscription) and by the
 * time that passes (a schedule); people only look, and dismiss what they do not want to see.
 */
import { pageOf, pageQuery } from '@freehold/contracts';
import { type OperationContext, operation, type Schedule, type Subscription } from '@freehold/kernel';
import { z } from 'zod';
import { ADDRESSES } from '../lib/addresses.ts';
import { OFFICE } from '../lib/manifest.ts';
import { orderId } from '../orders/schema.ts';
import { loadOrder, type OrderRecord } from '../orders/store.ts';
import { REMINDER_PREFIX, type ReminderKind, reminderId, reminderOutput } from './schema.ts';
import {
  findWaiting,
  insertReminder,
  listOverdue,
  listWaiting,
  requireWaiting,
  settleReminder,
} from './store.ts';

/** More in one morning are found the next morning: a business that has so many has other worries. */
const OVERDUE_BATCH = 500;

const reminderEntity = (id: string) => ({ type: 'reminder', id });

export const reminderOperations = {
  'reminder/list': operation({
    summary: 'List what waits to be done, longest first',
    input: z.strictObject(pageQuery),
    output: pageOf(reminderOutput),
    permission: 'reminder.read',
    http: ADDRESSES['reminder/list'],
    run: (ctx, input) => listWaiting(ctx.sql, input),
  }),

  'reminder/dismiss': operation({
    summary: 'Dismiss a reminder',
    description: 'It comes back when there is a new reason for it.',
    input: z.strictObject({ reminder: reminderId }),
    output: z.object({ id: reminderId }),
    permission: 'reminder.settle',
    entity: (input) => reminderEntity(input.reminder),
    http: ADDRESSES['reminder/dismiss'],
    run: (ctx, { reminder }) => {
      requireWaiting(ctx.sql, reminder);
      settleReminder(ctx.sql, reminder, ctx.now);
      ctx.emit({ type: 'reminder.dismissed', entity: reminderEntity(reminder) });
      return { id: reminder };
    },
  }),

  'reminder/follow': operation({
    summary: 'Raise and settle the reminders of a work order, as it stands now',
    input: z.strictObject({ order: orderId }),
    output: z.null(),
    permission: 'reminder.raise',
    mcp: false,
    run: (ctx, { order }) => {
      const record = loadOrder(ctx.sql, order);
      set(ctx, order, 'to_invoice', record.state === 'done');
      // Only time makes an order overdue; what happens to it can only put that right.
      if (!isOverdue(record, ctx.now)) set(ctx, order, 'overdue', false);
      return null;
    },
  }),

  'reminder/find-overdue': operation({
    summary: 'Raise reminders of work orders whose appointment is over although the work is not done',
    input: z.strictObject({}),
    output: z.object({ raised: z.int() }),
    permission: 'reminder.raise',
    mcp: false,
    run: (ctx) => {
      const overdue = listOverdue(ctx.sql, ctx.now, OVERDUE_BATCH);
      for (const order of overdue) set(ctx, order, 'overdue', true);
      return { raised: overdue.length };
    },
  }),
};

/** Told of what can raise or settle one. It looks at the order itself, so that the order of events does not matter. */
export const reminderSubscription: Subscription = {
  on: ['order.completed', 'order.invoiced', 'order.cancelled', 'order.rescheduled'],
  operation: 'reminder/follow',
  input: ({ entity }) => ({ order: entity?.id }),
  as: OFFICE,
};

/** Before the first people come to work, in Europe at least: a schedule knows no tenant's time zone. */
export const overdueSchedule: Schedule = {
  cron: '0 5 * * *',
  operation: 'reminder/find-overdue',
  as: OFFICE,
};

function isOverdue({ state, scheduledTo }: OrderRecord, nowMs: number): boolean {
  return (state === 'scheduled' || state === 'in_progress') && scheduledTo !== null && scheduledTo < nowMs;
}

/** Makes it so that a reminder waits, or that none does. */
function set(ctx: OperationContext, order: string, kind: ReminderKind, waits: boolean): void {
  const waiting = findWaiting(ctx.sql, order, kind);
  if (waits === (waiting !== undefined)) return;
  const id = waiting ?? ctx.newId(REMINDER_PREFIX);
  if (waits) insertReminder(ctx.sql, { id, kind, order }, ctx.now);
  else settleReminder(ctx.sql, id, ctx.now);
  ctx.emit({
    type: waits ? 'reminder.raised' : 'reminder.settled',
    entity: reminderEntity(id),
    payload: { order, kind },
  });
}

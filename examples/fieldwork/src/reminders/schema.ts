/** A reminder on the wire: an order that waits for a member. */
import { idSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { orderId } from '../orders/schema.ts';

export const REMINDER_PREFIX = 'rem';
export const reminderId = idSchema(REMINDER_PREFIX);

/** `overdue`: the appointment is over and the work is not done. `to_invoice`: the work is done and not invoiced. */
export const reminderKind = z.enum(['overdue', 'to_invoice']);
export type ReminderKind = z.infer<typeof reminderKind>;

export const reminderOutput = z.object({
  id: reminderId,
  kind: reminderKind,
  order: z.object({ id: orderId, number: z.int(), title: z.string() }),
  customer: z.object({ id: z.string(), name: z.string() }),
  raisedAt: timestamp,
});
export type Reminder = z.infer<typeof reminderOutput>;

/** A work order on the wire. */
import { actorId, idSchema, principalId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { customerId } from '../customers/schema.ts';
import { line, optionalNote } from '../lib/text.ts';
import { siteId } from '../sites/schema.ts';
import { ORDER_STATES, ORDER_VERBS } from './states.ts';

export const ORDER_PREFIX = 'ord';
export const NOTE_PREFIX = 'not';
export const orderId = idSchema(ORDER_PREFIX);

export const orderState = z.enum(ORDER_STATES);
export const priority = z.enum(['normal', 'urgent']);

export const orderFields = {
  title: line(200).describe('What is to be done, in a line'),
  description: optionalNote(5_000),
  priority,
};

/** An order as a list shows it. */
export const orderSummary = z.object({
  id: orderId,
  number: z.int().describe('What people call it: counted up from 1001 in each scope'),
  title: z.string(),
  priority,
  state: orderState,
  customer: z.object({ id: customerId, name: z.string() }),
  site: z.object({ id: siteId, label: z.string(), city: z.string() }).nullable(),
  scheduledFrom: timestamp.nullable(),
  scheduledTo: timestamp.nullable(),
  assignees: z.array(principalId),
  updatedAt: timestamp,
});
export type OrderSummary = z.infer<typeof orderSummary>;

/** All of an order, with what the caller may do to it now. */
export const orderOutput = z.object({
  id: orderId,
  number: z.int(),
  title: z.string(),
  description: z.string().nullable(),
  priority,
  state: orderState,
  customer: z.object({
    id: customerId,
    name: z.string(),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    erased: z.boolean().describe('Whether everything about the customer was erased'),
  }),
  site: z
    .object({
      id: siteId,
      label: z.string(),
      street: z.string(),
      postcode: z.string().nullable(),
      city: z.string(),
      access: z.string().nullable(),
    })
    .nullable(),
  scheduledFrom: timestamp.nullable(),
  scheduledTo: timestamp.nullable(),
  assignees: z.array(principalId),
  work: z
    .object({ minutes: z.int(), materialsCents: z.int() })
    .nullable()
    .describe('What was reported at completion'),
  invoice: z
    .object({
      id: z.string(),
      number: z.int().nullable(),
      state: z.enum(['draft', 'issued']),
      totalCents: z.int(),
      currency: z.string(),
    })
    .nullable()
    .describe('Null while there is none, and for those who may not see invoices'),
  allowed: z.array(z.enum(ORDER_VERBS)).describe('What this caller may do in this state'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Order = z.infer<typeof orderOutput>;

export const noteOutput = z.object({
  id: z.string(),
  author: actorId,
  text: z.string(),
  at: timestamp,
});

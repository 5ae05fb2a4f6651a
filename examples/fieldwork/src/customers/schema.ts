/** A customer on the wire. */
import { idSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { LANGUAGE_TAGS } from '../lib/languages.ts';
import { line, optionalLine, optionalNote } from '../lib/text.ts';

export const CUSTOMER_PREFIX = 'cus';
export const customerId = idSchema(CUSTOMER_PREFIX);

export const customerFields = {
  name: line(200).describe('A person or a company'),
  phone: optionalLine(50),
  email: z
    .union([z.email('must be an e-mail address'), z.literal('')])
    .nullable()
    .transform((text) => (text === '' ? null : text)),
  language: z
    .union([z.enum(LANGUAGE_TAGS), z.literal('')])
    .nullable()
    .transform((tag) => (tag === '' ? null : tag))
    .describe('What they are written to in'),
  remarks: optionalNote(2_000),
};

export const customerOutput = z.object({
  id: customerId,
  name: z.string(),
  phone: z.string().nullable(),
  email: z.string().nullable(),
  language: z
    .enum(LANGUAGE_TAGS)
    .nullable()
    .describe('What they are written to in; null when it is not known'),
  remarks: z.string().nullable(),
  sites: z.int().describe('How many places are known'),
  openOrders: z.int().describe('How many orders are neither invoiced nor cancelled'),
  erasedAt: timestamp
    .nullable()
    .describe('When everything about this customer was erased; null for all others'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Customer = z.infer<typeof customerOutput>;

/** A site on the wire: a place where work is done for a customer. */
import { idSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { customerId } from '../customers/schema.ts';
import { line, optionalLine, optionalNote } from '../lib/text.ts';

export const SITE_PREFIX = 'sit';
export const siteId = idSchema(SITE_PREFIX);

export const siteFields = {
  label: line(100).describe('What people call the place: "Home", "Warehouse 2"'),
  street: line(200),
  postcode: optionalLine(20),
  city: line(100),
  access: optionalNote(2_000).describe('How to get in: keys, codes, opening hours'),
};

export const siteOutput = z.object({
  id: siteId,
  customer: customerId,
  label: z.string(),
  street: z.string(),
  postcode: z.string().nullable(),
  city: z.string(),
  access: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Site = z.infer<typeof siteOutput>;

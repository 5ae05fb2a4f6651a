/** The erasure of a person from one scope (spec 4.3.8; design: kernel, "Erasure"). */
import { timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const erasureReceipt = z
  .object({
    subject: z.string(),
    redacted: z.literal(true).describe('What the scope said about the subject is taken out of it'),
    keyDestroyedAt: timestamp.describe('Since when nothing that was sealed for the subject can be opened'),
    keyDigest: z
      .string()
      .nullable()
      .describe('SHA-256 of the key that is no more; null where there never was one'),
    receiptId: z.string().describe('The same for every repeat; the admin log names it'),
  })
  .meta({ id: 'ErasureReceipt' });

export type ErasureReceipt = z.infer<typeof erasureReceipt>;

/** The erasure of a person from one scope (spec 4.3.8; design: kernel, "Erasure"). */
import { scopeId, shredRequest, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

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

export const subjectsShred = adminOperation({
  name: 'subjects.shred',
  summary: 'Erase a person from a scope',
  description:
    'Destroys the key under which everything about the person is sealed, in the scope and in every copy of it, and takes the payloads out. There is no way back, and no restore brings it back. The receipt proves it; repeating the call answers the same receipt. A person who was never mentioned can be erased too: nothing will be kept about them.',
  tag: 'Erasure',
  method: 'POST',
  path: '/tenants/:tenant/scopes/:scope/subjects/:subject/shred',
  shortPath: '/scopes/:scope/subjects/:subject/shred',
  input: {
    params: z.strictObject({
      tenant: tenantId,
      scope: scopeId,
      subject: shredRequest.shape.subject.describe('The opaque id that the events about the person name'),
    }),
  },
  output: erasureReceipt,
  success: 200,
  builder: 'none',
  // It cannot be taken back.
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

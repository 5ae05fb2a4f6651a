/** The erasure of a person from one scope (spec 4.3.8; design: kernel, "Erasure"). */
import { scopeId, shredRequest, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRunQuery, planCount } from './dry-run.ts';
import { scopeStatus } from './records.ts';

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

export const shredPlan = z
  .object({
    dryRun: z.literal(true),
    scope: scopeId,
    status: scopeStatus.describe('Of the scope: people are erased from archived ones too'),
    receipt: erasureReceipt
      .nullable()
      .describe('Of the erasure that was done already: the call would answer it again, and do nothing else'),
    key: z
      .enum(['destroyed', 'unknown'])
      .describe('unknown: the vault says whether there is one only once it is destroyed'),
    events: planCount
      .nullable()
      .describe(
        'How many events about the person would lose their payload; null where the vertical cannot be asked',
      ),
    backups: planCount.describe(
      'Copies of the scope in which nothing about the person can be opened afterwards',
    ),
    snapshots: planCount.describe('The same for copies that are with the vertical'),
  })
  .meta({ id: 'ShredPlan' });

export const subjectsShred = adminOperation({
  name: 'subjects.shred',
  summary: 'Erase a person from a scope',
  description:
    'Destroys the key under which everything about the person is sealed, in the scope and in every copy of it, and takes the payloads out. There is no way back, and no restore brings it back. The receipt proves it; repeating the call answers the same receipt. A person who was never mentioned can be erased too: nothing will be kept about them. With dryRun, answers how much is said about the person and in how many copies; counting that is a read that the access log names.',
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
    query: dryRunQuery,
  },
  output: erasureReceipt,
  plan: shredPlan,
  success: 200,
  builder: 'none',
  // It cannot be taken back.
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'unsupported', 'runtime_fault', 'unavailable'],
});

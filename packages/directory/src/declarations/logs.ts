/** The admin log and the access log (spec 6.2; design: control-plane, "Audit"). */
import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { accessLogEntry, adminLogEntry, adminLogVerification } from './records.ts';

const tag = 'Logs';
const word = z.string().min(1).max(128);
const filters = {
  tenant: tenantId.optional().describe('Only rows about this tenant'),
  scope: scopeId.optional().describe('Only rows about this scope'),
  actor: word.optional().describe("Only rows of the actor with this id; a token's id is its actor's"),
};

export const adminLogList = adminOperation({
  name: 'admin-log.list',
  summary: 'Read the admin log, newest first',
  tag,
  method: 'GET',
  path: '/admin-log',
  input: {
    query: z.strictObject({
      ...filters,
      action: word.optional().describe('Only calls of this operation'),
      outcome: z
        .enum(['done', 'intent', 'failed', 'superseded', 'unsettled'])
        .optional()
        .describe('unsettled: an intent that is running, or of which nobody knows how it ended'),
      ...pageQuery,
    }),
  },
  output: pageOf(adminLogEntry),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const adminLogVerify = adminOperation({
  name: 'admin-log.verify',
  summary: 'Recompute the chain of the admin log',
  description:
    'Names the first row that does not fit. Without a head that is kept outside, the best answer is unanchored.',
  tag,
  method: 'GET',
  path: '/admin-log/verify',
  input: {},
  output: adminLogVerification,
  success: 200,
  builder: 'none',
  audit: 'none',
  problems: ['unavailable'],
});

export const accessLogList = adminOperation({
  name: 'access-log.list',
  summary: 'Read the access log, newest first',
  description: 'Reading it is itself logged.',
  tag,
  method: 'GET',
  path: '/access-log',
  input: {
    query: z.strictObject({
      ...filters,
      operation: word.optional().describe('Only calls of this operation'),
      ...pageQuery,
    }),
  },
  output: pageOf(accessLogEntry),
  success: 200,
  builder: 'none',
  audit: 'access',
});

/** The logs' own operations. Verification spans many reads and is driven from outside: see `host-admin-verify.ts`. */

import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { tag } from '../declarations/logs.ts';
import { accessLogEntry, adminLogEntry } from '../declarations/records.ts';
import { read } from '../lib/handlers.ts';
import { listAccessLog } from './access-log.ts';
import { listAdminLog } from './admin-log.ts';

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

export const readAdminLog = /* @__PURE__ */ read(adminLogList, ({ db }, { query }) => ({
  value: listAdminLog(db, query),
}));

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

export const readAccessLog = /* @__PURE__ */ read(accessLogList, ({ db }, { query }) => ({
  value: listAccessLog(db, query),
}));

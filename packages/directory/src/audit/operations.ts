/** Reading the admin log and the access log. Verification spans many reads and is driven from outside: `verify.ts`. */
import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { accessLogEntry, adminLogEntry } from '../declarations/records.ts';
import { defineFeature } from '../lib/feature.ts';
import { read } from '../lib/handlers.ts';
import { listAccessLog } from './access-log.ts';
import { adminLogSlice, listAdminLog, loadAdminLogRow, logHead } from './admin-log.ts';
import { reconcileMethods, reconcileMigrations } from './open-intents.ts';

const word = z.string().min(1).max(128);

const filters = {
  tenant: tenantId.optional().describe('Only rows about this tenant'),
  scope: scopeId.optional().describe('Only rows about this scope'),
  actor: word.optional().describe("Only rows of the actor with this id; a token's id is its actor's"),
};

export const adminLogList = adminOperation({
  name: 'admin-log.list',
  summary: 'Read the admin log, newest first',
  tag: 'Logs',
  method: 'GET',
  path: '/admin-log',
  input: {
    query: z.strictObject({
      ...filters,
      action: word.optional().describe('Only calls of this operation'),
      outcome: z
        .enum(['done', 'intent', 'failed', 'superseded', 'unsettled'])
        .optional()
        .describe('unsettled: an intent that is running, or whose outcome is not known'),
      ...pageQuery,
    }),
  },
  output: pageOf(adminLogEntry),
});

const readAdminLog = /* @__PURE__ */ read(adminLogList, ({ db }, { query }) => ({
  value: listAdminLog(db, query),
}));

export const accessLogList = adminOperation({
  name: 'access-log.list',
  summary: 'Read the access log, newest first',
  description: 'Reading it is itself logged.',
  tag: 'Logs',
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
  audit: 'access',
});

const readAccessLog = /* @__PURE__ */ read(accessLogList, ({ db }, { query }) => ({
  value: listAccessLog(db, query),
}));

export const auditFeature = /* @__PURE__ */ defineFeature({
  operations: [readAdminLog, readAccessLog],
  migrations: [reconcileMigrations],
  methods: (context) => ({
    ...reconcileMethods(context),
    logHead: () => logHead(context.db),
    logHashAt: (sequence: number): string | null => loadAdminLogRow(context.db, sequence)?.hash ?? null,
    logSlice: (range: { readonly from: number; readonly limit: number }) => adminLogSlice(context.db, range),
  }),
  queries: ['unsettledIntents', 'logHead', 'logHashAt', 'logSlice'],
});

/** What the directory's unit has of its logs, beside writing them. */
import { defineFeature } from '../lib/feature.ts';
import { adminLogSlice, loadAdminLogRow, logHead } from './admin-log.ts';
import { readAccessLog, readAdminLog } from './operations.ts';
import { reconcileMethods, reconcileMigrations } from './reconcile.ts';

export const auditFeature = defineFeature({
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

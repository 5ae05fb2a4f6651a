/** The logs' own operations. Verification spans many reads and is driven from outside: see `host-admin-verify.ts`. */
import { accessLogList, adminLogList } from '../declarations/logs.ts';
import { read } from '../lib/handlers.ts';
import { listAccessLog } from './access-log.ts';
import { listAdminLog } from './admin-log.ts';

export const readAdminLog = read(adminLogList, ({ db }, { query }) => ({ value: listAdminLog(db, query) }));

export const readAccessLog = read(accessLogList, ({ db }, { query }) => ({
  value: listAccessLog(db, query),
}));

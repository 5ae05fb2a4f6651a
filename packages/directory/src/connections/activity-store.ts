/** What happened to a connection, in SQL. It tells an operator's story; the evidence is the admin log. */
import { cutPage, type Page, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { ConnectionActivityEntry, ConnectionReason } from '../declarations/connection-records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

/** Entries kept of one connection: three weeks of hourly refreshes. */
const KEPT = 500;

interface ActivityRow {
  readonly sequence: number;
  readonly at: number;
  readonly kind: ConnectionActivityEntry['kind'];
  readonly reason: ConnectionReason | null;
  readonly actor: string;
}

export interface NewActivity {
  readonly connection: string;
  readonly atMs: number;
  readonly kind: ConnectionActivityEntry['kind'];
  readonly reason?: ConnectionReason | null;
  readonly by: string;
}

export function appendActivity(db: SqlDatabase, entry: NewActivity): void {
  db.run(
    'INSERT INTO connection_activity (connection, at, kind, reason, actor) VALUES (?, ?, ?, ?, ?)',
    ...[entry.connection, entry.atMs, entry.kind, entry.reason ?? null, entry.by],
  );
  db.run(
    `DELETE FROM connection_activity WHERE connection = ?1 AND sequence <=
       (SELECT sequence FROM connection_activity WHERE connection = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)`,
    entry.connection,
    KEPT,
  );
}

export interface ActivityFilter extends PageRequest {
  readonly connection: string;
}

export function activityPage(filter: ActivityFilter): Statement {
  return pageStatement(
    {
      select: 'SELECT sequence, at, kind, reason, actor FROM connection_activity',
      where: { connection: filter.connection },
      key: 'sequence',
      numeric: true,
      order: 'DESC',
    },
    filter,
  );
}

export function listActivity(db: SqlDatabase, filter: ActivityFilter): Page<ConnectionActivityEntry> {
  const { sql, params } = activityPage(filter);
  return cutPage(
    db.all<ActivityRow>(sql, ...params),
    filter.limit,
    (row) => String(row.sequence),
    ({ at, kind, reason, actor }) => ({ at: toTimestamp(at), kind, reason, by: actor }),
  );
}

/** The SQL of reminders, typed in and out. A reminder that waits is unique for its order and kind. */
import { cutPage, decodeCursor, type Page, PlatformError } from '@freehold/contracts';
import { defineTable, hidden, type RowOf, type SqlDatabase, text, time } from '@freehold/store';
import type { Reminder, ReminderKind } from './schema.ts';

const reminders = defineTable('reminders', ['id'], {
  id: text(),
  kind: text<ReminderKind>(),
  orderId: hidden(text()),
  raisedAt: time(),
});

type ReminderRow = RowOf<typeof reminders> & {
  readonly orderNumber: number;
  readonly orderTitle: string;
  readonly customerId: string;
  readonly customerName: string;
};

const SELECT = `SELECT ${reminders.columnsOf('r')}, o.number AS orderNumber, o.title AS orderTitle,
  c.id AS customerId, c.name AS customerName
  FROM reminders r JOIN orders o ON o.id = r.order_id JOIN customers c ON c.id = o.customer_id`;
const shown = reminders.recording<Omit<Reminder, 'order' | 'customer'>>();

/** Exported for the test that holds its plan. */
export const WAITING_SQL = `${SELECT} WHERE r.settled_at IS NULL AND r.id > ? ORDER BY r.id LIMIT ?`;
/** The same. */
export const OVERDUE_SQL = `SELECT o.id FROM orders o INDEXED BY orders_by_end
  WHERE o.state IN ('scheduled', 'in_progress') AND o.scheduled_to < ?
    AND NOT EXISTS (SELECT 1 FROM reminders r
      WHERE r.order_id = o.id AND r.kind = 'overdue' AND r.raised_at > o.scheduled_to)
  ORDER BY o.scheduled_to, o.id LIMIT ?`;

export function insertReminder(
  sql: SqlDatabase,
  { order, ...reminder }: { readonly id: string; readonly kind: ReminderKind; readonly order: string },
  nowMs: number,
): void {
  reminders.insert(sql, { ...reminder, orderId: order, raisedAt: nowMs });
}

export function settleReminder(sql: SqlDatabase, id: string, nowMs: number): void {
  sql.run('UPDATE reminders SET settled_at = ? WHERE id = ? AND settled_at IS NULL', nowMs, id);
}

/** The one of a kind that waits for an order, or undefined. */
export function findWaiting(sql: SqlDatabase, order: string, kind: ReminderKind): string | undefined {
  return sql.get<{ id: string }>(
    'SELECT id FROM reminders WHERE order_id = ? AND kind = ? AND settled_at IS NULL',
    order,
    kind,
  )?.id;
}

/** @throws PlatformError `not_found` for one that does not wait any more, as for one that never was. */
export function requireWaiting(sql: SqlDatabase, id: string): void {
  if (sql.get('SELECT 1 FROM reminders WHERE id = ? AND settled_at IS NULL', id)) return;
  throw new PlatformError('not_found', 'Nothing waits under this reminder any more.', {
    reason: 'unknown_reminder',
  });
}

/** Those that wait, oldest first. */
export function listWaiting(
  sql: SqlDatabase,
  filter: { readonly limit: number; readonly cursor?: string | undefined },
): Page<Reminder> {
  const rows = sql.all<ReminderRow>(
    WAITING_SQL,
    filter.cursor === undefined ? '' : decodeCursor(filter.cursor),
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => row.id, present);
}

/** Orders whose appointment is over without the work being done, unless a reminder was raised since; oldest first. */
export function listOverdue(sql: SqlDatabase, nowMs: number, limit: number): string[] {
  return sql.all<{ id: string }>(OVERDUE_SQL, nowMs, limit).map(({ id }) => id);
}

function present(row: ReminderRow): Reminder {
  return {
    ...shown(row),
    order: { id: row.orderId, number: row.orderNumber, title: row.orderTitle },
    customer: { id: row.customerId, name: row.customerName },
  };
}

/** The SQL of work orders, typed in and out. */
import {
  type ActorId,
  cutPage,
  decodeCursor,
  foreignCursor,
  type Page,
  PlatformError,
  type PrincipalId,
  toTimestamp,
} from '@freehold/contracts';
import {
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  type SqlValue,
  text,
  time,
  unread,
} from '@freehold/store';
import { fold, searchPatterns } from '../lib/text.ts';
import type { OrderSummary } from './schema.ts';
import type { OrderState } from './states.ts';

/** The first order of a business is not number 1: customers read numbers. */
const NUMBER_BEFORE_FIRST = 1_000;

/** An order as its row says it. Times are milliseconds. */
const orders = defineTable('orders', ['id'], {
  id: text(),
  number: integer(),
  customerId: text(),
  siteId: nullable(text()),
  title: text(),
  description: nullable(text()),
  urgent: integer(),
  state: text<OrderState>(),
  scheduledFrom: nullable(time()),
  scheduledTo: nullable(time()),
  minutes: nullable(integer()),
  materialsCents: nullable(integer()),
  search: unread(text()),
  createdAt: time(),
  updatedAt: time(),
});
export type OrderRecord = RowOf<typeof orders>;

const update = orders.updating(
  ...(['siteId', 'title', 'description', 'urgent', 'state', 'scheduledFrom', 'scheduledTo'] as const),
  ...(['minutes', 'materialsCents', 'search', 'updatedAt'] as const),
);

/** @throws PlatformError `not_found` */
export function loadOrder(sql: SqlDatabase, id: string): OrderRecord {
  const row = orders.get(sql, id);
  if (!row) throw new PlatformError('not_found', 'There is no such work order.', { reason: 'unknown_order' });
  return row;
}

/** Writes a new order and gives it the next number. */
export function insertOrder(
  sql: SqlDatabase,
  order: Pick<OrderRecord, 'id' | 'customerId' | 'siteId' | 'title' | 'description' | 'urgent'>,
  nowMs: number,
): void {
  sql.run(
    `INSERT INTO orders (id, number, customer_id, site_id, title, description, urgent, state, search, created_at, updated_at)
     VALUES (?, (SELECT coalesce(max(number), ${NUMBER_BEFORE_FIRST}) + 1 FROM orders), ?, ?, ?, ?, ?, 'draft', ?, ?, ?)`,
    order.id,
    order.customerId,
    order.siteId,
    order.title,
    order.description,
    order.urgent,
    fold(order.title, order.description),
    nowMs,
    nowMs,
  );
}

/** Writes what may change of an order. */
export function saveOrder(sql: SqlDatabase, order: OrderRecord, nowMs: number): void {
  update(sql, { ...order, search: fold(order.title, order.description), updatedAt: nowMs });
}

/** Says that something around the order changed: a note, an assignee. */
export function touchOrder(sql: SqlDatabase, id: string, nowMs: number): void {
  sql.run('UPDATE orders SET updated_at = ? WHERE id = ?', nowMs, id);
}

export function loadAssignees(sql: SqlDatabase, order: string): PrincipalId[] {
  return sql
    .all<{ principal: PrincipalId }>(
      'SELECT principal FROM order_assignees WHERE order_id = ? ORDER BY since, principal',
      order,
    )
    .map((row) => row.principal);
}

export function insertAssignee(sql: SqlDatabase, order: string, principal: string, nowMs: number): void {
  sql.run(
    'INSERT INTO order_assignees (order_id, principal, since) VALUES (?, ?, ?)',
    order,
    principal,
    nowMs,
  );
}

export function deleteAssignee(sql: SqlDatabase, order: string, principal: string): void {
  sql.run('DELETE FROM order_assignees WHERE order_id = ? AND principal = ?', order, principal);
}

/**
 * Whether a principal is on the team: every holder of a role in the scope is. Read from the spine, which is open to
 * read.
 */
export function isTeammate(sql: SqlDatabase, principal: string): boolean {
  return sql.get('SELECT 1 FROM _spine_assignments WHERE principal = ? LIMIT 1', principal) !== undefined;
}

export interface OrderFilter {
  /** The orders that the caller may see. */
  readonly reach: 'all' | readonly string[];
  readonly state?: OrderState | undefined;
  readonly customer?: string | undefined;
  /** A principal, or those without any. */
  readonly assignee?: string | 'nobody' | undefined;
  readonly q?: string | undefined;
  /** Orders that begin in this span of time, in milliseconds. */
  readonly between?: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** `newest` by creation, `due` by appointment with the undated ones last. */
  readonly sort: 'newest' | 'due';
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface SummaryRow {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly urgent: number;
  readonly state: OrderState;
  readonly customerId: string;
  readonly customerName: string;
  readonly siteId: string | null;
  readonly siteLabel: string;
  readonly siteCity: string;
  readonly scheduledFrom: number | null;
  readonly scheduledTo: number | null;
  readonly due: number;
  readonly assignees: string;
  readonly updatedAt: number;
}

const SUMMARY = `SELECT o.id, o.number, o.title, o.urgent, o.state, o.customer_id AS customerId, c.name AS customerName,
  o.site_id AS siteId, coalesce(s.label, '') AS siteLabel, coalesce(s.city, '') AS siteCity,
  o.scheduled_from AS scheduledFrom, o.scheduled_to AS scheduledTo, o.due, o.updated_at AS updatedAt,
  (SELECT json_group_array(principal) FROM (SELECT principal FROM order_assignees a WHERE a.order_id = o.id
     ORDER BY since, principal)) AS assignees
  FROM orders o JOIN customers c ON c.id = o.customer_id LEFT JOIN sites s ON s.id = o.site_id`;

/** The statement of a list: its text depends on which filters there are, and never on their values. */
export function orderListStatement(filter: OrderFilter): {
  readonly text: string;
  readonly params: SqlValue[];
} {
  const where: string[] = [];
  const params: SqlValue[] = [];
  const add = (condition: string, ...values: SqlValue[]): void => {
    where.push(condition);
    params.push(...values);
  };
  if (filter.reach !== 'all') add('o.id IN (SELECT value FROM json_each(?))', JSON.stringify(filter.reach));
  if (filter.state !== undefined) add('o.state = ?', filter.state);
  if (filter.customer !== undefined) add('o.customer_id = ?', filter.customer);
  if (filter.assignee === 'nobody') {
    add('NOT EXISTS (SELECT 1 FROM order_assignees a WHERE a.order_id = o.id)');
  } else if (filter.assignee !== undefined) {
    add('o.id IN (SELECT order_id FROM order_assignees WHERE principal = ?)', filter.assignee);
  }
  if (filter.between !== undefined)
    add('o.due >= ? AND o.due < ?', filter.between.fromMs, filter.between.toMs);
  for (const pattern of searchPatterns(filter.q?.replaceAll('#', ''))) {
    add(
      `(o.search LIKE ? ESCAPE '\\' OR c.search LIKE ? ESCAPE '\\' OR s.search LIKE ? ESCAPE '\\' OR CAST(o.number AS TEXT) LIKE ? ESCAPE '\\')`,
      pattern,
      pattern,
      pattern,
      pattern,
    );
  }
  if (filter.cursor !== undefined) {
    if (filter.sort === 'newest') add('o.id < ?', decodeCursor(filter.cursor));
    else add('(o.due, o.id) > (?, ?)', ...parseDueKey(filter.cursor));
  }
  const condition = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
  const order = filter.sort === 'newest' ? 'o.id DESC' : 'o.due, o.id';
  return {
    // `+ 0`: see customers/store.ts.
    text: `${SUMMARY} ${condition} ORDER BY ${order} LIMIT ? + 0`,
    params: [...params, filter.limit + 1],
  };
}

export function listOrders(sql: SqlDatabase, filter: OrderFilter): Page<OrderSummary> {
  const { text, params } = orderListStatement(filter);
  const key = (row: SummaryRow): string => (filter.sort === 'newest' ? row.id : `${row.due}:${row.id}`);
  return cutPage(sql.all<SummaryRow>(text, ...params), filter.limit, key, presentSummary);
}

/** The number of orders per state, of those that the caller may see. States without orders are left out. */
export function countByState(
  sql: SqlDatabase,
  reach: 'all' | readonly string[],
): { readonly state: OrderState; readonly count: number }[] {
  return reach === 'all'
    ? sql.all('SELECT state, count(*) AS count FROM orders GROUP BY state')
    : sql.all(
        'SELECT state, count(*) AS count FROM orders WHERE id IN (SELECT value FROM json_each(?)) GROUP BY state',
        JSON.stringify(reach),
      );
}

/** The number of orders without an assignee. */
export function countUnassigned(sql: SqlDatabase, reach: 'all' | readonly string[]): number {
  // A member who sees only assigned orders sees no unassigned one.
  if (reach !== 'all') return 0;
  const row = sql.get<{ count: number }>(
    `SELECT count(*) AS count FROM orders o WHERE o.state IN ('draft', 'scheduled', 'in_progress')
       AND NOT EXISTS (SELECT 1 FROM order_assignees a WHERE a.order_id = o.id)`,
  );
  return row?.count ?? 0;
}

export interface NoteRow {
  readonly id: string;
  /** A person, or what acted in a person's place. */
  readonly author: ActorId;
  readonly text: string;
  readonly at: number;
}

export function insertNote(sql: SqlDatabase, order: string, note: NoteRow): void {
  sql.run(
    'INSERT INTO order_notes (id, order_id, author, text, at) VALUES (?, ?, ?, ?, ?)',
    note.id,
    order,
    note.author,
    note.text,
    note.at,
  );
}

/** Notes of an order, newest first. */
export function listNotes(
  sql: SqlDatabase,
  filter: { readonly order: string; readonly limit: number; readonly cursor?: string | undefined },
): NoteRow[] {
  const before = filter.cursor === undefined ? '~' : decodeCursor(filter.cursor);
  return sql.all<NoteRow>(
    // `+ 0`: see customers/store.ts.
    'SELECT id, author, text, at FROM order_notes WHERE order_id = ? AND id < ? ORDER BY id DESC LIMIT ? + 0',
    filter.order,
    before,
    filter.limit + 1,
  );
}

function parseDueKey(cursor: string): [due: number, id: string] {
  const match = /^(\d{1,16}):(\w+)$/.exec(decodeCursor(cursor));
  if (!match) {
    throw foreignCursor();
  }
  return [Number(match[1]), match[2] as string];
}

function presentSummary(row: SummaryRow): OrderSummary {
  return {
    id: row.id,
    number: row.number,
    title: row.title,
    priority: row.urgent === 1 ? 'urgent' : 'normal',
    state: row.state,
    customer: { id: row.customerId, name: row.customerName },
    site: row.siteId === null ? null : { id: row.siteId, label: row.siteLabel, city: row.siteCity },
    scheduledFrom: row.scheduledFrom === null ? null : toTimestamp(row.scheduledFrom),
    scheduledTo: row.scheduledTo === null ? null : toTimestamp(row.scheduledTo),
    assignees: JSON.parse(row.assignees) as PrincipalId[],
    updatedAt: toTimestamp(row.updatedAt),
  };
}

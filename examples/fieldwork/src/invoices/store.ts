/** The SQL of invoices, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError } from '@freehold/contracts';
import {
  defineTable,
  hidden,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  type SqlValue,
  text,
  time,
} from '@freehold/store';
import type { InvoiceAmounts } from './amounts.ts';
import type { Invoice } from './schema.ts';

const invoices = defineTable('invoices', ['id'], {
  id: text(),
  number: nullable(integer()),
  state: text<'draft' | 'issued'>(),
  orderId: hidden(text()),
  currency: text(),
  callOutCents: integer(),
  labourCents: integer(),
  materialsCents: integer(),
  totalCents: integer(),
  createdAt: time(),
  issuedAt: nullable(time()),
});

type InvoiceRow = RowOf<typeof invoices> & {
  readonly orderNumber: number;
  readonly orderTitle: string;
  readonly customerId: string;
  readonly customerName: string;
};

const SELECT = `SELECT ${invoices.columnsOf('i')}, o.number AS orderNumber, o.title AS orderTitle,
  c.id AS customerId, c.name AS customerName
  FROM invoices i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id`;
const shown = invoices.recording<Omit<Invoice, 'order' | 'customer'>>();

export function insertInvoice(
  sql: SqlDatabase,
  {
    order,
    ...invoice
  }: InvoiceAmounts & { readonly id: string; readonly order: string; readonly currency: string },
  nowMs: number,
): void {
  const draft = { number: null, state: 'draft', createdAt: nowMs, issuedAt: null } as const;
  invoices.insert(sql, { ...invoice, ...draft, orderId: order });
}

/** Gives the draft its number, the next one, and closes it. */
export function markIssued(sql: SqlDatabase, id: string, nowMs: number): void {
  sql.run(
    `UPDATE invoices SET state = 'issued', issued_at = ?, number = (SELECT coalesce(max(number), 0) + 1 FROM invoices)
     WHERE id = ? AND state = 'draft'`,
    nowMs,
    id,
  );
}

/** @throws PlatformError `not_found` */
export function loadInvoice(sql: SqlDatabase, id: string): Invoice {
  const row = sql.get<InvoiceRow>(`${SELECT} WHERE i.id = ?`, id);
  if (!row) throw new PlatformError('not_found', 'There is no such invoice.', { reason: 'unknown_invoice' });
  return present(row);
}

export function findInvoiceOfOrder(sql: SqlDatabase, order: string): Invoice | undefined {
  const row = sql.get<InvoiceRow>(`${SELECT} WHERE i.order_id = ?`, order);
  return row && present(row);
}

/** Invoices, newest first. */
export function listInvoices(
  sql: SqlDatabase,
  filter: {
    readonly state?: 'draft' | 'issued' | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  },
): Page<Invoice> {
  const params: SqlValue[] = [filter.cursor === undefined ? '~' : decodeCursor(filter.cursor)];
  if (filter.state !== undefined) params.push(filter.state);
  const rows = sql.all<InvoiceRow>(
    // `+ 0`: see customers/store.ts.
    `${SELECT} WHERE i.id < ? ${filter.state === undefined ? '' : 'AND i.state = ?'} ORDER BY i.id DESC LIMIT ? + 0`,
    ...params,
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => row.id, present);
}

function present(row: InvoiceRow): Invoice {
  return {
    ...shown(row),
    order: { id: row.orderId, number: row.orderNumber, title: row.orderTitle },
    customer: { id: row.customerId, name: row.customerName },
  };
}

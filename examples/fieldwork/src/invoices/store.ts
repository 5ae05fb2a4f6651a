/** The SQL of invoices, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import type { InvoiceAmounts } from './amounts.ts';
import type { Invoice } from './schema.ts';

interface InvoiceRow extends InvoiceAmounts {
  readonly id: string;
  readonly number: number | null;
  readonly state: 'draft' | 'issued';
  readonly orderId: string;
  readonly orderNumber: number;
  readonly orderTitle: string;
  readonly customerId: string;
  readonly customerName: string;
  readonly currency: string;
  readonly createdAt: number;
  readonly issuedAt: number | null;
}

const SELECT = `SELECT i.id, i.number, i.state, i.order_id AS orderId, o.number AS orderNumber, o.title AS orderTitle,
  c.id AS customerId, c.name AS customerName, i.currency, i.call_out_cents AS callOutCents, i.labour_cents AS labourCents,
  i.materials_cents AS materialsCents, i.total_cents AS totalCents, i.created_at AS createdAt, i.issued_at AS issuedAt
  FROM invoices i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id`;

export function insertInvoice(
  sql: SqlDatabase,
  invoice: InvoiceAmounts & { readonly id: string; readonly order: string; readonly currency: string },
  nowMs: number,
): void {
  sql.run(
    `INSERT INTO invoices (id, order_id, number, state, currency, call_out_cents, labour_cents, materials_cents, total_cents, created_at)
     VALUES (?, ?, NULL, 'draft', ?, ?, ?, ?, ?, ?)`,
    invoice.id,
    invoice.order,
    invoice.currency,
    invoice.callOutCents,
    invoice.labourCents,
    invoice.materialsCents,
    invoice.totalCents,
    nowMs,
  );
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
    `${SELECT} WHERE i.id < ? ${filter.state === undefined ? '' : 'AND i.state = ?'} ORDER BY i.id DESC LIMIT ?`,
    ...params,
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => row.id, present);
}

function present(row: InvoiceRow): Invoice {
  return {
    id: row.id,
    number: row.number,
    state: row.state,
    order: { id: row.orderId, number: row.orderNumber, title: row.orderTitle },
    customer: { id: row.customerId, name: row.customerName },
    currency: row.currency,
    callOutCents: row.callOutCents,
    labourCents: row.labourCents,
    materialsCents: row.materialsCents,
    totalCents: row.totalCents,
    createdAt: toTimestamp(row.createdAt),
    issuedAt: row.issuedAt === null ? null : toTimestamp(row.issuedAt),
  };
}

/**
 * A customer as a person: whatever is sealed, is sealed for one of them, and one of them can be erased.
 *
 * Rows keep names and numbers in clear, because they are searched and sorted; events and kept answers do not.
 */
import type { SubjectReader } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { removeRequestsOf } from '../requests/store.ts';

/** What stands where something about an erased customer stood. */
export const ERASED_NAME = 'Erased customer';
const ERASED_TITLE = 'Details erased';
const ERASED_TEXT = 'Erased';

/**
 * Binds what a call answers to a customer: the answer that is kept for a repeat is sealed for him, and is closed once
 * he is erased. The kernel seals it for everybody whose sealed data the call has touched; the mark is some.
 */
export function bindTo(ctx: OperationContext, customer: string): void {
  const row = ctx.sql.get<{ mark: string | null; erasedAt: number | null }>(
    'SELECT mark, erased_at AS erasedAt FROM customers WHERE id = ?',
    customer,
  );
  if (!row || row.erasedAt !== null) return;
  const place = markPlace(customer);
  if (row.mark !== null) ctx.unseal(customer, place, row.mark);
  else ctx.sql.run('UPDATE customers SET mark = ? WHERE id = ?', ctx.seal(customer, place, true), customer);
}

/** Seals the marks anew, in a copy of another instance that becomes this one. A mark whose customer is erased goes. */
export function resealMarks(
  sql: SqlDatabase,
  reseal: (subject: string, place: string, sealed: string) => string | null,
): void {
  for (const { id, mark } of sql.all<{ id: string; mark: string }>(
    'SELECT id, mark FROM customers WHERE mark IS NOT NULL',
  ))
    sql.run('UPDATE customers SET mark = ? WHERE id = ?', reseal(id, markPlace(id), mark), id);
}

function markPlace(customer: string): string {
  return `customers.mark/${customer}`;
}

/** Whose data an operation on a customer touches: nobody's for one who is not there, or was erased. */
export function subjectOfCustomer(read: SubjectReader, customer: string): string[] {
  return idsOf(read, 'SELECT id FROM customers WHERE id = ? AND erased_at IS NULL', customer);
}

/** Whose data an operation on an order touches: its customer's. */
export function subjectOfOrder(read: SubjectReader, order: string): string[] {
  return idsOf(
    read,
    `SELECT c.id FROM orders o JOIN customers c ON c.id = o.customer_id
     WHERE o.id = ? AND c.erased_at IS NULL`,
    order,
  );
}

/** Whose data an operation on a site touches: that of the customer whose place it is. */
export function subjectOfSite(read: SubjectReader, site: string): string[] {
  return idsOf(
    read,
    `SELECT c.id FROM sites s JOIN customers c ON c.id = s.customer_id
     WHERE s.id = ? AND c.erased_at IS NULL`,
    site,
  );
}

/** Whose data an operation on a request touches: that of the visitor, who becomes a customer under this id. */
export function subjectOfRequest(read: SubjectReader, request: string): string[] {
  return idsOf(read, 'SELECT customer_id AS id FROM requests WHERE id = ?', request);
}

function idsOf(read: SubjectReader, sql: string, id: string): string[] {
  return read.all<{ id: string }>(sql, id).map((row) => row.id);
}

/**
 * Takes everything out of the tables that says who a customer was: names, numbers, addresses, and what people wrote
 * about them. Numbers of orders, states, times and amounts stay: the books have to add up.
 */
export function eraseCustomer(sql: SqlDatabase, customer: string, nowMs: number): void {
  sql.run(
    `UPDATE customers SET name = ?, phone = NULL, email = NULL, language = NULL, remarks = NULL, search = '', mark = NULL,
       erased_at = coalesce(erased_at, ?) WHERE id = ?`,
    ERASED_NAME,
    nowMs,
    customer,
  );
  sql.run(
    `UPDATE sites SET label = ?, street = '', postcode = NULL, city = '', access = NULL, search = ''
     WHERE customer_id = ?`,
    ERASED_TEXT,
    customer,
  );
  removeRequestsOf(sql, customer);
  sql.run(
    'UPDATE order_notes SET text = ? WHERE order_id IN (SELECT id FROM orders WHERE customer_id = ?)',
    ERASED_TEXT,
    customer,
  );
  sql.run(
    `UPDATE orders SET title = ?, description = NULL, search = '' WHERE customer_id = ?`,
    ERASED_TITLE,
    customer,
  );
}

/** Erased customers whose history does not say so yet. */
export function listUnnotedErasures(sql: SqlDatabase, limit: number): string[] {
  return sql
    .all<{ id: string }>(
      'SELECT id FROM customers WHERE erased_at IS NOT NULL AND erasure_noted_at IS NULL ORDER BY id LIMIT ?',
      limit,
    )
    .map(({ id }) => id);
}

export function markErasureNoted(sql: SqlDatabase, customer: string, nowMs: number): void {
  sql.run('UPDATE customers SET erasure_noted_at = ? WHERE id = ?', nowMs, customer);
}

/** The files that are attached to a customer's orders. Read from the spine, which is open to read. */
export function listFilesOf(sql: SqlDatabase, customer: string, limit: number): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT a.id FROM orders o JOIN _spine_attachments a ON a.entity_type = 'order' AND a.entity_id = o.id
       WHERE o.customer_id = ? AND a.removed_at IS NULL ORDER BY a.id LIMIT ?`,
      customer,
      limit,
    )
    .map(({ id }) => id);
}

/**
 * A customer as a person: personal data is sealed for one customer, who can be erased.
 *
 * Rows store names and numbers in clear, because they are searched and sorted; events and stored answers do not.
 */
import type { SubjectReader } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';

/**
 * Binds the answer of a call to a customer: the stored answer is sealed for the customer, and does not open after the
 * erasure. The kernel seals it for every subject whose sealed data the call has touched; the mark is such data.
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

/**
 * Reseals the marks, in a copy of another instance that becomes this one. The mark of an erased customer is removed.
 */
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

/** The subject of an operation on a customer: none for an unknown or erased one. */
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

/** The subject of an operation on a site: the customer of the site. */
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

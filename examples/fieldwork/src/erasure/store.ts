/** The SQL of erasing a customer from all tables. */
import type { SqlDatabase } from '@freehold/store';
import { removeRequestsOf } from '../requests/store.ts';

/** The texts that replace those about an erased customer. */
export const ERASED_NAME = 'Erased customer';
const ERASED_TITLE = 'Details erased';
const ERASED_TEXT = 'Erased';

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

/** Erased customers without a note in their history. */
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

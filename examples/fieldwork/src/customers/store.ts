/** The SQL of customers, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { LanguageTag } from '../lib/languages.ts';
import { fold, searchPatterns } from '../lib/text.ts';
import type { Customer } from './schema.ts';

interface CustomerRow {
  readonly id: string;
  readonly name: string;
  readonly phone: string | null;
  readonly email: string | null;
  readonly language: LanguageTag | null;
  readonly remarks: string | null;
  readonly sites: number;
  readonly openOrders: number;
  readonly erasedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface CustomerRecord {
  readonly id: string;
  readonly name: string;
  readonly phone: string | null;
  readonly email: string | null;
  readonly language: LanguageTag | null;
  readonly remarks: string | null;
}

const SELECT = `SELECT c.id, c.name, c.phone, c.email, c.language, c.remarks, c.erased_at AS erasedAt, c.created_at AS createdAt, c.updated_at AS updatedAt,
  (SELECT count(*) FROM sites s WHERE s.customer_id = c.id) AS sites,
  (SELECT count(*) FROM orders o WHERE o.customer_id = c.id AND o.state NOT IN ('invoiced', 'cancelled')) AS openOrders
  FROM customers c`;

export function insertCustomer(sql: SqlDatabase, record: CustomerRecord, nowMs: number): void {
  sql.run(
    `INSERT INTO customers (id, name, phone, email, language, remarks, search, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    record.id,
    record.name,
    record.phone,
    record.email,
    record.language,
    record.remarks,
    searchable(record),
    nowMs,
    nowMs,
  );
}

export function saveCustomer(sql: SqlDatabase, record: CustomerRecord, nowMs: number): void {
  sql.run(
    'UPDATE customers SET name = ?, phone = ?, email = ?, language = ?, remarks = ?, search = ?, updated_at = ? WHERE id = ?',
    record.name,
    record.phone,
    record.email,
    record.language,
    record.remarks,
    searchable(record),
    nowMs,
    record.id,
  );
}

/** @throws PlatformError `not_found` */
export function loadCustomer(sql: SqlDatabase, id: string): Customer {
  const row = sql.get<CustomerRow>(`${SELECT} WHERE c.id = ?`, id);
  if (!row)
    throw new PlatformError('not_found', 'There is no such customer.', { reason: 'unknown_customer' });
  return present(row);
}

/**
 * A customer whose data may still be stored.
 * @throws PlatformError `not_found`; `immutable`, reason `customer_erased`.
 */
export function requireCustomer(sql: SqlDatabase, id: string): Customer {
  const customer = loadCustomer(sql, id);
  if (customer.erasedAt === null) return customer;
  throw new PlatformError('immutable', 'This customer was erased. Add them anew if they come back.', {
    reason: 'customer_erased',
  });
}

/** Customers by name, without those who were erased. */
export function listCustomers(
  sql: SqlDatabase,
  filter: { readonly q?: string | undefined; readonly limit: number; readonly cursor?: string | undefined },
): Page<Customer> {
  const where = ['c.erased_at IS NULL'];
  const params: (string | number)[] = [];
  if (filter.cursor !== undefined) {
    const [name, id] = parseKey(filter.cursor);
    where.push('(c.name COLLATE NOCASE, c.id) > (?, ?)');
    params.push(name, id);
  }
  for (const pattern of searchPatterns(filter.q)) {
    where.push(`c.search LIKE ? ESCAPE '\\'`);
    params.push(pattern);
  }
  const rows = sql.all<CustomerRow>(
    `${SELECT} WHERE ${where.join(' AND ')} ORDER BY c.name COLLATE NOCASE, c.id LIMIT ?`,
    ...params,
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => JSON.stringify([row.name, row.id]), present);
}

function parseKey(cursor: string): [name: string, id: string] {
  const key = decodeCursor(cursor);
  try {
    const parsed: unknown = JSON.parse(key);
    if (Array.isArray(parsed) && typeof parsed[0] === 'string' && typeof parsed[1] === 'string') {
      return [parsed[0], parsed[1]];
    }
  } catch {
    // Not ours: refused below like every other stranger.
  }
  throw new PlatformError('validation_failed', 'The cursor is not one that this list gave out.', {
    errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
  });
}

function searchable(record: CustomerRecord): string {
  return fold(record.name, record.phone, record.email);
}

function present(row: CustomerRow): Customer {
  return {
    ...row,
    erasedAt: row.erasedAt === null ? null : toTimestamp(row.erasedAt),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  };
}

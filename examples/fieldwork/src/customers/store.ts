/** The SQL of customers, typed in and out. */
import { cutPage, decodeCursor, foreignCursor, type Page, PlatformError } from '@freehold/contracts';
import {
  computed,
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { LanguageTag } from '../lib/languages.ts';
import { fold, searchPatterns } from '../lib/text.ts';
import type { Customer } from './schema.ts';

const customers = defineTable('customers', ['id'], {
  id: text(),
  name: text(),
  phone: nullable(text()),
  email: nullable(text()),
  language: nullable(text<LanguageTag>()),
  remarks: nullable(text()),
  search: unread(text()),
  sites: computed('(SELECT count(*) FROM sites s WHERE s.customer_id = customers.id)', integer()),
  openOrders: computed(
    `(SELECT count(*) FROM orders o WHERE o.customer_id = customers.id AND o.state NOT IN ('invoiced', 'cancelled'))`,
    integer(),
  ),
  erasedAt: nullable(time()),
  createdAt: time(),
  updatedAt: time(),
});
export type CustomerRecord = Pick<
  RowOf<typeof customers>,
  'id' | 'name' | 'phone' | 'email' | 'language' | 'remarks'
>;

const update = customers.updating('name', 'phone', 'email', 'language', 'remarks', 'search', 'updatedAt');
const present = customers.recording<Customer>();

export function insertCustomer(sql: SqlDatabase, record: CustomerRecord, nowMs: number): void {
  const times = { erasedAt: null, createdAt: nowMs, updatedAt: nowMs };
  customers.insert(sql, { ...record, ...times, search: searchable(record) });
}

export function saveCustomer(sql: SqlDatabase, record: CustomerRecord, nowMs: number): void {
  update(sql, { ...record, search: searchable(record), updatedAt: nowMs });
}

/** @throws PlatformError `not_found` */
export function loadCustomer(sql: SqlDatabase, id: string): Customer {
  const row = customers.get(sql, id);
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
  const where = ['erased_at IS NULL'];
  const params: (string | number)[] = [];
  if (filter.cursor !== undefined) {
    const [name, id] = parseKey(filter.cursor);
    where.push('(name COLLATE NOCASE, id) > (?, ?)');
    params.push(name, id);
  }
  for (const pattern of searchPatterns(filter.q)) {
    where.push(`search LIKE ? ESCAPE '\\'`);
    params.push(pattern);
  }
  const rows = customers.all(
    sql,
    // SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`.
    `${customers.select} WHERE ${where.join(' AND ')} ORDER BY name COLLATE NOCASE, id LIMIT ? + 0`,
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
  throw foreignCursor();
}

function searchable(record: CustomerRecord): string {
  return fold(record.name, record.phone, record.email);
}

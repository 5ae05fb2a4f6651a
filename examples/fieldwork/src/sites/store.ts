/** The SQL of sites, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError } from '@freehold/contracts';
import { defineTable, nullable, type RowOf, type SqlDatabase, text, time, unread } from '@freehold/store';
import { fold, searchPatterns } from '../lib/text.ts';
import type { Site } from './schema.ts';

const sites = defineTable('sites', ['id'], {
  id: text(),
  customer: text('customer_id'),
  label: text(),
  street: text(),
  postcode: nullable(text()),
  city: text(),
  access: nullable(text()),
  search: unread(text()),
  createdAt: time(),
  updatedAt: time(),
});
export type SiteRecord = Omit<RowOf<typeof sites>, 'createdAt' | 'updatedAt'>;

const update = sites.updating('label', 'street', 'postcode', 'city', 'access', 'search', 'updatedAt');
const present = sites.recording<Site>();

export function insertSite(sql: SqlDatabase, record: SiteRecord, nowMs: number): void {
  sites.insert(sql, { ...record, search: searchable(record), createdAt: nowMs, updatedAt: nowMs });
}

export function saveSite(sql: SqlDatabase, record: SiteRecord, nowMs: number): void {
  update(sql, { ...record, search: searchable(record), updatedAt: nowMs });
}

/** @throws PlatformError `not_found` */
export function loadSite(sql: SqlDatabase, id: string): Site {
  const row = sites.get(sql, id);
  if (!row) throw new PlatformError('not_found', 'There is no such site.', { reason: 'unknown_site' });
  return present(row);
}

/** Sites in the order in which they were added. */
export function listSites(
  sql: SqlDatabase,
  filter: {
    readonly customer?: string | undefined;
    readonly q?: string | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  },
): Page<Site> {
  const where: string[] = [];
  const params: (string | number)[] = [];
  if (filter.customer !== undefined) {
    where.push('customer_id = ?');
    params.push(filter.customer);
  }
  if (filter.cursor !== undefined) {
    where.push('id > ?');
    params.push(decodeCursor(filter.cursor));
  }
  for (const pattern of searchPatterns(filter.q)) {
    where.push(`search LIKE ? ESCAPE '\\'`);
    params.push(pattern);
  }
  const rows = sites.all(
    sql,
    // `+ 0`: see customers/store.ts.
    `${sites.select} ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`} ORDER BY id LIMIT ? + 0`,
    ...params,
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => row.id, present);
}

function searchable(record: SiteRecord): string {
  return fold(record.label, record.street, record.postcode, record.city);
}

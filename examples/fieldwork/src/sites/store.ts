/** The SQL of sites, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { fold, searchPatterns } from '../lib/text.ts';
import type { Site } from './schema.ts';

export interface SiteRecord {
  readonly id: string;
  readonly customer: string;
  readonly label: string;
  readonly street: string;
  readonly postcode: string | null;
  readonly city: string;
  readonly access: string | null;
}

interface SiteRow extends SiteRecord {
  readonly createdAt: number;
  readonly updatedAt: number;
}

const SELECT = `SELECT id, customer_id AS customer, label, street, postcode, city, access,
  created_at AS createdAt, updated_at AS updatedAt FROM sites`;

export function insertSite(sql: SqlDatabase, record: SiteRecord, nowMs: number): void {
  sql.run(
    `INSERT INTO sites (id, customer_id, label, street, postcode, city, access, search, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    record.id,
    record.customer,
    record.label,
    record.street,
    record.postcode,
    record.city,
    record.access,
    searchable(record),
    nowMs,
    nowMs,
  );
}

export function saveSite(sql: SqlDatabase, record: SiteRecord, nowMs: number): void {
  sql.run(
    `UPDATE sites SET label = ?, street = ?, postcode = ?, city = ?, access = ?, search = ?, updated_at = ? WHERE id = ?`,
    record.label,
    record.street,
    record.postcode,
    record.city,
    record.access,
    searchable(record),
    nowMs,
    record.id,
  );
}

/** @throws PlatformError `not_found` */
export function loadSite(sql: SqlDatabase, id: string): Site {
  const row = sql.get<SiteRow>(`${SELECT} WHERE id = ?`, id);
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
  const rows = sql.all<SiteRow>(
    `${SELECT} ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`} ORDER BY id LIMIT ?`,
    ...params,
    filter.limit + 1,
  );
  return cutPage(rows, filter.limit, (row) => row.id, present);
}

function searchable(record: SiteRecord): string {
  return fold(record.label, record.street, record.postcode, record.city);
}

function present(row: SiteRow): Site {
  return { ...row, createdAt: toTimestamp(row.createdAt), updatedAt: toTimestamp(row.updatedAt) };
}

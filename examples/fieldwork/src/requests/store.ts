/** The SQL of appointment requests. A row is there while its request waits, and not a moment longer. */
import { cutPage, decodeCursor, type Page, PlatformError } from '@freehold/contracts';
import { defineTable, hidden, nullable, type RowOf, type SqlDatabase, text, time } from '@freehold/store';
import type { AppointmentRequest } from './schema.ts';

const requests = defineTable('requests', ['id'], {
  id: text(),
  /** The customer that the visitor becomes when the request is accepted. What is said about them is sealed for it. */
  customerId: hidden(text()),
  name: text(),
  phone: nullable(text()),
  email: nullable(text()),
  what: text(),
  when: nullable(text('wished')),
  receivedAt: time(),
});
export type RequestRecord = Omit<RowOf<typeof requests>, 'receivedAt'>;

const present = requests.recording<AppointmentRequest>();
export const removeRequest = requests.delete;
export const removeRequestsOf = requests.deleting('customerId');

/** Exported for the test that holds its plan. */
export const WAITING_REQUESTS_SQL = `${requests.select} WHERE id > ? ORDER BY id LIMIT ?`;

export function insertRequest(sql: SqlDatabase, record: RequestRecord, nowMs: number): void {
  requests.insert(sql, { ...record, receivedAt: nowMs });
}

/** @throws PlatformError `not_found` for one that does not wait any more, as for one that never was. */
export function loadRequest(sql: SqlDatabase, id: string): RequestRecord {
  const row = requests.get(sql, id);
  if (!row)
    throw new PlatformError('not_found', 'This request does not wait any more.', {
      reason: 'unknown_request',
    });
  return row;
}

export function countRequests(sql: SqlDatabase): number {
  return sql.get<{ n: number }>('SELECT count(*) AS n FROM requests')?.n ?? 0;
}

/** Those that wait, oldest first. */
export function listRequests(
  sql: SqlDatabase,
  filter: { readonly limit: number; readonly cursor?: string | undefined },
): Page<AppointmentRequest> {
  const after = filter.cursor === undefined ? '' : decodeCursor(filter.cursor);
  const rows = requests.all(sql, WAITING_REQUESTS_SQL, after, filter.limit + 1);
  return cutPage(rows, filter.limit, ({ id }) => id, present);
}

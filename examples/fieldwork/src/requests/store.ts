/** The SQL of appointment requests. A row is there while its request waits, and not a moment longer. */
import { cutPage, decodeCursor, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { AppointmentRequest } from './schema.ts';

export interface RequestRecord {
  readonly id: string;
  /** The customer that the visitor becomes when the request is accepted. Personal data is sealed for this id. */
  readonly customerId: string;
  readonly name: string;
  readonly phone: string | null;
  readonly email: string | null;
  readonly what: string;
  readonly when: string | null;
}

interface RequestRow extends RequestRecord {
  readonly receivedAt: number;
}

const SELECT = `SELECT id, customer_id AS customerId, name, phone, email, what, wished AS "when", received_at AS receivedAt
  FROM requests`;

/** Exported for the test that holds its plan. */
export const WAITING_REQUESTS_SQL = `${SELECT} WHERE id > ? ORDER BY id LIMIT ?`;

export function insertRequest(sql: SqlDatabase, record: RequestRecord, nowMs: number): void {
  sql.run(
    `INSERT INTO requests (id, customer_id, name, phone, email, what, wished, received_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    record.id,
    record.customerId,
    record.name,
    record.phone,
    record.email,
    record.what,
    record.when,
    nowMs,
  );
}

/** @throws PlatformError `not_found` for one that does not wait any more, as for one that never was. */
export function loadRequest(sql: SqlDatabase, id: string): RequestRecord {
  const row = sql.get<RequestRow>(`${SELECT} WHERE id = ?`, id);
  if (!row)
    throw new PlatformError('not_found', 'This request does not wait any more.', {
      reason: 'unknown_request',
    });
  return row;
}

export function removeRequest(sql: SqlDatabase, id: string): void {
  sql.run('DELETE FROM requests WHERE id = ?', id);
}

export function removeRequestsOf(sql: SqlDatabase, customer: string): void {
  sql.run('DELETE FROM requests WHERE customer_id = ?', customer);
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
  const rows = sql.all<RequestRow>(WAITING_REQUESTS_SQL, after, filter.limit + 1);
  return cutPage(rows, filter.limit, ({ id }) => id, present);
}

function present({ customerId: _customer, receivedAt, ...row }: RequestRow): AppointmentRequest {
  return { ...row, receivedAt: toTimestamp(receivedAt) };
}

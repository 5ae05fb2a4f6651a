/**
 * How a row of the admin log is hashed (design: control-plane, "Audit").
 *
 * A row's hash covers exactly what `GET /admin-log` shows of it, so that whoever kept an export can verify it
 * without this platform: SHA-256 over the domain tag, a line feed and the RFC 8785 form of the row without `hash`.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import type { AdminLogEntry } from '../declarations/records.ts';

const DOMAIN_TAG = 'freehold.admin-log.v1';

/** What the first row names as the hash before it. */
export const GENESIS_HASH = '0'.repeat(64);

/** The hash of a row, in hexadecimal. */
export function hashOfEntry(entry: Omit<AdminLogEntry, 'hash'>): string {
  return createHash('sha256')
    .update(`${DOMAIN_TAG}\n${canonicalJson(entry)}`)
    .digest('hex');
}

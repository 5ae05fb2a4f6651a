/** Times: integers inside (milliseconds since the epoch), RFC 3339 in UTC with milliseconds on the wire. */
import { z } from 'zod';

export const timestamp = z.iso.datetime({ precision: 3 }).describe('RFC 3339, UTC, milliseconds');

/** The wire form of a time, for example `2026-11-21T08:30:00.000Z`. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch of a wire time. */
export function fromTimestamp(text: string): number {
  return Date.parse(text);
}

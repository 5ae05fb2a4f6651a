/** Lists: every one takes `limit` and an opaque `cursor` and answers `{ items, nextCursor }`. */
import { z } from 'zod';
import { PlatformError } from './problems.ts';

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = 200;

/** An opaque cursor that can stand in an address. No list has a longer sort key. */
const CURSOR = z
  .string()
  .max(512)
  .regex(/^[!-~]*$/, 'is not one that this list gave out');

/** The two query fields of every list. */
export const pageQuery = {
  limit: z.int().min(1).max(LIMIT_MAX).default(LIMIT_DEFAULT).describe('How many items at most'),
  cursor: CURSOR.optional().describe('nextCursor of the page before'),
};

/** One page of a list; `nextCursor` is null on the last. */
export interface Page<T> {
  readonly items: T[];
  readonly nextCursor: string | null;
}

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() });
}

/** Encodes the sort key of the last item as an opaque cursor. A keyset survives inserts. */
export function encodeCursor(key: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(key)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** Returns the sort key in a cursor. @throws PlatformError `validation_failed` on a malformed one. */
export function decodeCursor(cursor: string): string {
  try {
    const bytes = Uint8Array.from(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new PlatformError('validation_failed', 'The cursor is not one that this list gave out.', {
      errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
      cause,
    });
  }
}

/**
 * Makes a page of rows that were read with one row more than requested.
 * @param key returns the sort key of a row, for the cursor.
 */
export function cutPage<Row, T>(
  rows: readonly Row[],
  limit: number,
  key: (row: Row) => string,
  item: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? encodeCursor(key(last)) : null;
  return { items: shown.map(item), nextCursor };
}

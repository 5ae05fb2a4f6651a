/** Lists: every one takes `limit` and an opaque `cursor` and answers `{ items, nextCursor }`. */
import { z } from 'zod';
import { PlatformError } from './problems.ts';

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = 200;

const FOREIGN = 'is not one that this list gave out';

/** The longest cursor. A sort key may have 690 bytes: a name of 200 characters in any script, and an id. */
export const CURSOR_LENGTH_MAX = 1_024;

/** An opaque cursor that can stand in an address. */
const CURSOR = z
  .string()
  .max(CURSOR_LENGTH_MAX)
  .regex(/^[!-~]*$/, FOREIGN);

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
    throw foreignCursor(cause);
  }
}

/** The refusal of a cursor that this list did not give out. */
export function foreignCursor(cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', `The cursor ${FOREIGN}.`, {
    errors: [{ path: 'cursor', message: FOREIGN }],
    cause,
  });
}

/** Between the name of a list and its cursor. No name and no encoded key has one. */
const OF = '~';

/** Returns a cursor with the name of its list, which must be visible ASCII without a tilde. Null stays null. */
export function nameCursor<C extends string | null>(list: string, cursor: C): C {
  return (cursor === null ? null : `${list}${OF}${cursor}`) as C;
}

/**
 * Returns a cursor without the name of its list.
 * @throws PlatformError `validation_failed` for the cursor of another list: its key would mean another place here.
 */
export function cursorOf(list: string, cursor: string): string {
  if (!cursor.startsWith(list + OF)) throw foreignCursor();
  return cursor.slice(list.length + 1);
}

/** Returns a query whose cursor has no name, for the list itself. @throws PlatformError as {@link cursorOf}. */
export function openCursor<Q>(list: string, query: Q): Q {
  const cursor = (query as { readonly cursor?: unknown } | undefined)?.cursor;
  return typeof cursor === 'string' ? { ...query, cursor: cursorOf(list, cursor) } : query;
}

/** Returns a page whose next cursor carries the name of the list. */
export function namePage<P>(list: string, page: P): P {
  const next = (page as { readonly nextCursor?: unknown } | undefined)?.nextCursor;
  return typeof next === 'string' ? { ...page, nextCursor: nameCursor(list, next) } : page;
}

/** Wraps the lists among the methods of a unit: each takes and gives out only cursors that carry its name. */
export function nameCursors<M extends object>(methods: M, lists: readonly (keyof M & string)[]): M {
  const named = lists.map((list) => {
    const read = methods[list] as (input: unknown) => unknown;
    return [list, (input: unknown) => namePage(list, read(openCursor(list, input)))];
  });
  return { ...methods, ...Object.fromEntries(named) };
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

/** The pages of a list of declared things: in the order of their declaration, after the last one that was shown. */
import {
  cursorOf,
  decodeCursor,
  encodeCursor,
  LIMIT_MAX,
  nameCursor,
  PlatformError,
} from '@freehold/contracts';
import { malformed } from './refusals.ts';

/** The number of tools, prompts or templates on one page, as of every list of the platform. */
export const MCP_PAGE_MAX = LIMIT_MAX;

export interface NamedPage<T> {
  readonly items: readonly T[];
  /** Absent on the last page (MCP 2026-07-28, "Pagination"). */
  readonly nextCursor?: string;
}

/** One list: its name, which its cursors carry, and the names of everything in it, in order. */
export interface NamedList {
  readonly list: string;
  readonly names: readonly string[];
}

/**
 * Returns the page after a cursor.
 * @param names also those that this caller is not shown: a cursor keeps its place when a right is taken away meanwhile.
 * @param shown what this caller is shown, in the same order.
 * @throws ProtocolError "Invalid params" for a cursor that this list did not give out, or whose place is gone.
 */
export function pageAfter<T extends { readonly name: string }>(
  { list, names }: NamedList,
  shown: readonly T[],
  cursor: string | undefined,
): NamedPage<T> {
  const places = new Map(names.map((name, place) => [name, place]));
  const after = cursor === undefined ? -1 : placeOf(list, places, cursor);
  const rest = shown.filter(({ name }) => (places.get(name) ?? -1) > after);
  const items = rest.slice(0, MCP_PAGE_MAX);
  const last = items.at(-1);
  return rest.length <= MCP_PAGE_MAX || last === undefined
    ? { items }
    : { items, nextCursor: nameCursor(list, encodeCursor(last.name)) };
}

function placeOf(list: string, places: ReadonlyMap<string, number>, cursor: string): number {
  const place = places.get(readCursor(() => decodeCursor(cursorOf(list, cursor))));
  if (place === undefined) throw malformed('The cursor names nothing that is here now: list again.');
  return place;
}

/** Reads a cursor. @throws ProtocolError as {@link cursorFault} says. */
export function readCursor<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw cursorFault(error);
  }
}

/** The failure of a list as the protocol has it: "Invalid params" in the place of `validation_failed`. */
export function cursorFault(thrown: unknown): unknown {
  return thrown instanceof PlatformError && thrown.code === 'validation_failed'
    ? malformed(thrown.message)
    : thrown;
}

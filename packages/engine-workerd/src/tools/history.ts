/**
 * Rewinds an object, where the runtime keeps a history of its objects (Cloudflare: "point-in-time recovery"). The
 * runtime restores an older state only when the object restarts, so the state cannot be judged beforehand. The object
 * is therefore closed from the start of the rewind until the older state is admitted. It cannot remember that itself,
 * because its storage goes back; a second object, its keeper, remembers it.
 */
import { decodeCursor, encodeCursor, foreignCursor, PlatformError } from '@freehold/contracts';
import type { Bookmark, BookmarkPage, SqlRow } from '@freehold/store';
import { durableDatabase } from '../lib/durable-database.ts';
import { type AdmitStep, takeSteps } from './admission.ts';
import type { ObjectToolParts } from './object-tools.ts';
import { migrateAll } from './schema.ts';

/** The history of one object. Bookmarks sort, as text, in the order of their commits. */
export interface PointInTime {
  current(): Promise<string>;
  /** Returns the bookmark of the last commit at or before a moment. Rejects outside of the window. */
  at(ms: number): Promise<string>;
  /** Goes back at the object's next start. Returns the bookmark that undoes it. */
  restoreOnNextStart(bookmark: string): Promise<string>;
}

/** Returns the runtime's history of an object's storage; 30 days of it on Cloudflare. */
export function runtimeHistory(storage: DurableObjectStorage): PointInTime {
  return {
    current: () => storage.getCurrentBookmark(),
    at: (ms) => storage.getBookmarkForTime(ms),
    restoreOnNextStart: (bookmark) => storage.onNextSessionRestoreBookmark(bookmark),
  };
}

/** The record of a running rewind, during which the object is closed. */
export interface Ticket {
  readonly bookmark: string;
  /** The bookmark that undoes the rewind; null until the runtime has returned it. */
  readonly undo: string | null;
  /** True once the rewind is being undone: then the object opens by itself. */
  readonly isUndoing: boolean;
}

/** Stores the ticket of an object. */
export interface Keeper {
  save(ticket: Ticket): Promise<void>;
  drop(): Promise<void>;
}

/** The length of the runtime's history. */
const WINDOW_MS = 30 * 86_400_000;
/** The runtime names the commit of any moment and lists none: the listed moments are this far apart. */
const STEP_MS = 3_600_000;

/** Lists moments that can be reached: the last of each hour, newest first. */
export async function listBookmarks(
  history: PointInTime,
  { atMs, limit, cursor }: { readonly atMs?: number; readonly limit: number; readonly cursor?: string },
  nowMs: number,
): Promise<BookmarkPage> {
  const current: Bookmark = { bookmark: await history.current(), atMs: nowMs };
  const beginMs = nowMs - WINDOW_MS;
  const found = (ms: number): Promise<Bookmark | null> =>
    history.at(ms).then(
      (bookmark) => ({ bookmark, atMs: ms }),
      () => null,
    );
  const startMs = cursor === undefined ? (atMs ?? nowMs) : Number(decodeCursor(cursor));
  if (!Number.isSafeInteger(startMs)) throw foreignCursor();
  const items: Bookmark[] = cursor === undefined && atMs === undefined ? [current] : [];
  let ms = startMs;
  let isEnd = false;
  while (items.length < limit && !isEnd) {
    const next = ms < beginMs ? null : await found(ms);
    isEnd = next === null;
    if (next && next.bookmark !== items.at(-1)?.bookmark) items.push(next);
    ms -= STEP_MS;
  }
  return {
    items,
    nextCursor: isEnd ? null : encodeCursor(String(ms)),
    current,
    earliest: (await found(beginMs)) ?? items.at(-1) ?? null,
  };
}

/** Starts a rewind at the object's next start. From now on the object is closed, even if this fails. */
export async function goBack(
  history: PointInTime,
  keeper: Keeper,
  target: { readonly bookmark: string } | { readonly atMs: number },
  nowMs: number,
): Promise<{ readonly reached: Bookmark & { readonly undo: string }; readonly ticket: Ticket }> {
  const atMs = 'atMs' in target ? target.atMs : nowMs;
  const bookmark = 'bookmark' in target ? target.bookmark : await history.at(atMs).catch(unknownBookmark);
  if (atMs > nowMs || bookmark > (await history.current())) throw unknownBookmark();
  const begun: Ticket = { bookmark, undo: null, isUndoing: false };
  await keeper.save(begun);
  try {
    const undo = await history.restoreOnNextStart(bookmark);
    const ticket = { ...begun, undo };
    await keeper.save(ticket);
    return { reached: { bookmark, atMs, undo }, ticket };
  } catch (error) {
    await keeper.drop();
    throw unknownBookmark(error);
  }
}

/** Starts the way back to the state before the rewind. */
export async function goForward(history: PointInTime, keeper: Keeper, ticket: Ticket): Promise<void> {
  if (ticket.undo === null)
    throw new PlatformError('conflict', 'The state before this rewind is unknown. Rewind it by a bookmark.', {
      reason: 'undo_unknown',
    });
  await history.restoreOnNextStart(ticket.undo);
  await keeper.save({ ...ticket, isUndoing: true });
}

/** Migrates an older state to the present version and asks the judge. Call it in a transaction. */
export function admitOlder(
  { storage, definition, key, now }: Pick<ObjectToolParts, 'storage' | 'definition' | 'key' | 'now'>,
  steps: readonly AdmitStep[],
): readonly SqlRow[] {
  migrateAll(storage, definition, now());
  const db = durableDatabase(storage, null);
  definition.admit?.(db, key);
  return takeSteps(db, steps);
}

function unknownBookmark(cause?: unknown): never {
  throw new PlatformError('not_found', 'There is no such moment in this history.', {
    reason: 'unknown_bookmark',
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Going back in time, where the runtime keeps a history of its objects (Cloudflare: "point-in-time recovery"). The
 * runtime puts an older state in place only as the object starts anew, so that it cannot be judged beforehand. The
 * object is therefore closed from the moment at which it is told to go back until what it went back to was admitted.
 * That it is closed cannot be remembered in the object, which forgets: a second object, its keeper, remembers it.
 */
import { decodeCursor, encodeCursor, PlatformError } from '@freehold/contracts';
import type { Bookmark, BookmarkPage, SqlRow } from '@freehold/store';
import { durableDatabase } from '../lib/durable-database.ts';
import { type AdmitStep, takeSteps } from './admission.ts';
import type { ObjectToolParts } from './object-tools.ts';
import { migrateAll } from './schema.ts';

/** The history of one object. Bookmarks sort, as text, in the order of their commits. */
export interface PointInTime {
  current(): Promise<string>;
  /** The bookmark of the last commit at or before a moment. Rejects outside of the window. */
  at(ms: number): Promise<string>;
  /** Goes back when the object starts next; answers what leads back to before. */
  restoreOnNextStart(bookmark: string): Promise<string>;
}

/** The history that the runtime keeps of an object's storage, 30 days of it on Cloudflare. */
export function runtimeHistory(storage: DurableObjectStorage): PointInTime {
  return {
    current: () => storage.getCurrentBookmark(),
    at: (ms) => storage.getBookmarkForTime(ms),
    restoreOnNextStart: (bookmark) => storage.onNextSessionRestoreBookmark(bookmark),
  };
}

/** That an object is on its way back, and must answer nobody. */
export interface Ticket {
  readonly bookmark: string;
  /** Leads back to before; null until the runtime has said it. */
  readonly undo: string | null;
  /** True once it is on its way forward again: then it opens by itself. */
  readonly isUndoing: boolean;
}

/** Remembers for an object that it is closed. */
export interface Keeper {
  save(ticket: Ticket): Promise<void>;
  drop(): Promise<void>;
}

/** How far back the runtime remembers. */
const WINDOW_MS = 30 * 86_400_000;
/** The runtime names the commit of any moment and lists none: these are so far apart. */
const STEP_MS = 3_600_000;

/** Lists moments that can be gone back to: of each hour the last, newest first. */
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
  if (!Number.isSafeInteger(startMs)) throw malformed();
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

/** Tells the object to go back when it starts next. From now on it is closed, whatever becomes of this. */
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

/** Tells the object to go forward again. */
export async function goForward(history: PointInTime, keeper: Keeper, ticket: Ticket): Promise<void> {
  if (ticket.undo === null)
    throw new PlatformError(
      'conflict',
      'It is not known what this was rewound from. Rewind it by a bookmark.',
      {
        reason: 'undo_unknown',
      },
    );
  await history.restoreOnNextStart(ticket.undo);
  await keeper.save({ ...ticket, isUndoing: true });
}

/** Brings an older state to the present version and lets it be judged. Call it in a transaction. */
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
  throw new PlatformError('not_found', 'There is no such moment in the history of this.', {
    reason: 'unknown_bookmark',
    ...(cause === undefined ? {} : { cause }),
  });
}

function malformed(): PlatformError {
  return new PlatformError('validation_failed', 'The cursor is not one that this list gave out.');
}

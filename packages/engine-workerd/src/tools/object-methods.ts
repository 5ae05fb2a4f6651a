/** All tool methods of an object: those of the object alone, and those that need the runtime. */
import { PlatformError } from '@freehold/contracts';
import type { Bookmark, BookmarkPage, SqlRow, UnitRestored, UnitSnapshot } from '@freehold/store';
import { rolledBack } from '../lib/rolled-back.ts';
import type { AdmitStep } from './admission.ts';
import type { StoredCopy } from './copy-store.ts';
import {
  admitOlder,
  goBack,
  goForward,
  type Keeper,
  listBookmarks,
  type PointInTime,
  type Ticket,
} from './history.ts';
import { makeObjectTools, type ObjectToolParts, type ObjectTools } from './object-tools.ts';
import type { PresentReading } from './present.ts';
import { engineCannot } from './refusals.ts';

export interface ObjectMethodParts extends ObjectToolParts {
  /** Null where the runtime keeps no history. */
  readonly history: { readonly pointInTime: PointInTime; readonly keeper: Keeper } | null;
  /** Runs the waiting calls of the unit, so that the tool is in line behind them. */
  settle(): void;
  /** Runs work that pauses, while the object takes no call. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  /** Drops state in memory after the contents were replaced. */
  forget(): void;
  /** Closes the unit, or opens it. */
  readonly ticket: { get(): Ticket | null; set(ticket: Ticket | null): void };
  /** Ends the object. The next call starts it anew. */
  leave(): void;
}

type Named = { readonly id: string; readonly name: string | null };
type Target = { readonly bookmark: string } | { readonly atMs: number };

/** The methods of the object, by name. */
export interface ToolMethods extends Omit<ObjectTools, 'copy' | 'snapshot' | 'restore' | 'requireReadings'> {
  copy(input: { readonly id: string }): Promise<StoredCopy>;
  snapshot(input: Named): Promise<UnitSnapshot>;
  restore(input: Parameters<ObjectTools['restore']>[0]): Promise<UnitRestored>;
  bookmarks(query: {
    readonly atMs?: number;
    readonly limit: number;
    readonly cursor?: string;
  }): Promise<BookmarkPage>;
  rewind(input: {
    readonly target: Target;
    readonly present?: readonly PresentReading[];
  }): Promise<Bookmark & { readonly undo: string }>;
  leave(): void;
  judgeRewound(input: { readonly steps: readonly AdmitStep[] }): readonly SqlRow[];
  admitRewound(input: { readonly steps: readonly AdmitStep[] }): Promise<void>;
  undoRewind(): Promise<void>;
  remove(): Promise<void>;
}

/** The methods that an object answers during a rewind. */
const WHILE_CLOSED: readonly string[] = ['leave', 'judgeRewound', 'admitRewound', 'undoRewind', 'rewind'];

/** Closes the object until the runtime has said how the rewind is undone. */
const UNDER_WAY: Ticket = { bookmark: '', undo: null, isUndoing: false };

/** Whether a tool may be used while the object is closed. */
export function isForClosed(tool: string): boolean {
  return WHILE_CLOSED.includes(tool);
}

export function makeObjectMethods(parts: ObjectMethodParts): ToolMethods {
  const { storage, history, settle, hold, forget, ticket } = parts;
  const tools = makeObjectTools(parts);

  const requireHistory = (): NonNullable<ObjectMethodParts['history']> => {
    if (!history && parts.definition.copies !== 'none')
      throw engineCannot('The runtime keeps no history here.');
    tools.requireCopies();
    return history as NonNullable<ObjectMethodParts['history']>;
  };
  const present = async (): Promise<string | null> =>
    history && parts.definition.copies !== 'none' ? history.pointInTime.current() : null;
  const requireTicket = (): Ticket => {
    const found = ticket.get();
    if (!found)
      throw new PlatformError('conflict', 'No rewind is running here.', { reason: 'not_rewinding' });
    return found;
  };
  /** Runs work in line behind earlier calls. */
  const inLine = <I, O>(work: (input: I) => O) => {
    return (input: I): O => {
      settle();
      return work(input);
    };
  };

  const { requireReadings, ...own } = tools;
  return {
    ...own,
    inspect: inLine(tools.inspect),
    judge: inLine((input: Parameters<ObjectTools['judge']>[0]) => hold(() => tools.judge(input))),
    readPresent: inLine(tools.readPresent),
    copy: async ({ id }) => {
      tools.requireCopies();
      const bookmark = await present();
      settle();
      return hold(() => tools.copy({ id, bookmark }));
    },
    snapshot: async (named) => {
      tools.requireCopies();
      const bookmark = await present();
      settle();
      return hold(() => tools.snapshot({ ...named, bookmark }));
    },
    restore: async (input) => {
      const undo = await present();
      settle();
      const loaded = await hold(async () => {
        const restored = await tools.restore(input);
        forget();
        return restored;
      });
      return { ...loaded, undo };
    },

    bookmarks: async (query) => listBookmarks(requireHistory().pointInTime, query, parts.now()),
    rewind: async ({ target, present: readings = [] }) => {
      const { pointInTime, keeper } = requireHistory();
      settle();
      requireReadings(readings);
      // Closed in the same step: what was read stays so until the object restarts.
      const before = ticket.get();
      ticket.set(UNDER_WAY);
      try {
        const back = await goBack(pointInTime, keeper, target, parts.now());
        ticket.set(back.ticket);
        return back.reached;
      } catch (error) {
        ticket.set(before);
        throw error;
      }
    },
    leave: () => {
      requireTicket();
      parts.leave();
    },
    judgeRewound: ({ steps }) => {
      requireTicket();
      return rolledBack(storage, () => admitOlder(parts, steps));
    },
    admitRewound: async ({ steps }) => {
      requireTicket();
      storage.transactionSync(() => admitOlder(parts, steps));
      forget();
      await requireHistory().keeper.drop();
      ticket.set(null);
    },
    undoRewind: async () => {
      const { pointInTime, keeper } = requireHistory();
      await goForward(pointInTime, keeper, requireTicket());
      parts.leave();
    },

    remove: async () => {
      settle();
      const removed = Promise.all([storage.deleteAll(), storage.deleteAlarm()]);
      forget();
      await removed;
    },
  };
}

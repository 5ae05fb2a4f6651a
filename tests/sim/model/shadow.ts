/**
 * The shadow of one unit: a model that performs every call, and every change of state without a call: crash, rewind,
 * restore. Where both of two states are possible, it keeps both; the next look at the database must match exactly one.
 */
import type { PlatformError } from '@freehold/contracts';
import type { Bookmark, BookmarkPage, SqlDatabase, UnitCopy, UnitTools } from '@freehold/store';
import { nameOf, type UnitName, type UnitObserver, type WatchedCall } from '../engine/watch.ts';
import type { Invariant, Judge } from '../lib/violation.ts';
import type { Difference } from './state.ts';
import type { Contents, Tables } from './tables.ts';

export interface ShadowParts {
  readonly unit: UnitName;
  readonly judge: Judge;
  readonly tables: Tables;
  /** Receives the memory that a call passes in; see {@link UnitObserver.begun}. Default: does nothing. */
  readonly begun?: (call: WatchedCall) => void;
  /** Performs one call; see {@link UnitObserver.executed}. */
  readonly execute: (call: WatchedCall, db: SqlDatabase) => void;
  /** Checks that nothing is left of a failed call. */
  readonly requireNothingLeft: (db: SqlDatabase) => void;
  readonly difference: (db: SqlDatabase, contents: Contents) => Difference | null;
  /** Drops the memory of the open unit. */
  readonly forget: () => void;
  /** Returns an older state as admission changes it, before it replaces the unit's. */
  readonly admitted: (db: SqlDatabase, contents: Contents) => Contents;
  /** Reads the unit's file from outside. */
  readonly look: <T>(question: (db: SqlDatabase) => T) => T;
  /** The content of copies, by their stream. */
  readonly copies: CopyRegistry;
}

/** The states that a copy may hold. Null: it is no copy of this unit, and must be refused. */
export type CopyRegistry = WeakMap<ReadableStream, readonly Contents[] | null>;

/** A bookmark that was given out, and the states that it may name. */
export interface KnownBookmark extends Bookmark {
  readonly states: readonly Contents[];
}

export interface Shadow extends UnitObserver {
  /** The process died; with `torn`, during this unit's commit. */
  died(torn: boolean): void;
  /** Compares the database with the model. */
  verify(db: SqlDatabase): void;
  readonly bookmarks: readonly KnownBookmark[];
  /** Whether only one state is possible. */
  readonly isSettled: boolean;
}

/** A possible state of the unit. */
interface Alternative {
  readonly label: string;
  readonly invariant: Invariant;
  readonly states: readonly Contents[];
  /** It is an older state, without the persons who were erased since. */
  readonly isOlder: boolean;
  /** It can become true only until the next look. */
  isOver: boolean;
  /** The state that it replaced, once it is true. */
  replaced: Contents | null;
}

/** The number of bookmarks that are remembered, and of those that are offered. */
const BOOKMARKS_MAX = 24;
const OFFERED_MAX = 12;

export function makeShadow(parts: ShadowParts): Shadow {
  const { unit, judge, tables, execute, requireNothingLeft, difference, forget, admitted, look, copies } =
    parts;
  let alternatives: Alternative[] = [];
  let bookmarks: KnownBookmark[] = [];
  const snapshots = new Map<string, readonly Contents[]>();
  /** The states since the oldest open question. */
  let recent: Contents[] = [];
  let questions = 0;
  /** The database was not read since the last process died. */
  let isUnseen = false;

  const changed = (): void => {
    if (questions > 0) recent.push(tables.snapshot());
  };
  const load = (contents: Contents): void => {
    tables.load(contents);
    changed();
  };

  /** Finds out which state the database has. */
  const resolve = (db: SqlDatabase): void => {
    const found = difference(db, tables.live());
    let chosen: Alternative | undefined;
    if (found) {
      const reasons: string[] = [];
      chosen = alternatives.find((alternative) =>
        alternative.states.some((state) => {
          const contents = alternative.isOlder ? admitted(db, state) : state;
          const other = difference(db, contents);
          if (other) {
            reasons.push(`${alternative.label}: ${other.detail}`);
            return false;
          }
          alternative.replaced = tables.snapshot();
          load(contents);
          return true;
        }),
      );
      if (!chosen) {
        const other = alternatives.find(({ isOlder }) => isOlder) ?? alternatives[0];
        judge.fail(
          found.invariant === 'erasure' ? 'erasure' : (other?.invariant ?? unseenInvariant(found)),
          `${nameOf(unit)}, when it was opened: ${[found.detail, ...reasons].join('; or, ')}`,
        );
      }
    }
    alternatives = alternatives.filter(({ isOver }) => !isOver);
  };

  const ask = (): void => {
    if (questions === 0) recent = [tables.snapshot()];
    questions += 1;
  };
  /** Returns the states that an answer may describe. */
  const answer = (): readonly Contents[] => {
    questions -= 1;
    const states = recent;
    if (questions === 0) recent = [];
    return states;
  };
  const learn = (bookmark: Bookmark, states: readonly Contents[]): void => {
    if (bookmarks.some((each) => each.bookmark === bookmark.bookmark)) return;
    bookmarks = [...bookmarks, { ...bookmark, states }].slice(-BOOKMARKS_MAX);
  };

  /** Expects another state to replace this one. `null`: it must not. */
  const replacing = (label: string, invariant: Invariant, states: readonly Contents[] | null) => {
    const alternative: Alternative = {
      label,
      invariant,
      states: states ?? [],
      isOlder: true,
      isOver: false,
      replaced: null,
    };
    alternatives.push(alternative);
    return {
      done: (): Contents => {
        alternatives = alternatives.filter((each) => each !== alternative);
        if (states === null)
          judge.fail(invariant, `${nameOf(unit)}: ${label} was accepted, and should not have been`);
        const taken = alternatives.find(({ replaced }) => replaced !== null);
        const isLive = look((db) => difference(db, tables.live()) === null);
        if (isLive && alternative.replaced) return alternative.replaced;
        if (isLive && taken?.replaced) {
          // Of two equal states, the look took the other one for this one.
          const { replaced } = taken;
          taken.replaced = null;
          return replaced;
        }
        const before = tables.snapshot();
        look((db) => {
          const reasons = alternative.states.map((state) => {
            const contents = admitted(db, state);
            const found = difference(db, contents);
            if (found === null) load(contents);
            return found?.detail ?? null;
          });
          if (reasons.every((reason) => reason !== null))
            judge.fail(invariant, `${nameOf(unit)}: ${label} led elsewhere: ${reasons.join('; or, ')}`);
        });
        return before;
      },
      failed: (error: PlatformError): void => {
        alternatives = alternatives.filter((each) => each !== alternative);
        const what = `${nameOf(unit)}: ${label} failed (${error.code}), and changed something`;
        if (alternative.replaced) judge.fail(invariant, what);
        look((db) => {
          const found = difference(db, tables.live());
          if (!found) return;
          const hasHappened = alternative.states.some((state) => !difference(db, admitted(db, state)));
          judge.fail(hasHappened ? invariant : found.invariant, `${what}: ${found.detail}`);
        });
      },
    };
  };

  const watchTools: { readonly [K in keyof UnitTools]?: (args: Parameters<UnitTools[K]>) => Settle } = {
    bookmarks: () => {
      ask();
      return (result) => {
        const states = answer();
        if ('error' in result) return;
        const { items, current } = result.value as BookmarkPage;
        const names = items.map(({ bookmark }) => bookmark);
        if (String(names) !== String([...new Set(names)].sort().reverse()))
          judge.fail('rewind', `${nameOf(unit)}: bookmarks are out of order: ${names.join(' ')}`);
        if (current) learn(current, states);
      };
    },
    rewind: ([target]) => {
      const known =
        'bookmark' in target ? bookmarks.find(({ bookmark }) => bookmark === target.bookmark) : undefined;
      const label = `the rewind to ${known?.bookmark}`;
      const replaced = replacing(label, 'rewind', known?.states ?? null);
      return (result) => {
        if ('error' in result) return replaced.failed(result.error);
        const { bookmark, undo, atMs } = result.value as Bookmark & { undo: string };
        if (bookmark !== known?.bookmark)
          judge.fail('rewind', `${nameOf(unit)}: ${label} went to ${bookmark}`);
        const before = replaced.done();
        learn({ bookmark: undo, atMs }, [before]);
      };
    },
    restore: ([, body]) => {
      const replaced = replacing('the restore', 'copies', copies.get(body) ?? null);
      return (result) => {
        if ('error' in result) return replaced.failed(result.error);
        replaced.done();
      };
    },
    export: () => {
      ask();
      return (result) => {
        const states = answer();
        if (!('error' in result)) copies.set((result.value as UnitCopy).body, states);
      };
    },
    snapshot: ([{ id }]) => {
      ask();
      return (result) => {
        const states = answer();
        if (!('error' in result)) snapshots.set(id, states);
      };
    },
    openSnapshot:
      ([id]) =>
      (result) => {
        const states = snapshots.get(id);
        if (!('error' in result) && states) copies.set((result.value as UnitCopy).body, states);
      },
  };

  return {
    get bookmarks() {
      return bookmarks.toSorted((a, b) => (a.bookmark < b.bookmark ? -1 : 1)).slice(-OFFERED_MAX);
    },
    get isSettled() {
      return alternatives.length === 0;
    },
    opened: (db) => {
      isUnseen = false;
      forget();
      resolve(db);
    },
    begun: (call) => parts.begun?.(call),
    executed: (call, _outcome, db) => execute(call, db),
    undone: (db) => requireNothingLeft(db),
    committed: () => {
      tables.commit();
      changed();
    },
    lost: () => tables.rollback(0),
    asked: (tool, args) => {
      const begin = watchTools[tool] as ((args: unknown) => Settle) | undefined;
      return begin?.(args) ?? (() => undefined);
    },
    died: (torn) => {
      const full = torn ? tables.snapshot() : null;
      tables.rollback(0);
      if (full)
        alternatives.push({
          label: 'the commit under way',
          invariant: 'all_or_nothing',
          states: [full],
          isOlder: false,
          isOver: true,
          replaced: null,
        });
      // The process that could bring them about is dead.
      for (const alternative of alternatives) alternative.isOver = true;
      questions = 0;
      recent = [];
      isUnseen = true;
    },
    verify: (db) => {
      if (alternatives.length > 0) return;
      const found = difference(db, tables.live());
      if (found)
        judge.fail(isUnseen ? unseenInvariant(found) : found.invariant, `${nameOf(unit)}: ${found.detail}`);
    },
  };
}

/** No call was made since the last look: missing rows were committed before, and surplus rows were not. */
function unseenInvariant({ isTooMuch }: Difference): Invariant {
  return isTooMuch ? 'all_or_nothing' : 'acknowledged_is_durable';
}

type Settle = (result: { readonly value: unknown } | { readonly error: PlatformError }) => void;

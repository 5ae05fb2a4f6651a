/**
 * A unit: a small class over one SQLite database with one writer. Everything the platform remembers lives in one
 * (design: architecture, "The one idea"). Its methods are synchronous inside, take and return plain JSON values,
 * and never call another unit. A unit cannot tell which engine it is on.
 */
import type { IdFactory } from '@freehold/contracts';
import type { MigrationSet } from './migrations.ts';
import type { GuardOptions, SqlDatabase } from './sql-database.ts';

/** The world of a unit: its engine gives it when it opens the unit. */
export interface UnitContext {
  /** The unit's own key, for example a scope id. */
  readonly key: string;
  readonly db: SqlDatabase;
  /** A view of the database that refuses some writes: for statements that are not the unit's own. */
  guarded(options: GuardOptions): SqlDatabase;
  /** Milliseconds since the epoch. */
  now(): number;
  /** That many bytes from a cryptographic source. */
  random(bytes: number): Uint8Array;
  readonly newId: IdFactory;
  /**
   * Runs a task once the present call is durable, and never if it is rolled back. (On workerd it runs a moment
   * earlier, and what it sends anywhere is held back until then.) One that fails is reported, and changes nothing.
   */
  afterCommit(task: () => void): void;
  /** Reports an unexpected error that does not fail the present call to the operator. Never throws. */
  report(error: unknown, method: string): void;
  /** Registers what to do when something was rolled back: drop whatever is cached from the database. */
  onRollback(task: () => void): void;
  /**
   * Registers what to do when the unit is closed in order, which is neither when its process dies nor when its object is
   * put away. The task reads nothing and writes nothing; what it tells others of may be lost.
   */
  onClose(task: () => void): void;
}

/**
 * A unit's methods: one JSON value in, one out (bytes as a Uint8Array are fine too). Both are copied, so that
 * neither side holds on to what the other has; what could not cross a process boundary fails the call.
 * A thrown `PlatformError` rolls the call back and reaches the caller.
 */
// biome-ignore lint/suspicious/noExplicitAny: each unit types its own methods; this is only their common shape.
export type UnitMethods = Readonly<Record<string, (input: any) => unknown>>;

export interface UnitDefinition<M extends UnitMethods = UnitMethods> {
  /** Names the kind on disk and in the cluster: lower case, `scope-fieldwork`. */
  readonly kind: string;
  /** Applied in order when the unit is opened. */
  readonly migrations: readonly MigrationSet[];
  /** Methods that only read: they are not isolated from the rest of their group and must not write. */
  readonly queries: readonly (keyof M & string)[];
  /**
   * Methods that no person waits for, and that may write much. An engine may put such a call off while it stores what was
   * written before, so that it costs other callers no time. Default: none.
   */
  readonly background?: readonly (keyof M & string)[];
  /**
   * `none`: nothing of this unit may outlive its present contents. The engine keeps no history, snapshot or archive of
   * it, and deleted bytes are overwritten. `derived`: the same, and no archive has even the present contents, because a
   * lost one is made anew from other units. Default `full`.
   */
  readonly copies?: 'full' | 'none' | 'derived';
  /**
   * Judges a copy before it takes the unit's place: called on the staged database, after its migrations. What it
   * writes becomes part of the copy; what it throws refuses it.
   */
  readonly admit?: (staged: SqlDatabase, key: string) => void;
  /** Called when the unit is opened, after the migrations. Prepares state; writes nothing. */
  readonly open: (context: UnitContext) => M;
}

/** Checks a definition and gives it its type. @throws TypeError on a bad kind. */
export function defineUnit<M extends UnitMethods>(definition: UnitDefinition<M>): UnitDefinition<M> {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(definition.kind))
    throw new TypeError(`not a unit kind: ${definition.kind}`);
  return definition;
}

/** A unit from the outside: the same methods, each answering a promise. Rejects with a `PlatformError`. */
export type UnitStub<M extends UnitMethods> = {
  readonly [K in keyof M]: (...input: Parameters<M[K]>) => Promise<Awaited<ReturnType<M[K]>>>;
};

/** Thrown by a method to roll its own writes back and then, in the same transaction, write something else. */
export class RollbackThen extends Error {
  override readonly name = 'RollbackThen';
  /** The error that the caller gets. */
  readonly error: Error;
  /** Runs after the roll-back; what it writes is durable when the caller hears of the failure. */
  readonly write: () => void;

  constructor(error: Error, write: () => void) {
    super(error.message);
    this.error = error;
    this.write = write;
  }
}

/** The declaration of long work: what takes too long for one transaction, done step by step (docs/long-work.md). */
import type { ActorId, JsonValue, VerticalManifest } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import type { ReportFault } from '@freehold/operations/faults';
import type { SqlDatabase } from '@freehold/store';
import type { OperationContext } from './vertical.ts';

/**
 * A kind of long work, under the name of the operation that starts it: `item/import`. An operation starts it by
 * `ctx.startWork`; the scope then runs its steps, each in a transaction of its own, and goes on after a restart with the
 * step that was not committed.
 */
export interface LongWork {
  /** One line for people. */
  readonly summary: string;
  /** The permission that the person who started it needs, judged again at every step. */
  readonly permission: string;
  /** Does a part of some ten milliseconds. Its writes and its `save` are committed together. Synchronous. */
  readonly step: (ctx: OperationContext, work: WorkHandle) => void;
  /**
   * Takes back a part of what an unfinished work has written, after it was cancelled or has failed. It has no actor: it
   * emits nothing and asks for no permission. Returns whether nothing is left. Default: nothing is taken back.
   */
  readonly abandon?: (
    ctx: { readonly sql: SqlDatabase; readonly now: number },
    work: Pick<WorkHandle, 'id' | 'mark'>,
  ) => boolean;
  /**
   * Returns the texts that name an erased person in its rows, beside the person's id: their names, say. Rows that hold one
   * of them are removed, and an unfinished work whose `data` holds one is cancelled. It is asked before `onShred`, and
   * writes nothing. Default: none.
   */
  readonly namesOf?: (ctx: { readonly sql: SqlDatabase }, subject: string) => readonly string[];
}

/** `halted`: all of it is decided, and the scope is a copy in which the rest does not go on by itself. */
export type WorkState = 'running' | 'waiting' | 'stopping' | 'halted' | 'done' | 'failed' | 'cancelled';

/** A long work in the transaction of an operation or a step. */
export interface WorkHandle {
  readonly id: string;
  readonly kind: string;
  readonly state: WorkState;
  /** The person or service who started it. */
  readonly principal: ActorId;
  /** The state that the last step left for the next one; at most 65,536 characters of JSON. */
  readonly data: JsonValue;
  readonly done: number;
  readonly total: number | null;
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** Set by {@link WorkChange.mark}. */
  readonly mark: string | null;
  readonly rows: WorkRows;
  /** Writes what changes. The last call of a step stands. */
  save(change: WorkChange): void;
}

export interface WorkChange {
  readonly data?: JsonValue;
  /** Progress, in whatever is counted. */
  readonly done?: number;
  readonly total?: number | null;
  /** A word by which other transactions find the work, by {@link OperationContext.markedWork}; null: none. */
  readonly mark?: string | null;
  /**
   * `run`: another step follows. `wait`: none, until an operation says `run`; after seven days it is cancelled. `finish`:
   * all is decided: it can no longer be cancelled, and its remaining steps are made without judging the permission again.
   * `end`: it is done. Default: as it is.
   */
  readonly next?: 'run' | 'wait' | 'finish' | 'end';
}

/** One row of a work's own list: a line of a file, say. */
export interface WorkRow {
  /** Rows are numbered by the work, from 1. */
  readonly number: number;
  readonly status: string;
  readonly value: JsonValue;
  /** The error of the row, or the id of the record that was made from it. */
  readonly note: string | null;
}

/**
 * The rows of one work. They are deleted when it fails or is cancelled, and 30 days after it is done; at most 200,000.
 * They are in no list of the application: what is staged in them counts for nothing else.
 */
export interface WorkRows {
  /** Writes rows, in place of those with the same number. */
  put(rows: readonly WorkRow[]): void;
  /** Returns the rows after a number, in their order; with `status`, of these alone. */
  after(number: number, limit: number, status?: string): readonly WorkRow[];
  /** Returns the number of the row that took a key first: this one, if none has. */
  claim(key: string, number: number): number;
  /** Gives up to a thousand keys back. Returns whether none is left. */
  unclaim(): boolean;
}

/** Checks the long work of a vertical. */
export function checkLongWork(
  works: Readonly<Record<string, LongWork>>,
  {
    manifest,
    operations,
    report,
  }: {
    readonly manifest: VerticalManifest;
    readonly operations: OperationTable;
    readonly report: ReportFault<(typeof LONG_WORK_FAULT_CODES)[number]>;
  },
): void {
  for (const [kind, { permission, step }] of Object.entries(works)) {
    const path = ['works', kind];
    if (!Object.hasOwn(operations, kind)) {
      const message = `is named like no operation; the name is that of the one that starts it: ${kind}`;
      report({
        path,
        code: 'unknown_operation',
        message,
        unknown: { name: kind, known: Object.keys(operations) },
      });
    }
    if (step.constructor.name === 'AsyncFunction')
      report({ path: [...path, 'step'], code: 'operation_async', message: 'must be synchronous' });
    if (Object.hasOwn(manifest.permissions, permission)) continue;
    const message = `names an undeclared permission: ${permission}`;
    const unknown = { name: permission, known: Object.keys(manifest.permissions) };
    report({ path: [...path, 'permission'], code: 'unknown_permission', message, unknown });
  }
}

/** The codes of {@link checkLongWork}. */
export const LONG_WORK_FAULT_CODES = ['unknown_operation', 'operation_async', 'unknown_permission'] as const;

/**
 * The two halves of long work: `LongHandlers` write to the directory, synchronously in its transaction; a `LongEffect` does
 * the work elsewhere, in the background.
 */
import type { ScopeExport } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import type { BackupStore } from '../backups/backup-store.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { AuditEntry, CallOf, ChangeContext } from '../lib/handlers.ts';
import type { DirectoryMethods } from '../unit.ts';

export interface LongBeginning<Work> {
  readonly intent: AuditEntry;
  /** Plain JSON, stored until the end: everything that the work needs, also after a restart. Never a secret. */
  readonly work: Work;
  /** The subject: `scope:scp_…`. Other work on it is refused until this has finished. */
  readonly subject: string;
  /** The unit of its progress: `bytes`, `scopes`. */
  readonly unit: string;
  /** Default: not known. */
  readonly total?: number;
}

/** The transaction that ends long work. */
export interface LongEndContext extends UnitContext {
  /** The sequence that the admin-log row of this end will have. */
  readonly revision: number;
  readonly intent: number;
}

interface LongEnding {
  /** The result in the record of the operation. Plain JSON, without a secret. */
  readonly result: unknown;
  readonly audit: AuditEntry;
  /** True when host names, or their targets, have changed. */
  readonly rerouted?: boolean;
}

interface LongHandlers<Op extends AdminOperation, Work, Facts> {
  /** Refuses the work, or returns its description. Its writes are committed before the work begins. */
  begin(context: ChangeContext, call: CallOf<Op>): LongBeginning<Work>;
  /** The plan, refusing what `begin` would refuse. It must not write. */
  plan?(context: UnitContext, call: CallOf<Op>): z.input<NonNullable<Op['plan']>>;
  /** Writes down that it was done. */
  settle(context: LongEndContext, work: Work, facts: Facts): LongEnding;
  /** Takes back the writes of `begin`, when the work is known not to have been done. Default: nothing. */
  undo?(context: LongEndContext, work: Work): void;
}

/** The handlers with their types erased. */
export interface LongHandler {
  readonly kind: 'long';
  readonly operation: AdminOperation;
  begin(context: ChangeContext, call: AdminCall): LongBeginning<unknown>;
  plan: ((context: UnitContext, call: AdminCall) => unknown) | null;
  settle(context: LongEndContext, work: unknown, facts: unknown): LongEnding;
  undo(context: LongEndContext, work: unknown): void;
}

/** Handles long work, which continues in the background after the answer. */
export function longWork<
  Op extends AdminOperation & { readonly audit: 'audit'; readonly success: 202 },
  Work,
  Facts,
>(operation: Op, handlers: LongHandlers<Op, Work, Facts>): LongHandler {
  const { plan } = handlers;
  return {
    kind: 'long',
    operation,
    begin: (context, call) => handlers.begin(context, call as unknown as CallOf<Op>),
    plan: plan ? (context, call) => plan(context, call as unknown as CallOf<Op>) : null,
    settle: (context, work, facts) => handlers.settle(context, work as Work, facts as Facts),
    undo: (context, work) => handlers.undo?.(context, work as Work),
  };
}

/** The means of long work. */
export interface LongDeps extends EffectDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  /** Null without a place for backups. */
  readonly backups: BackupStore | null;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => Promise<string>;
  /** Copies the directory itself, as text; null where the engine cannot. */
  readonly copyDirectory: (() => Promise<ScopeExport>) | null;
}

/**
 * One run of long work. Every member throws once the work is to stop: do not catch that. After a restart `run` is called
 * again with the same work, and journaled steps are not repeated.
 */
export interface LongRun {
  readonly id: string;
  /** Aborts when the work is to stop: pass it to everything slow within a step. */
  readonly signal: AbortSignal;
  /**
   * Runs the step and journals its result (plain JSON), or returns the journaled result. A crash may come in between, so
   * that a step must be safe to repeat.
   */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Reports the progress. Fields that are left out stay. */
  progress(now: { readonly done: number; readonly total?: number | null; readonly unit?: string }): void;
  /**
   * The point of no return: from now on the work cannot be cancelled. Before it, every failure is known to have changed
   * nothing; after it, only a refusal is.
   */
  commit(): Promise<void>;
}

export interface LongEffect<Work = unknown, Facts = unknown> {
  /** Refuses work that cannot succeed, before anything is written. Called for a plan too. */
  check?(deps: LongDeps, call: AdminCall): Promise<void>;
  /** The plan, where the directory alone does not know it. Default: `LongHandlers.plan`. */
  plan?(deps: LongDeps, call: AdminCall): Promise<unknown>;
  /** Does the work, and returns the facts for the directory: plain JSON, never a secret. */
  run(deps: LongDeps, work: Work, run: LongRun): Promise<Facts>;
  /** Cleans up after a run that failed, or was cancelled, before its point of no return. Default: nothing. */
  cleanUp?(deps: LongDeps, work: Work): Promise<void>;
  /**
   * Whether the steps after `commit` may be repeated when a crash left their outcome unknown. Default true. False: such work
   * is failed at the next start, with reason `outcome_unknown`.
   */
  readonly repeatable?: boolean;
}

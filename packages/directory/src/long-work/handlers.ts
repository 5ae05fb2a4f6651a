/**
 * The two halves of long work, as a family fills them in: what the directory writes down (`LongHandlers`, synchronous,
 * in its transaction) and what is done elsewhere (`LongEffect`, in the background).
 */
import type { ScopeExport } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { BackupStore } from '../backups/backup-store.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { AuditEntry, CallOf, ChangeContext } from '../lib/handlers.ts';
import type { DirectoryMethods } from '../unit.ts';

/** What is about to be done. */
export interface LongBeginning<Work> {
  readonly intent: AuditEntry;
  /** Plain JSON, kept until the end: everything that the work needs, also after a restart. Never a secret. */
  readonly work: Work;
  /** What it works on: `scope:scp_…`. A second one on the same subject is refused while this one is not finished. */
  readonly subject: string;
  /** What its progress counts: `bytes`, `scopes`. */
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

export interface LongEnding {
  /** What the record of the operation shows as its result. Plain JSON, without a secret. */
  readonly result: unknown;
  readonly audit: AuditEntry;
  /** True when host names, or what they lead to, are different now. */
  readonly rerouted?: boolean;
}

export interface LongHandlers<Op extends AdminOperation, Work, Facts> {
  /** Refuses what is not possible, or says what is to be done. What it writes is there before the work begins. */
  begin(context: ChangeContext, call: CallOf<Op>): LongBeginning<Work>;
  /** What would be done, refusing what `begin` would refuse. It must not write. */
  plan?(context: UnitContext, call: CallOf<Op>): z.input<NonNullable<Op['plan']>>;
  /** Writes down that it was done. */
  settle(context: LongEndContext, work: Work, facts: Facts): LongEnding;
  /** Takes back what `begin` wrote, when the work is known not to have been done. Default: nothing. */
  undo?(context: LongEndContext, work: Work): void;
}

/** The handlers with their types erased, as the unit keeps them by name. */
export interface LongHandler {
  readonly kind: 'long';
  readonly operation: AdminOperation;
  begin(context: ChangeContext, call: AdminCall): LongBeginning<unknown>;
  plan: ((context: UnitContext, call: AdminCall) => unknown) | null;
  settle(context: LongEndContext, work: unknown, facts: unknown): LongEnding;
  undo(context: LongEndContext, work: unknown): void;
}

/** Answers long work: it goes on in the background when its call has been answered. */
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

/** What long work has at hand. */
export interface LongDeps extends EffectDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  /** Null where the wiring brings none. */
  readonly backups: BackupStore | null;
  /** The version of a vertical that serves. */
  readonly servingVersion: (vertical: string) => Promise<string>;
  /** A copy of the directory itself, as text; null where the engine makes none. */
  readonly copyDirectory: (() => Promise<ScopeExport>) | null;
}

/**
 * One run of long work. Every member throws once the work is to stop: let it through. After a restart `run` is called
 * anew with the same work, and steps that are journaled are not done again.
 */
export interface LongRun {
  readonly id: string;
  /** Aborts when the work is to stop: hand it to whatever takes long within a step. */
  readonly signal: AbortSignal;
  /**
   * Does something and journals what it answers (plain JSON), or answers what was journaled. A crash may fall between
   * the two, so that it must be safe to repeat.
   */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Says how far it is. What is not named stays. */
  progress(now: { readonly done: number; readonly total?: number | null; readonly unit?: string }): void;
  /**
   * The point of no return: from here on it cannot be cancelled. A failure before it is known to have changed nothing;
   * after it only a refusal is.
   */
  commit(): Promise<void>;
}

export interface LongEffect<Work = unknown, Facts = unknown> {
  /** Refuses what cannot succeed before anything is written down. It is asked for a plan too. */
  check?(deps: LongDeps, call: AdminCall): Promise<void>;
  /** What would be done, where the directory alone cannot say. Default: it is asked (`LongHandlers.plan`). */
  plan?(deps: LongDeps, call: AdminCall): Promise<unknown>;
  /** Does it, and answers what the directory is to write down: plain JSON, never a secret. */
  run(deps: LongDeps, work: Work, run: LongRun): Promise<Facts>;
  /** Clears away what a run left that failed, or was cancelled, before its point of no return. Default: nothing. */
  cleanUp?(deps: LongDeps, work: Work): Promise<void>;
  /**
   * Whether what comes after `commit` may be done again when a crash left its outcome unknown. Default true. False: such
   * work is failed at the next start instead, with reason `outcome_unknown`.
   */
  readonly repeatable?: boolean;
}

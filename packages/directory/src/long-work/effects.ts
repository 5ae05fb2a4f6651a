/**
 * The half of long work that is done outside the directory, in the background. The other half, `longWork` in
 * `lib/handlers.ts`, writes to the directory in its transaction.
 */
import type { AdminCall } from '../access/actors.ts';
import type { EffectDeps } from '../lib/effects.ts';

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

/** @typeParam Deps the means that the effect names; the composition root has those of all effects. */
export interface LongEffect<Work = unknown, Facts = unknown, Deps = EffectDeps> {
  /** Refuses work that cannot succeed, before anything is written. Called for a plan too. */
  check?(deps: Deps, call: AdminCall): Promise<void>;
  /** The plan, where the directory alone does not know it. Default: `LongHandlers.plan`. */
  plan?(deps: Deps, call: AdminCall): Promise<unknown>;
  /** Does the work, and returns the facts for the directory: plain JSON, never a secret. */
  run(deps: Deps, work: Work, run: LongRun): Promise<Facts>;
  /** Cleans up after a run that failed, or was cancelled, before its point of no return. Default: nothing. */
  cleanUp?(deps: Deps, work: Work): Promise<void>;
  /**
   * Whether the steps after `commit` may be repeated when a crash left their outcome unknown. Default true. False: such work
   * is failed at the next start, with reason `outcome_unknown`.
   */
  readonly repeatable?: boolean;
}

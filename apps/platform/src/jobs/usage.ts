/**
 * Collects the usage lines of model calls: each minute from scopes that were active, and from every scope in turns of 500.
 * A scope takes no further line when a thousand wait, so active scopes go first.
 */
import { PlatformError } from '@freehold/contracts';
import type { CollectedUsage } from '@freehold/directory';
import type { Fleet, FleetScope } from '../applications/operator.ts';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import type { ScopeActivity, TenantScope } from '../network/activity.ts';
import { sumOf } from './meters.ts';
import type { JobTotals } from './runner.ts';

export interface UsageSweepOptions {
  readonly activity: Pick<ScopeActivity, 'touched'>;
  readonly collect: (scope: TenantScope) => Promise<CollectedUsage>;
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether a vertical runs here. */
  readonly isRunning: (vertical: string) => boolean;
  readonly onFailure: FailureSink;
  /** Receives an unexpected error. */
  readonly onError: (error: unknown, scope: TenantScope) => void;
}

/** The number of scopes per turn of a round: ten thousand take most of a day. */
const PORTION = 500;
const ROUND_MS = 24 * 3_600_000;

export class UsageSweep {
  readonly #options: UsageSweepOptions;
  /** Scopes whose collection failed. */
  readonly #failed = new Map<string, TenantScope>();
  readonly #asking = new Set<string>();
  /** The position of the round; null between two rounds. */
  #round: AsyncIterator<FleetScope> | null = null;
  #roundAtMs: number | null = null;

  constructor(options: UsageSweepOptions) {
    this.#options = options;
  }

  /** Whether lines may wait in a scope: it was active since they were collected there, or the collection failed. */
  readonly isOwed = (scope: string): boolean =>
    this.#options.activity.touched.has(scope) || this.#failed.has(scope) || this.#asking.has(scope);

  /** Collects from the scopes that were active, and returns how many those are. */
  collectTouched(signal: AbortSignal): Promise<JobTotals> {
    return this.#collectFrom(this.#options.activity.touched, signal);
  }

  /**
   * Repeats failed collections, and goes on with a round through all scopes, suspended ones too, in case a touch was lost
   * in a crash. A round begins a day after the one before it began, at the soonest.
   */
  async collectAll(signal: AbortSignal): Promise<JobTotals> {
    const again = await this.#collectFrom(this.#failed, signal);
    return sumOf([again, await this.#goOn(signal)]);
  }

  /** A scope stays owed until its collection ended: an idle scope would not be asked by the next process. */
  async #collectFrom(owing: Map<string, TenantScope>, signal: AbortSignal): Promise<JobTotals> {
    const asked: JobTotals[] = [];
    for (const ref of [...owing.values()]) {
      if (signal.aborted) break;
      this.#asking.add(ref.scope);
      owing.delete(ref.scope);
      asked.push(await this.#collectOne(ref).finally(() => this.#asking.delete(ref.scope)));
    }
    return sumOf(asked);
  }

  /** Each answer has at most a thousand lines; the rest comes with the next run. */
  async #collectOne(ref: TenantScope): Promise<JobTotals> {
    const { activity, collect, onFailure, onError } = this.#options;
    try {
      const { more } = await collect(ref);
      this.#failed.delete(ref.scope);
      if (more) activity.touched.set(ref.scope, ref);
      return { done: 1, failed: 0 };
    } catch (error) {
      // The scope or its vertical is gone: there are no lines to collect.
      if (error instanceof PlatformError && (error.code === 'not_found' || error.code === 'unsupported')) {
        this.#failed.delete(ref.scope);
        return { done: 1, failed: 0 };
      }
      this.#failed.set(ref.scope, ref);
      if (!(error instanceof PlatformError)) onError(error, ref);
      else
        onFailure({
          operation: 'model-usage.collect',
          tenant: ref.tenant as never,
          scope: ref.scope as never,
          reason: reasonOf(error),
          detail: 'The usage lines of this scope could not be collected; they wait there.',
        });
      return { done: 1, failed: 1 };
    }
  }

  /** Collects from the next scopes of the round; a round whose listing fails begins again. */
  async #goOn(signal: AbortSignal): Promise<JobTotals> {
    const { fleet, now, isRunning } = this.#options;
    const asked: JobTotals[] = [];
    if (this.#round === null) {
      // A start in the future counts as now: the clock was wrong then.
      if (this.#roundAtMs !== null) this.#roundAtMs = Math.min(this.#roundAtMs, now());
      if (this.#roundAtMs !== null && now() - this.#roundAtMs < ROUND_MS) return sumOf(asked);
      this.#roundAtMs = now();
      this.#round = fleet.scopes()[Symbol.asyncIterator]();
    }
    try {
      for (let count = 0; count < PORTION && !signal.aborted; count++) {
        const { done, value } = await this.#round.next();
        if (done) {
          this.#round = null;
          break;
        }
        const { tenant, scope, vertical } = value;
        if (isRunning(vertical)) asked.push(await this.#collectOne({ tenant, scope }));
      }
      return sumOf(asked);
    } catch (error) {
      this.#round = null;
      this.#roundAtMs = null;
      throw error;
    }
  }
}

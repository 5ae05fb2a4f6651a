/**
 * Bringing in the usage lines of model calls: from scopes in which something was just done, a minute later, and from every
 * scope now and then, some at a time. A scope takes no further line when a thousand wait, so that the busy ones are not
 * kept waiting.
 */
import { PlatformError } from '@freehold/contracts';
import type { CollectedUsage } from '@freehold/directory';
import type { Fleet, FleetScope } from '../applications/fleet.ts';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import { sumOf } from './meters.ts';
import type { JobTotals } from './runner.ts';

export interface UsageScope {
  readonly tenant: string;
  readonly scope: string;
}

export interface UsageSweep {
  /** Something was done in a scope: perhaps a model was called. Costs next to nothing. */
  touch(scope: UsageScope): void;
  /** Collects from the scopes that were touched, and answers how many those are. */
  collectTouched(signal: AbortSignal): Promise<JobTotals>;
  /** Whether lines may wait in a scope: it was touched since they were collected there, or they could not be. */
  isOwed(scope: string): boolean;
  /**
   * Against whatever nobody thought of: asks those again that could not be asked, and goes on with a round through all there
   * are, suspended ones too, by at most 500 scopes. A round begins a day after the one before it did, at the soonest.
   */
  collectAll(signal: AbortSignal): Promise<JobTotals>;
}

export interface UsageSweepOptions {
  readonly collect: (scope: UsageScope) => Promise<CollectedUsage>;
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether something answers for a vertical here. */
  readonly isRunning: (vertical: string) => boolean;
  readonly onFailure: FailureSink;
  /** What nobody expected. */
  readonly onError: (error: unknown, scope: UsageScope) => void;
}

/** How many scopes a round goes on by at a time: ten thousand take most of a day. */
const PORTION = 500;
const ROUND_MS = 24 * 3_600_000;

export function makeUsageSweep(options: UsageSweepOptions): UsageSweep {
  const { collect, fleet, now, isRunning, onFailure, onError } = options;
  const touched = new Map<string, UsageScope>();
  /** Those that could not be asked. */
  const failed = new Map<string, UsageScope>();
  const asking = new Set<string>();
  /** Where the round is; null between two. */
  let round: AsyncIterator<FleetScope> | null = null;
  let roundAtMs: number | null = null;

  /** Each answer is at most a thousand lines; what is more comes with the next round. */
  const collectOne = async (ref: UsageScope): Promise<JobTotals> => {
    try {
      const { more } = await collect(ref);
      failed.delete(ref.scope);
      if (more) touched.set(ref.scope, ref);
      return { done: 1, failed: 0 };
    } catch (error) {
      failed.set(ref.scope, ref);
      if (!(error instanceof PlatformError)) {
        onError(error, ref);
        return { done: 1, failed: 1 };
      }
      // Gone, or its vertical is: there is nobody to ask.
      if (error.code === 'not_found' || error.code === 'unsupported') {
        failed.delete(ref.scope);
        return { done: 1, failed: 0 };
      }
      onFailure({
        operation: 'model-usage.collect',
        tenant: ref.tenant,
        scope: ref.scope,
        reason: reasonOf(error),
        detail: 'The usage lines of this scope could not be collected; they wait there.',
      });
      return { done: 1, failed: 1 };
    }
  };

  /** The next few scopes of the round; a round that cannot go on begins anew. */
  const goOn = async (signal: AbortSignal): Promise<JobTotals> => {
    const asked: JobTotals[] = [];
    if (round === null) {
      // A clock that was ahead holds up the next round by no more than one that was right.
      if (roundAtMs !== null) roundAtMs = Math.min(roundAtMs, now());
      if (roundAtMs !== null && now() - roundAtMs < ROUND_MS) return sumOf(asked);
      roundAtMs = now();
      round = fleet.scopes()[Symbol.asyncIterator]();
    }
    try {
      for (let count = 0; count < PORTION; count++) {
        if (signal.aborted) break;
        const { done, value } = await round.next();
        if (done) {
          round = null;
          break;
        }
        const { tenant, scope, vertical } = value;
        if (isRunning(vertical)) asked.push(await collectOne({ tenant, scope }));
      }
      return sumOf(asked);
    } catch (error) {
      round = null;
      roundAtMs = null;
      throw error;
    }
  };

  /** Owed until it was asked: a scope that rests meanwhile would not be asked by the next process. */
  const collectFrom = async (owing: Map<string, UsageScope>, signal: AbortSignal): Promise<JobTotals> => {
    const asked: JobTotals[] = [];
    for (const ref of [...owing.values()]) {
      if (signal.aborted) break;
      asking.add(ref.scope);
      owing.delete(ref.scope);
      asked.push(await collectOne(ref).finally(() => asking.delete(ref.scope)));
    }
    return sumOf(asked);
  };

  return {
    touch: ({ tenant, scope }) => void touched.set(scope, { tenant, scope }),
    isOwed: (scope) => touched.has(scope) || failed.has(scope) || asking.has(scope),
    collectTouched: (signal) => collectFrom(touched, signal),
    collectAll: async (signal) => {
      const again = await collectFrom(failed, signal);
      return sumOf([again, await goOn(signal)]);
    },
  };
}

/**
 * Bringing in the usage lines of model calls: from scopes in which something was just done, a minute later, and from every
 * scope now and then. A scope takes no further line when a thousand wait, so that the busy ones are not kept waiting.
 */
import { PlatformError } from '@freehold/contracts';
import type { CollectedUsage } from '@freehold/directory';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import type { Fleet } from '../fleet.ts';

export interface UsageScope {
  readonly tenant: string;
  readonly scope: string;
}

export interface UsageSweep {
  /** Something was done in a scope: perhaps a model was called. Costs next to nothing. */
  touch(scope: UsageScope): void;
  /** Collects from the scopes that were touched. */
  collectTouched(signal: AbortSignal): Promise<void>;
  /** Collects from all there are, suspended ones too: what was used before that was used. */
  collectAll(signal: AbortSignal): Promise<void>;
}

export interface UsageSweepOptions {
  readonly collect: (scope: UsageScope) => Promise<CollectedUsage>;
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** Whether something answers for a vertical here. */
  readonly isRunning: (vertical: string) => boolean;
  readonly onFailure: FailureSink;
  /** What nobody expected. */
  readonly onError: (error: unknown, scope: UsageScope) => void;
}

export function makeUsageSweep(options: UsageSweepOptions): UsageSweep {
  const { collect, fleet, isRunning, onFailure, onError } = options;
  const touched = new Map<string, UsageScope>();

  /** Each answer is at most a thousand lines; what is more comes with the next round. */
  const collectOne = async (ref: UsageScope): Promise<void> => {
    try {
      const { more } = await collect(ref);
      if (more) touched.set(ref.scope, ref);
    } catch (error) {
      if (!(error instanceof PlatformError)) return onError(error, ref);
      // Gone, or its vertical is: there is nobody to ask.
      if (error.code === 'not_found' || error.code === 'unsupported') return;
      onFailure({
        operation: 'model-usage.collect',
        tenant: ref.tenant,
        scope: ref.scope,
        reason: reasonOf(error),
        detail: 'The usage lines of this scope could not be collected; they wait there.',
      });
    }
  };

  return {
    touch: ({ tenant, scope }) => void touched.set(scope, { tenant, scope }),
    collectTouched: async (signal) => {
      for (const ref of [...touched.values()]) {
        if (signal.aborted) return;
        touched.delete(ref.scope);
        await collectOne(ref);
      }
    },
    collectAll: async (signal) => {
      for await (const { tenant, scope, vertical } of fleet.scopes()) {
        if (signal.aborted) return;
        if (isRunning(vertical)) await collectOne({ tenant, scope });
      }
    },
  };
}

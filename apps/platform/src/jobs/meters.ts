/** Counting what tenants use: in memory, added to the directory's meters by the minute. */
import type { MeterInput } from '@freehold/directory';
import type { JobTotals } from './jobs-rows.ts';

export interface MeteredScope {
  readonly tenant: string;
  readonly scope: string;
}

/** Counts one thing of live scopes. */
export interface UseMeter {
  /** @param quantity default 1. */
  count(scope: MeteredScope, quantity?: number): void;
  /**
   * Adds what was counted, and answers of how many tenants. What cannot be added is dropped: charged too little is better
   * than charged twice. So is the use of a scope of which nobody can say what it is for, and of no other.
   */
  flush(): Promise<JobTotals>;
}

export interface UseMeterOptions {
  readonly meter: MeterInput['meter'];
  readonly add: (readings: readonly MeterInput[]) => Promise<void>;
  /** Whether a scope is billed: a test scope never is. */
  readonly isLive: (ref: MeteredScope) => Promise<boolean>;
  /** Told of each tenant whose use is not counted, or not that of one of its scopes. */
  readonly onError: (error: unknown, tenant: string) => void;
}

export function makeUseMeter({ meter, add, isLive, onError }: UseMeterOptions): UseMeter {
  let counts = new Map<string, MeteredScope & { quantity: number }>();

  /** What the live ones of a tenant's scopes used, and whether that is all of it. */
  const sumUp = async (parts: Iterable<MeteredScope & { readonly quantity: number }>) => {
    let sum = 0;
    let whole = true;
    for (const { tenant, scope, quantity } of parts) {
      try {
        if (await isLive({ tenant, scope })) sum += quantity;
      } catch (error) {
        whole = false;
        onError(error, tenant);
      }
    }
    return { sum, whole };
  };

  return {
    count: ({ tenant, scope }, quantity = 1) => {
      const entry = counts.get(scope);
      if (entry) entry.quantity += quantity;
      else counts.set(scope, { tenant, scope, quantity });
    },
    flush: async () => {
      const taken = counts;
      counts = new Map();
      let failed = 0;
      const byTenant = Map.groupBy(taken.values(), ({ tenant }) => tenant);
      // One call a tenant: what one of them cannot be charged, the others can.
      await Promise.all(
        [...byTenant].map(async ([tenant, parts]) => {
          const { sum: quantity, whole } = await sumUp(parts);
          let added = true;
          try {
            if (quantity > 0) await add([{ tenant: tenant as never, meter, quantity }]);
          } catch (error) {
            added = false;
            onError(error, tenant);
          }
          if (!whole || !added) failed += 1;
        }),
      );
      return { done: byTenant.size, failed };
    },
  };
}

/** Asks once of each scope: what it is for does not change. */
export function remembering(isLive: UseMeterOptions['isLive']): UseMeterOptions['isLive'] {
  const known = new Map<string, boolean>();
  return async (ref) => {
    const live = known.get(ref.scope) ?? (await isLive(ref));
    known.set(ref.scope, live);
    return live;
  };
}

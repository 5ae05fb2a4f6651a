/**
 * Counts what tenants use: in memory, added to the directory's meters by the minute. Operations are counted by the kernels of
 * this process, whoever called: people, programs, visitors, connectors, subscriptions, schedules.
 */
import type { MeterInput } from '@freehold/directory';
import type { JobTotals } from './runner.ts';

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

export interface InvocationCounter {
  /** An operation was performed. It is on the way of every call, so that it adds one and does nothing else. */
  count(vertical: string, scope: string): void;
  /** Hands what was counted to the meter, and adds it. */
  flush(): Promise<JobTotals>;
}

export interface InvocationCounterOptions {
  readonly meter: UseMeter;
  /** Whose a scope is. */
  readonly tenantOf: (ref: { readonly vertical: string; readonly scope: string }) => Promise<string>;
  /** Receives each scope whose operations are not counted, because its tenant is unknown. */
  readonly onError: (error: unknown, scope: string) => void;
}

export function makeInvocationCounter({
  meter,
  tenantOf,
  onError,
}: InvocationCounterOptions): InvocationCounter {
  let counts = new Map<string, { readonly vertical: string; quantity: number }>();

  /** Answers 1 for a failure. */
  const handOver = async (scope: string, vertical: string, quantity: number): Promise<number> => {
    try {
      meter.count({ tenant: await tenantOf({ vertical, scope }), scope }, quantity);
      return 0;
    } catch (error) {
      onError(error, scope);
      return 1;
    }
  };

  return {
    count: (vertical, scope) => {
      const entry = counts.get(scope);
      if (entry) entry.quantity += 1;
      else counts.set(scope, { vertical, quantity: 1 });
    },
    flush: async () => {
      const taken = counts;
      counts = new Map();
      let failed = 0;
      for (const [scope, { vertical, quantity }] of taken)
        failed += await handOver(scope, vertical, quantity);
      return sumOf([{ done: failed, failed }, await meter.flush()]);
    },
  };
}

/** Several parts of one run. */
export function sumOf(parts: readonly JobTotals[]): JobTotals {
  return parts.reduce((sum, part) => ({ done: sum.done + part.done, failed: sum.failed + part.failed }), {
    done: 0,
    failed: 0,
  });
}

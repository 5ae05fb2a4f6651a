/** Counting what tenants use: requests to their applications, in memory, added to the directory's meters by the minute. */
import type { MeterInput } from '@freehold/directory';

export interface RequestMeter {
  count(scope: { readonly tenant: string; readonly scope: string }): void;
  /** Adds what was counted. What cannot be added is dropped: charged too little is better than charged twice. */
  flush(): Promise<void>;
}

export interface RequestMeterOptions {
  readonly add: (readings: readonly MeterInput[]) => Promise<void>;
  /** Whether a scope is billed: a test scope never is. */
  readonly isLive: (ref: { readonly tenant: string; readonly scope: string }) => Promise<boolean>;
  /** Told of each tenant whose requests are not counted. */
  readonly onError: (error: unknown, tenant: string) => void;
}

export function makeRequestMeter({ add, isLive, onError }: RequestMeterOptions): RequestMeter {
  let counts = new Map<string, { readonly tenant: string; readonly scope: string; quantity: number }>();
  /** What a scope is for does not change. */
  const live = new Map<string, boolean>();

  const quantityOf = async (parts: Iterable<{ tenant: string; scope: string; quantity: number }>) => {
    let sum = 0;
    for (const { tenant, scope, quantity } of parts) {
      const known = live.get(scope) ?? (await isLive({ tenant, scope }));
      live.set(scope, known);
      if (known) sum += quantity;
    }
    return sum;
  };

  return {
    count: ({ tenant, scope }) => {
      const entry = counts.get(scope);
      if (entry) entry.quantity += 1;
      else counts.set(scope, { tenant, scope, quantity: 1 });
    },
    flush: async () => {
      const taken = counts;
      counts = new Map();
      const byTenant = Map.groupBy(taken.values(), ({ tenant }) => tenant);
      // One call a tenant: what one of them cannot be charged, the others can.
      await Promise.all(
        [...byTenant].map(async ([tenant, parts]) => {
          try {
            const quantity = await quantityOf(parts);
            if (quantity > 0) await add([{ tenant: tenant as never, meter: 'http.requests', quantity }]);
          } catch (error) {
            onError(error, tenant);
          }
        }),
      );
    },
  };
}

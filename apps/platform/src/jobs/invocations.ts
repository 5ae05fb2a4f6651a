/**
 * Counting the operations that kernels of this process perform, whoever called: people over HTTP, programs over MCP,
 * visitors of a public surface, connectors, subscriptions, schedules. The kernel says in which scope; whose that is is
 * asked when the minute is over.
 */
import { type JobTotals, sumOf } from './jobs-rows.ts';
import type { UseMeter } from './meters.ts';

export interface InvocationCounter {
  /** An operation was performed. Within every call's way: it adds one, and nothing else. */
  count(vertical: string, scope: string): void;
  /** Hands what was counted to the meter, and adds it. */
  flush(): Promise<JobTotals>;
}

export interface InvocationCounterOptions {
  readonly meter: UseMeter;
  /** Whose a scope is. */
  readonly tenantOf: (ref: { readonly vertical: string; readonly scope: string }) => Promise<string>;
  /** Told of each scope whose operations are not counted, because nobody knows whose it is. */
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

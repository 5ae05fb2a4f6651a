/**
 * What the directory owes others, and does again where it failed: telling scopes, looking at names in use, reporting what
 * nobody settled, clearing away what has lapsed.
 */
import type { DirectoryHostAdmin } from '@freehold/directory';
import type { PlannedJob } from './jobs-rows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface MaintenanceJobsOptions {
  readonly hostAdmin: Pick<
    DirectoryHostAdmin,
    'entitlements' | 'expiries' | 'hostnames' | 'imports' | 'intents' | 'roles'
  >;
}

export function makeMaintenanceJobs({ hostAdmin }: MaintenanceJobsOptions): readonly PlannedJob[] {
  const { entitlements, expiries, hostnames, imports, intents, roles } = hostAdmin;
  return [
    {
      name: 'entitlements',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      work: async () => {
        const { delivered, failed } = await entitlements.deliver();
        return { done: delivered + failed, failed };
      },
    },
    {
      name: 'roles',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      units: (signal) => untilStopped(roles.sweep(), signal),
    },
    {
      // Against whatever nobody thought of.
      name: 'roles-everywhere',
      firstMs: 15 * MINUTE_MS,
      everyMs: DAY_MS,
      units: (signal) => untilStopped(roles.sweep({ all: true }), signal),
    },
    {
      // Calls of which nobody learned how they ended. Each is a row, and a failure of operation, of its own.
      name: 'intents',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      work: async () => ({ done: await intents.reconcile(), failed: 0 }),
    },
    {
      name: 'expiries',
      firstMs: 8 * MINUTE_MS,
      everyMs: HOUR_MS,
      work: async (signal) => ({ done: await expiries.clear(signal), failed: 0 }),
    },
    {
      name: 'hostnames',
      firstMs: 20 * MINUTE_MS,
      everyMs: DAY_MS,
      units: (signal) => untilStopped(hostnames.recheck(), signal),
    },
    {
      // Bytes of uploads that ended in a crash.
      name: 'imports',
      firstMs: 25 * MINUTE_MS,
      everyMs: DAY_MS,
      work: async () => ({ done: await imports.clearAbandoned(), failed: 0 }),
    },
  ];
}

/** A sweep can stop between two units. */
export async function* untilStopped<T>(
  units: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for await (const unit of units) {
    yield unit;
    if (signal.aborted) return;
  }
}

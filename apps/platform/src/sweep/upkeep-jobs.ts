/** What the directory owes others, and does again where it failed: telling scopes, and looking at names in use. */
import type { DirectoryHostAdmin } from '@freehold/directory';
import type { Repeats } from '../feeds/repeats.ts';
import { newsOf } from './news.ts';
import type { Job } from './scheduler.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export interface UpkeepJobsOptions {
  readonly hostAdmin: Pick<
    DirectoryHostAdmin,
    'recordSweep' | 'entitlements' | 'hostnames' | 'imports' | 'roles'
  >;
  readonly repeats: Repeats;
}

export function makeUpkeepJobs({ hostAdmin, repeats }: UpkeepJobsOptions): readonly Job[] {
  const { recordSweep, entitlements, hostnames, imports, roles } = hostAdmin;
  return [
    {
      name: 'entitlements',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      run: async () => void (await entitlements.deliver()),
    },
    {
      name: 'roles',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      run: async (signal) => {
        const units = untilStopped(roles.sweep(), signal);
        await recordSweep(newsOf(units, ({ unit }) => `roles ${unit}`, repeats));
      },
    },
    {
      // Against whatever nobody thought of.
      name: 'roles-everywhere',
      firstMs: 15 * MINUTE_MS,
      everyMs: DAY_MS,
      run: async (signal) => void (await recordSweep(untilStopped(roles.sweep({ all: true }), signal))),
    },
    {
      name: 'hostnames',
      firstMs: 20 * MINUTE_MS,
      everyMs: DAY_MS,
      run: async (signal) => {
        const units = untilStopped(hostnames.recheck(), signal);
        await recordSweep(newsOf(units, ({ kind, unit }) => `${kind} ${unit}`, repeats));
      },
    },
    {
      // Bytes of uploads that ended in a crash.
      name: 'imports',
      firstMs: 25 * MINUTE_MS,
      everyMs: DAY_MS,
      run: async () => void (await imports.clearAbandoned()),
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

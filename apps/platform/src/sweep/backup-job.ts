/** Backups that nobody has to remember: the directory, and every live scope. */
import type { BackupPolicy, DirectoryHostAdmin } from '@freehold/directory';
import type { Repeats } from '../feeds/repeats.ts';
import { newsOf } from './news.ts';
import type { Job } from './scheduler.ts';

const MINUTE_MS = 60_000;

export interface BackupJobOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'recordSweep'> & {
    readonly backups: Pick<DirectoryHostAdmin['backups'], 'sweep'>;
  };
  /** Null: none is made. */
  readonly policy: BackupPolicy | null;
  readonly repeats: Repeats;
}

/** None, or the one job: it looks every ten minutes for what is due, and what is due is spread over the interval. */
export function makeBackupJobs({ hostAdmin, policy, repeats }: BackupJobOptions): readonly Job[] {
  if (policy === null) return [];
  return [
    {
      // Not in the rush of a start.
      name: 'backups',
      firstMs: 15 * MINUTE_MS,
      everyMs: 10 * MINUTE_MS,
      run: async (signal) => {
        const lines = newsOf(
          hostAdmin.backups.sweep(policy, signal),
          ({ unit }) => `backup ${unit}`,
          repeats,
        );
        await hostAdmin.recordSweep(lines);
      },
    },
  ];
}

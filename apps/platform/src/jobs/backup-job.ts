/** Backups that nobody has to remember: the directory, and every live scope. */
import type { BackupPolicy, DirectoryHostAdmin, SweepUnit } from '@freehold/directory';
import type { PlannedJob } from './jobs-rows.ts';

const MINUTE_MS = 60_000;

export interface BackupJobOptions {
  readonly hostAdmin: {
    readonly backups: Pick<DirectoryHostAdmin['backups'], 'sweep'>;
  };
  /** Null: none is made. */
  readonly policy: BackupPolicy | null;
}

/**
 * None, or the one job: it looks every ten minutes for what is due, and what is due is spread over the interval. Where
 * one sweep does not get through, the next one follows at once: how many are made a day is bound by how long they take.
 */
export function makeBackupJobs({ hostAdmin, policy }: BackupJobOptions): readonly PlannedJob[] {
  if (policy === null) return [];
  return [
    {
      // Not in the rush of a start.
      name: 'backups',
      firstMs: 15 * MINUTE_MS,
      everyMs: 10 * MINUTE_MS,
      units: (signal) => untilThrough(() => hostAdmin.backups.sweep(policy, signal), signal),
    },
  ];
}

/** Sweeps until nothing is left to do, or the platform stops. */
async function* untilThrough(
  sweep: () => ReturnType<DirectoryHostAdmin['backups']['sweep']>,
  signal: AbortSignal,
): AsyncGenerator<SweepUnit, void, undefined> {
  for (let more = true; more && !signal.aborted; ) more = yield* sweep();
}

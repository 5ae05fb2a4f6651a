/** The job of backups goes on until a sweep is complete. */
import type { BackupPolicy, SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { type JobsOptions, makeJobs } from './jobs.ts';

const POLICY: BackupPolicy = { everyMs: 86_400_000, keepDaily: 7, keepWeekly: 4 };

/** Sweeps that each yield one line, and return in turn whether there is more. */
function jobOf(answers: readonly boolean[], onSweep: (count: number) => void = () => undefined) {
  let sweeps = 0;
  const jobs = makeJobs({
    backupPolicy: POLICY,
    alerts: null,
    hostAdmin: {
      backups: {
        sweep: async function* sweep() {
          const more = answers[sweeps] ?? false;
          sweeps += 1;
          onSweep(sweeps);
          yield { kind: 'backup', unit: `scp_${sweeps}`, outcome: 'swept', reason: 'backed_up' };
          return more;
        },
      },
    },
  } as unknown as JobsOptions);
  const job = jobs.find(({ name }) => name === 'backups');
  if (!job || !('units' in job)) throw new TypeError('the job has no units');
  return async (signal: AbortSignal) => {
    const units: SweepUnit[] = [];
    for await (const unit of job.units(signal)) units.push(unit);
    return units.map(({ unit }) => unit);
  };
}

test('spec C-19: an incomplete sweep is followed by the next at once, in the same run', async () => {
  const run = jobOf([true, true, false, true]);
  expect(await run(new AbortController().signal)).toEqual(['scp_1', 'scp_2', 'scp_3']);
});

test('a platform that stops begins no further sweep', async () => {
  const stopping = new AbortController();
  const run = jobOf([true, true, true], (count) => count === 2 && stopping.abort());
  expect(await run(stopping.signal)).toEqual(['scp_1', 'scp_2']);
});

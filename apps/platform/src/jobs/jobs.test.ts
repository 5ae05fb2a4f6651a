import type { ConnectionSweep, OpsFailureInput, SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/feeds.ts';
import { type JobsOptions, makeJobs } from './jobs.ts';
import { JobRunner, type JobTotals } from './runner.ts';
import type { ScopeOutcome } from './scope-outcomes.ts';

async function* nothing(): AsyncGenerator<never, void, undefined> {}

const connection = (id: string): ConnectionSweep => ({
  connection: id,
  tenant: 't',
  scope: 's',
  vertical: 'fieldwork',
  provider: 'ledger',
  outcome: 'swept',
  reason: 'verified',
});

/** The jobs over a platform that a test describes, with the rows that they wrote. */
function open({
  outcomes = [],
  failedSteps = 0,
  lagMs = 0,
  backupPolicy = { everyMs: 86_400_000, keepDaily: 7, keepWeekly: 4 },
  totals = { done: 0, failed: 0 },
}: {
  outcomes?: readonly ScopeOutcome[];
  failedSteps?: number;
  lagMs?: number;
  backupPolicy?: JobsOptions['backupPolicy'];
  totals?: JobTotals;
} = {}) {
  const written: SweepUnit[] = [];
  const failures: OpsFailureInput[] = [];
  const calls: string[] = [];
  /** The result of a job without units. */
  const result = (call: string) => {
    calls.push(call);
    return totals;
  };
  const repeats = makeRepeats(() => 0);
  const recordSweep = async (units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>) => {
    for await (const unit of units) written.push(unit);
    return { run: 'run', units: written.length, failed: 0 };
  };
  const options = {
    hostAdmin: {
      connections: {
        sweep: async function* sweep() {
          yield connection('con_1');
          void runner.stop();
          yield connection('con_2');
          yield connection('con_3');
        },
      },
      entitlements: { deliver: async () => ({ delivered: 0, failed: result('entitlements').failed }) },
      intents: { reconcile: async () => result('intents').done },
      expiries: { clear: async () => result('expiries').done },
      previews: { endExpired: async () => result('previews').done, ids: async () => [] },
      imports: { clearAbandoned: async () => result('imports').done },
      roles: { sweep: nothing },
      hostnames: { recheck: nothing },
      backups: {
        sweep: async function* sweep() {
          yield { kind: 'backup', unit: 'directory', outcome: 'swept', reason: 'backed_up' };
          yield { kind: 'backup', unit: 'scp_1', outcome: 'skipped', reason: 'operation_running' };
        },
      },
    },
    backupPolicy,
    alerts: null,
    archive: { archiveStatus: () => ({ state: 'shipping', lagMs }) },
    blobArchive: null,
    outcomes: {
      read: async function* read() {
        yield* outcomes;
      },
    },
    usage: {
      collectTouched: async () => result('touched'),
      collectAll: async () => result('all'),
    },
    useMeters: { flush: async () => result('use') },
    storageMeter: { measure: async () => result('storage') },
    tidyUp: async () => ({ steps: 9, failed: failedSteps }),
    onFailure: (failure: OpsFailureInput) => void failures.push(failure),
  };
  const list = makeJobs(options as unknown as JobsOptions);
  const jobs = new Map(list.map((job) => [job.name, job]));
  const onError = (error: unknown) => expect.fail(String(error));
  const runner: JobRunner = new JobRunner({ jobs: list, recordSweep, repeats, onError });
  const run = (name: string): Promise<void> => runner.run(name);
  return { list, jobs, run, written, failures, calls };
}

test('every job has a name of its own, and runs often enough for its purpose', () => {
  const { list, jobs } = open();
  const every = (name: string) => (jobs.get(name)?.everyMs ?? 0) / 60_000;
  // A token is refreshed in the last ten minutes before it expires.
  expect(every('connections')).toBeLessThan(10);
  expect([every('usage'), every('meters'), every('maintenance')]).toEqual([1, 1, 24 * 60]);
  // Each day has a figure, also when the platform is up for an hour of it.
  expect(every('storage')).toBeLessThan(24 * 60);
  expect(jobs.size).toBe(list.length);
});

test('a sweep over connections ends between two of them when the platform stops', async () => {
  const { run, written } = open();
  await run('connections');
  expect(written).toMatchObject([{ unit: 'con_1' }, { unit: 'con_2' }]);
});

test('spec 6.4: runs of schedules are rows, and deliveries that were given up are operations failures', async () => {
  const ran: SweepUnit = { kind: 'schedule', unit: 'overdue', outcome: 'ran' };
  const given = { operation: 'deliveries.deliver', reason: 'conflict', detail: 'No.' };
  const { run, written, failures } = open({ outcomes: [{ failure: given }, { run: ran }] });
  await run('schedules');
  expect([written, failures]).toEqual([
    [ran, { kind: 'schedule', unit: 'platform/schedules', outcome: 'ran' }],
    [given],
  ]);
});

test.each([
  [0, { outcome: 'ran' }],
  [2, { outcome: 'failed', reason: 'some_failed' }],
] as const)(
  'spec 6.4: a maintenance run with %i failed steps is one row: %o',
  async (failedSteps, outcome) => {
    const { run, written } = open({ failedSteps });
    await run('maintenance');
    expect(written).toEqual([{ kind: 'schedule', unit: 'platform/maintenance', ...outcome }]);
  },
);

test('spec C-31: an archive that is late is stale, and each verdict is a row', async () => {
  const { run, written } = open({ lagMs: 3_600_000 });
  await run('freshness');
  await run('freshness');
  const row = { unit: 'archive/databases', outcome: 'stale', reason: 'lagging' };
  expect(written.filter(({ kind }) => kind === 'freshness')).toMatchObject([row, row]);
});

test('spec C-31: each backup is a row, and a unit that is skipped again and again is one row a day', async () => {
  const { run, written } = open();
  await run('backups');
  await run('backups');
  const made = { kind: 'backup', unit: 'directory', outcome: 'swept' };
  const rows = written.filter(({ kind }) => kind === 'backup');
  expect(rows).toMatchObject([made, { unit: 'scp_1', outcome: 'skipped' }, made]);
});

test('without a policy there is no job that makes backups', () => {
  expect(open({ backupPolicy: null }).jobs.has('backups')).toBe(false);
});

const WITHOUT_UNITS = [
  'usage',
  'usage-everywhere',
  'meters',
  'storage',
  'intents',
  'expiries',
  'previews',
  'imports',
];

test('spec C-31: a run of a job without units is a row itself', async () => {
  const { run, calls, written } = open({ totals: { done: 3, failed: 0 } });
  for (const name of WITHOUT_UNITS) await run(name);
  expect(calls).toEqual(['touched', 'all', 'use', 'storage', 'intents', 'expiries', 'previews', 'imports']);
  expect(written).toEqual(
    WITHOUT_UNITS.map((name) => ({ kind: 'schedule', unit: `platform/${name}`, outcome: 'ran' })),
  );
});

test('a job without work says so, and that is not repeated', async () => {
  const { run, written } = open();
  for (const name of [...WITHOUT_UNITS, ...WITHOUT_UNITS]) await run(name);
  expect(written).toHaveLength(WITHOUT_UNITS.length);
  for (const row of written) expect(row).toMatchObject({ outcome: 'skipped', reason: 'nothing_due' });
});

test('a job with failed work has failed, and that is a row each time', async () => {
  const { run, written } = open({ totals: { done: 3, failed: 1 } });
  await run('usage');
  await run('usage');
  const row = { kind: 'schedule', unit: 'platform/usage', outcome: 'failed', reason: 'some_failed' };
  expect(written).toEqual([row, row]);
});

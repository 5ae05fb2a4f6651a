import type { ConnectionSweep, OpsFailureInput, SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/repeats.ts';
import { type JobsOptions, makeJobs } from './jobs.ts';
import type { ScopeOutcome } from './scope-outcomes.ts';

async function collect<T>(units: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const unit of units) all.push(unit);
  return all;
}

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

/** The jobs over a platform that a test describes; what was written down is kept. */
function open({
  outcomes = [],
  failedSteps = 0,
  lagMs = 0,
  backupPolicy = { everyMs: 86_400_000, keepDaily: 7, keepWeekly: 4 },
}: {
  outcomes?: readonly ScopeOutcome[];
  failedSteps?: number;
  lagMs?: number;
  backupPolicy?: JobsOptions['backupPolicy'];
} = {}) {
  const written: (SweepUnit | ConnectionSweep)[] = [];
  const failures: OpsFailureInput[] = [];
  const calls: string[] = [];
  const stopping = new AbortController();
  const record = async (units: AsyncIterable<SweepUnit | ConnectionSweep> | Iterable<SweepUnit>) => {
    written.push(...(await collect(units)));
    return { run: 'run', units: written.length, failed: 0 };
  };
  const options = {
    hostAdmin: {
      recordSweep: record,
      recordConnectionSweep: record,
      connections: {
        sweep: async function* sweep() {
          yield connection('con_1');
          stopping.abort();
          yield connection('con_2');
          yield connection('con_3');
        },
      },
      entitlements: { deliver: async () => void calls.push('entitlements') },
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
    archive: { archiveStatus: () => ({ state: 'shipping', lagMs }) },
    blobArchive: null,
    outcomes: {
      read: async function* read() {
        yield* outcomes;
      },
    },
    usage: {
      collectTouched: async () => void calls.push('touched'),
      collectAll: async () => void calls.push('all'),
    },
    meters: ['requests', 'invocations'].map((name) => ({ flush: async () => void calls.push(name) })),
    storageMeter: { measure: async () => void calls.push('storage') },
    tidyUp: async () => ({ steps: 9, failed: failedSteps }),
    onFailure: (failure: OpsFailureInput) => void failures.push(failure),
    repeats: makeRepeats(() => 0),
  };
  const list = makeJobs(options as unknown as JobsOptions);
  const jobs = new Map(list.map((job) => [job.name, job]));
  const run = async (name: string): Promise<void> => {
    await jobs.get(name)?.run(stopping.signal);
  };
  return { list, jobs, run, written, failures, calls };
}

test('every job has a name of its own, and comes by often enough for what it is there for', () => {
  const { list, jobs } = open();
  const every = (name: string) => (jobs.get(name)?.everyMs ?? 0) / 60_000;
  // A token that ends within ten minutes is refreshed by whoever comes by.
  expect(every('connections')).toBeLessThan(10);
  expect([every('usage'), every('meters'), every('maintenance')]).toEqual([1, 1, 24 * 60]);
  // A figure of every day, also where the platform is up for an hour of it.
  expect(every('storage')).toBeLessThan(24 * 60);
  expect(jobs.size).toBe(list.length);
});

test('a sweep over connections ends between two of them when the platform stops', async () => {
  const { run, written } = open();
  await run('connections');
  expect(written).toMatchObject([{ connection: 'con_1' }, { connection: 'con_2' }]);
});

test('spec 6.4: runs of schedules are rows, and deliveries that were given up are failures of operation', async () => {
  const ran: SweepUnit = { kind: 'schedule', unit: 'overdue', outcome: 'ran' };
  const given = { operation: 'deliveries.deliver', reason: 'conflict', detail: 'No.' };
  const { run, written, failures } = open({ outcomes: [{ failure: given }, { run: ran }] });
  await run('schedules');
  expect([written, failures]).toEqual([[ran], [given]]);
});

test.each([
  [0, 'ran', null],
  [2, 'failed', 'steps_failed'],
] as const)(
  'spec 6.4: a tidying up with %i failed steps is one row: %s',
  async (failedSteps, outcome, reason) => {
    const { run, written } = open({ failedSteps });
    await run('maintenance');
    expect(written).toEqual([{ kind: 'schedule', unit: 'platform/maintenance', outcome, reason }]);
  },
);

test('spec 6.4: an archive that is late is stale, and that is said once an hour', async () => {
  const { run, written } = open({ lagMs: 3_600_000 });
  await run('freshness');
  await run('freshness');
  expect(written).toMatchObject([{ unit: 'archive/databases', outcome: 'stale', reason: 'lagging' }]);
});

test('spec C-31: what is backed up is a row each, and what is passed over again and again is one a day', async () => {
  const { run, written } = open();
  await run('backups');
  await run('backups');
  const made = { kind: 'backup', unit: 'directory', outcome: 'swept' };
  expect(written).toMatchObject([made, { unit: 'scp_1', outcome: 'skipped' }, made]);
});

test('without a policy there is no job that makes backups', () => {
  expect(open({ backupPolicy: null }).jobs.has('backups')).toBe(false);
});

test('what has no rows is done all the same', async () => {
  const { run, calls } = open();
  for (const name of ['usage', 'usage-everywhere', 'meters', 'storage', 'entitlements']) await run(name);
  expect(calls).toEqual(['touched', 'all', 'requests', 'invocations', 'storage', 'entitlements']);
});

import { PlatformError } from '@freehold/contracts';
import type { Incident, OpsFailureInput } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { expect, test } from 'vitest';
import { reportingFailures } from '../applications/mail.ts';
import { type ServedNode, whileServing } from '../network/router.ts';
import { makeFeeds } from './feeds.ts';

const SCOPE = 'scp_01j00000000000000000000001';
const OTHER = 'scp_01j00000000000000000000002';
const TENANT = 'tnt_01j00000000000000000000001';
const node = {
  tenant: TENANT,
  scope: SCOPE,
  vertical: 'fieldwork',
  version: '1.2.3',
  surface: 'app',
} as ServedNode;

function open({ failing = false }: { failing?: boolean } = {}) {
  const reported: Parameters<IncidentSink>[1][] = [];
  const incidents: Incident[] = [];
  const failures: OpsFailureInput[] = [];
  let nowMs = 0;
  const feeds = makeFeeds({
    report: (_error, where) => void reported.push(where),
    now: () => nowMs,
    versionOf: (slug) => (slug === 'fieldwork' ? '1.0.0' : undefined),
    tenantOf: (scope) => (scope === SCOPE ? TENANT : undefined),
  });
  const admin = {
    ingestIncident: async (incident: Incident) => void incidents.push(incident),
    recordOpsFailure: async (failure: OpsFailureInput) => {
      if (failing) throw new Error('the directory is away');
      failures.push(failure);
    },
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { feeds, admin, reported, incidents, failures, pass };
}

test('an incident goes to the operator and to the issues, also one from before the directory was open', () => {
  const { feeds, admin, reported, incidents } = open();
  const [first, second] = [new Error('first'), new Error('second')];
  feeds.onIncident(first, { kind: 'platform', key: 'start', method: 'open' });
  expect([reported.length, incidents.length]).toEqual([1, 0]);
  feeds.open(admin);
  feeds.onIncident(second, { kind: 'platform', key: 'http', method: 'fetch' });
  expect(incidents.map(({ error }) => error)).toEqual([first, second]);
  expect(reported).toHaveLength(2);
});

test.each(['ingestIncidents', 'recordOpsFailures'])(
  'an incident of the intake itself (%s) goes to the operator alone, and never loops',
  (method) => {
    const { feeds, admin, reported, incidents } = open();
    feeds.open(admin);
    feeds.onIncident(new Error('disk full'), { kind: 'directory', key: 'main', method });
    expect([reported.length, incidents.length]).toEqual([1, 0]);
    feeds.onIncident(new Error('disk full'), { kind: 'directory', key: 'main', method: 'change' });
    expect(incidents).toHaveLength(1);
  },
);

test('while nothing can be stored, the fault is told once, and not again for each job that meets it', () => {
  const { feeds, admin, reported, incidents } = open();
  feeds.open(admin);
  const full = () => new PlatformError('unavailable', 'The disk is full.', { reason: 'storage_full' });
  feeds.onIncident(full(), { kind: 'platform', key: 'storage', method: 'write' });
  for (const method of ['roles', 'usage', 'intents'])
    feeds.onIncident(full(), { kind: 'platform', key: 'sweep', method });
  expect(reported.map(({ key }) => key)).toEqual(['storage']);
  expect(incidents).toHaveLength(1);
  // It was over, and is there again.
  feeds.onIncident(full(), { kind: 'platform', key: 'storage', method: 'write' });
  feeds.onIncident(new Error('another'), { kind: 'platform', key: 'sweep', method: 'roles' });
  expect(reported.map(({ key }) => key)).toEqual(['storage', 'storage', 'sweep']);
});

test('a failure that cannot be recorded is reported to the operator, once', async () => {
  const { feeds, admin, reported, incidents } = open({ failing: true });
  feeds.open(admin);
  feeds.onFailure({ operation: 'mail.send', reason: 'unreachable', detail: 'No.' });
  await Promise.resolve();
  expect(reported).toEqual([{ kind: 'platform', key: 'operations-log', method: 'recordOpsFailure' }]);
  expect(incidents).toEqual([]);
});

test('spec 2.8: an incident in a request has its tenant, scope, vertical and the version that served', () => {
  const { feeds, admin, incidents } = open();
  feeds.open(admin);
  whileServing(node, () =>
    feeds.onIncident(new Error('x'), {
      kind: 'fieldwork',
      key: 'req_1',
      method: 'POST /api/orders/ord_1/x9',
    }),
  );
  expect(incidents[0]).toMatchObject({
    where: { kind: 'fieldwork', method: 'POST/api/orders/id/id' },
    vertical: 'fieldwork',
    version: '1.2.3',
    scope: { tenant: TENANT, scope: SCOPE },
  });
});

test('an incident in a scope belongs to that scope, whichever request is in progress', () => {
  const { feeds, admin, incidents } = open();
  feeds.open(admin);
  const where = { kind: 'scope-fieldwork', method: 'work' };
  feeds.onIncident(new Error('x'), { ...where, key: SCOPE });
  // Calls are committed together: this incident occurred during another tenant's request.
  whileServing(node, () => feeds.onIncident(new Error('x'), { ...where, key: OTHER }));
  expect(incidents).toMatchObject([
    { vertical: 'fieldwork', version: '1.0.0', scope: { tenant: TENANT, scope: SCOPE } },
    { vertical: 'fieldwork', version: '1.0.0', scope: { tenant: '', scope: OTHER } },
  ]);
});

test('an incident of the platform belongs to no tenant', () => {
  const { feeds, admin, incidents } = open();
  feeds.open(admin);
  whileServing(node, () =>
    feeds.onIncident(new Error('x'), { kind: 'directory', key: 'main', method: 'routes' }),
  );
  expect(incidents).toEqual([{ error: expect.any(Error), where: { kind: 'directory', method: 'routes' } }]);
});

test('the same failure of the same thing is one row an hour', () => {
  const { feeds, admin, failures, pass } = open();
  feeds.open(admin);
  const fail = (subject: string, reason: string) =>
    feeds.onFailure({ operation: 'maintenance', subject, reason, detail: 'No.' });
  fail('a', 'internal');
  fail('a', 'internal');
  fail('b', 'internal');
  fail('a', 'unavailable');
  pass(3_600_000);
  fail('b', 'internal');
  expect(failures.map(({ subject, reason }) => `${subject} ${reason}`)).toEqual([
    'a internal',
    'b internal',
    'a unavailable',
    'b internal',
  ]);
});

test('an incident of the archive is also a failure', () => {
  const { feeds, admin, failures, incidents } = open();
  feeds.open(admin);
  const error = new PlatformError('unavailable', 'The store is away.');
  feeds.onIncident(error, { kind: 'directory', key: 'main', method: 'archive' });
  feeds.onIncident(error, { kind: 'archive', key: 'attachments', method: 'put' });
  expect(failures).toMatchObject([
    { operation: 'archive.ship', subject: 'directory/main', reason: 'unavailable' },
    { operation: 'archive.ship', subject: 'archive/attachments', reason: 'unavailable' },
  ]);
  expect(incidents).toHaveLength(2);
});

test.each([
  ['ENOSPC', 'storage_full', 'The disk is full (ENOSPC): make room.'],
  ['EROFS', 'storage_read_only', 'cannot be written (EROFS)'],
  ['ENOENT', 'enoent', 'is not there (ENOENT): mount it.'],
  ['ECONNREFUSED', 'econnrefused', 'it is tried again.'],
])('a row of the archive names its cause: %s', (code, reason, detail) => {
  const { feeds, admin, failures } = open();
  feeds.open(admin);
  const error = Object.assign(new Error(`${code}: it failed, write '/mnt/backup/archive'`), { code });
  feeds.onIncident(error, { kind: 'directory', key: 'main', method: 'archive' });
  expect(failures).toMatchObject([
    { operation: 'archive.ship', reason, detail: expect.stringContaining(detail) },
  ]);
});

test('mail that does not leave is a failure without its recipient, and an error for its sender', async () => {
  const { feeds, admin, failures } = open();
  feeds.open(admin);
  const refused = Object.assign(new Error('ada@example.org is unknown'), { code: 'refused' });
  const mailer = reportingFailures({ send: () => Promise.reject(refused) }, feeds.onFailure);
  await expect(mailer.send({ to: 'ada@example.org', subject: 'Hello', text: 'x' } as never)).rejects.toBe(
    refused,
  );
  expect(failures).toMatchObject([{ operation: 'mail.send', reason: 'refused' }]);
  expect(JSON.stringify(failures)).not.toContain('ada');
});

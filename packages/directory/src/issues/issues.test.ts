/** Issues from the incident to the verdict, on the real engine (spec C-26). */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { IssueRecord } from '../admin-operations.ts';
import type { Incident } from './incident-intake.ts';

const incident = (message: string, more: Partial<Incident> = {}): Incident => ({
  error: { name: 'TypeError', message },
  where: { kind: 'scope-fieldwork', method: 'invoke' },
  vertical: 'fieldwork',
  version: '1.0.0',
  ...more,
});

const issues = async (platform: Platform, query = {}): Promise<IssueRecord[]> =>
  (await platform.value<{ items: IssueRecord[] }>('issues.list', { query })).items;

async function openWithOne() {
  const platform = await openPlatform();
  const see = (version?: string) =>
    platform.admin.ingestIncident(incident('it broke', version === undefined ? {} : { version }));
  await see();
  const only = async () => (await issues(platform))[0] as IssueRecord;
  const { fingerprint } = await only();
  const judge = (status: string, more = {}) =>
    platform.call('issues.set-status', { body: { fingerprint, status }, ...more });
  return { platform, see, only, judge, fingerprint };
}

describe('spec C-26: the list', () => {
  test('has one line for each kind of error, most recently seen first, and no cursor', async () => {
    const platform = await openPlatform();
    for (const message of ['order 1 broke', 'no paper', 'order 22 broke', 'order 333 broke']) {
      await platform.admin.ingestIncident(incident(message));
      platform.clock.ms += 1000;
    }
    const { value } = await platform.call('issues.list');
    expect(Object.keys(value as object)).toEqual(['items']);
    expect(await issues(platform)).toMatchObject([
      {
        message: 'order <n> broke',
        count: 3,
        status: 'open',
        where: 'scope-fieldwork.invoke',
        firstSeenAt: '2026-11-21T08:00:00.000Z',
        lastSeenAt: '2026-11-21T08:00:03.000Z',
      },
      { message: 'no paper', count: 1, lastSeenAt: '2026-11-21T08:00:01.000Z' },
    ]);
    expect(await refusal(platform.call('issues.list', { query: { cursor: 'MQ' } }))).toMatchObject({
      status: 400,
    });
  });

  test('is narrowed by state and vertical', async () => {
    const { platform, judge } = await openWithOne();
    await platform.admin.ingestIncident({
      error: new Error('ours'),
      where: { kind: 'directory', method: 'read' },
    });
    await judge('ignored');
    expect(await issues(platform, { status: 'ignored' })).toMatchObject([{ vertical: 'fieldwork' }]);
    expect(await issues(platform, { vertical: 'fieldwork' })).toHaveLength(1);
    expect(await issues(platform, { status: 'open' })).toMatchObject([{ vertical: null }]);
    expect(await issues(platform, { limit: 1 })).toHaveLength(1);
  });

  test('shows where the latest one was seen, and keeps no payload and no secret anywhere', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const error = new TypeError(
      'Bearer hunter2hunter2 for ada@example.com, "Ada Lovelace", password: swordfish',
    );
    Object.assign(error, { payload: { card: '4111111111111111' }, cause: new Error('swordfish') });
    await platform.admin.ingestIncident(
      incident('', { error, scope: { tenant: scope.tenant, scope: scope.id } }),
    );
    const [issue] = await issues(platform);
    expect(issue?.sample).toMatchObject({ tenant: scope.tenant, scope: scope.id, version: '1.0.0' });
    expect(issue?.sample.frames[0]).toMatch(/^\S.*\(issues\.test\.ts:\d+\)$/);
    let stored = '';
    await platform.tamper((database) => {
      stored = JSON.stringify(database.prepare('SELECT * FROM issues').all());
    });
    expect(stored).toContain('TypeError');
    expect(stored).not.toMatch(/hunter2|ada@|Lovelace|swordfish|41111111|\/packages\//);
  });
});

describe('spec C-26: verdicts', () => {
  test('resolve, ignore and reopen, each with one row in the admin log', async () => {
    const { platform, judge, fingerprint } = await openWithOne();
    for (const status of ['resolved', 'ignored', 'open', 'ignored', 'resolved', 'open'])
      expect(await judge(status)).toMatchObject({ status: 200, value: { status } });
    const rows = await platform.adminLog();
    expect(rows).toHaveLength(6);
    expect(rows[0]).toMatchObject({
      action: 'issues.set-status',
      target: { tenant: null, vertical: 'fieldwork', other: fingerprint },
      before: { status: 'open' },
      after: { status: 'resolved' },
    });
  });

  test('the present one again changes nothing and writes no row', async () => {
    const { platform, judge } = await openWithOne();
    expect(await judge('open')).toMatchObject({ status: 200, value: { status: 'open' } });
    expect(await platform.adminLog()).toEqual([]);
    // A caller with an older state is refused all the same.
    expect(await refusal(judge('open', { ifMatch: '"7.7"' }))).toMatchObject({ status: 412 });
  });

  test.each(['open', 'ignored'])('a resolved one that becomes %s was resolved in nothing', async (status) => {
    const { judge, only } = await openWithOne();
    await judge('resolved');
    expect(await only()).toMatchObject({ resolvedIn: '1.0.0' });
    await judge(status);
    expect(await only()).toMatchObject({ status, resolvedIn: null });
  });

  test('a sent `regressed` is refused, and says whose word that is', async () => {
    const { platform, judge, only } = await openWithOne();
    const refused = await judge('regressed').then(
      () => expect.unreachable(),
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'status', message: expect.stringContaining('set by the platform') }],
    });
    expect(await only()).toMatchObject({ status: 'open', regressions: 0 });
    expect(await platform.adminLog()).toEqual([]);
  });

  test.each(['reopened', 'resolve', '', null, 7])('%j is no verdict', async (status) => {
    const { judge } = await openWithOne();
    expect(await refusal(judge(status as string))).toMatchObject({ status: 400 });
  });

  test('about an issue that is not there: 404', async () => {
    const { platform } = await openWithOne();
    const body = { fingerprint: '0'.repeat(32), status: 'resolved' };
    expect(await refusal(platform.call('issues.set-status', { body }))).toMatchObject({
      status: 404,
      reason: 'unknown_issue',
    });
  });

  test('a verdict about another state than the one that was looked at is 412, after a regression too', async () => {
    const { judge, only, see } = await openWithOne();
    const { etag } = await only();
    await judge('resolved', { ifMatch: `"${etag}"` });
    expect(await refusal(judge('ignored', { ifMatch: `"${etag}"` }))).toMatchObject({ status: 412 });
    const resolved = await only();
    await see();
    expect(await refusal(judge('ignored', { ifMatch: `"${resolved.etag}"` }))).toMatchObject({ status: 412 });
    await judge('ignored', { ifMatch: `"${(await only()).etag}"` });
    expect(await only()).toMatchObject({ status: 'ignored' });
  });
});

describe('spec C-26: only ingest sets `regressed`', () => {
  test.each(['1.0.0', '1.0.1', '2.0.0'])(
    'a resolved issue seen again in %s has regressed',
    async (version) => {
      const { judge, see, only } = await openWithOne();
      await judge('resolved');
      expect(await only()).toMatchObject({ resolvedIn: '1.0.0' });
      await see(version);
      expect(await only()).toMatchObject({
        status: 'regressed',
        regressions: 1,
        count: 2,
        newestVersion: version,
      });
      await see(version);
      expect(await only()).toMatchObject({ status: 'regressed', regressions: 1, count: 3 });
    },
  );

  test('seen in an older version, it is counted and stays resolved', async () => {
    const { judge, see, only } = await openWithOne();
    await see('1.2.0');
    await judge('resolved');
    await see('1.1.9');
    expect(await only()).toMatchObject({
      status: 'resolved',
      regressions: 0,
      count: 3,
      newestVersion: '1.2.0',
    });
  });

  test('an ignored one stays ignored, an open one open', async () => {
    const { judge, see, only } = await openWithOne();
    await see('9.0.0');
    expect(await only()).toMatchObject({ status: 'open' });
    await judge('ignored');
    await see('10.0.0');
    expect(await only()).toMatchObject({ status: 'ignored', regressions: 0 });
  });

  test('it can be resolved again, and regress again', async () => {
    const { judge, see, only } = await openWithOne();
    for (const regressions of [1, 2]) {
      await judge('resolved');
      await see();
      expect(await only()).toMatchObject({ status: 'regressed', regressions });
    }
  });

  test('what was seen before the verdict is no regression, though it is written after it', async () => {
    const { platform, judge, see, only } = await openWithOne();
    // More than one batch a second: the last ones wait in memory when the verdict comes.
    for (let i = 0; i < 30; i++) await see();
    platform.clock.ms += 5;
    await judge('resolved');
    expect(await only()).toMatchObject({ status: 'resolved', count: 31 });
  });
});

describe('a storm', () => {
  test('of one fault is counted exactly, also when all come at once', async () => {
    const platform = await openPlatform();
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => platform.admin.ingestIncident(incident(`order ${i} broke`))),
    );
    expect(await issues(platform)).toMatchObject([{ count: 500 }]);
  });

  test('of messages with unrecognised values takes 20 lines, and one for the rest', async () => {
    const platform = await openPlatform();
    const words = Array.from(
      { length: 120 },
      (_, i) => `${'abcdefghijkl'[i % 12]}${'mnopqrstuv'[Math.floor(i / 12)]}`,
    );
    for (const word of words) await platform.admin.ingestIncident(incident(`customer ${word} broke`));
    const listed = await issues(platform, { limit: 1000 });
    expect(listed).toHaveLength(21);
    expect(listed.reduce((sum, { count }) => sum + count, 0)).toBe(120);
    expect(listed.find(({ count }) => count > 1)).toMatchObject({
      count: 100,
      message: expect.stringContaining('not kept apart'),
    });
  });

  test('of a thousand kinds is bounded; what is resolved or long unseen makes room', async () => {
    const platform = await openPlatform();
    const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEF'];
    const names = letters.flatMap((a) => letters.map((b) => `E${a}${b}x`)).slice(0, 1010);
    const see = async (name: string) =>
      platform.admin.ingestIncident(incident('it broke', { error: { name, message: 'it broke' } }));
    for (const name of names) {
      await see(name);
      // Slower than the intake's own limit, so that it is the table that is bounded here.
      platform.clock.ms += 1000;
    }
    const full = await issues(platform, { limit: 1000 });
    expect(full).toHaveLength(1000);
    expect(full[0]).toMatchObject({ message: 'Further errors, for which there is no room', count: 11 });
    const body = { fingerprint: full[5]?.fingerprint, status: 'resolved' };
    await platform.call('issues.set-status', { body });
    await see('Afterwards');
    const after = await issues(platform, { limit: 1000 });
    expect(after).toHaveLength(1000);
    expect(after[0]).toMatchObject({ name: 'Afterwards', count: 1 });
    expect(after.map(({ fingerprint }) => fingerprint)).not.toContain(body.fingerprint);
    platform.clock.ms += 31 * 24 * 60 * 60 * 1000;
    await see('MuchLater');
    expect((await issues(platform, { limit: 1000 }))[0]).toMatchObject({ name: 'MuchLater' });
    expect(await issues(platform, { limit: 1000 })).toHaveLength(1000);
  });
});

test('a place, a version and a scope that are none are left out', async () => {
  const platform = await openPlatform();
  const hostile = { tenant: "x' OR 1=1", scope: '../../etc' };
  await platform.admin.ingestIncident({
    error: new Error('x'),
    where: { kind: '<b>', method: 'ada@example.com' },
    vertical: 'No Slug',
    version: 'a b\n'.repeat(100),
    scope: hostile,
  });
  expect(await issues(platform)).toMatchObject([
    {
      where: 'unknown.unknown',
      vertical: null,
      sample: { tenant: null, scope: null, version: null },
    },
  ]);
});

/** The host administration over scopes of the real kernel, by either transport. */
import { toTimestamp } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ErasureReceipt, OperationRecord } from '../src/admin-operations.ts';
import { ANONYMOUS, LIBRARIAN, type LibraryPlatform, openLibraryPlatform } from './library-platform.ts';
import { refusal } from './platform.ts';

const DAY_MS = 86_400_000;
const TRANSPORTS = ['bound', 'local'] as const;

const putRole = ({ call }: LibraryPlatform, permissions: string[], key = 'support') =>
  call('roles.put', { params: { key }, body: { name: 'Support', permissions } });

describe.each(TRANSPORTS)('spec C-22: the roles of the platform, by %s', (transport) => {
  test('grant in every scope what they say, and no longer when they are taken away', async () => {
    const opened = await openLibraryPlatform(transport);
    const { stub, invoke, call } = opened;
    await putRole(opened, ['book.add', 'invoice.write']);
    await stub.assignRole({ principal: ANONYMOUS, role: 'support', by: 'platform' });
    const add = () => invoke(ANONYMOUS, 'book/add', { title: 'Emma' });
    expect((await add()).output).toMatchObject({ book: expect.any(String) });
    await putRole(opened, ['book.read']);
    await expect(add()).rejects.toMatchObject({ code: 'permission_denied' });
    await putRole(opened, ['book.add']);
    await add();
    await call('roles.delete', { params: { key: 'support' } });
    await expect(add()).rejects.toMatchObject({ code: 'permission_denied' });
    expect(opened.incidents).toEqual([]);
  });

  test('are in a scope that is provisioned later, as soon as it is', async () => {
    const opened = await openLibraryPlatform(transport);
    await putRole(opened, ['book.add']);
    const later = opened.host.scope((await opened.provision('later')).id);
    await later.assignRole({ principal: ANONYMOUS, role: 'support', by: 'platform' });
    expect((await later.holdings({ principal: ANONYMOUS })).permissions).toEqual(['book.add']);
  });

  test('survive a rewind to before they were there', async () => {
    const opened = await openLibraryPlatform(transport);
    const { call, value, at, stub } = opened;
    const { current } = await value<{ current: { bookmark: string } }>('bookmarks.list', { params: at });
    await putRole(opened, ['book.add']);
    await call('scopes.rewind', { params: at, body: { bookmark: current.bookmark } });
    await stub.assignRole({ principal: ANONYMOUS, role: 'support', by: 'platform' });
    expect((await stub.holdings({ principal: ANONYMOUS })).permissions).toEqual(['book.add']);
  });

  test('do not change what a role of the manifest means', async () => {
    const opened = await openLibraryPlatform(transport);
    await putRole(opened, ['book.add'], 'visitor');
    await opened.stub.assignRole({ principal: ANONYMOUS, role: 'visitor', by: 'platform' });
    expect((await opened.stub.holdings({ principal: ANONYMOUS })).permissions).toEqual(['library.browse']);
  });
});

describe.each(TRANSPORTS)('spec C-09: a plan, by %s', (transport) => {
  const DRY = { dryRun: true };
  const note = ({ invoke }: LibraryPlatform, reader: string, text = 'a note') =>
    invoke(LIBRARIAN, 'reader/note', { reader, text });
  const accesses = async ({ value }: LibraryPlatform) =>
    (
      await value<{ items: { operation: string; items: number }[] }>('access-log.list', {
        query: { operation: 'subjects.shred' },
      })
    ).items;

  test('of a rewind says how far back it goes and what is taken back, and goes nowhere', async () => {
    const opened = await openLibraryPlatform(transport);
    const { call, value, at, clock, log } = opened;
    await note(opened, 'rdr_ada');
    const { current: target } = await value<{ current: { bookmark: string; at: string } }>('bookmarks.list', {
      params: at,
    });
    for (let minutes = 1; minutes <= 3; minutes++) {
      clock.ms += 60_000;
      await note(opened, 'rdr_bob', `note ${minutes}`);
    }
    const { current, items } = await value<{ current: object; items: { bookmark: string }[] }>(
      'bookmarks.list',
      { params: at, query: { limit: 200 } },
    );
    const planned = {
      dryRun: true,
      scope: at.scope,
      to: target,
      current,
      seconds: 180,
      commits: { count: items.findIndex(({ bookmark }) => bookmark === target.bookmark), more: false },
      earliest: expect.any(String),
      undo: true,
    };
    const plan = (body: object) => value('scopes.rewind', { params: at, query: DRY, body: { ...body } });
    expect(planned.commits.count).toBeGreaterThanOrEqual(3);
    expect(await plan({ bookmark: target.bookmark })).toEqual(planned);
    expect(await plan({ at: toTimestamp(clock.ms - 170_000) })).toEqual(planned);
    expect((await value<{ current: object }>('bookmarks.list', { params: at })).current).toEqual(current);
    expect(await log('scopes.rewind')).toEqual([]);
    for (const body of [{ bookmark: 'bmk_00000000000000000' }, { at: toTimestamp(clock.ms - DAY_MS) }])
      expect(await refusal(plan(body))).toMatchObject({ status: 404, reason: 'unknown_bookmark' });
    expect(await call('scopes.rewind', { params: at, body: { bookmark: target.bookmark } })).toMatchObject({
      value: { bookmark: target.bookmark, at: target.at },
    });
  });

  test('of an erasure counts what would lose its payload, and the count is a read that is logged', async () => {
    const opened = await openLibraryPlatform(transport);
    const { value, at, log } = opened;
    for (const text of ['one', 'two', 'three']) await note(opened, 'rdr_ada', text);
    await note(opened, 'rdr_bob');
    const plan = (subject: string) => value('subjects.shred', { params: { ...at, subject }, query: DRY });
    const known = { dryRun: true, scope: at.scope, status: 'active', receipt: null, key: 'unknown' };
    expect(await plan('rdr_ada')).toEqual({ ...known, events: 3, backups: 0, snapshots: 0 });
    expect(await plan('rdr_nobody')).toMatchObject({ ...known, events: 0 });
    expect((await accesses(opened)).map(({ items }) => items).sort()).toEqual([0, 3]);
    expect(JSON.stringify(await accesses(opened))).not.toContain('rdr_');
    expect(await log('subjects.shred')).toEqual([]);
    expect((await opened.invoke(LIBRARIAN, 'reader/notes', { reader: 'rdr_ada' })).output).toHaveLength(3);
  });
});

describe.each(TRANSPORTS)('spec C-20: erasure, by %s', (transport) => {
  const SECRET = 'Ada lives at Saint James Square 12';
  const shred = (
    { value, at }: LibraryPlatform,
    subject = 'rdr_ada',
    key?: string,
  ): Promise<ErasureReceipt> =>
    value('subjects.shred', { params: { ...at, subject }, ...(key === undefined ? {} : { key }) });

  test('takes out what was said, destroys the key, and answers the same receipt every time', async () => {
    const opened = await openLibraryPlatform(transport);
    const { invoke, clock, log, at, value } = opened;
    await invoke(LIBRARIAN, 'reader/note', { reader: 'rdr_ada', text: SECRET });
    await invoke(LIBRARIAN, 'reader/note', { reader: 'rdr_bob', text: 'Bob' });
    const receipt = await shred(opened);
    expect(receipt).toEqual({
      subject: 'rdr_ada',
      redacted: true,
      keyDestroyedAt: toTimestamp(clock.ms),
      keyDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      receiptId: expect.stringMatching(/^rcp_[0-9a-f]{32}$/),
    });
    expect((await invoke(LIBRARIAN, 'reader/notes', { reader: 'rdr_bob' })).output).toEqual(['Bob']);
    const history = await value<{ items: { payload: unknown }[] }>('history.get', {
      params: at,
      query: { entityType: 'reader', entityId: 'rdr_ada' },
    });
    expect(history.items).toMatchObject([{ payload: { $shredded: { at: receipt.keyDestroyedAt } } }]);
    await expect(
      invoke(LIBRARIAN, 'reader/note', { reader: 'rdr_ada', text: 'again' }),
    ).rejects.toMatchObject({ reason: 'subject_shredded' });

    clock.ms += DAY_MS;
    expect(await shred(opened)).toEqual(receipt);
    const rows = await log('subjects.shred');
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
    expect(rows[1]).toMatchObject({ after: { receiptId: receipt.receiptId } });
    // No log names the erased person.
    expect(JSON.stringify(rows)).not.toContain('rdr_ada');
    expect(opened.incidents).toEqual([]);
  });

  test('at the same time as another is one erasure, and one of an unknown person is a receipt too', async () => {
    const opened = await openLibraryPlatform(transport);
    const [one, other] = await Promise.all([shred(opened), shred(opened)]);
    expect(one).toEqual(other);
    expect(one.keyDigest).toBeNull();
    expect((await shred(opened, 'rdr_bob')).receiptId).not.toBe(one.receiptId);
  });

  test.each(['suspended', 'archived'])('reaches a scope that is %s, and leaves it so', async (status) => {
    const opened = await openLibraryPlatform(transport);
    const { call, value, invoke, at, stub, log } = opened;
    await invoke(LIBRARIAN, 'reader/note', { reader: 'rdr_ada', text: SECRET });
    await invoke(LIBRARIAN, 'reader/note', { reader: 'rdr_bob', text: 'Bob' });
    await call('scopes.set-status', { params: at, body: { status } });
    const receipt = await shred(opened);
    expect(receipt).toMatchObject({ subject: 'rdr_ada', redacted: true, keyDigest: expect.any(String) });
    expect(await value('scopes.get', { params: at })).toMatchObject({ status });
    expect((await log('subjects.shred')).map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
    const noted = async (id: string) =>
      (await stub.history({ entity: { type: 'reader', id }, limit: 5 })).items.map(({ payload }) => payload);
    expect(await noted('rdr_ada')).toEqual([{ $shredded: { at: receipt.keyDestroyedAt } }]);
    expect((await invoke(LIBRARIAN, 'reader/notes', { reader: 'rdr_ada' })).output).toEqual([]);
    expect((await invoke(LIBRARIAN, 'reader/notes', { reader: 'rdr_bob' })).output).toEqual(['Bob']);
  });

  test('is refused where no data is left, and answers the receipt of an earlier erasure', async () => {
    const opened = await openLibraryPlatform(transport);
    const { admin, call, value, at, log } = opened;
    const receipt = await shred(opened);
    await call('scopes.set-status', { params: at, body: { status: 'archived' } });
    const { value: work } = await call('scopes.reap', { params: at, body: { backup: false } });
    const params = { operation: (work as OperationRecord).id };
    await expect.poll(() => value('operations.get', { params })).toMatchObject({ state: 'done' });
    expect(await refusal(shred(opened, 'rdr_bob'))).toMatchObject({
      status: 409,
      code: 'invalid_transition',
    });
    expect(await shred(opened)).toEqual(receipt);
    expect(await log('subjects.shred')).toHaveLength(2);
    await admin.stopLongWork();
  });

  test('is nothing that a builder may ask for, nor anybody of another tenant’s scope', async () => {
    const opened = await openLibraryPlatform(transport);
    const { call, at, log } = opened;
    const builder = { kind: 'builder', id: 'tok_1', name: 'ci', tenant: at.tenant } as never;
    const asked = call('subjects.shred', { params: { ...at, subject: 'rdr_ada' }, as: builder });
    expect(await refusal(asked)).toMatchObject({ status: 403, reason: 'staff_only' });
    const foreign = call('subjects.shred', {
      params: { ...at, tenant: 'tnt_01jd0000000000000000000009', subject: 'rdr_ada' },
    });
    expect(await refusal(foreign)).toMatchObject({ status: 404 });
    expect(await log('subjects.shred')).toEqual([]);
  });
});

test('spec C-20: an erasure whose answer is lost is not said to have failed, and the same call ends it', async () => {
  const opened = await openLibraryPlatform('bound');
  const { call, value, at, running, log } = opened;
  const params = { ...at, subject: 'rdr_ada' };
  running.is = false;
  expect(await refusal(call('subjects.shred', { params }))).toMatchObject({
    status: 502,
    reason: 'outcome_unknown',
  });
  expect((await log('subjects.shred')).map(({ outcome }) => outcome)).toEqual(['intent']);
  running.is = true;
  expect(await value('subjects.shred', { params })).toMatchObject({ redacted: true });
  expect((await log('subjects.shred')).map(({ outcome }) => outcome)).toEqual([
    'intent',
    'intent',
    'done',
    'superseded',
  ]);
});

describe.each(TRANSPORTS)('spec C-10: a dead letter, by %s', (transport) => {
  test('is put back in line, is delivered, and is in the log; once more it is not there', async () => {
    const opened = await openLibraryPlatform(transport);
    const { invoke, stub, clock, value, call, at, log } = opened;
    const { book } = (await invoke(LIBRARIAN, 'book/add', { title: 'poison' })).output as { book: string };
    await invoke(LIBRARIAN, 'book/lend', { book });
    await stub.work({});
    clock.ms += 1_300;
    await stub.work({});
    const letters = () => value<{ items: { event: { id: string } }[] }>('dead-letters.list', { params: at });
    const event = (await letters()).items[0]?.event.id;
    const retry = (subscriber = 'reminders') =>
      call('dead-letters.retry', { params: { ...at, event }, body: { subscriber } });
    expect(await refusal(retry('nobody'))).toMatchObject({ status: 404, reason: 'unknown_dead_letter' });
    await stub.projectSettings({ settings: { REPAIRED: 'yes' } });
    expect(await retry()).toMatchObject({ status: 200, value: { event, subscriber: 'reminders' } });
    await stub.work({});
    expect((await letters()).items).toEqual([]);
    const { total } = await value<{ total: number }>('facets.get', {
      params: at,
      query: { type: 'loan.reminded' },
    });
    expect(total).toBe(1);
    expect(await refusal(retry())).toMatchObject({ status: 404 });
    expect(await log('dead-letters.retry')).toMatchObject([
      { outcome: 'intent' },
      { outcome: 'failed' },
      { outcome: 'intent', after: { subscriber: 'reminders' } },
      { outcome: 'done', target: { other: event } },
      { outcome: 'intent' },
      { outcome: 'failed' },
    ]);
  });
});

test('spec C-06: what was removed is said beside history, denials and their summary, alike on both rungs', async () => {
  const { invoke, stub, clock, value, at, host, ref, running } = await openLibraryPlatform('bound');
  const answers = async (transport: 'bound' | 'local') => {
    running.rung = transport;
    const query = { entityType: 'book', entityId: 'book_1' };
    return [
      await value<object>('history.get', { params: at, query }),
      await value<object>('denials.list', { params: at }),
      await value<object>('denials.summary', { params: at }),
    ];
  };
  await invoke(LIBRARIAN, 'book/add', { title: 'Emma' });
  const { book } = (await invoke(LIBRARIAN, 'book/add', { title: 'Persuasion' })).output as { book: string };
  await invoke(LIBRARIAN, 'book/lend', { book });
  // The newest of each log stays.
  for (let i = 0; i < 2; i++)
    await expect(invoke(ANONYMOUS, 'book/add', { title: 'x' })).rejects.toMatchObject({
      code: 'permission_denied',
    });
  for (const answer of [...(await answers('bound')), ...(await answers('local'))])
    expect(answer).not.toHaveProperty('prunedBefore');

  clock.ms += 60 * DAY_MS;
  for (let round = 0; round < 100; round++) {
    await stub.work({});
    if ((await stub.retention({})).denialsPrunedBefore !== null) break;
    clock.ms += DAY_MS / 24;
  }
  const { historyPrunedBefore, denialsPrunedBefore } = await stub.retention({});
  const [history, denials, summary] = await answers('bound');
  expect(history).toMatchObject({ prunedBefore: historyPrunedBefore });
  expect(denials).toMatchObject({ prunedBefore: denialsPrunedBefore, items: [{}] });
  expect(summary).toMatchObject({ prunedBefore: denialsPrunedBefore, total: 1 });
  expect(await answers('local')).toEqual([history, denials, summary]);
  const requests = await host.listPlatformRequestHistory({ ...ref, limit: 5 });
  expect(requests.prunedBefore).toBe(historyPrunedBefore);
});

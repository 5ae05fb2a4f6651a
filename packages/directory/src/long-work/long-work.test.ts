/** Long work as its callers see it: accepted, watched, cancelled, resumed (design: control-plane, "Long work"). */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import type { OperationEvent } from '../access/actors.ts';
import type { BackupRecord, OperationRecord, ScopeRecord } from '../admin-operations.ts';

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, backups, scope };
}

const backUp = (platform: Platform, scope: ScopeRecord, parts: { key?: string; as?: typeof STAFF } = {}) =>
  platform.call('scope-backups.create', {
    params: { tenant: scope.tenant, scope: scope.id },
    body: {},
    as: SERVICE,
    ...parts,
  });

const get = (platform: Platform, id: string, query: Record<string, unknown> = {}, as = STAFF) =>
  platform.value<OperationRecord>('operations.get', { params: { operation: id }, query, as });

/** A gate that holds the work up: opened by hand. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const pass = async (): Promise<void> => {
    reached.resolve();
    await promise;
  };
  return { pass, open: resolve, reached: reached.promise };
}

test('is accepted with 202 and an intent, and ends with an outcome and its result', async () => {
  const { platform, scope } = await open();
  const accepted = await backUp(platform, scope);
  const begun = accepted.value as OperationRecord;
  expect(accepted.status).toBe(202);
  expect(begun).toMatchObject({
    name: 'scope-backups.create',
    state: 'queued',
    tenant: scope.tenant,
    scope: scope.id,
    vertical: 'fieldwork',
    startedBy: { kind: 'service', id: SERVICE.id },
    cancellable: true,
    result: null,
    problem: null,
    finishedAt: null,
  });
  const done = await get(platform, begun.id, { wait: '30s' });
  expect(done).toMatchObject({ id: begun.id, state: 'done', cancellable: false, problem: null });
  expect(done.progress).toEqual({ done: 6, total: 6, unit: 'bytes' });
  expect(done.finishedAt).not.toBeNull();
  const log = await platform.adminLog({ action: 'scope-backups.create' });
  expect(log.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
  expect(log[1]).toMatchObject({ intent: log[0]?.sequence, requestId: log[0]?.requestId });
  expect(accepted.head?.sequence).toBe(log[0]?.sequence);
});

test('a replay with the same idempotency key shows the same operation in its present state, and repeats nothing', async () => {
  const { platform, scope, backups } = await open();
  const first = (await backUp(platform, scope, { key: 'one' })).value as OperationRecord;
  await get(platform, first.id, { wait: '30s' });
  const again = await backUp(platform, scope, { key: 'one' });
  expect(again).toMatchObject({ status: 202, replayed: true, value: { id: first.id, state: 'done' } });
  expect(backups.stored.size).toBe(1);
});

test('other work on the same scope is refused while the first is not finished', async () => {
  const { platform, scope, backups } = await open();
  const { pass, open: letThrough, reached } = gate();
  backups.beforePut = pass;
  const first = (await backUp(platform, scope)).value as OperationRecord;
  await reached;
  const second = await refusal(backUp(platform, scope));
  expect(second).toMatchObject({ status: 409, code: 'conflict', reason: 'operation_running' });
  expect(second.message).toContain(first.id);
  letThrough();
  await get(platform, first.id, { wait: '30s' });
  expect((await platform.finish(backUp(platform, scope))).state).toBe('done');
});

test('no more than four run at a time, and the next begins when one has ended', async () => {
  const { platform, scope, backups } = await open();
  const scopes = [scope];
  for (let i = 0; i < 5; i++) scopes.push(await platform.scope(scope.tenant, `s${i}`));
  const { pass, open: letThrough } = gate();
  let started = 0;
  const five = Promise.withResolvers<void>();
  backups.beforePut = async () => {
    started += 1;
    if (started === 4) five.resolve();
    await pass();
  };
  const ids: string[] = [];
  for (const each of scopes) ids.push(((await backUp(platform, each)).value as OperationRecord).id);
  await five.promise;
  const states = async () => Promise.all(ids.map(async (id) => (await get(platform, id)).state));
  expect((await states()).sort()).toEqual(['queued', 'queued', 'running', 'running', 'running', 'running']);
  letThrough();
  for (const id of ids) expect((await get(platform, id, { wait: '60s' })).state).toBe('done');
});

describe('work that fails', () => {
  test('shows the problem, and the log says that it failed', async () => {
    const { platform, scope, backups } = await open();
    backups.fault = 'put';
    const failed = await platform.finish(backUp(platform, scope));
    expect(failed).toMatchObject({
      state: 'failed',
      result: null,
      problem: { code: 'unavailable', status: 503, detail: 'The disk is full.' },
    });
    const [, outcome] = await platform.adminLog({ action: 'scope-backups.create' });
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'unavailable' });
    expect(platform.incidents).toEqual([]);
  });

  test('for an unexpected reason reports it to the operator, and tells the caller only that', async () => {
    const { platform, scope, backups } = await open();
    const broken = new TypeError('secret detail');
    backups.beforePut = () => Promise.reject(broken);
    const failed = await platform.finish(backUp(platform, scope));
    expect(failed).toMatchObject({ state: 'failed', problem: { code: 'internal', status: 500 } });
    expect(JSON.stringify(failed)).not.toContain('secret detail');
    expect(platform.incidents).toContain(broken);
  });
});

describe('cancelling', () => {
  const cancel = (platform: Platform, id: string, as = STAFF) =>
    platform.call('operations.cancel', { params: { operation: id }, as });

  test('stops the work, leaves nothing behind, and is a row of the log', async () => {
    const { platform, scope, backups } = await open();
    const { pass, open: letThrough, reached } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    await reached;
    expect((await cancel(platform, id)).value).toMatchObject({ state: 'running', cancelRequested: true });
    letThrough();
    expect(await get(platform, id, { wait: '30s' })).toMatchObject({ state: 'cancelled', problem: null });
    expect(backups.stored.size).toBe(0);
    const [row] = await platform.adminLog({ action: 'operations.cancel' });
    expect(row).toMatchObject({ target: { scope: scope.id, other: id } });
    const [, outcome] = await platform.adminLog({ action: 'scope-backups.create' });
    expect(outcome).toMatchObject({ outcome: 'failed', after: { cancelled: true } });
  });

  test('an operation that has ended, or never existed, is refused', async () => {
    const { platform, scope } = await open();
    const { id } = await platform.finish(backUp(platform, scope));
    expect(await refusal(cancel(platform, id))).toMatchObject({
      status: 409,
      code: 'invalid_transition',
      reason: 'not_cancellable',
    });
    expect(await refusal(cancel(platform, 'opn_01jd0000000000000000000009'))).toMatchObject({ status: 404 });
  });

  test('work past its point of no return goes on', async () => {
    const { platform, scope } = await open();
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    const { pass, open: letThrough, reached } = gate();
    const { served } = platform.fieldwork;
    platform.fieldwork.fault = async (request) => {
      if (request.url.endsWith('delete-scope')) await pass();
      platform.fieldwork.fault = null;
      return served(request);
    };
    const { id } = (await platform.call('scopes.reap', { params, body: { backup: false } }))
      .value as OperationRecord;
    await reached;
    expect((await get(platform, id)).cancellable).toBe(false);
    expect(await refusal(cancel(platform, id))).toMatchObject({ reason: 'not_cancellable' });
    letThrough();
    expect((await get(platform, id, { wait: '30s' })).state).toBe('done');
  });
});

describe('a builder', () => {
  test('sees, lists and cancels the work of its own tenant; that of another one reads as not found', async () => {
    const { platform, scope } = await open();
    const { id } = await platform.finish(backUp(platform, scope));
    const other = await platform.tenant('other');
    const ours = platform.builder(scope.tenant);
    const theirs = platform.builder(other.id);
    expect((await get(platform, id, {}, ours as never)).id).toBe(id);
    const list = (as: typeof STAFF, query = {}) =>
      platform.value<{ items: OperationRecord[] }>('operations.list', { as, query });
    expect((await list(ours as never)).items.map((each) => each.id)).toEqual([id]);
    expect((await list(theirs as never)).items).toEqual([]);
    const params = { operation: id };
    for (const operation of ['operations.get', 'operations.cancel'] as const)
      expect(await refusal(platform.call(operation, { params, as: theirs }))).toMatchObject({
        status: 404,
        reason: 'unknown_operation',
      });
    const foreign = list(theirs as never, { tenant: scope.tenant });
    expect(await refusal(foreign)).toMatchObject({ status: 404, reason: 'unknown_tenant' });
  });
});

test('a builder does not cancel the work of staff, and does cancel that of its own tokens', async () => {
  const { platform, scope, backups } = await open();
  const { promise, resolve } = Promise.withResolvers<void>();
  backups.beforePut = () => promise;
  const as = platform.builder(scope.tenant);
  const params = { tenant: scope.tenant, scope: scope.id };
  const cancel = (id: string) => platform.call('operations.cancel', { params: { operation: id }, as });
  const theirs = await platform.call('scope-backups.create', { params, body: {} });
  const { id } = theirs.value as OperationRecord;
  expect(await refusal(cancel(id))).toMatchObject({ status: 403, reason: 'staff_only' });
  const second = await platform.scope(scope.tenant, 'second');
  const ours = await platform.call('scope-backups.create', {
    params: { tenant: scope.tenant, scope: second.id },
    body: {},
    as,
  });
  expect((await cancel((ours.value as OperationRecord).id)).value).toMatchObject({ cancelRequested: true });
  resolve();
  expect((await platform.finish(theirs)).state).toBe('done');
  expect((await platform.finish(ours)).state).toBe('cancelled');
});

test('work is listed newest first, by tenant, scope and state', async () => {
  const { platform, scope, backups } = await open();
  const first = await platform.finish(backUp(platform, scope));
  backups.fault = 'put';
  const second = await platform.finish(backUp(platform, scope));
  const ids = async (query: Record<string, unknown>) =>
    (await platform.value<{ items: OperationRecord[] }>('operations.list', { query })).items.map(
      ({ id }) => id,
    );
  expect(await ids({})).toEqual([second.id, first.id]);
  expect(await ids({ state: 'failed' })).toEqual([second.id]);
  expect(await ids({ scope: scope.id, tenant: scope.tenant, limit: 1 })).toEqual([second.id]);
  expect(await ids({ tenant: 'tnt_01jd0000000000000000000009' })).toEqual([]);
});

describe('events', () => {
  test('show its state, its progress and its end; then they end', async () => {
    const { platform, scope, backups } = await open();
    const { pass, open: letThrough, reached } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    await reached;
    const followed = await platform.admin.perform({
      operation: 'operations.get',
      params: { operation: id },
      query: {},
      body: {},
      actor: STAFF,
      requestId: 'req-events',
      events: true,
    });
    expect(followed.value).toMatchObject({ id, state: 'running' });
    const seen: OperationEvent[] = [];
    for await (const event of followed.events as ReadableStream<OperationEvent>) {
      seen.push(event);
      letThrough();
    }
    expect(seen[0]).toMatchObject({ event: 'progress', record: { state: 'running' } });
    expect(seen.at(-1)).toMatchObject({ event: 'done', record: { state: 'done', id } });
    expect(seen.filter(({ event }) => event === 'done')).toHaveLength(1);
  });

  test('keep the line open with a heartbeat while nothing happens', async () => {
    const backups = makeMemoryBackups();
    // Every wait is over at once.
    const platform = await openPlatform({ backups, sleep: async () => undefined });
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const { pass, open: letThrough } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    const call = {
      params: { operation: id },
      query: {},
      body: {},
      actor: STAFF,
      requestId: 'r',
      events: true,
    };
    const { events } = await platform.admin.perform({ operation: 'operations.get', ...call });
    const reader = (events as ReadableStream<OperationEvent>).getReader();
    const kinds: string[] = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      kinds.push(value.event);
      if (value.event === 'heartbeat') letThrough();
    }
    expect(kinds).toContain('heartbeat');
    expect(kinds.at(-1)).toBe('done');
  });
});

test('waiting ends when its time is over, whatever the work does', async () => {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups, sleep: async () => undefined });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const { pass, open: letThrough } = gate();
  backups.beforePut = pass;
  const { id } = (await backUp(platform, scope)).value as OperationRecord;
  expect((await get(platform, id, { wait: '2s' })).finishedAt).toBeNull();
  letThrough();
  await platform.admin.stopLongWork();
});

describe('after a crash', () => {
  test('work is resumed at the next start, and ends as if nothing had happened', async () => {
    const { platform, scope, backups } = await open();
    const { pass, reached } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    await reached;
    await platform.tamper(() => undefined);
    backups.beforePut = null;
    expect(await platform.admin.resumeLongWork()).toBe(1);
    const done = await get(platform, id, { wait: '30s' });
    expect(done).toMatchObject({ state: 'done', startedBy: { id: SERVICE.id } });
    expect((done.result as BackupRecord).sha256).toHaveLength(64);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    expect(await platform.admin.resumeLongWork()).toBe(0);
  });

  test('a journaled step is not repeated', async () => {
    const { platform, scope, backups } = await open();
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    const { pass, reached } = gate();
    const { served } = platform.fieldwork;
    const holdUp = async (request: Request): Promise<Response> => {
      if (request.url.endsWith('delete-scope')) await pass();
      platform.fieldwork.fault = null;
      const answer = served(request);
      platform.fieldwork.fault = holdUp;
      return answer;
    };
    platform.fieldwork.fault = holdUp;
    const { id } = (await platform.call('scopes.reap', { params, body: {} })).value as OperationRecord;
    await reached;
    await platform.tamper(() => undefined);
    platform.fieldwork.fault = null;
    const before = platform.fieldwork.requests.length;
    await platform.admin.resumeLongWork();
    expect((await get(platform, id, { wait: '30s' })).state).toBe('done');
    const asked = platform.fieldwork.requests.slice(before).map(({ url }) => new URL(url).pathname);
    expect(asked).toEqual(['/internal/delete-scope']);
    expect(backups.stored.size).toBe(1);
  });

  test('work that must not be repeated is failed with a plain reason, and its intent stays open', async () => {
    const { platform, scope } = await open();
    const { id: backup } = (await platform.finish(backUp(platform, scope))).result as BackupRecord;
    const { pass, reached } = gate();
    const { served } = platform.fieldwork;
    platform.fieldwork.fault = async (request) => {
      if (request.url.includes('/internal/restore')) await pass();
      return served(request);
    };
    const params = { tenant: scope.tenant, scope: scope.id };
    const { id } = (await platform.call('scopes.restore', { params, body: { from: { backup } } }))
      .value as OperationRecord;
    await reached;
    await platform.tamper(() => undefined);
    platform.fieldwork.fault = null;
    await platform.admin.resumeLongWork();
    const failed = await get(platform, id, { wait: '30s' });
    expect(failed).toMatchObject({
      state: 'failed',
      problem: { code: 'unavailable', reason: 'outcome_unknown' },
    });
    expect(failed.problem?.detail).toMatch(/stopped in the middle/);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([{ action: 'scopes.restore' }]);
    // The same call again settles the open intent.
    await platform.finish(platform.call('scopes.restore', { params, body: { from: { backup } } }));
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('work that was cancelled before the crash is cancelled after it', async () => {
    const { platform, scope, backups } = await open();
    const { pass, reached } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    await reached;
    await platform.call('operations.cancel', { params: { operation: id } });
    await platform.tamper(() => undefined);
    backups.beforePut = null;
    await platform.admin.resumeLongWork();
    expect((await get(platform, id, { wait: '30s' })).state).toBe('cancelled');
  });

  test('work that this platform no longer knows is failed, and blocks nothing', async () => {
    const { platform, scope, backups } = await open();
    const { pass, reached } = gate();
    backups.beforePut = pass;
    const { id } = (await backUp(platform, scope)).value as OperationRecord;
    await reached;
    await platform.tamper((database) => database.exec("UPDATE operations SET name = 'gone.by'"));
    backups.beforePut = null;
    await platform.admin.resumeLongWork();
    const failed = await get(platform, id, { wait: '30s' });
    expect(failed).toMatchObject({ state: 'failed', problem: { reason: 'unknown_operation' } });
    expect((await platform.finish(backUp(platform, scope))).state).toBe('done');
  });
});

test('a process that stops releases its work, and the next one resumes it', async () => {
  const { platform, scope, backups } = await open();
  const { pass, open: letThrough, reached } = gate();
  backups.beforePut = pass;
  const { id } = (await backUp(platform, scope)).value as OperationRecord;
  await reached;
  const stopped = platform.admin.stopLongWork();
  letThrough();
  await stopped;
  expect((await get(platform, id)).state).toBe('running');
  await platform.tamper(() => undefined);
  backups.beforePut = null;
  await platform.admin.resumeLongWork();
  expect((await get(platform, id, { wait: '30s' })).state).toBe('done');
  expect(platform.incidents).toEqual([]);
});

test('records of ended work are stored for ninety days', async () => {
  const { platform, scope } = await open();
  const { id } = await platform.finish(backUp(platform, scope));
  platform.clock.ms += 90 * 24 * 60 * 60 * 1000 + 1;
  await platform.finish(backUp(platform, scope));
  const gone = platform.call('operations.get', { params: { operation: id } });
  await expect(gone).rejects.toBeInstanceOf(PlatformError);
});

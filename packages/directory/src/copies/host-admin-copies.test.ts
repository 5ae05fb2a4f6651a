/** Copies and rewinds: an intent before, an outcome after, whichever side does the work. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import type { AdminOperationName } from '../admin-operations.ts';

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const call = (
    name: AdminOperationName,
    parts: { body?: Record<string, unknown>; params?: Record<string, string>; key?: string } = {},
  ) =>
    platform.call(name, {
      ...parts,
      params: { tenant: scope.tenant, scope: scope.id, ...parts.params },
      as: SERVICE,
    });
  /** The rows of the log for the calls of these tests: action, outcome, and the fields after. */
  const log = async () =>
    (await platform.adminLog({ actor: SERVICE.id })).map(({ action, outcome, after, target, code }) => ({
      action,
      outcome,
      after,
      other: target.other,
      code,
    }));
  platform.reach = 'both';
  return { platform, scope, call, log };
}

const REWOUND = { bookmark: 'bm_1', at: '2026-11-21T08:30:00.000Z', undo: 'bm_2' };

describe.each(['bound', 'local', 'both'] as const)('a rewind by %s', (reach) => {
  test('spec C-04, C-06: is done, answers what undoes it, and is an intent and an outcome in the log', async () => {
    const { platform, scope, call, log } = await openWithScope();
    platform.reach = reach;
    const before = platform.fieldwork.requests.length;
    const { status, value, head } = await call('scopes.rewind', { body: { bookmark: 'bm_1' } });
    expect({ status, value }).toEqual({ status: 200, value: REWOUND });
    expect(await log()).toEqual([
      {
        action: 'scopes.rewind',
        outcome: 'intent',
        after: { to: { bookmark: 'bm_1' } },
        other: null,
        code: null,
      },
      { action: 'scopes.rewind', outcome: 'done', after: REWOUND, other: null, code: null },
    ]);
    expect(head).toBeDefined();
    const asked = platform.fieldwork.requests.slice(before);
    const body = { tenantId: scope.tenant, scopeId: scope.id, bookmark: 'bm_1' };
    expect(asked.map((each) => each.body)).toEqual(reach === 'local' ? [] : [body]);
    expect(await platform.accessLog()).toEqual([]);
  });

  test('that is refused is a failure in the log, with the words of the vertical', async () => {
    const { platform, call, log } = await openWithScope();
    platform.reach = reach;
    const refused = await refusal(call('scopes.rewind', { body: { bookmark: 'bm_9' } }));
    expect(refused).toMatchObject({ status: 404, reason: 'unknown_bookmark' });
    expect((await log()).map(({ outcome, code }) => [outcome, code])).toEqual([
      ['intent', null],
      ['failed', 'not_found'],
    ]);
  });
});

test('a rewind goes to a bookmark or a moment: both, or neither, is refused before anything is written', async () => {
  const { call, log } = await openWithScope();
  for (const body of [{}, { bookmark: 'bm_1', at: '2026-11-21T08:00:00.000Z' }])
    expect(await refusal(call('scopes.rewind', { body }))).toMatchObject({ status: 400 });
  expect(await log()).toEqual([]);
});

test('an engine that keeps no history is 501 with the vertical’s own diagnosis', async () => {
  const { platform, call, log } = await openWithScope();
  platform.fieldwork.fault = async () =>
    problemDocument(new PlatformError('unsupported', 'This engine keeps none.', { reason: 'engine_cannot' }));
  expect(await refusal(call('scopes.rewind', { body: { bookmark: 'bm_1' } }))).toMatchObject({
    status: 501,
    reason: 'engine_cannot',
    message: 'This engine keeps none.',
  });
  expect((await log()).map(({ outcome }) => outcome)).toEqual(['intent', 'failed']);
});

test.each([
  ['never arrives', async () => Promise.reject(new TypeError('reset'))],
  ['is nonsense', async () => new Response('<html>')],
])(
  'spec C-04: when the answer %s, no row says that it failed, and the same call resumes it',
  async (_, fault) => {
    const { platform, call, log } = await openWithScope();
    const rewind = () => call('scopes.rewind', { body: { bookmark: 'bm_1' }, key: 'one' });
    platform.fieldwork.fault = fault;
    expect(await refusal(rewind())).toMatchObject({ status: 502, reason: 'outcome_unknown' });
    expect((await log()).map(({ outcome }) => outcome)).toEqual(['intent']);
    platform.fieldwork.fault = null;
    expect((await rewind()).value).toEqual(REWOUND);
    expect((await log()).map(({ outcome }) => outcome)).toEqual(['intent', 'intent', 'done', 'superseded']);
    expect(await rewind()).toMatchObject({ value: REWOUND, replayed: true });
  },
);

test('spec C-19: a deletion of unknown outcome is settled by that of the same snapshot, and by no other', async () => {
  const { platform, call } = await openWithScope();
  const take = async () => ((await call('snapshots.take', { body: {} })).value as { id: string }).id;
  const [one, two] = [await take(), await take()];
  const remove = (snapshot: string) => call('snapshots.delete', { params: { snapshot } });
  const { local } = platform.fieldwork;
  const { deleteSnapshotLocal } = local;
  Object.assign(local, { deleteSnapshotLocal: () => Promise.reject(new TypeError('a bug')) });
  await remove(one).catch(() => undefined);
  Object.assign(local, { deleteSnapshotLocal });
  const unsettled = async () =>
    (await platform.adminLog({ outcome: 'unsettled' })).map(({ target }) => target.other);
  expect(await unsettled()).toEqual([one]);
  await remove(two);
  expect(await unsettled()).toEqual([one]);
  await remove(one);
  expect(await unsettled()).toEqual([]);
});

test('spec C-04: a snapshot is taken, listed newest first, restored and deleted, each in the log', async () => {
  const { platform, call, log } = await openWithScope();
  platform.fieldwork.copy = 'as it was';
  const first = (await call('snapshots.take', { body: { name: 'first' } })).value as { id: string };
  platform.fieldwork.copy = 'as it became';
  const second = (await call('snapshots.take', { body: {} })).value as { id: string };
  expect((await call('snapshots.list')).value).toMatchObject({
    items: [
      { id: second.id, name: null },
      { id: first.id, name: 'first', bytes: 9 },
    ],
    nextCursor: null,
  });

  const restored = await platform.finish(call('scopes.restore', { body: { from: { snapshot: first.id } } }));
  expect(restored.result).toEqual({ format: 'ndjson', tables: 1, rows: 1, undo: 'bm_1' });
  expect(platform.fieldwork.copy).toBe('as it was');
  const sent = platform.fieldwork.requests.at(-1);
  expect(new URL(sent?.url ?? '').searchParams.get('format')).toBe('ndjson');
  expect(sent).toMatchObject({ method: 'POST', body: 'as it was' });

  expect((await call('snapshots.delete', { params: { snapshot: first.id } })).status).toBe(204);
  expect((await call('snapshots.list')).value).toMatchObject({ items: [{ id: second.id }] });
  const gone = await refusal(call('scopes.restore', { body: { from: { snapshot: first.id } } }));
  expect(gone).toMatchObject({ status: 404, reason: 'unknown_snapshot' });

  const from = { snapshot: first.id };
  expect((await log()).slice(0, 4)).toMatchObject([
    { action: 'snapshots.take', outcome: 'intent', other: null, after: { name: 'first' } },
    {
      ...{ action: 'snapshots.take', outcome: 'done', other: first.id },
      after: { name: 'first', bytes: 9, digest: 'abc' },
    },
    { action: 'snapshots.take', outcome: 'intent', other: null, after: { name: null } },
    { action: 'snapshots.take', outcome: 'done', other: second.id, after: { name: null, digest: 'abc' } },
  ]);
  expect((await log()).slice(-4)).toMatchObject([
    { action: 'scopes.restore', outcome: 'intent', after: { from, digest: 'abc' } },
    { action: 'scopes.restore', outcome: 'done', after: { from, tables: 1, rows: 1, undo: 'bm_1' } },
    { action: 'snapshots.delete', outcome: 'intent', other: first.id },
    { action: 'snapshots.delete', outcome: 'done', other: first.id },
  ]);
});

test('spec C-04: the deletion of one snapshot proves nothing about another of unknown outcome', async () => {
  const { platform, call } = await openWithScope();
  const taken: string[] = [];
  for (const name of ['first', 'second'])
    taken.push(((await call('snapshots.take', { body: { name } })).value as { id: string }).id);
  const [first, second] = taken as [string, string];
  const { deleteSnapshotLocal } = platform.fieldwork.local;
  Object.assign(platform.fieldwork.local, {
    deleteSnapshotLocal: () => Promise.reject(new TypeError('the connection broke off')),
  });
  const remove = (snapshot: string) => call('snapshots.delete', { params: { snapshot } });
  await expect(remove(first)).rejects.toMatchObject({ reason: 'outcome_unknown' });
  Object.assign(platform.fieldwork.local, { deleteSnapshotLocal });
  expect((await remove(second)).status).toBe(204);
  expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([{ target: { other: first } }]);
  expect((await remove(first)).status).toBe(204);
  expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
});

test('a snapshot of one scope is not there for another, not even of the same tenant', async () => {
  const { platform, scope, call } = await openWithScope();
  const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
  const other = await platform.scope(scope.tenant, 'second');
  const params = { scope: other.id };
  const restore = call('scopes.restore', { params, body: { from: { snapshot: id } } });
  expect(await refusal(restore)).toMatchObject({ status: 404, reason: 'unknown_snapshot' });
  const remove = call('snapshots.delete', { params: { ...params, snapshot: id } });
  expect(await refusal(remove)).toMatchObject({ status: 404, reason: 'unknown_snapshot' });
  expect((await call('snapshots.list', { params })).value).toEqual({ items: [], nextCursor: null });
});

test('a restore that is refused leaves the scope as it was, and the log says that it failed', async () => {
  const { platform, call, log } = await openWithScope();
  const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
  platform.fieldwork.copy = 'as it became';
  platform.fieldwork.fault = async () =>
    problemDocument(new PlatformError('validation_failed', 'Damaged.', { reason: 'copy_damaged' }));
  const restore = await platform.finish(call('scopes.restore', { body: { from: { snapshot: id } } }));
  expect(restore).toMatchObject({ state: 'failed', problem: { status: 400, reason: 'copy_damaged' } });
  expect(platform.fieldwork.copy).toBe('as it became');
  expect((await log()).at(-1)).toMatchObject({ outcome: 'failed', code: 'validation_failed' });
});

test.each(['both', 'local'] as const)(
  'a vertical (%s) that refuses a copy unread leaves nothing open',
  async (reach) => {
    const { platform, call } = await openWithScope();
    const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
    let cancelled = false;
    const body = () =>
      new ReadableStream<Uint8Array>({
        cancel: () => {
          cancelled = true;
        },
      });
    const refuse = new PlatformError('payload_too_large', 'That is too much.');
    Object.assign(platform.fieldwork.local, {
      openSnapshotLocal: async () => ({ format: 'ndjson', bookmark: null, body: body() }),
      restoreScopeLocal: () => Promise.reject(refuse),
    });
    platform.fieldwork.fault = async (request) =>
      request.method === 'GET' ? platform.fieldwork.served(request) : problemDocument(refuse);
    platform.reach = reach;
    const restore = await platform.finish(call('scopes.restore', { body: { from: { snapshot: id } } }));
    expect(restore).toMatchObject({ state: 'failed', problem: { status: 413 } });
    expect(cancelled).toBe(true);
  },
);

test('a snapshot that its vertical has lost can still be taken off the list', async () => {
  const { platform, scope, call } = await openWithScope();
  const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
  const ref = { tenantId: scope.tenant, scopeId: scope.id, snapshot: id };
  await platform.fieldwork.local.deleteSnapshotLocal(ref);
  expect((await call('snapshots.delete', { params: { snapshot: id } })).status).toBe(204);
  expect((await call('snapshots.list')).value).toMatchObject({ items: [] });
});

test('a worker opens and deletes the snapshots that it keeps; one of an earlier version is 501 with a diagnosis', async () => {
  const { platform, call } = await openWithScope();
  const { fieldwork } = platform;
  const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
  platform.reach = 'bound';
  const restore = () => call('scopes.restore', { body: { from: { snapshot: id } } });
  const remove = () => call('snapshots.delete', { params: { snapshot: id } });
  fieldwork.fault = async (request) =>
    /\/snapshots?\//.test(request.url)
      ? problemDocument(new PlatformError('not_found', 'There is no such route.'))
      : fieldwork.served(request);
  const diagnosis = { status: 501, reason: 'snapshots_stay' };
  expect(await platform.finish(restore())).toMatchObject({ state: 'failed', problem: diagnosis });
  expect(await refusal(remove())).toMatchObject(diagnosis);
  expect((await call('snapshots.list')).value).toMatchObject({ items: [{ id }] });
  fieldwork.fault = null;
  fieldwork.copy = 'something newer';
  expect(await platform.finish(restore())).toMatchObject({ state: 'done' });
  expect(fieldwork.copy).toBe('a copy');
  expect((await remove()).status).toBe(204);
  expect((await call('snapshots.list')).value).toMatchObject({ items: [] });
});

test('without its vertical nothing of a copy is done: 501 with a diagnosis, and nothing is written', async () => {
  const { platform, call, log } = await openWithScope();
  const { id } = (await call('snapshots.take', { body: {} })).value as { id: string };
  const before = await log();
  platform.reach = 'none';
  for (const again of [
    () => call('scopes.restore', { body: { from: { snapshot: id } } }),
    () => call('snapshots.take', { body: {} }),
    () => call('scopes.rewind', { body: { bookmark: 'bm_1' } }),
  ])
    expect(await refusal(again())).toMatchObject({ status: 501, reason: 'no_vertical' });
  expect(await log()).toEqual(before);
});

test.each([
  ['active', 200],
  ['suspended', 200],
  ['provisioning', 409],
  ['archived', 409],
  ['reaped', 409],
])('a scope that is %s answers a rewind with %i', async (status, answered) => {
  const { platform, call, log } = await openWithScope();
  await platform.tamper((database) => database.exec(`UPDATE scopes SET status = '${status}'`));
  const rewind = call('scopes.rewind', { body: { bookmark: 'bm_1' } });
  if (answered === 200) {
    expect((await rewind).status).toBe(200);
    return;
  }
  expect(await refusal(rewind)).toMatchObject({ status: 409, code: 'invalid_transition' });
  expect(await log()).toEqual([]);
});

/** The life of a scope: what a step writes, and how it ends. Which step is possible when: `states.test.ts`. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { AdminOperationName, BackupRecord, ScopeRecord } from '../admin-operations.ts';

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const params = { tenant: scope.tenant, scope: scope.id };
  platform.reach = 'both';
  const call = (name: AdminOperationName, parts: Record<string, unknown> = {}) =>
    platform.call(name, { params, ...parts });
  const setStatus = (status: string) => call('scopes.set-status', { body: { status } });
  const status = async () => (await platform.value<ScopeRecord>('scopes.get', { params })).status;
  const backUp = async () =>
    (await platform.finish(call('scope-backups.create', { body: {} }))).result as BackupRecord;
  return { platform, backups, scope, params, call, setStatus, status, backUp };
}

describe('spec C-04: the states of a scope', () => {
  test('a step is one row of the log with both states, a new version, and news for the router', async () => {
    const { platform, params, setStatus } = await open();
    let heard = 0;
    platform.admin.onRoutesChanged(() => {
      heard += 1;
    });
    const { value, etag, head } = await setStatus('suspended');
    expect(value).toMatchObject({ status: 'suspended', etag });
    const [row] = await platform.adminLog({ action: 'scopes.set-status' });
    expect(row).toMatchObject({
      before: { status: 'active' },
      after: { status: 'suspended' },
      sequence: head?.sequence,
      target: { tenant: params.tenant, scope: params.scope, vertical: 'fieldwork' },
    });
    expect(heard).toBe(1);
  });

  test('a step with another version than the present one is refused', async () => {
    const { call } = await open();
    const step = call('scopes.set-status', { body: { status: 'suspended' }, ifMatch: '"1"' });
    expect(await refusal(step)).toMatchObject({ status: 412 });
  });

  test('the slug of a scope that was reaped is not used again', async () => {
    const { platform, scope, call, setStatus } = await open();
    await setStatus('archived');
    await platform.finish(call('scopes.reap', { body: { backup: false } }));
    expect(await refusal(platform.scope(scope.tenant))).toMatchObject({
      status: 409,
      reason: 'slug_retired',
    });
  });
});

describe('reaping', () => {
  test('spec C-04: takes a full backup first, deletes in the vertical, unbinds, and leaves a tombstone', async () => {
    const { platform, backups, scope, call, setStatus, status } = await open();
    await platform.hostname(scope, 'acme.localhost');
    await call('snapshots.take', { body: {} });
    await setStatus('archived');
    platform.fieldwork.copy = 'everything there was';
    const { state, result } = await platform.finish(call('scopes.reap', { body: {} }));
    expect(state).toBe('done');
    const { backup } = result as { backup: BackupRecord };
    expect(backups.stored.get(backup.address)).toBe('everything there was');
    expect(backup).toMatchObject({ origin: 'reap', scope: scope.id, bytes: 20 });
    expect(platform.fieldwork.provisioned.has(scope.id)).toBe(false);
    expect(await status()).toBe('reaped');
    expect((await platform.value<{ items: unknown[] }>('hostnames.list')).items).toEqual([]);
    expect((await call('snapshots.list')).value).toMatchObject({ items: [] });
    expect((await call('scope-backups.list')).value).toMatchObject({ items: [backup] });
    const [intent, done] = await platform.adminLog({ action: 'scopes.reap' });
    expect(intent).toMatchObject({ outcome: 'intent', before: { status: 'archived' } });
    expect(done).toMatchObject({
      outcome: 'done',
      after: { status: 'reaped', hostnames: ['acme.localhost'], backup: { address: backup.address } },
    });
  });

  test('spec C-04: a backup that fails aborts with 502, and the scope is intact', async () => {
    const { platform, backups, scope, call, setStatus, status } = await open();
    await setStatus('archived');
    backups.fault = 'put';
    const failed = await platform.finish(call('scopes.reap', { body: {} }));
    expect(failed).toMatchObject({
      state: 'failed',
      problem: { status: 502, code: 'runtime_fault', reason: 'backup_failed' },
    });
    expect(failed.problem?.detail).toContain('The disk is full.');
    expect(await status()).toBe('archived');
    expect(platform.fieldwork.provisioned.has(scope.id)).toBe(true);
    expect((await call('scope-backups.list')).value).toMatchObject({ items: [] });
    const [, outcome] = await platform.adminLog({ action: 'scopes.reap' });
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'runtime_fault' });
  });

  test('a backup that cannot be read back is no backup', async () => {
    const { platform, backups, call, setStatus, status } = await open();
    await setStatus('archived');
    const { open: openBackup } = backups;
    backups.open = async () => new Response('something else').body;
    const failed = await platform.finish(call('scopes.reap', { body: {} }));
    backups.open = openBackup;
    expect(failed).toMatchObject({ state: 'failed', problem: { reason: 'backup_failed' } });
    expect(await status()).toBe('archived');
    expect(backups.stored.size).toBe(0);
  });

  test('spec C-04: what a backup that failed has left behind is cleared away when the reap is over', async () => {
    const { backups, platform, call, setStatus, status } = await open();
    await setStatus('archived');
    const { open: openBackup, delete: deleteBackup } = backups;
    let deletions = 0;
    Object.assign(backups, {
      open: async () => new Response('something else').body,
      delete: async (address: string) => {
        deletions += 1;
        if (deletions === 1) throw new PlatformError('unavailable', 'The disk is busy.');
        await deleteBackup(address);
      },
    });
    const failed = await platform.finish(call('scopes.reap', { body: {} }));
    Object.assign(backups, { open: openBackup, delete: deleteBackup });
    expect(failed).toMatchObject({ state: 'failed', problem: { reason: 'backup_failed' } });
    expect(await status()).toBe('archived');
    await expect.poll(() => backups.stored.size).toBe(0);
  });

  test('a caller that declines the backup gets none', async () => {
    const { platform, backups, call, setStatus, status } = await open();
    await setStatus('archived');
    await platform.finish(call('scopes.reap', { body: { backup: false } }));
    expect(await status()).toBe('reaped');
    expect(backups.stored.size).toBe(0);
  });

  test('without a place for backups it is refused, with what to say instead', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    const refused = await refusal(platform.call('scopes.reap', { params, body: {} }));
    expect(refused).toMatchObject({ status: 501, reason: 'no_backup_store' });
    expect(refused.message).toContain('"backup": false');
  });

  test('a vertical whose answer was lost leaves the scope archived, and the same again ends it', async () => {
    const { platform, call, setStatus, status } = await open();
    platform.reach = 'bound';
    await setStatus('archived');
    platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
    const failed = await platform.finish(call('scopes.reap', { body: { backup: false } }));
    expect(failed).toMatchObject({ state: 'failed', problem: { reason: 'outcome_unknown' } });
    expect(await status()).toBe('archived');
    expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([{ action: 'scopes.reap' }]);
    platform.fieldwork.fault = null;
    await platform.finish(call('scopes.reap', { body: { backup: false } }));
    expect(await status()).toBe('reaped');
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('one that the vertical no longer has is reaped all the same', async () => {
    const { platform, scope, call, setStatus, status } = await open();
    await setStatus('archived');
    platform.fieldwork.provisioned.delete(scope.id);
    await platform.finish(call('scopes.reap', { body: { backup: false } }));
    expect(await status()).toBe('reaped');
  });

  test('while it is going on the scope does not come back', async () => {
    const { platform, backups, call, setStatus } = await open();
    await setStatus('archived');
    const { promise, resolve } = Promise.withResolvers<void>();
    backups.beforePut = () => promise;
    const begun = await call('scopes.reap', { body: {} });
    expect(await refusal(setStatus('active'))).toMatchObject({ status: 409, reason: 'operation_running' });
    resolve();
    await platform.finish(begun);
  });
});

/** Returns the vertical's own answers, for a fault that spoils only some of them. */
function past({ fieldwork }: Awaited<ReturnType<typeof openPlatform>>) {
  return async (request: Request): Promise<Response> => {
    const { fault } = fieldwork;
    fieldwork.fault = null;
    try {
      return await fieldwork.bound.fetch(request);
    } finally {
      fieldwork.fault = fault;
    }
  };
}

describe('spec C-04: a restore from a copy outside', () => {
  test('is the backup, as it was', async () => {
    const { platform, call, backUp } = await open();
    platform.fieldwork.copy = 'as it was';
    const { id, sha256 } = await backUp();
    platform.fieldwork.copy = 'as it became';
    const restored = await platform.finish(call('scopes.restore', { body: { from: { backup: id } } }));
    expect(restored).toMatchObject({ state: 'done', result: { format: 'ndjson', undo: 'bm_1' } });
    expect(platform.fieldwork.copy).toBe('as it was');
    const [intent] = await platform.adminLog({ action: 'scopes.restore' });
    expect(intent).toMatchObject({ after: { from: { backup: id }, digest: sha256 } });
  });

  test('that is damaged never reaches the vertical, and the scope is as it was', async () => {
    const { platform, backups, call, backUp } = await open();
    const { id, address } = await backUp();
    platform.fieldwork.copy = 'as it became';
    backups.stored.set(address, 'a c0py');
    const before = platform.fieldwork.requests.length;
    const failed = await platform.finish(call('scopes.restore', { body: { from: { backup: id } } }));
    expect(failed).toMatchObject({ state: 'failed', problem: { reason: 'backup_damaged' } });
    expect(platform.fieldwork.requests).toHaveLength(before);
    expect(platform.fieldwork.copy).toBe('as it became');
  });

  test('names exactly one copy', async () => {
    const { call, backUp } = await open();
    const { id } = await backUp();
    for (const from of [{}, { backup: id, export: id }])
      expect(await refusal(call('scopes.restore', { body: { from } }))).toMatchObject({ status: 400 });
  });

  test('does not take a backup for an export that was brought in', async () => {
    const { call, backUp } = await open();
    const from = { export: (await backUp()).id };
    expect(await refusal(call('scopes.restore', { body: { from } }))).toMatchObject({
      status: 404,
      reason: 'unknown_export',
    });
  });

  test('may be one of another scope of the tenant and the vertical, reaped or not, and no other', async () => {
    const { platform, scope, call, setStatus, backUp } = await open();
    platform.fieldwork.copy = 'as it was';
    const { id } = await backUp();
    await setStatus('archived');
    await platform.finish(call('scopes.reap', { body: { backup: false } }));
    const second = await platform.scope(scope.tenant, 'second');
    const foreign = await platform.scope((await platform.tenant('umbrella')).id);
    const restore = ({ tenant, id: into }: ScopeRecord) =>
      call('scopes.restore', { params: { tenant, scope: into }, body: { from: { backup: id } } });
    expect(await refusal(restore(foreign))).toMatchObject({ status: 404, reason: 'unknown_backup' });
    platform.fieldwork.copy = 'as it became';
    expect(await platform.finish(restore(second))).toMatchObject({ state: 'done' });
    expect(platform.fieldwork.copy).toBe('as it was');
    await platform.tamper((database) => database.exec("UPDATE backups SET vertical = 'invoicing'"));
    expect(await refusal(restore(second))).toMatchObject({ status: 409, reason: 'other_vertical' });
  });

  test('goes to a scope whose database is gone, with the word that makes it, and the plan says so', async () => {
    const { platform, call, scope, backUp } = await open();
    const { id } = await backUp();
    platform.fieldwork.provisioned.delete(scope.id);
    const asked: string[] = [];
    const answerItself = past(platform);
    platform.fieldwork.fault = async (request) => {
      asked.push(
        new URL(request.url).pathname +
          new URL(request.url).search.replace(/&?(tenantId|scopeId)=[^&]+/g, ''),
      );
      if (!request.url.includes('/internal/restore')) return answerItself(request);
      await request.text();
      return Response.json({ format: 'ndjson', tables: 1, rows: 2, undo: null, setAside: 'a.damaged-b' });
    };
    const body = { from: { backup: id } };
    const plan = await call('scopes.restore', { body, query: { dryRun: true } });
    expect(plan.value).toMatchObject({ present: 'missing', copy: null, commits: null, undo: false });
    const ended = await platform.finish(call('scopes.restore', { body }));
    expect(ended).toMatchObject({ state: 'done', result: { setAside: 'a.damaged-b' } });
    expect(asked.at(-1)).toMatch(/^\/internal\/restore\?.*ifMissing=make/);
    const [, done] = await platform.adminLog({ action: 'scopes.restore' });
    expect(done).toMatchObject({ outcome: 'done', after: { setAside: 'a.damaged-b' } });
  });

  test('is not asked to make a scope that is there', async () => {
    const { platform, call, backUp } = await open();
    const { id } = await backUp();
    await platform.finish(call('scopes.restore', { body: { from: { backup: id } } }));
    const { url } = platform.fieldwork.requests.at(-1) ?? { url: '' };
    expect(url).toContain('/internal/restore');
    expect(url).not.toContain('ifMissing');
  });

  test('is looked into by the plan, which refuses what the restore would', async () => {
    const { platform, call, scope, backUp } = await open();
    const { id } = await backUp();
    const answerItself = past(platform);
    const copy = { format: 'ndjson', tables: 9, rows: 70, scope: scope.id, members: 3, attachments: null };
    let answer = () => Response.json(copy);
    platform.fieldwork.fault = async (request) =>
      request.url.includes('/internal/examine-copy') ? answer() : answerItself(request);
    const plan = () => call('scopes.restore', { body: { from: { backup: id } }, query: { dryRun: true } });
    expect((await plan()).value).toMatchObject({ present: 'sound', copy, undo: true });
    answer = () =>
      problemDocument(new PlatformError('validation_failed', 'It is cut off.', { reason: 'copy_damaged' }));
    expect(await refusal(plan())).toMatchObject({ status: 400, reason: 'copy_damaged' });
  });
});

test('spec C-19: a backup is deleted with its bytes, and a row of the log says which it was', async () => {
  const { platform, backups, params, call, backUp } = await open();
  const { id, address } = await backUp();
  const deleted = await platform.call('scope-backups.delete', { params: { ...params, backup: id } });
  expect(deleted.status).toBe(204);
  expect(backups.stored.size).toBe(0);
  expect((await call('scope-backups.list')).value).toMatchObject({ items: [] });
  const [intent] = await platform.adminLog({ action: 'scope-backups.delete' });
  expect(intent).toMatchObject({ before: { backup: id, address } });
});

test('spec C-04: what a delivery of settings warns of reaches the caller, and its words the log', async () => {
  const { platform, call } = await open();
  const warnings = [{ code: 'sessions_ended', detail: 'No session is left.' }];
  platform.fieldwork.fault = async () => Response.json({ keys: ['COLOUR'], warnings });
  const configure = () => call('scopes.configure', { body: { config: { COLOUR: 'red' } } });
  expect((await configure()).value).toEqual({ keys: ['COLOUR'], warnings });
  expect((await platform.adminLog()).at(-1)?.after).toMatchObject({ warnings: ['sessions_ended'] });
  platform.fieldwork.fault = null;
  expect((await configure()).value).toEqual({ keys: ['COLOUR'], warnings: [] });
  platform.fieldwork.fault = async () => problemDocument(new PlatformError('unavailable', 'Busy.'));
  expect(await refusal(configure())).toMatchObject({ status: 503 });
});

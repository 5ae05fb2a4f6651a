/** Backing up the directory, and restoring it without losing its history (spec C-19). */
import { canonicalJson } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { AdminLogEntry, BackupRecord, DirectoryRestored, TenantRecord } from '../admin-operations.ts';
import { hashOfEntry } from '../audit/admin-log.ts';

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const backUp = async () =>
    (await platform.finish(platform.call('directory-backups.create', { body: {} }))).result as BackupRecord;
  const restore = (backup: string) =>
    platform.finish(platform.call('directory.restore', { body: { backup } }));
  return { platform, backups, backUp, restore };
}

const slugs = async (platform: Platform) =>
  (await platform.value<{ items: TenantRecord[] }>('tenants.list')).items.map(({ slug }) => slug).sort();

/** Everything but the tables that a restore leaves alone, for comparing before and after. */
async function known(platform: Platform) {
  return {
    tenants: await platform.value('tenants.list'),
    scopes: await platform.value('scopes.fleet'),
    hostnames: await platform.value('hostnames.list'),
    roles: await platform.value('roles.list'),
  };
}

test('a backup is a copy of everything, listed with its digest and its size', async () => {
  const { platform, backups, backUp } = await open();
  await platform.tenant('acme');
  const backup = await backUp();
  const text = backups.stored.get(backup.address) ?? '';
  expect(backup).toMatchObject({ kind: 'directory', format: 'ndjson', bytes: text.length, scope: null });
  expect(text).toContain('"acme"');
  expect((await platform.value<{ items: unknown[] }>('directory-backups.list')).items).toEqual([backup]);
  const log = await platform.adminLog({ action: 'directory-backups.create' });
  expect(log.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
  expect(log[1]?.after).toMatchObject({ address: backup.address, sha256: backup.sha256 });
});

test('spec C-19: a backup is deleted with its bytes, and cannot be restored or deleted again', async () => {
  const { platform, backups, backUp, restore } = await open();
  const [gone, stored] = [await backUp(), await backUp()];
  const remove = () => platform.call('directory-backups.delete', { params: { backup: gone.id } });
  expect((await remove()).status).toBe(204);
  expect([...backups.stored.keys()]).toEqual([stored.address]);
  expect((await platform.value<{ items: unknown[] }>('directory-backups.list')).items).toEqual([stored]);
  expect(await refusal(remove())).toMatchObject({ code: 'not_found', reason: 'unknown_backup' });
  expect(await refusal(restore(gone.id))).toMatchObject({ status: 404, reason: 'unknown_backup' });
  const [intent, done] = await platform.adminLog({ action: 'directory-backups.delete' });
  expect(intent).toMatchObject({ outcome: 'intent', before: { address: gone.address } });
  expect(done).toMatchObject({ outcome: 'done', after: { backup: gone.id } });
});

test('spec C-19: a restore brings the backed-up state back; the log goes on and names the head before', async () => {
  const { platform, backUp, restore } = await open();
  const acme = await platform.tenant('acme');
  const scope = await platform.scope(acme.id);
  await platform.hostname(scope, 'acme.localhost');
  const before = await known(platform);
  const backup = await backUp();
  const late = await platform.tenant('late');
  await platform.scope(late.id);
  await platform.call('tenants.update', { params: { tenant: acme.id }, body: { name: 'Renamed' } });
  const logged = await platform.adminLog();

  const { state, result } = await restore(backup.id);
  expect(state).toBe('done');
  expect(await known(platform)).toEqual(before);
  const log = await platform.adminLog();
  expect(log.slice(0, logged.length)).toEqual(logged);
  const [intent, epoch] = log.slice(logged.length);
  expect(intent).toMatchObject({ action: 'directory.restore', outcome: 'intent' });
  const previousHead = { sequence: intent?.sequence, hash: intent?.hash };
  expect(result as DirectoryRestored).toMatchObject({
    lost: { tenants: 1, scopes: 1 },
    keptAway: [],
    epoch: 1,
    previousHead,
  });
  expect(epoch).toMatchObject({ outcome: 'done', after: { epoch: 1, previousHead, backup: backup.id } });
  expect(await platform.value('admin-log.verify')).toMatchObject({
    status: 'unanchored',
    epochs: 1,
    firstBad: null,
  });
});

test('an epoch row that names another head than the one before it is found', async () => {
  const { platform, backUp, restore } = await open();
  await restore((await backUp()).id);
  const good = (await platform.adminLog()).at(-1) as AdminLogEntry;
  // A forger would make the hash fit too.
  const { hash: _, ...row } = good;
  const previousHead = { sequence: 1, hash: 'a'.repeat(64) };
  const forged = { ...row, after: { ...row.after, previousHead } };
  await platform.tamper((database) => {
    database.exec('DROP TRIGGER admin_log_no_update');
    database
      .prepare('UPDATE admin_log SET after = ?, hash = ? WHERE sequence = ?')
      .run(canonicalJson(forged.after), hashOfEntry(forged), good.sequence);
  });
  expect(await platform.value('admin-log.verify')).toMatchObject({
    status: 'broken',
    firstBad: { sequence: good.sequence, reason: 'epoch_mismatch' },
  });
});

test('the router hears of a restore', async () => {
  const { platform, backUp, restore } = await open();
  const backup = await backUp();
  let heard = 0;
  platform.admin.onRoutesChanged(() => {
    heard += 1;
  });
  await restore(backup.id);
  expect(heard).toBe(1);
});

describe('revoked tokens and reaped scopes', () => {
  test('a token that was revoked since does not work again, and one that was made since still works', async () => {
    const { platform, backUp, restore } = await open();
    const acme = await platform.tenant('acme');
    const token = (name: string) =>
      platform.value<{ token: { id: string }; secret: string }>('push-tokens.create', {
        body: { name, tenant: acme.id },
      });
    const revoked = await token('old');
    const backup = await backUp();
    await platform.call('push-tokens.revoke', { params: { token: revoked.token.id } });
    const young = await token('new');
    await restore(backup.id);
    expect(await platform.admin.authenticate(revoked.secret)).toBeNull();
    expect(await platform.admin.authenticate(young.secret)).toMatchObject({ tenant: acme.id });
  });

  test('a token of a tenant that the backup does not know is deleted', async () => {
    const { platform, backUp, restore } = await open();
    const backup = await backUp();
    const late = await platform.tenant('late');
    const { secret } = await platform.value<{ secret: string }>('push-tokens.create', {
      body: { name: 'ci', tenant: late.id },
    });
    await restore(backup.id);
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('a scope that was reaped since stays reaped', async () => {
    const { platform, backUp, restore } = await open();
    const acme = await platform.tenant('acme');
    const scope = await platform.scope(acme.id);
    await platform.hostname(scope, 'acme.localhost');
    const backup = await backUp();
    const params = { tenant: acme.id, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
    await restore(backup.id);
    expect(await platform.value('scopes.get', { params })).toMatchObject({ status: 'reaped' });
    expect((await platform.value<{ items: unknown[] }>('hostnames.list')).items).toEqual([]);
  });
});

describe('spec C-19: history stays whatever is restored', () => {
  const LIVES_ON = [
    ...['access_log', 'ops_failures', 'sweep_runs', 'issues', 'model_usage_lines', 'model_usage_days'],
    ...[
      'meter_days',
      'hostname_attempts',
      'incoming_copies',
      'connect_rounds',
      'meta',
      'erasures',
      'hostname_holders',
    ],
    ...['staff_sessions', 'staff_tokens', 'staff_codes', 'staff_devices', 'staff_misses'],
  ];
  type Database = Parameters<Parameters<Platform['tamper']>[0]>[0];
  /** Puts one row of made-up values into a table; no two calls make up the same. */
  const fill = (database: Database, table: string, call: number): void => {
    const columns = database.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all();
    const value = { INTEGER: call, TEXT: `made up ${call}`, BLOB: Uint8Array.of(call), REAL: call };
    const values = columns.map(({ type }) => value[type as keyof typeof value]);
    database.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON');
    database
      .prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`)
      .run(...(values as string[]));
  };
  const rowsOf = async (platform: Platform) => {
    const rows: Record<string, unknown[]> = {};
    await platform.tamper((database) => {
      for (const table of LIVES_ON) rows[table] = database.prepare(`SELECT * FROM ${table}`).all();
    });
    return rows;
  };

  test('rows from before the backup are there once, and those from since it too', async () => {
    const { platform, backUp, restore } = await open();
    await platform.tenant('acme');
    await platform.tamper((database) => {
      for (const table of LIVES_ON) fill(database, table, 7);
    });
    const backup = await backUp();
    await platform.tamper((database) => {
      for (const table of LIVES_ON) fill(database, table, 8);
    });
    const before = await rowsOf(platform);
    for (const table of LIVES_ON) expect(before[table]?.length, table).toBeGreaterThanOrEqual(2);
    expect((await restore(backup.id)).state).toBe('done');
    expect(await rowsOf(platform)).toEqual(before);
  });

  test('erasures and holders of names are known to a new installation too', async () => {
    const old = await open();
    await old.platform.tenant('acme');
    const STAYS = ['erasures', 'hostname_holders'];
    await old.platform.tamper((database) => {
      for (const table of STAYS) fill(database, table, 7);
    });
    const { address, id } = await old.backUp();
    const fresh = await open();
    fresh.backups.stored.set(address, old.backups.stored.get(address) ?? '');
    await fresh.restore(id);
    const rows = await rowsOf(fresh.platform);
    for (const table of STAYS) expect(rows[table]?.length, table).toBe(1);
  });

  test('stored answers to repeated calls do not come back, except that of the restore itself', async () => {
    const { platform, backUp } = await open();
    const create = () => platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' }, key: 'k' });
    await create();
    expect(await create()).toMatchObject({ status: 201, replayed: true });
    const { id: backup } = await backUp();
    const restore = () => platform.call('directory.restore', { body: { backup }, key: 'once' });
    const begun = await restore();
    expect((await platform.finish(begun)).state).toBe('done');
    const logged = await platform.adminLog();
    expect(await restore()).toMatchObject({
      replayed: true,
      value: { id: (begun.value as { id: string }).id },
    });
    expect(await platform.adminLog()).toEqual(logged);
    expect(await create()).toMatchObject({ status: 200, replayed: false });
  });
});

test('spec C-19: work that began during a restore stops it, and the directory is unchanged', async () => {
  const { platform, backups, backUp } = await open();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const { id: backup } = await backUp();
  await platform.tenant('late');
  const { open: openBackup } = backups;
  const [reached, released, put] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  backups.open = async (address) => {
    reached?.resolve();
    await released?.promise;
    return openBackup(address);
  };
  const begun = await platform.call('directory.restore', { body: { backup } });
  await reached?.promise;
  backups.beforePut = () => put?.promise ?? Promise.resolve();
  const params = { tenant: scope.tenant, scope: scope.id };
  const other = await platform.call('scope-backups.create', { params, body: {} });
  released?.resolve();
  expect(await platform.finish(begun)).toMatchObject({
    state: 'failed',
    problem: { reason: 'operation_running' },
  });
  expect(await slugs(platform)).toEqual(['acme', 'late']);
  put?.resolve();
  expect((await platform.finish(other)).state).toBe('done');
});

test('spec C-19: a deletion without a known outcome is settled by one of the same backup, and by no other', async () => {
  const { platform, backups } = await open();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const params = { tenant: scope.tenant, scope: scope.id };
  const take = async () =>
    (await platform.finish(platform.call('scope-backups.create', { params, body: {} })))
      .result as BackupRecord;
  const [one, two] = [await take(), await take()];
  const remove = (backup: string) => platform.call('scope-backups.delete', { params: { ...params, backup } });
  const { delete: deleteBytes } = backups;
  backups.delete = () => Promise.reject(new TypeError('a bug'));
  await remove(one.id).catch(() => undefined);
  backups.delete = deleteBytes;
  const unsettled = async () =>
    (await platform.adminLog({ outcome: 'unsettled' })).map(({ after }) => after?.backup);
  expect(await unsettled()).toEqual([one.id]);
  await remove(two.id);
  expect(await unsettled()).toEqual([one.id]);
  await remove(one.id);
  expect(await unsettled()).toEqual([]);
});

describe('a restore that fails leaves the directory as it was', () => {
  const damage: [string, (text: string) => string, string][] = [
    ['has lost its end', (text) => text.slice(0, -200), 'backup_damaged'],
    ['was changed', (text) => text.replace('acme', 'evil'), 'backup_damaged'],
  ];
  test.each(damage)('because the backup %s', async (_, change, reason) => {
    const { platform, backups, backUp, restore } = await open();
    await platform.tenant('acme');
    const backup = await backUp();
    await platform.tenant('late');
    backups.stored.set(backup.address, change(backups.stored.get(backup.address) ?? ''));
    const failed = await restore(backup.id);
    expect(failed).toMatchObject({ state: 'failed', problem: { reason } });
    expect(await slugs(platform)).toEqual(['acme', 'late']);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    await platform.tamper((database) => {
      expect(database.prepare('SELECT count(*) AS n FROM staged_rows').get()).toEqual({ n: 0 });
    });
  });

  test('because there is no such backup, which is refused at once without a row', async () => {
    const { platform } = await open();
    const rows = await platform.adminLog();
    const call = (query: Record<string, unknown>) =>
      platform.call('directory.restore', { query, body: { backup: 'bkp_01jd0000000000000000000009' } });
    for (const query of [{}, { dryRun: true }])
      expect(await refusal(call(query))).toMatchObject({ status: 404, reason: 'unknown_backup' });
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('because the bytes of the backup are gone', async () => {
    const { platform, backups, backUp, restore } = await open();
    const backup = await backUp();
    await platform.tenant('late');
    backups.stored.clear();
    const problem = { code: 'runtime_fault', reason: 'backup_damaged' };
    expect(await restore(backup.id)).toMatchObject({ state: 'failed', problem });
    expect(await slugs(platform)).toEqual(['late']);
  });

  test.each<[string, (lines: string[]) => string[]]>([
    ['lacks a row that its header counts', (lines) => lines.filter((line) => !line.includes('"acme"'))],
    ['goes on behind its end', (lines) => [...lines, JSON.stringify({ t: 0, r: [] })]],
  ])('because the backup, whose digest is right, %s', async (_, change) => {
    const { platform, backups, backUp, restore } = await open();
    await platform.tenant('acme');
    const { address } = await backUp();
    const { createHash } = await import('node:crypto');
    const sealed = (lines: readonly string[]): string[] => {
      const sha256 = createHash('sha256')
        .update(lines.map((line) => `${line}\n`).join(''))
        .digest('hex');
      return [...lines, JSON.stringify({ end: true, sha256 })];
    };
    const rows = (backups.stored.get(address) ?? '').split('\n').slice(0, -2);
    const changed = change(rows);
    const lines = changed.length < rows.length ? sealed(changed) : change(sealed(rows));
    const id = 'bkp_01jd0000000000000000000009';
    backups.stored.set(`directory/${id}.ndjson`, `${lines.join('\n')}\n`);
    await platform.tenant('late');
    expect(await restore(id)).toMatchObject({ state: 'failed', problem: { reason: 'copy_damaged' } });
    expect(await slugs(platform)).toEqual(['acme', 'late']);
  });

  test('because the backup is one of a scope, which is refused at once', async () => {
    const { platform } = await open();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const params = { tenant: scope.tenant, scope: scope.id };
    const taken = await platform.finish(platform.call('scope-backups.create', { params, body: {} }));
    const rows = await platform.adminLog();
    const restored = platform.call('directory.restore', {
      body: { backup: (taken.result as BackupRecord).id },
    });
    expect(await refusal(restored)).toMatchObject({ status: 404, reason: 'unknown_backup' });
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('because it comes from a later version of the platform', async () => {
    const { platform, backups, backUp, restore } = await open();
    await platform.tenant('acme');
    const { address } = await backUp();
    // A backup that this directory does not remember, with a valid digest of its own.
    const { createHash } = await import('node:crypto');
    const lines = (backups.stored.get(address) ?? '')
      .replace('"name":"tenants"', '"name":"tenants2"')
      .split('\n');
    const body = `${lines.slice(0, -2).join('\n')}\n`;
    const sha256 = createHash('sha256').update(body).digest('hex');
    const id = 'bkp_01jd0000000000000000000009';
    backups.stored.set(`directory/${id}.ndjson`, `${body}${JSON.stringify({ end: true, sha256 })}\n`);
    await platform.tenant('late');
    expect(await restore(id)).toMatchObject({ state: 'failed', problem: { reason: 'copy_foreign' } });
    expect(await slugs(platform)).toEqual(['acme', 'late']);
  });
});

test('a new installation is given an old directory, tokens included', async () => {
  const old = await open();
  const acme = await old.platform.tenant('acme');
  const { secret } = await old.platform.value<{ secret: string }>('push-tokens.create', {
    body: { name: 'ci', tenant: acme.id },
  });
  const backup = await old.backUp();

  const fresh = await open();
  fresh.backups.stored.set(backup.address, old.backups.stored.get(backup.address) ?? '');
  expect((await fresh.restore(backup.id)).state).toBe('done');
  expect(await slugs(fresh.platform)).toEqual(['acme']);
  expect(await fresh.platform.admin.authenticate(secret)).toMatchObject({ tenant: acme.id });
});

test('other unfinished work is a conflict with a restore', async () => {
  const { platform, backups, backUp } = await open();
  const backup = await backUp();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const { promise, resolve } = Promise.withResolvers<void>();
  backups.beforePut = () => promise;
  const params = { tenant: scope.tenant, scope: scope.id };
  const other = await platform.call('scope-backups.create', { params, body: {} });
  const restore = platform.call('directory.restore', { body: { backup: backup.id } });
  expect(await refusal(restore)).toMatchObject({ status: 409, reason: 'operation_running' });
  resolve();
  await platform.finish(other);
});

test('a restore that was interrupted starts again', async () => {
  const { platform, backups, backUp } = await open();
  await platform.tenant('acme');
  const backup = await backUp();
  await platform.tenant('late');
  const { open: openBackup } = backups;
  const reached = Promise.withResolvers<void>();
  backups.open = async () => {
    reached.resolve();
    return new Promise(() => undefined);
  };
  const begun = await platform.call('directory.restore', { body: { backup: backup.id } });
  await reached.promise;
  await platform.tamper(() => undefined);
  backups.open = openBackup;
  await platform.admin.resumeLongWork();
  expect((await platform.finish(begun)).state).toBe('done');
  expect(await slugs(platform)).toEqual(['acme']);
});

test('the plan lists what stays, and changes nothing', async () => {
  const { platform, backUp } = await open();
  const backup = await backUp();
  await platform.tenant('late');
  const rows = await platform.adminLog();
  const { status, value } = await platform.call('directory.restore', {
    query: { dryRun: true },
    body: { backup: backup.id },
  });
  expect(status).toBe(200);
  expect(value).toMatchObject({
    dryRun: true,
    backup,
    keptAway: { count: 0, items: [] },
    keeps: expect.arrayContaining(['admin_log', 'tokens']),
  });
  expect(await platform.adminLog()).toEqual(rows);
  expect(await slugs(platform)).toEqual(['late']);
});

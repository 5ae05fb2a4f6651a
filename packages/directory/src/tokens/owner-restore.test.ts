/** Owners in the rows that there were before owners: at an upgrade, and in a backup of then (requirement C-19). */
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, SERVICE } from '../../test/platform.ts';
import { sessionOf, staffMember } from '../../test/staff.ts';
import type { BackupRecord, ServiceTokenRecord } from '../admin-operations.ts';
import { directoryUnit } from '../unit.ts';

type Made = { token: ServiceTokenRecord; secret: string };

test('an upgrade gives a token to its maker, through any number of tokens', () => {
  const database = new DatabaseSync(':memory:');
  const sets = directoryUnit.migrations.filter(({ name }) => name !== 'tokens');
  for (const { migrations } of sets) for (const { sql } of migrations) database.exec(sql);
  const insert = database.prepare(
    `INSERT INTO tokens (id, kind, name, tenant, hash, last4, created_by, created_at, expires_at, revision)
     VALUES (?, ?, '', ?, ?, '', ?, 0, 0, 1)`,
  );
  for (const [id, createdBy] of [
    ['tok_own', 'operator'],
    ['tok_of_own', 'tok_own'],
    ['tok_a_child', 'tok_c_eve'],
    ['tok_b_grandchild', 'tok_a_child'],
    ['tok_c_eve', 'stf_eve'],
    ['tok_bob', 'stf_bob'],
    ['tok_lost', 'tok_unknown'],
  ] as const)
    insert.run(id, 'service', null, id, createdBy);
  const added = directoryUnit.migrations.find(({ name }) => name === 'tokens');
  for (const { sql } of added?.migrations ?? []) database.exec(sql);
  const owners = database.prepare('SELECT id, owner FROM tokens').all() as { id: string; owner: string }[];
  expect(Object.fromEntries(owners.map(({ id, owner }) => [id, owner]))).toEqual({
    tok_own: null,
    tok_of_own: null,
    tok_a_child: 'stf_eve',
    tok_b_grandchild: 'stf_eve',
    tok_c_eve: 'stf_eve',
    tok_bob: 'stf_bob',
    tok_lost: null,
  });
  database.close();
});

async function withBackup() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const { id: eve } = await staffMember(platform, { login: 'eve', role: 'admin' });
  const as = await platform.admin.staff.session(sessionOf('eve'));
  if (!as) throw new Error('there is no session');
  const { secret } = await platform.value<Made>('service-tokens.create', { body: { name: 'nightly' }, as });
  const { result } = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  return { platform, backups, eve, secret, backup: result as BackupRecord };
}

async function restore(platform: Platform, backup: Pick<BackupRecord, 'id'>): Promise<void> {
  const { problem } = await platform.finish(
    platform.call('directory.restore', { body: { backup: backup.id } }),
  );
  expect(problem).toBeNull();
}

test('a token of a member who left works in no restored directory', async () => {
  const { platform, eve, secret, backup } = await withBackup();
  await platform.call('staff.remove', { params: { member: eve }, as: SERVICE });
  // As where an earlier restore, or a new installation, knows nothing of the token.
  await platform.tamper((database) => database.exec('DELETE FROM tokens'));
  await restore(platform, backup);
  expect(await platform.admin.authenticate(secret)).toBeNull();
  const { items } = await platform.value<{ items: ServiceTokenRecord[] }>('service-tokens.list');
  expect(items).toMatchObject([{ owner: eve, status: 'suspended' }]);
});

test('a token of a backup that is older than owners does not become one of the operator', async () => {
  const { platform, backups, eve, secret, backup } = await withBackup();
  const id = 'bkp_01jd0000000000000000000009';
  backups.stored.set(`directory/${id}.ndjson`, withoutOwners(backups.stored.get(backup.address) ?? ''));
  await platform.call('staff.remove', { params: { member: eve }, as: SERVICE });
  await platform.tamper((database) => database.exec('DELETE FROM tokens'));
  await restore(platform, { id });
  const { items } = await platform.value<{ items: ServiceTokenRecord[] }>('service-tokens.list');
  expect(items).toMatchObject([{ name: 'nightly', createdBy: eve, owner: eve, status: 'suspended' }]);
  expect(await platform.admin.authenticate(secret)).toBeNull();
});

/** The copy as a platform that knew no owners wrote it. */
function withoutOwners(copy: string): string {
  const [header = '', ...rows] = copy.trimEnd().split('\n').slice(0, -1);
  const head = JSON.parse(header) as { tables: { name: string; columns: string[] }[] };
  const table = head.tables.findIndex(({ name }) => name === 'tokens');
  const columns = head.tables[table]?.columns ?? [];
  const owner = columns.indexOf('owner');
  columns.splice(owner, 1);
  const older = rows.map((line) => {
    const row = JSON.parse(line) as { t: number; r: unknown[] };
    return JSON.stringify(row.t === table ? { ...row, r: row.r.toSpliced(owner, 1) } : row);
  });
  const body = `${[JSON.stringify(head), ...older].join('\n')}\n`;
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${body}${JSON.stringify({ end: true, sha256 })}\n`;
}

/** Ending a push token ends every token that came of it, and removing a person ends the push tokens of that person. */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import { sessionOf, staffMember } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import type { BackupRecord, PushTokenRecord } from '../admin-operations.ts';

type Made = { token: PushTokenRecord; secret: string };

const create = (platform: Platform, tenant: string, as: Actor = STAFF) =>
  platform.value<Made>('push-tokens.create', { body: { name: 'ci', tenant, kind: 'operate' }, as });
const rotate = (platform: Platform, { token }: Made, as: Actor = STAFF) =>
  platform.value<Made>('push-tokens.rotate', { params: { token: token.id }, body: {}, as });
const revoke = (platform: Platform, { token }: Made) =>
  platform.call('push-tokens.revoke', { params: { token: token.id } });
const shown = async (platform: Platform, { secret }: Made): Promise<Actor> => {
  const actor = await platform.admin.authenticate(secret);
  if (!actor) throw new Error('the token does not work');
  return actor;
};
const working = async (platform: Platform, ...made: Made[]) =>
  Promise.all(made.map(async ({ secret }) => (await platform.admin.authenticate(secret)) !== null));

/** A token, its successor, and the successor that this one made of itself. */
async function open() {
  const platform = await openPlatform({ backups: makeMemoryBackups() });
  const { id: tenant } = await platform.tenant('acme');
  const first = await create(platform, tenant);
  const second = await rotate(platform, first, await shown(platform, first));
  const third = await rotate(platform, second, await shown(platform, second));
  return { platform, tenant, first, second, third, other: await create(platform, tenant) };
}

async function member(platform: Platform, login: string, role: 'admin' | 'operator' = 'operator') {
  const { id } = await staffMember(platform, { login, role });
  return { id, as: (await platform.admin.staff.session(sessionOf(login))) as Actor };
}

describe('revoking a token', () => {
  test('ends every token that replaced it, and no other; the log names them', async () => {
    const { platform, first, second, third, other } = await open();
    expect(second.token.replaces).toBe(first.token.id);
    await revoke(platform, first);
    expect(await working(platform, first, second, third, other)).toEqual([false, false, false, true]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'push-tokens.revoke',
      after: { revoked: true, ended: [second.token.id, third.token.id] },
    });
  });

  test('ends the successor that staff made in its place', async () => {
    const { platform, other } = await open();
    const successor = await rotate(platform, other);
    await revoke(platform, other);
    expect(await working(platform, successor)).toEqual([false]);
  });

  test('ends the successor of another token that it rotated', async () => {
    const { platform, first, other } = await open();
    const stolen = await rotate(platform, other, await shown(platform, first));
    await revoke(platform, first);
    expect(await working(platform, stolen)).toEqual([false]);
  });

  test('leaves those before it; once more changes nothing', async () => {
    const { platform, first, second, third } = await open();
    await revoke(platform, second);
    expect(await working(platform, first, second, third)).toEqual([true, false, false]);
    const rows = await platform.adminLog();
    expect((await revoke(platform, second)).status).toBe(204);
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('ends what is left of one that was revoked before lineages were known', async () => {
    const { platform, first, second } = await open();
    await platform.tamper((database) =>
      database.prepare('UPDATE tokens SET revoked_at = 1 WHERE id = ?').run(first.token.id),
    );
    expect(await working(platform, second)).toEqual([true]);
    await revoke(platform, first);
    expect(await working(platform, second)).toEqual([false]);
  });

  test('holds in a restored directory', async () => {
    const { platform, first, third, other } = await open();
    const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
      .result as BackupRecord;
    await revoke(platform, first);
    await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
    expect(await working(platform, third, other)).toEqual([false, true]);
  });
});

describe('revoking a service token', () => {
  test('ends the push tokens that it made and their successors, and no other; also in a restored directory', async () => {
    const platform = await openPlatform({ backups: makeMemoryBackups() });
    const backUp = async () =>
      (await platform.finish(platform.call('directory-backups.create', { body: {} }))).result as BackupRecord;
    const restore = ({ id: backup }: BackupRecord) =>
      platform.finish(platform.call('directory.restore', { body: { backup } }));
    const empty = await backUp();
    const { id: tenant } = await platform.tenant('acme');
    const service = await platform.value<Made>('service-tokens.create', { body: { name: 'x' } });
    const made = await create(platform, tenant, await shown(platform, service));
    const successor = await rotate(platform, made, await shown(platform, made));
    const other = await create(platform, tenant);
    const backup = await backUp();
    await platform.call('service-tokens.revoke', { params: { token: service.token.id } });
    expect(await working(platform, service, made, successor, other)).toEqual([false, false, false, true]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'service-tokens.revoke',
      after: { revoked: true, ended: [made.token.id, successor.token.id].sort() },
    });
    // The first restore drops the tenant with its tokens, so that the second brings them from the backup.
    await restore(empty);
    await restore(backup);
    expect(await working(platform, service, made, successor, other)).toEqual([false, false, false, true]);
  });
});

describe('revoking a service token that made others', () => {
  test('ends the service tokens that it made, with what these made; one that staff put in its place stays', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const eve = await member(platform, 'eve', 'admin');
    const make = (as: Actor) => platform.value<Made>('service-tokens.create', { body: { name: 'x' }, as });
    const replace = ({ token }: Made, as: Actor) =>
      platform.value<Made>('service-tokens.rotate', { params: { token: token.id }, body: {}, as });
    const stolen = await make(STAFF);
    const made = await make(await shown(platform, stolen));
    const ofMade = await create(platform, tenant, await shown(platform, made));
    const ofItself = await replace(stolen, await shown(platform, stolen));
    const byStaff = await replace(stolen, eve.as);
    const other = await make(STAFF);
    await platform.call('service-tokens.revoke', { params: { token: stolen.token.id } });
    const all = [stolen, made, ofMade, ofItself, byStaff, other];
    expect(await working(platform, ...all)).toEqual([false, false, false, false, true, true]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'service-tokens.revoke',
      after: { ended: [made, ofMade, ofItself].map(({ token }) => token.id).sort() },
    });
  });
});

describe('removing a person', () => {
  test('lists and ends the push tokens that they made, by themselves or by a service token of theirs', async () => {
    const platform = await openPlatform({ backups: makeMemoryBackups() });
    const { id: tenant } = await platform.tenant('acme');
    const eve = await member(platform, 'eve', 'admin');
    const own = await create(platform, tenant, eve.as);
    const rotated = await rotate(platform, own, await shown(platform, own));
    const service = await platform.value<Made>('service-tokens.create', { body: { name: 'x' }, as: eve.as });
    const bySoftware = await create(platform, tenant, await shown(platform, service));
    const other = await create(platform, tenant);
    const params = { member: eve.id };
    const plan = await platform.value<{ pushTokens: { id: string }[] }>('staff.remove', {
      params,
      query: { dryRun: true },
      as: SERVICE,
    });
    const theirs = [own, rotated, bySoftware].map(({ token }) => token.id).sort();
    expect(plan.pushTokens.map(({ id }) => id).sort()).toEqual(theirs);
    const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
      .result as BackupRecord;
    await platform.call('staff.remove', { params, as: SERVICE });
    expect(await working(platform, own, rotated, bySoftware, other)).toEqual([false, false, false, true]);
    const { before } = (await platform.adminLog()).at(-1) ?? {};
    expect((before as { pushTokens: string[] }).pushTokens.sort()).toEqual(theirs);
    await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
    expect(await working(platform, own, rotated, bySoftware, other)).toEqual([false, false, false, true]);
  });

  test('ends the successors that a builder made', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const { id } = await staffMember(platform, { login: 'bob', role: 'builder', tenant });
    const bob = (await platform.admin.staff.session(sessionOf('bob'))) as Actor;
    const first = await create(platform, tenant);
    const second = await rotate(platform, first, bob);
    await platform.call('staff.remove', { params: { member: id } });
    expect(await working(platform, first, second)).toEqual([true, false]);
  });

  test.each([
    ['becomes a builder', { role: 'builder' }],
    ['may only read from now on', { role: 'auditor' }],
  ])('so does one who %s', async (_what, change) => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const eve = await member(platform, 'eve');
    const made = await create(platform, tenant, eve.as);
    await platform.call('staff.put', {
      body: {
        email: 'eve@example.test',
        name: 'eve',
        ...change,
        ...(change.role === 'builder' ? { tenant } : {}),
      },
    });
    expect(await working(platform, made)).toEqual([false]);
  });
});

test('the successor of a revoked token is refused in the middle of a call', async () => {
  const { platform, tenant, first, third } = await open();
  const as = await shown(platform, third);
  await revoke(platform, first);
  expect(await refusal(platform.call('tenants.get', { params: { tenant }, as }))).toMatchObject({
    status: 403,
    reason: 'access_ended',
  });
});

test('lineages of earlier rotations are taken over from the log', async () => {
  const { platform, first, second, third } = await open();
  await platform.tamper((database) => {
    database.exec(`DROP INDEX tokens_replaces; DROP INDEX tokens_made; ALTER TABLE tokens DROP COLUMN replaces;
      ALTER TABLE tokens DROP COLUMN rights; ALTER TABLE tokens DROP COLUMN verticals; ALTER TABLE tokens DROP COLUMN scopes;
      DELETE FROM _spine_migrations WHERE "set" = 'tokens' AND version >= 2`);
  });
  const { items } = await platform.value<{ items: PushTokenRecord[] }>('push-tokens.list');
  const of = (made: Made) => items.find(({ id }) => id === made.token.id);
  expect([of(first), of(second), of(third)]).toMatchObject([
    { replaces: null, kind: 'legacy' },
    { replaces: first.token.id },
    { replaces: second.token.id },
  ]);
});

/** Builders who are people: on the roster with a tenant, and in it what a push token is (spec 5.5). */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import { invite, orderCode, redeem, sessionOf, signIn, staffMember, staffToken } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import { mayCall } from '../access/admission.ts';
import { type AdminOperation, adminOperations, type StaffRecord } from '../admin-operations.ts';
import { ownerOfMade } from '../tokens/service-operations.ts';
import { staffMigrations } from './schema.ts';

async function withBob() {
  const platform = await openPlatform();
  const [ours, theirs] = [await platform.tenant('acme'), await platform.tenant('globex')];
  const bob = await staffMember(platform, { login: 'bob', role: 'builder', tenant: ours.id });
  return { platform, ours, theirs, bob };
}

async function session(platform: Platform, login = 'bob'): Promise<Actor> {
  const actor = await platform.admin.staff.session(sessionOf(login));
  if (!actor) throw new Error('there is no session');
  return actor;
}

const put = (platform: Platform, more: object) =>
  platform.call('staff.put', { body: { email: 'bob@example.test', name: 'bob', ...more } });

describe('the roster', () => {
  test('names the tenant of a builder, in the row of the log too, and lists those of one tenant', async () => {
    const { platform, ours, theirs, bob } = await withBob();
    expect(bob).toMatchObject({ role: 'builder', tenant: ours.id, status: 'active' });
    const ada = await invite(platform, { login: 'ada', role: 'admin' });
    expect(ada.tenant).toBeNull();
    const rows = (await platform.adminLog()).filter(({ target }) => target.other === bob.id);
    expect(rows).toMatchObject([
      { action: 'staff.put', target: { tenant: ours.id }, after: { role: 'builder', tenant: ours.id } },
      { action: 'staff.bind', target: { tenant: ours.id }, actor: { kind: 'builder', id: bob.id } },
    ]);
    const of = async (tenant: string) =>
      (await platform.value<{ items: StaffRecord[] }>('staff.list', { query: { tenant } })).items;
    expect((await of(ours.id)).map(({ id }) => id)).toEqual([bob.id]);
    expect(await of(theirs.id)).toEqual([]);
  });

  test('refuses a builder of no tenant, a tenant of staff, and a tenant that is not there or leaves', async () => {
    const { platform, ours, theirs } = await withBob();
    const invalid = { status: 400, code: 'validation_failed', errors: [{ path: 'tenant' }] };
    await expect(put(platform, { role: 'builder' })).rejects.toMatchObject(invalid);
    for (const role of ['admin', 'operator', 'auditor'])
      await expect(put(platform, { role, tenant: ours.id })).rejects.toMatchObject(invalid);
    const nowhere = 'tnt_01jd0000000000000000000009';
    expect(await refusal(put(platform, { role: 'builder', tenant: nowhere }))).toMatchObject({ status: 404 });
    const params = { tenant: theirs.id };
    await platform.call('tenants.set-status', { params, body: { status: 'deleting' } });
    expect(await refusal(put(platform, { role: 'builder', ...params }))).toMatchObject({
      status: 409,
      reason: 'tenant_not_active',
    });
    expect(await platform.value('staff.list')).toMatchObject({
      items: [{ role: 'builder', tenant: ours.id }],
    });
  });
});

describe('a builder', () => {
  test('is the builder of their tenant, by a session and by a program, and the log names them', async () => {
    const { platform, ours, theirs, bob } = await withBob();
    const { id: token, secret } = await staffToken(platform, bob.id);
    const who = { kind: 'builder', id: bob.id, name: 'bob', tenant: ours.id };
    const [own, program] = [await session(platform), await platform.admin.authenticate(secret)];
    expect(own).toEqual({ ...who, session: 'sid-bob' });
    expect(program).toEqual({ ...who, token });
    for (const as of [own, program as Actor]) {
      expect(await platform.value('tenants.list', { as })).toMatchObject({ items: [{ id: ours.id }] });
      const elsewhere = platform.call('tenants.get', { params: { tenant: theirs.id }, as });
      expect(await refusal(elsewhere)).toMatchObject({ status: 404, reason: 'unknown_tenant' });
      expect(await refusal(platform.call('staff.list', { as }))).toMatchObject({
        status: 403,
        reason: 'staff_only',
      });
    }
    const params = { tenant: ours.id };
    const body = { slug: 'main', name: 'Main', vertical: 'fieldwork' };
    await platform.call('scopes.provision', { params, body, as: own });
    await platform.call('scopes.provision', { params, body: { ...body, slug: 'two' }, as: program as Actor });
    const logged = (await platform.adminLog()).filter(({ action }) => action === 'scopes.provision');
    expect(new Set(logged.map(({ actor, token: shown }) => `${actor.kind} ${actor.id} ${shown}`))).toEqual(
      new Set([`builder ${bob.id} null`, `builder ${bob.id} ${token}`]),
    );
    expect((await platform.adminLog()).find(({ action }) => action === 'staff-tokens.create')).toMatchObject({
      actor: { kind: 'builder', id: bob.id },
      target: { tenant: ours.id, other: token },
    });
  });

  test('may what a push token of their tenant may, and nothing else', async () => {
    const { platform, ours } = await withBob();
    const push: Actor = { kind: 'builder', id: 'tok_1', name: 'ci', tenant: ours.id };
    const own = await session(platform);
    for (const operation of Object.values<AdminOperation>(adminOperations)) {
      expect(mayCall(operation, own)).toBe(mayCall(operation, push));
      expect(mayCall(operation, own)).toBe(operation.builder === 'own-tenant');
    }
  });

  test.each(['suspended', 'deleting'])(
    'of a tenant that is %s does nothing until it is active',
    async (status) => {
      const { platform, ours, bob } = await withBob();
      const { secret } = await staffToken(platform, bob.id);
      const { secret: push } = await platform.value<{ secret: string }>('push-tokens.create', {
        body: { name: 'ci', tenant: ours.id },
      });
      const held = [await session(platform), await platform.admin.authenticate(secret)];
      const set = (to: string) =>
        platform.call('tenants.set-status', { params: { tenant: ours.id }, body: { status: to } });
      await set(status);
      expect(await platform.admin.staff.session(sessionOf('bob'))).toBeNull();
      for (const each of [secret, push]) expect(await platform.admin.authenticate(each)).toBeNull();
      for (const as of held)
        expect(await refusal(platform.call('tenants.list', { as: as as Actor }))).toMatchObject({
          status: 403,
          reason: 'tenant_not_active',
        });
      expect(await signIn(platform, 'bob', { sid: 'sid-2' })).toEqual({ refused: 'tenant_not_active' });
      await set('active');
      expect(await session(platform)).toMatchObject({ id: bob.id });
      for (const each of [secret, push]) expect(await platform.admin.authenticate(each)).not.toBeNull();
    },
  );

  test('who is removed is out at once, and a call that was on its way does nothing', async () => {
    const { platform, bob } = await withBob();
    const { secret } = await staffToken(platform, bob.id);
    const held = [await session(platform), (await platform.admin.authenticate(secret)) as Actor];
    await platform.call('staff.remove', { params: { member: bob.id } });
    expect(await platform.admin.staff.session(sessionOf('bob'))).toBeNull();
    expect(await platform.admin.authenticate(secret)).toBeNull();
    for (const as of held)
      expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ reason: 'access_ended' });
  });

  test.each([
    ['signed out', (platform: Platform) => platform.admin.staff.signOut({ sid: 'sid-bob' })],
    [
      'was put for another tenant',
      async (platform: Platform) => {
        await put(platform, { role: 'builder', tenant: (await platform.tenant('initech')).id });
      },
    ],
  ])('who %s meanwhile does nothing with a call that was on its way', async (_, change) => {
    const { platform } = await withBob();
    const as = await session(platform);
    expect((await platform.call('tenants.list', { as })).status).toBe(200);
    await change(platform);
    expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ reason: 'access_ended' });
  });

  test('whose program lost its token meanwhile, to an admin, does nothing with it', async () => {
    const { platform, ours, bob } = await withBob();
    const { id: token, secret } = await staffToken(platform, bob.id);
    const as = (await platform.admin.authenticate(secret)) as Actor;
    await platform.call('staff-tokens.revoke', { params: { token } });
    expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ reason: 'access_ended' });
    expect((await platform.adminLog()).at(-1)).toMatchObject({ target: { tenant: ours.id, other: token } });
  });

  test('owns no service token, also where the rule of the declaration were missing', async () => {
    const { platform } = await withBob();
    const as = await session(platform);
    const made = platform.call('service-tokens.create', { body: { name: 'nightly' }, as });
    expect(await refusal(made)).toMatchObject({ status: 403, reason: 'staff_only' });
    expect(() => ownerOfMade(as)).toThrow(expect.objectContaining({ reason: 'staff_only' }));
  });
});

describe('a member who changes sides', () => {
  test.each([
    ['from builder to staff', { role: 'operator' }],
    ['to the builder of another tenant', { role: 'builder' }],
  ])('%s begins anew: another id, signed out, no program', async (_, role) => {
    const { platform, ours, theirs, bob } = await withBob();
    const { secret } = await staffToken(platform, bob.id);
    const { code } = await orderCode(platform, bob.id);
    const tenant = role.role === 'builder' ? { tenant: theirs.id } : {};
    const after = (await put(platform, { ...role, ...tenant })).value as StaffRecord;
    expect(after.id).not.toBe(bob.id);
    expect(after).toMatchObject({ status: 'invited', subject: null, tenant: tenant.tenant ?? null });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'staff.put',
      target: { tenant: tenant.tenant ?? null, other: after.id },
      before: { member: bob.id, role: 'builder', tenant: ours.id, subject: 'sub-bob' },
      after: { ...role, subject: null },
    });
    expect(await platform.admin.staff.session(sessionOf('bob'))).toBeNull();
    expect(await platform.admin.authenticate(secret)).toBeNull();
    expect(await redeem(platform, code)).toEqual({ refused: 'invalid_grant' });
    expect(await signIn(platform, 'bob', { sid: 'sid-2' })).toEqual({ member: after.id });
    expect(await platform.value('staff.list')).toMatchObject({ items: [{ id: after.id }] });
  });

  test('from staff to builder leaves their service tokens suspended', async () => {
    const { platform, ours } = await withBob();
    await staffMember(platform, { login: 'eve', role: 'admin' });
    const { secret } = await platform.value<{ secret: string }>('service-tokens.create', {
      body: { name: 'nightly' },
      as: await session(platform, 'eve'),
    });
    const as = (await platform.admin.authenticate(secret)) as Actor;
    await put(platform, { email: 'eve@example.test', name: 'eve', role: 'builder', tenant: ours.id });
    expect(await platform.admin.authenticate(secret)).toBeNull();
    expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ reason: 'access_ended' });
    expect(await platform.value('service-tokens.list')).toMatchObject({
      items: [{ name: 'nightly', status: 'suspended', role: null }],
    });
  });

  test('cannot do so themselves as the only admin', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    await staffMember(platform, { login: 'bob', role: 'admin' });
    const as = await session(platform);
    const body = { email: 'bob@example.test', name: 'bob', role: 'builder', tenant };
    expect(await refusal(platform.call('staff.put', { body, as }))).toMatchObject({ reason: 'last_admin' });
    expect((await platform.call('staff.put', { body, as: SERVICE })).status).toBe(200);
  });

  test('and a member with only another name stays the same', async () => {
    const { platform, ours, bob } = await withBob();
    const after = (await put(platform, { name: 'Robert', role: 'builder', tenant: ours.id })).value;
    expect(after).toMatchObject({ id: bob.id, name: 'Robert', subject: 'sub-bob' });
    expect(await session(platform)).toMatchObject({ name: 'Robert' });
    const rows = (await platform.adminLog()).length;
    await put(platform, { name: 'Robert', role: 'builder', tenant: ours.id });
    expect(await platform.adminLog()).toHaveLength(rows);
  });
});

test('a roster from before there were builders keeps its members, their roles and what lets them in', () => {
  const [before, builders] = staffMigrations.migrations;
  const db = new DatabaseSync(':memory:');
  db.exec(`PRAGMA foreign_keys = ON; ${before.sql}
    INSERT INTO staff VALUES ('stf_1', 'a@example.test', 'Ada', 'admin', 'https://id', 'ada', 1, 1, 1, 1),
      ('stf_2', 'o@example.test', 'Olga', 'operator', NULL, NULL, 1, 1, NULL, 2);
    INSERT INTO staff_sessions VALUES ('sid', 'stf_1', NULL, 9);
    INSERT INTO staff_tokens VALUES ('tok_1', 'stf_1', 'cli', 'hash', 'abcd', 1, 9, NULL, 3);
    ${builders.sql}`);
  const rows = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(' '));
  expect(rows('SELECT id, role, tenant FROM staff')).toEqual(['stf_1 admin ', 'stf_2 operator ']);
  expect(rows('SELECT sid, id FROM staff_sessions, staff_tokens')).toEqual(['sid tok_1']);
  const insert = (role: string, tenant: string) =>
    db.exec(`INSERT INTO staff (id, email, name, role, tenant, created_at, updated_at, revision)
      VALUES ('stf_3', 'b@example.test', 'Bob', '${role}', ${tenant}, 1, 1, 4)`);
  for (const [role, tenant] of [
    ['builder', 'NULL'],
    ['admin', "'tnt_1'"],
    ['owner', 'NULL'],
  ] as const)
    expect(() => insert(role, tenant)).toThrow(/CHECK/);
  insert('builder', "'tnt_1'");
  db.exec("DELETE FROM staff WHERE id = 'stf_1'");
  expect(rows('SELECT sid FROM staff_sessions UNION SELECT id FROM staff_tokens')).toEqual([]);
});

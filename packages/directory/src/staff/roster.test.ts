/** The roster: who gets in, once bound to whom, and out with the next request. */
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import { ISSUER, invite, sessionOf, signIn, staffMember, staffToken } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import type { StaffRecord } from '../admin-operations.ts';

const actorOf = ({ id, name }: StaffRecord): Actor => ({ kind: 'staff', id, name, role: 'admin' });

describe('spec 5.5: the first sign-in', () => {
  test('binds an invited address to the subject behind it, in a row of the log', async () => {
    const platform = await openPlatform();
    const { id, status } = await invite(platform, { login: 'ada', role: 'admin' });
    expect(status).toBe('invited');
    expect(await signIn(platform, 'ada', { email: 'ADA@Example.test' })).toEqual({ member: id });
    expect(await platform.value('staff.get', { params: { member: id } })).toMatchObject({
      status: 'active',
      issuer: ISSUER,
      subject: 'sub-ada',
      lastSignInAt: '2026-11-21T08:00:00.000Z',
    });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'staff.bind',
      actor: { kind: 'staff', id },
      requestId: 'req-sign-in',
      before: { subject: null },
      after: { subject: 'sub-ada' },
    });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toEqual({
      kind: 'staff',
      id,
      name: 'ada',
      role: 'admin',
      session: 'sid-ada',
    });
  });

  test('by a person whose address the issuer does not vouch for binds no member', async () => {
    const platform = await openPlatform();
    await invite(platform, { login: 'ada', role: 'admin' });
    expect(await signIn(platform, 'ada', { emailVerified: false })).toEqual({ refused: 'email_unverified' });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toBeNull();
    expect(await platform.adminLog()).toHaveLength(1);
  });

  test.each([
    ['another address', { email: 'eve@example.test' }],
    ['no address', { email: null }],
  ])('by a person with %s is refused and leaves no trace', async (_, more) => {
    const platform = await openPlatform();
    await invite(platform, { login: 'ada', role: 'admin' });
    expect(await signIn(platform, 'eve', more)).toEqual({ refused: 'not_on_roster' });
    expect(await platform.adminLog()).toHaveLength(1);
  });
});

describe('a bound member', () => {
  test('is known by the subject, whatever became of the address', async () => {
    const platform = await openPlatform();
    const { id } = await staffMember(platform, { login: 'ada', role: 'auditor' });
    const moved = { email: 'other@example.test', emailVerified: false, sid: 'sid-2' };
    expect(await signIn(platform, 'ada', moved)).toEqual({ member: id });
  });

  test('is no other person with the same address now, nor the same subject at another issuer', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'ada', role: 'admin' });
    const heir = { subject: 'sub-heir', sid: 'sid-heir' };
    expect(await signIn(platform, 'ada', heir)).toEqual({ refused: 'not_on_roster' });
    const elsewhere = { issuer: 'https://evil.example.test', sid: 'sid-evil' };
    expect(await signIn(platform, 'ada', elsewhere)).toEqual({ refused: 'not_on_roster' });
    expect(await platform.admin.staff.session({ ...sessionOf('ada'), issuer: elsewhere.issuer })).toBeNull();
    expect(await platform.admin.staff.session({ ...sessionOf('ada'), subject: 'sub-heir' })).toBeNull();
  });

  test('who is removed is out at once: session, tokens and codes', async () => {
    const platform = await openPlatform();
    const member = await staffMember(platform, { login: 'ada', role: 'operator' });
    const { secret } = await staffToken(platform, member.id);
    expect(await platform.admin.authenticate(secret)).toMatchObject({ id: member.id });
    await platform.call('staff.remove', { params: { member: member.id } });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toBeNull();
    expect(await platform.admin.authenticate(secret)).toBeNull();
    expect(await signIn(platform, 'ada', { sid: 'sid-2' })).toEqual({ refused: 'not_on_roster' });
    await invite(platform, { login: 'ada', role: 'operator' });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toBeNull();
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('has the new role with the next request', async () => {
    const platform = await openPlatform();
    const { id, email, name } = await staffMember(platform, { login: 'ada', role: 'admin' });
    const { secret } = await staffToken(platform, id);
    await platform.call('staff.put', { body: { email, name, role: 'auditor' } });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toMatchObject({ role: 'auditor' });
    expect(await platform.admin.authenticate(secret)).toMatchObject({ role: 'auditor' });
  });
});

describe('a session ends', () => {
  test('when its time is over', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'ada', role: 'admin' });
    platform.clock.ms += 7 * 24 * 60 * 60 * 1000;
    expect(await platform.admin.staff.session(sessionOf('ada'))).toBeNull();
  });

  test('when it is signed out of, and no other with it', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'ada', role: 'admin' });
    await signIn(platform, 'ada', { sid: 'sid-2' });
    await platform.admin.staff.signOut({ sid: 'sid-ada' });
    expect(await platform.admin.staff.session(sessionOf('ada'))).toBeNull();
    expect(await platform.admin.staff.session({ ...sessionOf('ada'), sid: 'sid-2' })).not.toBeNull();
  });

  test('when the issuer says so: one by its id there, all of a subject without', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'ada', role: 'admin' });
    await staffMember(platform, { login: 'bob', role: 'admin' });
    await signIn(platform, 'ada', { sid: 'sid-2', issuerSid: 'other' });
    const { staff } = platform.admin;
    await staff.endSessions({ issuer: 'https://evil.example.test', subject: 'sub-ada', issuerSid: 'other' });
    expect(await staff.session({ ...sessionOf('ada'), sid: 'sid-2' })).not.toBeNull();
    await signIn(platform, 'ada', { sid: 'sid-3', issuerSid: null });
    await staff.endSessions({ issuer: ISSUER, subject: 'sub-ada', issuerSid: 'other' });
    for (const sid of ['sid-2', 'sid-3'])
      expect(await staff.session({ ...sessionOf('ada'), sid })).toBeNull();
    expect(await staff.session(sessionOf('ada'))).not.toBeNull();
    await staff.endSessions({ issuer: ISSUER, subject: 'sub-ada' });
    expect(await staff.session(sessionOf('ada'))).toBeNull();
    expect(await staff.session(sessionOf('bob'))).not.toBeNull();
  });
});

describe('the only admin', () => {
  test('cannot remove or demote themselves, while no other admin has signed in', async () => {
    const platform = await openPlatform();
    const ada = await staffMember(platform, { login: 'ada', role: 'admin' });
    await invite(platform, { login: 'bob', role: 'admin' });
    const own = { as: actorOf(ada) };
    const remove = { params: { member: ada.id }, ...own };
    const demote = { body: { email: ada.email, name: 'ada', role: 'operator' }, ...own };
    for (const call of [platform.call('staff.remove', remove), platform.call('staff.put', demote)])
      expect(await refusal(call)).toMatchObject({ status: 409, reason: 'last_admin' });
    await signIn(platform, 'bob');
    expect((await platform.call('staff.put', demote)).value).toMatchObject({ role: 'operator' });
  });

  test('can be removed by the operator, whose token makes the next one', async () => {
    const platform = await openPlatform();
    const ada = await staffMember(platform, { login: 'ada', role: 'admin' });
    const { status } = await platform.call('staff.remove', { params: { member: ada.id }, as: SERVICE });
    expect(status).toBe(204);
  });
});

test('a put without a change writes no row, and a stale version is refused', async () => {
  const platform = await openPlatform();
  const body = { email: 'Ada@example.test', name: ' ada ', role: 'admin' };
  const first = await platform.call('staff.put', { body });
  const again = await platform.call('staff.put', { body: { ...body, email: 'ada@EXAMPLE.test' } });
  expect(again.value).toEqual(first.value);
  expect(await platform.adminLog()).toHaveLength(1);
  const stale = platform.call('staff.put', { body: { ...body, role: 'auditor' }, ifMatch: '999' });
  expect(await refusal(stale)).toMatchObject({ status: 412 });
});

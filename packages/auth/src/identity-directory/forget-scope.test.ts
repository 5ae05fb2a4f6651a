/** A deleted scope is forgotten: no row of it stays in the tenant's directory, and every row of the others. */
import { makeIdFactory } from '@freehold/contracts';
import type { SqlRow } from '@freehold/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import {
  DAY_MS,
  ISSUER,
  OTHER_SCOPE,
  openPlatform,
  person,
  refusal,
  SCOPE,
  START_MS,
  TENANT_A,
  testRandom,
} from '../../test/support.ts';
import { directoryIssuer } from '../accounts/contract.ts';
import type { VerifiedSubject } from '../lib/subject.ts';
import { identityDirectory } from './unit.ts';

/** An address under which only this scope knows a person. */
const HERE = 'only-here';
const NOTHING = {
  seats: 0,
  settings: 0,
  invites: 0,
  members: 0,
  formerMembers: 0,
  sessions: 0,
  events: 0,
  people: 0,
};

const bob = person('bob');
const zoe = person('zoe');
const [ada, carl, eve] = ['ada', 'carl', 'eve'].map((name) => person(`${name}-${HERE}`)) as [
  VerifiedSubject,
  VerifiedSubject,
  VerifiedSubject,
];

/** The directory's methods straight over a database that tests can read. */
function openDirectly() {
  const database = openNodeDatabase(':memory:');
  onTestFinished(() => database.close());
  for (const set of identityDirectory.migrations)
    for (const each of set.migrations) database.db.exec(each.sql);
  const clock = { nowMs: START_MS };
  const sources = { now: () => clock.nowMs, random: testRandom() };
  const directory = identityDirectory.open({
    key: TENANT_A,
    db: database.db,
    guarded: database.guarded,
    ...sources,
    newId: makeIdFactory(sources),
    afterCommit: () => undefined,
    onRollback: () => undefined,
    onClose: () => undefined,
    report: () => undefined,
  });
  const { db } = database;
  /** Every table with its rows, in the order of their text. */
  const dump = (): ReadonlyMap<string, readonly string[]> => {
    const tables = db.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`);
    return new Map(
      tables.map(({ name }) => [name, db.all<SqlRow>(`SELECT * FROM ${name}`).map(textOf).sort()]),
    );
  };
  return { db, directory, clock, dump };
}

type Open = ReturnType<typeof openDirectly>;

function textOf(row: SqlRow): string {
  return JSON.stringify(row);
}

/** A member with a session that their issuer knows as its own. */
function join({ directory, clock }: Open, scopeId: string, subject: VerifiedSubject) {
  const principal = directory.newPrincipal();
  const invite = { scopeId, principal, role: 'member', createdBy: principal };
  const { token } = directory.createInvite({
    ...invite,
    ...(subject.email === null ? {} : { email: subject.email, emailMatch: 'label' as const }),
  });
  directory.claimInvite({ token, subject });
  const session = { sid: `sid-${scopeId}-${subject.sub}`, issuedAtMs: clock.nowMs };
  directory.recordSignIn({ scopeId, subject, session, idpSid: `idp-${subject.sub}`, client: 'Firefox' });
  return { principal, session, token };
}

/** Two scopes with people of their own and one of both; the first with everything that a scope can have. */
function fill(open: Open) {
  const { directory, clock } = open;
  const seat = directory.setPendingOwner({ scopeId: SCOPE });
  const session = { sid: 'sid-owner', issuedAtMs: clock.nowMs };
  directory.recordSignIn({ scopeId: SCOPE, subject: ada, session, client: 'Firefox' });
  directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session });
  const { userId } = directory.importAccount({ email: 'ida@example.com', emailVerified: true });
  const ida = person(userId, { issuer: directoryIssuer(TENANT_A), email: 'ida@example.com' });
  const members = { bob: join(open, SCOPE, bob), ida: join(open, SCOPE, ida) };
  const gone = join(open, SCOPE, carl);
  directory.removeMember({ scopeId: SCOPE, principal: gone.principal, by: seat.principal });
  const open_ = { scopeId: SCOPE, role: 'member', createdBy: seat.principal };
  const waiting = directory.createInvite({
    ...open_,
    principal: directory.newPrincipal(),
    email: `invited@${HERE}.example`,
    emailMatch: 'verified',
  });
  const anonymous = { sid: `sid-${HERE}`, issuedAtMs: clock.nowMs };
  directory.recordSignIn({ scopeId: SCOPE, subject: eve, session: anonymous });
  directory.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: `secret-${HERE}` } });
  // Tenant-wide, about people of this scope alone, and about one of both.
  clock.nowMs += 1_000;
  for (const { issuer, sub } of [ada, eve, bob]) directory.endAllSessions({ issuer, sub });
  const logout = { issuer: ISSUER, sub: carl.sub, idpSid: `idp-${carl.sub}`, issuedAtMs: clock.nowMs };
  directory.endIssuerSessions({ ...logout, jti: 'j' });
  clock.nowMs += 1_000;

  directory.setPendingOwner({ scopeId: OTHER_SCOPE });
  directory.resolvePrincipal({ scopeId: OTHER_SCOPE, subject: zoe });
  directory.putConfig({ scopeId: OTHER_SCOPE, config: { NOTE: 'stays' } });
  const others = { bob: join(open, OTHER_SCOPE, bob), zoe };
  return { seat, session, nonMember: anonymous, ida, members, waiting, others };
}

describe('C-04, A-22: a scope is forgotten', () => {
  test('and no table holds its id, nor a row of people whom only it knew', () => {
    const open = openDirectly();
    const { seat, members, waiting } = fill(open);
    const before = JSON.stringify([...open.dump()]);
    const secrets = [SCOPE, HERE, seat.principal, members.bob.principal, waiting.invite.principal];
    for (const each of secrets) expect(before).toContain(each);

    expect(open.directory.forgetScope({ scopeId: SCOPE })).toEqual({
      seats: 1,
      settings: 1,
      invites: 4,
      members: 3,
      formerMembers: 1,
      // The owner's, three members' and a non-member's.
      sessions: 5,
      events: expect.any(Number),
      people: 2,
    });
    for (const [table, rows] of open.dump())
      for (const each of secrets) {
        // An ended session leaves its random id; those of this test are named after their scope.
        if (table !== 'ended_sessions') expect(rows.join('\n'), `${table} names ${each}`).not.toContain(each);
      }
    const events = open.directory.listIdentityEvents({ limit: 200 }).items;
    expect(events.filter(({ scopeId }) => scopeId === SCOPE)).toEqual([]);
    expect(open.db.all('PRAGMA foreign_key_check')).toEqual([]);
  });

  test('and every table keeps the rows of the others', () => {
    const open = openDirectly();
    const { ida, others } = fill(open);
    const before = open.dump();
    const remaining = (rows: readonly string[]) => rows.filter((row) => row.includes(OTHER_SCOPE));
    const bobs = { issuer: bob.issuer, sub: bob.sub };
    open.directory.forgetScope({ scopeId: SCOPE });
    const after = open.dump();
    for (const [table, rows] of before)
      expect(remaining(after.get(table) ?? []), table).toEqual(remaining(rows));

    const { directory, db } = open;
    const { principal, session } = others.bob;
    const of = (subject: VerifiedSubject) => ({ scopeId: OTHER_SCOPE, subject });
    expect(directory.findPrincipal({ ...of(bob), session }).principal).toBe(principal);
    expect(directory.findPrincipal(of(zoe)).principal).toMatch(/^prn_/);
    expect(directory.getConfig({ scopeId: OTHER_SCOPE })).toEqual({ NOTE: 'stays' });
    expect(directory.listSessions(bobs).items.map(({ scopeId }) => scopeId)).toEqual([OTHER_SCOPE]);
    // The end of all of bob's sessions stays, and its event.
    const old = { sid: 'of-before', issuedAtMs: START_MS };
    expect(directory.sessionState({ subject: bob, session: old })).toBe('ended');
    const [told] = directory
      .listIdentityEvents({ scopeId: OTHER_SCOPE, limit: 200 })
      .items.filter(({ type }) => type === 'all_sessions_ended');
    expect(told?.subject).toEqual(bobs);
    // Accounts belong to the tenant, and so do their holders.
    expect(directory.findAccount({ userId: ida.sub })).toMatchObject({ email: 'ida@example.com' });
    expect(db.get('SELECT 1 AS there FROM people WHERE sub = ?', ida.sub)).toEqual({ there: 1 });
  });

  test('and its members, sessions, claims and invites no longer count', () => {
    const open = openDirectly();
    const { directory } = open;
    const { session, nonMember: anonymous, members, waiting } = fill(open);
    directory.forgetScope({ scopeId: SCOPE });
    // Anonymous, although the floors of deleted people went with them: each session is ended by itself.
    for (const [subject, each] of [
      [ada, session],
      [eve, anonymous],
      [bob, members.bob.session],
    ] as const) {
      expect(directory.sessionState({ subject, session: each })).toBe('ended');
      const found = directory.resolvePrincipal({ scopeId: SCOPE, subject, session: each });
      expect(found).toEqual({ principal: null, claimedNow: false, session: 'ended' });
    }
    expect(directory.resolvePrincipal({ scopeId: SCOPE, subject: bob }).principal).toBeNull();
    for (const token of [waiting.token, members.bob.token])
      expect(() => directory.showInvite({ token })).toThrow(
        expect.objectContaining({ reason: 'invite_invalid' }),
      );
    expect(directory.listMembers({ scopeId: SCOPE }).items).toEqual([]);
    expect(directory.getConfig({ scopeId: SCOPE })).toEqual({});
    expect(() => directory.ownerSeat({ scopeId: SCOPE })).toThrow(
      expect.objectContaining({ reason: 'unknown_scope' }),
    );
  });

  test('once: a second time deletes nothing, nor does an unknown scope', () => {
    const open = openDirectly();
    fill(open);
    open.directory.forgetScope({ scopeId: SCOPE });
    const once = open.dump();
    expect(open.directory.forgetScope({ scopeId: SCOPE })).toEqual(NOTHING);
    expect(open.dump()).toEqual(once);
    expect(open.directory.forgetScope({ scopeId: 'scp_01j00000000000000000000009' })).toEqual(NOTHING);
  });

  test('a person whom only one scope knew is deleted when the last one forgets them', () => {
    const open = openDirectly();
    fill(open);
    const people = () => open.db.all<{ sub: string }>('SELECT sub FROM people').map(({ sub }) => sub);
    open.directory.forgetScope({ scopeId: SCOPE });
    expect(people()).toContain(bob.sub);
    expect(open.directory.forgetScope({ scopeId: OTHER_SCOPE }).people).toBe(2);
    expect(people()).not.toContain(bob.sub);
    // No session is left below the floor of bob.
    expect(open.db.all('SELECT * FROM session_floors')).toEqual([]);
  });

  test('a non-member with a session or an event in another scope keeps their session floor', () => {
    const { directory, db, clock } = openDirectly();
    const { issuer, sub } = eve;
    for (const scopeId of [SCOPE, OTHER_SCOPE]) directory.recordSignIn({ scopeId, subject: eve });
    directory.endAllSessions({ issuer, sub });
    const floors = () => db.all('SELECT sub FROM session_floors');
    directory.forgetScope({ scopeId: SCOPE });
    expect(floors()).toEqual([{ sub }]);
    const old = { sid: 'of-before', issuedAtMs: clock.nowMs };
    expect(directory.sessionState({ subject: eve, session: old })).toBe('ended');
    directory.forgetScope({ scopeId: OTHER_SCOPE });
    expect(floors()).toEqual([]);
    expect(directory.listIdentityEvents({}).items).toEqual([]);
  });
});

describe('a call that still runs in a forgotten scope', () => {
  test('writes nothing about it, and no session is given out', async () => {
    const { directory, clock } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.forgetScope({ scopeId: SCOPE });
    const session = { sid: 'late', issuedAtMs: clock.nowMs };
    expect(await directory.recordSignIn({ scopeId: SCOPE, subject: ada, session })).toBe('ended');
    const unknown = { code: 'not_found', reason: 'unknown_scope' };
    expect(await refusal(directory.putConfig({ scopeId: SCOPE, config: { A: '1' } }))).toEqual(unknown);
    const principal = await directory.newPrincipal();
    const invite = { scopeId: SCOPE, principal, role: 'member', createdBy: principal };
    expect(await refusal(directory.createInvite(invite))).toEqual(unknown);
    expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
    expect((await directory.listInvites({ scopeId: SCOPE })).items).toEqual([]);
    expect((await directory.listIdentityEvents({})).items).toEqual([]);
    expect((await directory.listSessions(ada)).items).toEqual([]);
  });

  test('a scope that the platform provisions again is a new one', async () => {
    const { directory } = await openPlatform();
    const first = await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
    await directory.forgetScope({ scopeId: SCOPE });
    const second = await directory.setPendingOwner({ scopeId: SCOPE });
    expect(second).toMatchObject({ state: 'pending', created: true });
    expect(second.principal).not.toBe(first.principal);
    const taken = await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('zoe') });
    expect(taken).toMatchObject({ principal: second.principal, claimedNow: true });
  });

  test('an ended session is remembered no longer than it could have lived', async () => {
    const open = openDirectly();
    fill(open);
    open.directory.forgetScope({ scopeId: SCOPE });
    open.clock.nowMs += 9 * DAY_MS;
    open.directory.recordSignIn({ scopeId: OTHER_SCOPE, subject: zoe });
    expect(open.db.all('SELECT * FROM ended_sessions')).toEqual([]);
  });
});

test('another tenant’s scope of the same id is not forgotten with it', async () => {
  const { directory, other } = await openPlatform();
  const before = await other.listIdentityEvents({});
  await directory.forgetScope({ scopeId: SCOPE });
  expect(await other.listIdentityEvents({})).toEqual(before);
  expect(await other.getConfig({ scopeId: SCOPE })).toEqual({ SECRET_OF_B: 'b' });
});

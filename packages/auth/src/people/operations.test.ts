/** From a verified subject to a principal. */
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import {
  DAY_MS,
  ISSUER,
  MINUTE_MS,
  OTHER_SCOPE,
  openPlatform,
  person,
  refusal,
  SCOPE,
  START_MS,
  type TestPlatform,
} from '../../test/support.ts';
import {
  loadResolution,
  loadSettledPrincipal,
  RESOLUTION_SQL,
  resolvePrincipal,
  SETTLED_SQL,
} from '../identity-directory/recognise.ts';
import { type IdentityDirectory, identityDirectory } from '../identity-directory/unit.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import type { VerifiedSubject } from '../lib/subject.ts';
import { isBelowFloor } from '../lib/subject.ts';
import { amendPerson } from './person.ts';
import { loadNames, type PersonRow } from './store.ts';

const ada = person('ada');
const bob = person('bob');

/** A platform whose seat belongs to Ada. */
async function openOwned(): Promise<TestPlatform & { readonly owner: string }> {
  const platform = await openPlatform();
  const { principal } = await platform.directory.setPendingOwner({ scopeId: SCOPE });
  await platform.directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  return { ...platform, owner: principal };
}

async function join(
  directory: IdentityDirectory,
  subject: VerifiedSubject,
  scopeId = SCOPE,
): Promise<string> {
  const principal = await directory.newPrincipal();
  const { token } = await directory.createInvite({ scopeId, principal, role: 'member', createdBy: 'prn_x' });
  await directory.claimInvite({ token, subject });
  return principal;
}

describe('resolvePrincipal', () => {
  test('A-03: a person who is no member has no principal, is not bound, and leaves no trace', async () => {
    const { directory } = await openOwned();
    const before = await directory.listIdentityEvents({});
    expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('stranger') })).toEqual({
      principal: null,
      claimedNow: false,
      session: 'live',
    });
    expect(await directory.listIdentityEvents({})).toEqual(before);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(1);
  });

  test('identity is issuer and sub, compared byte for byte, and never the e-mail', async () => {
    const { directory, owner } = await openOwned();
    const resolve = async (subject: VerifiedSubject) =>
      (await directory.resolvePrincipal({ scopeId: SCOPE, subject })).principal;
    expect(await resolve(person('ada', { issuer: `${ISSUER}/` }))).toBeNull();
    expect(await resolve(person('ada', { email: 'married@example.com' }))).toBe(owner);
    expect(await resolve(person('ada', { issuer: `${ISSUER}/` }))).toBeNull();
    expect(await resolve(person('Ada', { email: ada.email }))).toBeNull();
    expect(await resolve(person('ada ', { email: ada.email }))).toBeNull();
  });

  test("A-22: another tenant's member is no member here, under the same scope id too", async () => {
    const { directory, other } = await openOwned();
    expect(
      (await other.resolvePrincipal({ scopeId: SCOPE, subject: person('bea') })).principal,
    ).not.toBeNull();
    expect(
      (await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('bea') })).principal,
    ).toBeNull();
    const inOther = await other.resolvePrincipal({ scopeId: SCOPE, subject: ada });
    const here = await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
    expect(inOther.principal).not.toBe(here.principal);
  });

  test('a person may be two principals in two scopes of a tenant', async () => {
    const { directory, owner } = await openOwned();
    const elsewhere = await join(directory, ada, OTHER_SCOPE);
    expect(elsewhere).not.toBe(owner);
    expect((await directory.resolvePrincipal({ scopeId: OTHER_SCOPE, subject: ada })).principal).toBe(
      elsewhere,
    );
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).principal).toBe(owner);
  });

  test('a subject without issuer or sub is refused, for all kinds of values', async () => {
    const { directory, incidents } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    for (const broken of [
      { sub: '' },
      { sub: null },
      { sub: 7 },
      { sub: 'x'.repeat(2_000) },
      { issuer: '' },
      { issuer: undefined },
    ]) {
      const subject = { ...ada, ...broken } as never;
      const refused = { code: 'unauthenticated', reason: 'subject_invalid' };
      expect(await refusal(directory.resolvePrincipal({ scopeId: SCOPE, subject }))).toEqual(refused);
      expect(await refusal(directory.findPrincipal({ scopeId: SCOPE, subject }))).toEqual(refused);
    }
    expect((await directory.ownerSeat({ scopeId: SCOPE })).state).toBe('pending');
    expect(incidents).toEqual([]);
  });

  test('a changed e-mail or name is stored, silence erases nothing', async () => {
    const { directory, owner, clock } = await openOwned();
    clock.nowMs += MINUTE_MS;
    await directory.resolvePrincipal({
      scopeId: SCOPE,
      subject: person('ada', { email: 'new@example.com' }),
    });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada', { email: null, name: null }) });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toEqual([
      { principal: owner, name: 'ada', email: 'new@example.com', sinceMs: START_MS, owner: true },
    ]);
    expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items[0]).toMatchObject({
      type: 'profile_changed',
      detail: { changed: ['email'] },
    });
  });

  test("an older session does not overwrite a newer one's values", async () => {
    const { directory, clock } = await openOwned();
    const older = { sid: 'one', issuedAtMs: START_MS + 1 };
    const newer = { sid: 'two', issuedAtMs: START_MS + 2 };
    clock.nowMs += DAY_MS;
    const renamed = person('ada', { name: 'Ada L.' });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: renamed, session: newer });
    const found = await directory.findPrincipal({ scopeId: SCOPE, subject: ada, session: older });
    expect(found.mustWrite).toBe(false);
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session: older });
    expect((await directory.listMembers({ scopeId: SCOPE })).items[0]?.name).toBe('Ada L.');
  });
});

describe('the helper', () => {
  const counting = (directory: IdentityDirectory) => {
    const calls: string[] = [];
    return {
      calls,
      directory: {
        findPrincipal: (input: Parameters<IdentityDirectory['findPrincipal']>[0]) => {
          calls.push('find');
          return directory.findPrincipal(input);
        },
        resolvePrincipal: (input: Parameters<IdentityDirectory['resolvePrincipal']>[0]) => {
          calls.push('resolve');
          return directory.resolvePrincipal(input);
        },
      },
    };
  };

  test('A-25: claims an open seat, and from then on only reads', async () => {
    const platform = await openPlatform();
    const { principal } = await platform.directory.setPendingOwner({ scopeId: SCOPE });
    const { calls, directory } = counting(platform.directory);
    const input = { scopeId: SCOPE, subject: ada };
    expect(await resolvePrincipal(directory, input)).toEqual({
      principal,
      claimedNow: true,
      session: 'live',
    });
    expect(await resolvePrincipal(directory, input)).toEqual({
      principal,
      claimedNow: false,
      session: 'live',
    });
    expect(await resolvePrincipal(directory, { ...input, subject: bob })).toMatchObject({ principal: null });
    expect(calls).toEqual(['find', 'resolve', 'find', 'find']);
  });

  test('A-25: of many that race through the helper, exactly one wins', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        resolvePrincipal(directory, { scopeId: SCOPE, subject: person(`p${i}`) }),
      ),
    );
    expect(answers.filter((answer) => answer.principal !== null)).toHaveLength(1);
  });

  test('a directory that fails is an error, and never a caller', async () => {
    const broken = {
      findPrincipal: () => Promise.reject(new Error('the disk is gone')),
      resolvePrincipal: () => Promise.reject(new Error('the disk is gone')),
    };
    await expect(resolvePrincipal(broken, { scopeId: SCOPE, subject: ada })).rejects.toThrow(
      'the disk is gone',
    );
  });

  test.each([
    ['the usual one', SETTLED_SQL, 8, ['p', 'b', 'ended_sessions', 'session_floors']],
    ['the full one', RESOLUTION_SQL, 5, ['p', 'b', 'f', 'e', 's']],
  ])('%s of the per-request statements looks every table up by an index', (_, sql, values, tables) => {
    const db = new DatabaseSync(':memory:');
    for (const set of identityDirectory.migrations) for (const each of set.migrations) db.exec(each.sql);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...Array(values).fill('x')) as {
      detail: string;
    }[];
    const steps = plan.map((step) => step.detail);
    for (const table of tables)
      expect(steps.some((step) => step.startsWith(`SEARCH ${table} USING`))).toBe(true);
    expect(steps.filter((step) => step.startsWith('SCAN') && !/CONSTANT|subquery/.test(step))).toEqual([]);
    db.close();
  });
});

test('the usual statement answers exactly where the full one would say the same and nothing more', () => {
  const { db, close } = openNodeDatabase(':memory:');
  onTestFinished(close);
  for (const set of identityDirectory.migrations) for (const each of set.migrations) db.exec(each.sql);
  const NOW_MS = 50;
  const word = fc.constantFrom(null, 'a', 'b');
  const time = fc.constantFrom(8, 9, 10, 11);
  /** Mostly the right one, and otherwise its neighbour. */
  const mostly = (right: string, other: string) => fc.constantFrom(right, right, right, other);
  const who = fc.record({ issuer: mostly(ISSUER, `${ISSUER}/`), sub: mostly('ada', 'Ada') });
  let settled = 0;
  fc.assert(
    fc.property(
      fc.record({
        known: fc.option(
          fc.record({ email: word, name: word, verified: fc.constantFrom(null, 0, 1), claims: time }),
        ),
        bound: fc.boolean(),
        scopeId: mostly(SCOPE, OTHER_SCOPE),
        floor: fc.option(fc.record({ of: who, atMs: time })),
        ended: fc.constantFrom(null, 'sid', 'another'),
        asks: who,
        email: word,
        name: word,
        emailVerified: fc.constantFrom(undefined, true, false),
        issuedAtMs: fc.option(fc.constantFrom(8, 9, 10, 11, Number.NaN)),
      }),
      ({ known, bound, scopeId, floor, ended, asks, email, name, emailVerified, issuedAtMs }) => {
        for (const table of ['bindings', 'people', 'session_floors', 'ended_sessions'])
          db.run(`DELETE FROM ${table}`);
        if (known)
          db.run(
            "INSERT INTO people VALUES ('per_1', ?, 'ada', ?, ?, ?, ?, 0)",
            ISSUER,
            known.email,
            known.name,
            known.verified,
            known.claims,
          );
        if (known && bound) db.run("INSERT INTO bindings VALUES (?, 'per_1', 'prn_1', 0, NULL)", scopeId);
        if (floor)
          db.run('INSERT INTO session_floors VALUES (?, ?, ?)', floor.of.issuer, floor.of.sub, floor.atMs);
        if (ended) db.run('INSERT INTO ended_sessions VALUES (?, 100)', ended);

        const subject = {
          ...asks,
          email,
          name,
          ...(emailVerified === undefined ? {} : { emailVerified }),
        };
        const session = issuedAtMs === null ? undefined : { sid: 'sid', issuedAtMs };
        const asked = { scopeId: SCOPE, subject, session };
        const answer = loadSettledPrincipal(db, asked, issuedAtMs ?? NOW_MS);
        const row = loadResolution(db, asked, NOW_MS);
        const over =
          session !== undefined && (row.endedSid !== null || isBelowFloor(session, row.validAfterMs));
        const record = row.id === null || row.claimsAtMs === null ? null : (row as PersonRow);
        const says = record !== null && amendPerson(record, { subject, session }, NOW_MS) !== null;
        expect(answer ?? null).toBe(over || says ? null : row.principal);
        if (answer === undefined) return;
        expect([asks, scopeId]).toEqual([{ issuer: ISSUER, sub: 'ada' }, SCOPE]);
        settled += 1;
      },
    ),
    { numRuns: 2_000 },
  );
  expect(settled).toBeGreaterThan(20);
});

describe('members', () => {
  test('are listed page by page, of this scope and tenant only', async () => {
    const { directory, owner } = await openOwned();
    const principals = [owner];
    for (const sub of ['bob', 'cid', 'dee']) principals.push(await join(directory, person(sub)));
    await join(directory, person('eve'), OTHER_SCOPE);
    const first = await directory.listMembers({ scopeId: SCOPE, limit: 3 });
    const second = await directory.listMembers({ scopeId: SCOPE, limit: 3, cursor: first.nextCursor ?? '' });
    expect([...first.items, ...second.items].map((member) => member.principal)).toEqual(principals);
    expect(first.items.map((member) => member.owner)).toEqual([true, false, false]);
    expect(second.nextCursor).toBeNull();
  });

  test('a removed member is no member on the next request, and the invite does not let them back in', async () => {
    const { directory, owner } = await openOwned();
    const principal = await directory.newPrincipal();
    const { token } = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'member',
      createdBy: owner,
    });
    await directory.claimInvite({ token, subject: bob });
    await directory.removeMember({ scopeId: SCOPE, principal, by: owner });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: bob })).principal).toBeNull();
    expect(await refusal(directory.claimInvite({ token, subject: bob }))).toEqual({
      code: 'conflict',
      reason: 'invite_used',
    });
    expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items).toContainEqual(
      expect.objectContaining({ type: 'member_removed', principal, actor: owner }),
    );
  });

  test('are named after they have left, as are those who were only invited; no other principal is', async () => {
    const { directory, other, owner } = await openOwned();
    const left = await join(directory, bob);
    const elsewhere = await join(directory, bob, OTHER_SCOPE);
    const invited = await directory.newPrincipal();
    const terms = { scopeId: SCOPE, principal: invited, role: 'member', createdBy: owner };
    await directory.createInvite({ ...terms, name: 'Cleo', email: 'cleo@example.com', emailMatch: 'label' });
    await directory.removeMember({ scopeId: SCOPE, principal: left, by: owner });
    const principals = [owner, left, left, invited, elsewhere, 'prn_unknown', 'platform'];
    const named = await directory.namePrincipals({ scopeId: SCOPE, principals });
    expect(named.items).toEqual([
      { principal: owner, name: 'ada', email: 'ada@example.com', state: 'member' },
      { principal: left, name: 'bob', email: 'bob@example.com', state: 'removed' },
      { principal: invited, name: 'Cleo', email: 'cleo@example.com', state: 'invited' },
    ]);
    expect((await other.namePrincipals({ scopeId: SCOPE, principals })).items).toEqual([]);
    const many = Array.from({ length: 201 }, (_, index) => `prn_${index}`);
    await expect(directory.namePrincipals({ scopeId: SCOPE, principals: many })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  test('members who left before that was recorded are named as well', () => {
    const { db, close } = openNodeDatabase(':memory:');
    onTestFinished(close);
    const migrations = identityDirectory.migrations.flatMap((set) => set.migrations);
    for (const { version, sql } of migrations) if (version < 13) db.exec(sql);
    db.run("INSERT INTO people VALUES ('per_1', ?, 'bob', NULL, 'Bob', NULL, 0, 0)", ISSUER);
    const event = "INSERT INTO identity_events VALUES (?, ?, ?, ?, 'bob', 'prn_1', 'prn_0', '{}', 5)";
    db.run(event, 'evt_1', 'invite_accepted', OTHER_SCOPE, ISSUER);
    db.run(event, 'evt_2', 'member_removed', SCOPE, ISSUER);
    for (const { version, sql } of migrations) if (version >= 13) db.exec(sql);
    const loadFrom = (scopeId: string) => loadNames(db, { scopeId, principals: ['prn_1'] });
    expect(loadFrom(SCOPE)).toEqual([{ principal: 'prn_1', name: 'Bob', email: null, state: 'removed' }]);
    expect(loadFrom(OTHER_SCOPE)).toEqual([]);
  });

  test('the owner cannot be removed, nor can an unknown member', async () => {
    const { directory, owner } = await openOwned();
    const remove = (principal: string) => directory.removeMember({ scopeId: SCOPE, principal, by: owner });
    expect(await refusal(remove(owner))).toEqual({ code: 'conflict', reason: 'owner_seat_held' });
    expect(await refusal(remove('prn_nobody'))).toEqual({ code: 'not_found', reason: 'unknown_member' });
  });

  test('two people in one scope are never one principal, under any names', async () => {
    const { directory } = await openPlatform();
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 2, maxLength: 4 }),
        async (subs) => {
          const scopeId = `scp_${crypto.randomUUID()}`;
          const principals = [];
          for (const sub of subs)
            principals.push(await join(directory, person(sub, { email: null }), scopeId));
          const resolved = [];
          for (const sub of subs)
            resolved.push(
              (await directory.resolvePrincipal({ scopeId, subject: person(sub, { email: null }) }))
                .principal,
            );
          expect(resolved).toEqual(principals);
        },
      ),
      { numRuns: 25 },
    );
  });
});

test('an e-mail address has one spelling, however it is typed', () => {
  expect(normalizeEmail(' Ada@EXAMPLE.com ')).toBe('ada@example.com');
  expect(normalizeEmail('ａda＠example.com')).toBe('ada@example.com');
});

/** Ending sessions that are signed cookies. */
import { expect, test } from 'vitest';
import { DAY_MS, openPlatform, person, SCOPE, START_MS, type TestPlatform } from '../../test/support.ts';

const ada = person('ada');
const session = { sid: 'sid-1', issuedAtMs: START_MS };
const ended = { principal: null, claimedNow: false, session: 'ended' };

async function openOwned(): Promise<TestPlatform & { readonly owner: string }> {
  const platform = await openPlatform();
  const { principal } = await platform.directory.setPendingOwner({ scopeId: SCOPE });
  await platform.directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session });
  return { ...platform, owner: principal };
}

test('an ended session is anonymous on the next request, and the others live on', async () => {
  const { directory, owner } = await openOwned();
  const end = () =>
    directory.endSession({ sid: session.sid, expiresAtMs: START_MS + 7 * DAY_MS, subject: ada });
  expect(await end()).toEqual({ ended: true });
  expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session })).toEqual(ended);
  expect(await directory.sessionState({ subject: ada, session })).toBe('ended');
  const another = { ...session, sid: 'sid-2' };
  expect(
    (await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session: another })).principal,
  ).toBe(owner);
  expect(await end()).toEqual({ ended: false });
});

test('an ended session does not claim an open seat', async () => {
  const { directory } = await openPlatform();
  await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.endSession({ sid: session.sid, expiresAtMs: START_MS + DAY_MS });
  expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session })).toEqual(ended);
  expect((await directory.ownerSeat({ scopeId: SCOPE })).state).toBe('pending');
});

test("ending all of them spares later ones, and other people's", async () => {
  const { directory, owner, other } = await openOwned();
  await directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub, nowMs: START_MS + 5 });
  const at = async (issuedAtMs: number) =>
    (
      await directory.resolvePrincipal({
        scopeId: SCOPE,
        subject: ada,
        session: { sid: `at-${issuedAtMs}`, issuedAtMs },
      })
    ).session;
  const state = (issuedAtMs: number) =>
    directory.sessionState({ subject: ada, session: { sid: 'any', issuedAtMs } });
  expect([await state(START_MS + 5), await state(START_MS + 6)]).toEqual(['ended', 'live']);
  expect([await at(START_MS), await at(START_MS + 5), await at(START_MS + 6)]).toEqual([
    'ended',
    'ended',
    'live',
  ]);
  expect(await at(Number.NaN)).toBe('ended');
  const twin = person('ada', { issuer: 'https://elsewhere.example' });
  expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: twin, session })).session).toBe('live');
  expect((await other.resolvePrincipal({ scopeId: SCOPE, subject: ada, session })).session).toBe('live');
  // A bearer token has no session of ours to end.
  expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).principal).toBe(owner);
});

test('the floor of a person’s sessions never goes down', async () => {
  const { directory } = await openOwned();
  await directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub, nowMs: START_MS + 100 });
  await directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub, nowMs: START_MS });
  const late = { sid: 'late', issuedAtMs: START_MS + 50 };
  expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session: late })).session).toBe(
    'ended',
  );
});

test('ending all of them reaches those listed as begun ahead of the clock, and each time a little further', async () => {
  const { directory, clock } = await openOwned();
  const state = (issuedAtMs: number) =>
    directory.sessionState({ subject: ada, session: { sid: `at-${issuedAtMs}`, issuedAtMs } });
  const begin = (issuedAtMs: number) =>
    directory.recordSignIn({
      scopeId: SCOPE,
      subject: ada,
      session: { sid: `at-${issuedAtMs}`, issuedAtMs },
    });
  const end = () => directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub });
  await begin(START_MS + 5_000);
  await end();
  expect([await state(START_MS + 5_000), await state(START_MS + 5_001)]).toEqual(['ended', 'live']);
  // A session that is issued just above the floor, and not recorded yet.
  await end();
  expect(await state(START_MS + 5_001)).toBe('ended');

  // The clock had been a year ahead: its sessions are ended, and no user is locked out for a year.
  clock.nowMs += 365 * DAY_MS;
  await begin(clock.nowMs);
  const strayMs = clock.nowMs;
  clock.nowMs = START_MS + 10_000;
  await end();
  expect([await state(strayMs), await begin(START_MS + 10_001)]).toEqual(['ended', 'live']);
});

test('a session that begins more than a day from now is not given out', async () => {
  const { directory } = await openOwned();
  const at = (issuedAtMs: number) =>
    directory.recordSignIn({ scopeId: SCOPE, subject: ada, session: { sid: `${issuedAtMs}`, issuedAtMs } });
  expect(await at(START_MS + DAY_MS + 1)).toBe('ended');
  expect(await at(START_MS + DAY_MS)).toBe('live');
});

test('an ended session is remembered for a day beyond its expiry, and then forgotten', async () => {
  const { directory, clock } = await openOwned();
  const expiresAtMs = START_MS + DAY_MS;
  const state = async () =>
    (await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session })).session;
  await directory.endSession({ sid: session.sid, expiresAtMs });
  clock.nowMs = expiresAtMs + DAY_MS;
  await directory.endSession({ sid: 'other', expiresAtMs: clock.nowMs });
  expect(await state()).toBe('ended');
  clock.nowMs += 1;
  await directory.endSession({ sid: 'third', expiresAtMs: clock.nowMs });
  expect(await state()).toBe('live');
});

test('a floor is remembered until the last session below it has been over for a day, and then forgotten', async () => {
  const { directory, clock } = await openOwned();
  await directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub, nowMs: START_MS });
  const state = () => directory.sessionState({ subject: ada, session });
  const another = (nowMs: number) => directory.endAllSessions({ issuer: ada.issuer, sub: 'bob', nowMs });
  clock.nowMs = START_MS + 8 * DAY_MS;
  await another(clock.nowMs);
  expect(await state()).toBe('ended');
  clock.nowMs += 1;
  await another(clock.nowMs);
  expect(await state()).toBe('live');
});

test('a sign-in is an event; it binds no person and claims nothing', async () => {
  const { directory } = await openPlatform();
  const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.recordSignIn({ scopeId: SCOPE, subject: ada, session });
  expect((await directory.ownerSeat({ scopeId: SCOPE })).state).toBe('pending');
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada, session });
  await directory.recordSignIn({ scopeId: SCOPE, subject: ada, session });
  const events = (await directory.listIdentityEvents({ scopeId: SCOPE })).items;
  expect(events.map((each) => [each.type, each.principal])).toEqual([
    ['signed_in', principal],
    ['seat_claimed', principal],
    ['signed_in', null],
    ['seat_opened', principal],
  ]);
});

test('a sign-in brings a known person’s record up to date, and makes none of a non-member', async () => {
  const { directory, clock } = await openOwned();
  clock.nowMs += 1;
  const later = { sid: 'later', issuedAtMs: clock.nowMs };
  await directory.recordSignIn({
    scopeId: SCOPE,
    subject: person('ada', { name: 'Ada L.' }),
    session: later,
  });
  await directory.recordSignIn({
    scopeId: SCOPE,
    subject: person('eve'),
    session: { ...later, sid: 'eves' },
  });
  expect((await directory.listMembers({ scopeId: SCOPE })).items).toMatchObject([{ name: 'Ada L.' }]);
  const changes = (await directory.listIdentityEvents({})).items.filter(
    (each) => each.type === 'profile_changed',
  );
  expect(changes).toMatchObject([{ subject: { sub: 'ada' } }]);
});

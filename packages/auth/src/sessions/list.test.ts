/** The list of a person's sessions: its content, its reader, and its bound. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  ISSUER,
  OTHER_SCOPE,
  openPlatform,
  person,
  refusal,
  SCOPE,
  START_MS,
  type TestPlatform,
} from '../../test/support.ts';
import { type IdentityDirectory, identityDirectory } from '../identity-directory/unit.ts';
import type { SignInInput } from './operations.ts';
import { LIVE_SESSIONS_SQL, STRANGE_EVENTS_SQL } from './store.ts';

const ada = person('ada');
const WEEK_MS = 7 * DAY_MS;
const unknown = { code: 'not_found', reason: 'unknown_session' };

/** A directory of which Ada owns the scope. */
async function open(): Promise<TestPlatform & { readonly owner: string }> {
  const platform = await openPlatform();
  const { principal } = await platform.directory.setPendingOwner({ scopeId: SCOPE });
  await platform.directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  return { ...platform, owner: principal };
}

function signIn(directory: IdentityDirectory, sid: string, issuedAtMs: number, more: object = {}) {
  const input: SignInInput = { scopeId: SCOPE, subject: ada, session: { sid, issuedAtMs } };
  return directory.recordSignIn({ ...input, ...more });
}

async function sids(directory: IdentityDirectory, sub = 'ada', issuer = ISSUER): Promise<string[]> {
  return (await directory.listSessions({ issuer, sub })).items.map((each) => each.sid);
}

/** Every event of the tenant, newest first. */
async function events(directory: IdentityDirectory) {
  const found: Awaited<ReturnType<typeof directory.listIdentityEvents>>['items'][number][] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof directory.listIdentityEvents>> = await directory.listIdentityEvents(
      { limit: 200, ...(cursor === null ? {} : { cursor }) },
    );
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return found;
}

describe('the list', () => {
  test('names scope, client, beginning and end of every session, newest first, in every scope of the tenant', async () => {
    const { directory } = await open();
    await signIn(directory, 'one', START_MS - 2, {
      client: 'Firefox on Linux',
      expiresAtMs: START_MS + HOUR_MS,
    });
    await signIn(directory, 'two', START_MS, { scopeId: OTHER_SCOPE });
    await signIn(directory, 'three', START_MS - 1, { client: null });
    expect(await directory.listSessions({ issuer: ISSUER, sub: 'ada' })).toEqual({
      items: [
        {
          sid: 'two',
          scopeId: OTHER_SCOPE,
          client: null,
          startedMs: START_MS,
          expiresMs: START_MS + WEEK_MS,
        },
        {
          sid: 'three',
          scopeId: SCOPE,
          client: null,
          startedMs: START_MS - 1,
          expiresMs: START_MS - 1 + WEEK_MS,
        },
        {
          sid: 'one',
          scopeId: SCOPE,
          client: 'Firefox on Linux',
          startedMs: START_MS - 2,
          expiresMs: START_MS + HOUR_MS,
        },
      ],
    });
  });

  test('holds live sessions: neither an ended one, nor one below the floor, nor an expired one', async () => {
    const { directory, clock } = await open();
    await signIn(directory, 'below', START_MS);
    await directory.endAllSessions({ issuer: ISSUER, sub: 'ada', nowMs: START_MS });
    await signIn(directory, 'ended', START_MS + 1);
    await directory.endSession({ sid: 'ended', expiresAtMs: START_MS + WEEK_MS, subject: ada });
    await signIn(directory, 'short', START_MS + 2, { expiresAtMs: START_MS + HOUR_MS });
    await signIn(directory, 'stays', START_MS + 3);
    clock.nowMs = START_MS + HOUR_MS - 1;
    expect(await sids(directory)).toEqual(['stays', 'short']);
    clock.nowMs += 1;
    expect(await sids(directory)).toEqual(['stays']);
    expect((await directory.listSessions({ issuer: ISSUER, sub: 'ada' })).items).toHaveLength(1);
  });

  test("A-22: is one person's: not another's, not the same sub's at another issuer, not another tenant's", async () => {
    const { directory, other } = await open();
    await signIn(directory, 'mine', START_MS);
    await signIn(directory, 'bobs', START_MS, { subject: person('bob') });
    await signIn(directory, 'twins', START_MS, {
      subject: person('ada', { issuer: 'https://elsewhere.example' }),
    });
    await signIn(other, 'neighbours', START_MS);
    expect(await sids(directory)).toEqual(['mine']);
    expect(await sids(directory, 'Ada')).toEqual([]);
    expect(await sids(directory, 'ada', `${ISSUER}/`)).toEqual([]);
  });

  test('a sign-in without a session, as behind an access token, is an event and no session', async () => {
    const { directory } = await open();
    expect(await directory.recordSignIn({ scopeId: SCOPE, subject: ada })).toBe('live');
    expect(await sids(directory)).toEqual([]);
    expect((await events(directory))[0]?.type).toBe('signed_in');
  });

  test('the same sign-in twice is one session, and no person takes over another’s by its id', async () => {
    const { directory } = await open();
    await signIn(directory, 'one', START_MS, { client: 'Safari on macOS' });
    await signIn(directory, 'one', START_MS, { subject: person('eve'), client: 'Chrome on Windows' });
    await signIn(directory, 'one', START_MS);
    expect(await sids(directory)).toEqual(['one']);
    expect(await sids(directory, 'eve')).toEqual([]);
  });

  test('is read by indexes, and so is the number of non-members’ events', () => {
    const db = new DatabaseSync(':memory:');
    for (const set of identityDirectory.migrations) for (const each of set.migrations) db.exec(each.sql);
    const planOf = (sql: string) => {
      const count = sql.match(/\?(?!\d)/g)?.length ?? 3;
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...Array(count).fill('x'));
      return (plan as { detail: string }[]).map((step) => step.detail).join('; ');
    };
    expect(planOf(LIVE_SESSIONS_SQL)).toContain('SEARCH s USING INDEX sessions_by_person');
    expect(planOf(LIVE_SESSIONS_SQL)).not.toContain('SCAN');
    expect(planOf(STRANGE_EVENTS_SQL)).toMatch(/^SEARCH identity_events USING INDEX identity_events_strange/);
    db.close();
  });
});

describe("ending one's own session", () => {
  test('takes effect on the next request and in the list, and again changes nothing', async () => {
    const { directory, owner } = await open();
    await signIn(directory, 'one', START_MS);
    await signIn(directory, 'two', START_MS);
    const end = () => directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid: 'one' });
    expect(await end()).toEqual({ ended: true });
    expect(await sids(directory)).toEqual(['two']);
    const state = (sid: string) =>
      directory.sessionState({ subject: ada, session: { sid, issuedAtMs: START_MS } });
    expect([await state('one'), await state('two')]).toEqual(['ended', 'live']);
    expect(await end()).toEqual({ ended: false });
    const ended = (await events(directory)).filter((each) => each.type === 'session_ended');
    expect(ended).toMatchObject([{ principal: owner, scopeId: SCOPE, subject: { sub: 'ada' } }]);
  });

  test("another person's, a twin’s at another issuer, another tenant’s and an invented one are equally unknown", async () => {
    const { directory, other } = await open();
    await signIn(directory, 'adas', START_MS);
    await signIn(other, 'neighbours', START_MS);
    const end = (one: { issuer?: string; sub?: string; sid: string; scopeId?: string }) =>
      refusal(directory.endOwnSession({ issuer: ISSUER, sub: 'ada', ...one }));
    expect(await end({ sid: 'adas', sub: 'eve' })).toEqual(unknown);
    expect(await end({ sid: 'adas', issuer: 'https://elsewhere.example' })).toEqual(unknown);
    expect(await end({ sid: 'adas', scopeId: OTHER_SCOPE })).toEqual(unknown);
    expect(await end({ sid: 'neighbours' })).toEqual(unknown);
    expect(await end({ sid: 'invented' })).toEqual(unknown);
    expect(await sids(directory)).toEqual(['adas']);
    expect(await sids(other)).toEqual(['neighbours']);
    expect(
      await directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid: 'adas', scopeId: SCOPE }),
    ).toEqual({
      ended: true,
    });
  });

  test('one that expired, or that signing out everywhere ended, was over already', async () => {
    const { directory, clock } = await open();
    const end = (sid: string) => directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid });
    await signIn(directory, 'below', START_MS);
    await directory.endAllSessions({ issuer: ISSUER, sub: 'ada', nowMs: START_MS });
    await signIn(directory, 'expired', START_MS + 1, { expiresAtMs: START_MS + 2 });
    clock.nowMs = START_MS + 2;
    expect([await end('below'), await end('expired')]).toEqual([{ ended: false }, { ended: false }]);
  });

  test('a session from before the list existed is still ended by its cookie', async () => {
    const { directory } = await open();
    const session = { sid: 'unlisted', issuedAtMs: START_MS };
    expect(await refusal(directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid: 'unlisted' }))).toEqual(
      unknown,
    );
    expect(await directory.sessionState({ subject: ada, session })).toBe('live');
    await directory.endSession({ sid: 'unlisted', expiresAtMs: START_MS + WEEK_MS });
    expect(await directory.sessionState({ subject: ada, session })).toBe('ended');
  });
});

describe('a sign-in whose session must not be given out', () => {
  test('of a session that was ended meanwhile, or that is not above the floor, is refused and leaves nothing', async () => {
    const { directory } = await open();
    await directory.endSession({ sid: 'ended', expiresAtMs: START_MS + WEEK_MS });
    await directory.endAllSessions({ issuer: ISSUER, sub: 'ada', nowMs: START_MS });
    const before = await events(directory);
    expect(await signIn(directory, 'ended', START_MS + 1)).toBe('ended');
    expect(await signIn(directory, 'below', START_MS)).toBe('ended');
    expect(await signIn(directory, 'above', START_MS + 1)).toBe('live');
    expect(await sids(directory)).toEqual(['above']);
    expect((await events(directory)).length).toBe(before.length + 1);
  });

  test.each([
    { session: { sid: 's', issuedAtMs: Number.NaN } },
    { session: { sid: 's', issuedAtMs: 1.5 } },
    { session: { sid: 's', issuedAtMs: START_MS }, expiresAtMs: Number.POSITIVE_INFINITY },
  ])('with invalid times: %j', async (more) => {
    const { directory, incidents } = await open();
    expect(await signIn(directory, 's', START_MS, more)).toBe('ended');
    expect([await sids(directory), incidents]).toEqual([[], []]);
  });
});

describe('the list stays small', () => {
  test('beyond 50 sessions of one person in one scope the oldest is ended', async () => {
    const { directory } = await open();
    for (let i = 0; i < 51; i++) await signIn(directory, `s${i}`, START_MS + i);
    await signIn(directory, 'elsewhere', START_MS, { scopeId: OTHER_SCOPE });
    await signIn(directory, 'bobs', START_MS, { subject: person('bob') });
    const listed = await sids(directory);
    expect(listed).toHaveLength(51);
    expect(listed).not.toContain('s0');
    expect(listed).toEqual(expect.arrayContaining(['s1', 's50', 'elsewhere']));
    const state = (sid: string, issuedAtMs: number) =>
      directory.sessionState({ subject: ada, session: { sid, issuedAtMs } });
    expect([await state('s0', START_MS), await state('s1', START_MS + 1)]).toEqual(['ended', 'live']);
    const ended = (await events(directory)).filter((each) => each.type === 'session_ended');
    expect(ended).toMatchObject([{ detail: { by: 'limit' }, subject: { sub: 'ada' } }]);
  });

  test('ended and expired sessions go first, and the new one never, although the clock stepped back', async () => {
    const { directory } = await open();
    for (let i = 0; i < 50; i++) await signIn(directory, `s${i}`, START_MS + i);
    await directory.endSession({ sid: 's49', expiresAtMs: START_MS + WEEK_MS });
    await signIn(directory, 'back', START_MS - HOUR_MS);
    const listed = await sids(directory);
    expect(listed).toHaveLength(50);
    expect(listed).toEqual(expect.arrayContaining(['s0', 'back']));
    await signIn(directory, 'further back', START_MS - 2 * HOUR_MS);
    expect(await sids(directory)).toContain('further back');
  });

  test('an expired session is forgotten a day after it expired, and an ended one with it', async () => {
    const { directory, clock } = await open();
    await signIn(directory, 'one', START_MS);
    const end = () => directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid: 'one' });
    clock.nowMs = START_MS + WEEK_MS + DAY_MS;
    await signIn(directory, 'two', clock.nowMs);
    expect(await end()).toEqual({ ended: false });
    clock.nowMs += 1;
    await signIn(directory, 'three', clock.nowMs);
    expect(await refusal(end())).toEqual(unknown);
  });

  test('of non-members’ sign-ins and sign-outs 100 an hour are recorded in a scope, and of members’ all', async () => {
    const { directory, clock, owner } = await open();
    const count = async (type: string, scopeId: string, ofMembers: boolean) =>
      (await events(directory)).filter(
        (each) => each.type === type && each.scopeId === scopeId && (each.principal === owner) === ofMembers,
      ).length;
    for (let i = 0; i < 60; i++) {
      const subject = person(`stranger-${i}`);
      await signIn(directory, `x${i}`, START_MS, { subject });
      await directory.endSession({
        sid: `x${i}`,
        expiresAtMs: START_MS + WEEK_MS,
        subject,
        scopeId: SCOPE,
      });
    }
    expect([await count('signed_in', SCOPE, false), await count('session_ended', SCOPE, false)]).toEqual([
      50, 50,
    ]);
    const [last] = (await events(directory)).filter((each) => each.detail.further !== undefined);
    expect(last).toMatchObject({ type: 'session_ended', detail: { further: 'not_recorded' } });
    // A person without an event still has a session.
    expect(await sids(directory, 'stranger-59')).toEqual([]);
    expect(await signIn(directory, 'later', START_MS, { subject: person('stranger-99') })).toBe('live');
    expect(await sids(directory, 'stranger-99')).toEqual(['later']);

    for (let i = 0; i < 3; i++) await signIn(directory, `a${i}`, START_MS);
    expect(await count('signed_in', SCOPE, true)).toBe(3);
    await signIn(directory, 'other scope', START_MS, { scopeId: OTHER_SCOPE, subject: person('eve') });
    expect(await count('signed_in', OTHER_SCOPE, false)).toBe(1);
    clock.nowMs += HOUR_MS;
    await signIn(directory, 'an hour later', clock.nowMs, { subject: person('eve') });
    expect(await count('signed_in', SCOPE, false)).toBe(51);
  });

  test('a non-member who signs out everywhere over and over does not fill the directory either', async () => {
    const { directory } = await open();
    for (let i = 0; i < 130; i++)
      await directory.endAllSessions({ issuer: ISSUER, sub: `stranger-${i}`, nowMs: START_MS + i });
    const all = async () =>
      (await events(directory)).filter((each) => each.type === 'all_sessions_ended').length;
    expect(await all()).toBe(100);
    await directory.endAllSessions({ issuer: ISSUER, sub: 'ada', nowMs: START_MS });
    expect(await all()).toBe(101);
  });
});

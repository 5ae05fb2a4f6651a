/** The list of identity events. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, OTHER_SCOPE, openPlatform, person, refusal, SCOPE, START_MS } from '../../test/support.ts';
import { identityDirectory } from '../identity-directory/unit.ts';
import { RECENT_REFUSALS_SQL } from './store.ts';

test('lists newest first, page by page, in the order of the events although the clock steps back', async () => {
  const { directory, clock } = await openPlatform();
  for (let i = 0; i < 5; i++) {
    await directory.putConfig({ scopeId: SCOPE, config: { [`K${i}`]: '1' } });
    clock.nowMs -= 1_000;
  }
  const keys: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await directory.listIdentityEvents({
      scopeId: SCOPE,
      limit: 2,
      ...(cursor ? { cursor } : {}),
    });
    keys.push(...page.items.map((each) => each.detail.keys?.[0]));
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  expect(keys).toEqual(['K4', 'K3', 'K2', 'K1', 'K0']);
});

test("A-22: shows one scope's, or the whole tenant's, and never another tenant's", async () => {
  const { directory } = await openPlatform();
  await directory.putConfig({ scopeId: SCOPE, config: { HERE: '1' } });
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { THERE: '1' } });
  await directory.endAllSessions({ issuer: 'https://i.example', sub: 'ada', nowMs: 1, by: 'prn_1' });
  const types = async (scopeId?: string) =>
    (await directory.listIdentityEvents(scopeId ? { scopeId } : {})).items.map((each) => each.type);
  expect(await types(SCOPE)).toEqual(['config_changed']);
  expect(await types()).toEqual(['all_sessions_ended', 'config_changed', 'config_changed']);
});

test("shows people's present names, also of former members, and none of non-members", async () => {
  const { directory, other } = await openPlatform();
  const { principal: owner } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada', { name: 'Ada' }) });
  const principal = await directory.newPrincipal();
  const { token } = await directory.createInvite({ scopeId: SCOPE, principal, role: 'r', createdBy: owner });
  await directory.claimInvite({ token, subject: person('bea', { name: null }) });
  await directory.removeMember({ scopeId: SCOPE, principal, by: owner });
  await directory.recordSignIn({ scopeId: SCOPE, subject: person('eve') });
  const { items } = await directory.listIdentityEvents({ scopeId: SCOPE });
  expect(items.map(({ type, name }) => [type, name])).toEqual([
    ['signed_in', null],
    ['member_removed', 'bea@example.com'],
    ['invite_accepted', 'bea@example.com'],
    ['invite_created', null],
    ['seat_claimed', 'Ada'],
    ['seat_opened', null],
  ]);
  // Tenant B knows a person of this issuer and sub under another name.
  const there = await other.listIdentityEvents({ scopeId: SCOPE });
  expect(there.items.map(({ name }) => name)).toContain('bea');
  expect((await directory.listIdentityEvents({})).items.map(({ name }) => name)).toContain('Ada');
});

test('a page of no items, of too many, and a forged cursor are refused', async () => {
  const { directory } = await openPlatform();
  for (const input of [{ limit: 0 }, { limit: 201 }, { limit: 1.5 }, { cursor: '%%%' }])
    expect((await refusal(directory.listIdentityEvents(input))).code).toBe('validation_failed');
});

describe('refusals that non-members can cause', () => {
  /** A platform with an open seat in each of two scopes, and a person with a wrong claim token. */
  async function openSeats() {
    const platform = await openPlatform();
    const { directory } = platform;
    for (const scopeId of [SCOPE, OTHER_SCOPE]) await directory.setPendingOwner({ scopeId });
    const guess = (sub: string, scopeId = SCOPE) =>
      refusal(directory.claimOwner({ scopeId, token: 'wrong', subject: person(sub) }));
    const refusals = async (scopeId = SCOPE) => {
      const found: Awaited<ReturnType<typeof directory.listIdentityEvents>>['items'][number][] = [];
      for (let cursor: string | undefined, more = true; more; ) {
        const page = await directory.listIdentityEvents({
          scopeId,
          limit: 200,
          ...(cursor ? { cursor } : {}),
        });
        found.push(...page.items.filter((each) => each.type.endsWith('_refused')));
        cursor = page.nextCursor ?? undefined;
        more = cursor !== undefined;
      }
      return found;
    };
    return { ...platform, guess, refusals };
  }
  const invalid = { code: 'forbidden', reason: 'claim_invalid' };

  test('of one person in one scope 10 an hour are recorded; each is refused alike, and the last recorded says so', async () => {
    const { guess, refusals } = await openSeats();
    for (let i = 0; i < 25; i++) expect(await guess('eve')).toEqual(invalid);
    const recorded = await refusals();
    expect(recorded).toHaveLength(10);
    expect(recorded.map((each) => each.detail.further ?? null)).toEqual([
      'not_recorded',
      ...Array(9).fill(null),
    ]);
    // Another person, and the same one elsewhere, have an allowance of their own.
    await guess('mallory');
    await guess('eve', OTHER_SCOPE);
    expect([(await refusals()).length, (await refusals(OTHER_SCOPE)).length]).toEqual([11, 1]);
  });

  test('the hour is the hour before each refusal, to the millisecond', async () => {
    const { guess, refusals, clock } = await openSeats();
    for (let i = 0; i < 11; i++) await guess('eve');
    clock.nowMs += HOUR_MS - 1;
    await guess('eve');
    expect(await refusals()).toHaveLength(10);
    clock.nowMs += 1;
    await guess('eve');
    expect(await refusals()).toHaveLength(11);
  });

  test('of all people together 100 an hour are recorded in a scope: accounts cost nothing where sign-up is open', async () => {
    const { guess, refusals, clock } = await openSeats();
    for (let i = 0; i < 130; i++) expect(await guess(`eve-${i}`)).toEqual(invalid);
    expect(await refusals()).toHaveLength(100);
    await guess('eve', OTHER_SCOPE);
    expect(await refusals(OTHER_SCOPE)).toHaveLength(1);
    clock.nowMs += HOUR_MS;
    await guess('eve-200');
    expect(await refusals()).toHaveLength(101);
  });

  test('refused invites count with refused claims', async () => {
    const { directory, guess, refusals } = await openSeats();
    const principal = await directory.newPrincipal();
    const { token } = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'member',
      createdBy: 'prn_x',
      email: 'bob@example.com',
      emailMatch: 'verified',
    });
    for (let i = 0; i < 8; i++) {
      await guess('eve');
      expect(await refusal(directory.claimInvite({ token, subject: person('eve') }))).toEqual({
        code: 'forbidden',
        reason: 'invite_email_mismatch',
      });
    }
    expect(await refusals()).toHaveLength(10);
  });

  test('are counted by an index that holds nothing but them', () => {
    const db = new DatabaseSync(':memory:');
    for (const set of identityDirectory.migrations) for (const each of set.migrations) db.exec(each.sql);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${RECENT_REFUSALS_SQL}`).all(...Array(5).fill('x')) as {
      detail: string;
    }[];
    expect(plan.map((step) => step.detail).join()).toMatch(
      /^SEARCH identity_events USING INDEX identity_events_refused/,
    );
    db.close();
  });
});

test('a tenant-wide event of a member is in the list of every scope of theirs, and of no other', async () => {
  const { directory } = await openPlatform();
  await directory.setPendingOwner({ scopeId: SCOPE });
  const ada = person('ada');
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  await directory.endAllSessions({ issuer: ada.issuer, sub: ada.sub, nowMs: START_MS + 5 });
  await directory.endAllSessions({ issuer: ada.issuer, sub: 'a stranger', nowMs: START_MS + 5 });
  const typesIn = async (scopeId: string) =>
    (await directory.listIdentityEvents({ scopeId })).items.map(({ type }) => type);
  expect(await typesIn(SCOPE)).toEqual(['all_sessions_ended', 'seat_claimed', 'seat_opened']);
  expect(await typesIn(OTHER_SCOPE)).toEqual([]);
});

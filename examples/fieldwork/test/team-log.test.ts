/** Sign-ins and access: what the owner is told about who came in, who did not, and what changed about how. */

import { type IdentityEventEntry, identityEventEntry, identityEventsResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tellIdentityEvent } from '../web/src/lib/identity-events.ts';
import { type Fixture, joinTeam, openFixture, type Visitor } from './fixture.ts';

const PATH = '/api/identity-events';

let fixture: Fixture;
let ada: Visitor;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

async function eventsOf(visitor: Visitor, query = 'limit=200'): Promise<readonly IdentityEventEntry[]> {
  return identityEventsResponse.parse(await visitor.get(`${PATH}?${query}`)).items;
}

/** The sentences that a member reads. */
async function told(visitor: Visitor, query?: string): Promise<string[]> {
  const { principal } = await visitor.get<{ principal: string }>('/api/me');
  return (await eventsOf(visitor, query)).map((event) => {
    const { who, text } = tellIdentityEvent(event, principal);
    return `${who} ${text}`;
  });
}

/** The provider's record of a completed sign-in. */
async function recordSignIn(sub: string): Promise<void> {
  const { tenant, scope: scopeId } = fixture.pipes;
  const subject = { issuer: 'https://issuer.example', sub, email: `${sub}@example.org`, name: sub };
  await fixture.engine.unit(fixture.fieldwork.units.identity, tenant).recordSignIn({ scopeId, subject });
}

describe('the list', () => {
  test('says who did what in sentences, newest first', async () => {
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await recordSignIn('jo');
    await ada.post('/api/invites', { role: 'dispatcher' });
    await recordSignIn('eve');
    expect(await told(ada, 'limit=200')).toEqual([
      'A person who is not on the team signed in.',
      'You invited a person as Dispatcher.',
      'jo signed in.',
      'jo accepted an invite as Technician.',
      'You invited jo as Technician.',
      'You became the owner by signing in first.',
      'The platform changed settings: platform:auth.',
      'The platform opened the seat of the owner.',
    ]);
    await ada.post(`/api/members/${principal}/role`, { role: 'owner' });
    expect((await told(jo)).slice(1, 5)).toEqual([
      'Ada invited a person as Dispatcher.',
      'You signed in.',
      'You accepted an invite as Technician.',
      'Ada invited you as Technician.',
    ]);
  });

  test('names a member’s sign-ins from before they were one, and a former member by the name they had', async () => {
    await recordSignIn('jo');
    expect((await eventsOf(ada))[0]).toMatchObject({ type: 'signed_in', person: null });
    const { principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    expect((await eventsOf(ada)).find((each) => each.type === 'signed_in')?.person).toEqual({
      principal,
      name: 'jo',
    });
    await ada.post(`/api/members/${principal}/remove`);
    const [removed, accepted] = await told(ada);
    expect([removed, accepted]).toEqual([
      'You took jo off the team.',
      'jo accepted an invite as Technician.',
    ]);
  });

  test('does not blame an invite’s holder for the attempts of another person', async () => {
    const { url } = await ada.post<{ url: string }>('/api/invites', { role: 'technician' });
    const token = new URL(url).searchParams.get('invite');
    const grace = await fixture.signedIn(fixture.pipes, 'grace', 'Grace');
    await grace.post('/api/accept-invite', { token });
    const linus = await fixture.signedIn(fixture.pipes, 'linus', 'Linus');
    await linus.refused('POST', '/api/accept-invite', { token });
    const [refused] = await eventsOf(ada);
    expect(refused).toMatchObject({
      type: 'invite_refused',
      person: null,
      detail: { reason: 'invite_used' },
    });
    expect((await told(ada))[0]).toBe(
      'A person who is not on the team tried to accept an invite that was accepted already.',
    );
  });

  test('holds no link, no setting’s value, and nothing by which an issuer names a person', async () => {
    const { url } = await ada.post<{ url: string }>('/api/invites', { role: 'technician' });
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    await fixture.platform('POST', '/internal/configure', {
      tenantId,
      scopeId,
      config: { OIDC_CLIENT_SECRET: 'hush-hush' },
    });
    await recordSignIn('person-at-the-issuer');
    const text = await (await ada.request('GET', `${PATH}?limit=200`)).text();
    expect(text).toContain('OIDC_CLIENT_SECRET');
    for (const secret of [
      new URL(url).searchParams.get('invite') ?? 'the token',
      'hush-hush',
      'issuer.example',
      'person-at-the-issuer',
    ])
      expect(text).not.toContain(secret);
  });

  test('A-22: is of this scope and of no other', async () => {
    const yard = { ...fixture.pipes, scope: fixture.pipes.scope.replace(/1$/, '7') as never };
    await fixture.provision(yard, 'The yard', fixture.choice);
    const bob = await fixture.signedIn(fixture.sparks, 'bob', 'Bob');
    await bob.get('/api/me');
    await bob.post('/api/invites', { role: 'owner' });
    expect(await told(ada)).toHaveLength(3);
    expect(await told(bob)).toEqual([
      'You invited a person as Owner.',
      'You became the owner by signing in first.',
      'The platform changed settings: platform:auth.',
      'The platform opened the seat of the owner.',
    ]);
  });
});

describe('pages', () => {
  async function pagesOf(query: string) {
    const ids: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { items: { id: string }[]; nextCursor: string | null } = await ada.get(
        `${PATH}?${query}${cursor && `&cursor=${cursor}`}`,
      );
      ids.push(...page.items.map((each) => each.id));
      sizes.push(page.items.length);
      cursor = page.nextCursor;
    }
    return { ids, sizes };
  }

  test('are whole and without repeats however the list is cut, of everything and of one kind', async () => {
    for (let i = 0; i < 5; i++) {
      await ada.post('/api/invites', { role: 'technician' });
      await recordSignIn('eve');
    }
    const all = await eventsOf(ada);
    expect(all).toHaveLength(13);
    expect(await pagesOf('limit=4')).toEqual({ ids: all.map(({ id }) => id), sizes: [4, 4, 4, 1] });
    const signIns = all.filter(({ type }) => type === 'signed_in').map(({ id }) => id);
    expect(await pagesOf('limit=2&kind=sign_ins')).toEqual({ ids: signIns, sizes: [2, 2, 1] });
    // The last of a kind is known to be the last only when nothing older is left.
    expect((await pagesOf('limit=7&kind=team')).ids).toHaveLength(7);
    expect(await pagesOf('limit=200&kind=accounts')).toEqual({ ids: [], sizes: [0] });
  });

  test('of a rare kind come a stretch at a time: each says where to look on', async () => {
    const { tenant, scope: scopeId } = fixture.pipes;
    const directory = fixture.engine.unit(fixture.fieldwork.units.identity, tenant);
    // More settings than one request looks through, behind which the team's own events lie.
    for (let i = 0; i < 1_001; i++)
      await directory.putConfig({ scopeId, config: { SETTING: i % 2 === 0 ? 'a' : 'b' } });
    const { ids, sizes } = await pagesOf('limit=20&kind=team');
    expect([ids.length, sizes]).toEqual([2, [0, 2]]);
  });

  test.each(['limit=0', 'limit=201', 'kind=secrets', 'cursor=%25%25', 'type=signed_in'])(
    'are not given for %s',
    async (query) => {
      expect(await ada.refused('GET', `${PATH}?${query}`)).toMatchObject({
        status: 400,
        code: 'validation_failed',
      });
    },
  );
});

test('C-30: is the owner’s to see; what others try is refused and on record', async () => {
  const { member: di } = await joinTeam(fixture, ada, fixture.pipes, 'di', 'dispatcher');
  const { member: jo } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
  for (const member of [di, jo])
    expect(await member.refused('GET', PATH)).toMatchObject({ status: 403, code: 'permission_denied' });
  const eve = await fixture.signedIn(fixture.pipes, 'eve');
  expect(await eve.refused('GET', PATH)).toMatchObject({ status: 403, reason: 'not_a_member' });
  expect(await fixture.visitor(fixture.pipes).refused('GET', PATH)).toMatchObject({ status: 401 });
  const { items } = await ada.get<{ items: { permission: string; actor: { name: string } }[] }>(
    '/api/denials',
  );
  expect(items.map(({ permission, actor }) => [permission, actor.name])).toEqual([
    ['member.manage', 'jo'],
    ['member.manage', 'di'],
  ]);
});

describe('a sentence', () => {
  const { type: types } = identityEventEntry.shape;
  const person = { principal: 'prn_a', name: 'Grace' };
  const event = (more: Partial<IdentityEventEntry>): IdentityEventEntry => ({
    id: 'evt_00000000000000000000000000' as IdentityEventEntry['id'],
    type: 'signed_in',
    at: '2026-03-03T07:00:00.000Z',
    person,
    actor: null,
    detail: {},
    ...more,
  });
  const sentence = (more: Partial<IdentityEventEntry>, you: string | null = null) => {
    const { who, text } = tellIdentityEvent(event(more), you);
    return `${who} ${text}`;
  };

  test.each(types.options)('for %s reads well for every actor, whatever is known', (type) => {
    for (const more of [
      { person: null },
      { person },
      { person: { principal: 'prn_b', name: null } },
      { person, actor: { principal: 'prn_c', name: 'Ada' } },
      { person, detail: { reason: 'unheard-of', how: 'unheard-of', by: 'unheard-of', changed: ['x'] } },
    ]) {
      for (const you of [null, 'prn_a', 'prn_c']) {
        const said = sentence({ type, ...more }, you);
        expect(said).toMatch(/^[A-Z][^.]*[^. ]\.$/);
        expect(said).not.toMatch(/undefined|null|object|unheard-of| {2}|You (?:was|their)|\byou was\b/);
      }
    }
  });

  test('says what the event knows, and no more', () => {
    const nonMember = { person: null };
    expect(sentence({ type: 'sign_in_refused', detail: { reason: 'wrong_password' } })).toBe(
      'A person tried to sign in as Grace with a wrong password.',
    );
    expect(sentence({ type: 'sign_in_refused', ...nonMember, detail: { reason: 'wrong_password' } })).toBe(
      'A person tried to sign in with a wrong password.',
    );
    expect(sentence({ type: 'account_locked' }, 'prn_a')).toBe(
      'You were locked out for a while after too many wrong attempts.',
    );
    expect(sentence({ type: 'session_ended', detail: { by: 'issuer' } })).toBe(
      'Grace was signed out by the sign-in service.',
    );
    expect(sentence({ type: 'profile_changed', detail: { changed: ['email', 'name'] } })).toBe(
      'Grace got new details from the sign-in service: e-mail address and name.',
    );
    expect(sentence({ type: 'claim_refused', ...nonMember, detail: { further: 'not_recorded' } })).toBe(
      'A person who is not on the team tried to become the owner. What followed within the hour was not recorded.',
    );
    expect(
      sentence({ type: 'all_sessions_ended', actor: { principal: 'prn_c', name: 'Ada' } }, 'prn_a'),
    ).toBe('Ada signed you out everywhere.');
  });
});

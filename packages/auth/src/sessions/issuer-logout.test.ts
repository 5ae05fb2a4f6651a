/** The sessions that an issuer's logout token ends (OpenID Connect Back-Channel Logout 1.0, section 2.7). */
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
import type { EndIssuerSessionsInput } from './issuer-logout.ts';

const ada = person('ada');

interface Opened extends TestPlatform {
  signIn(sid: string, more?: object): Promise<'live' | 'ended'>;
  logout(more: Partial<EndIssuerSessionsInput>): Promise<{ ended: number }>;
  /** The ids of the live sessions. */
  live(...sids: string[]): Promise<string[]>;
}

/** A directory of which Ada owns the scope. Each logout is a token of its own. */
async function open(): Promise<Opened> {
  const platform = await openPlatform();
  const { directory, clock } = platform;
  await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  const started = new Map<string, { issuedAtMs: number; sub: string }>();
  let tokens = 0;
  return {
    ...platform,
    signIn: (sid, more = {}) => {
      const session = { sid, issuedAtMs: clock.nowMs };
      const input = { scopeId: SCOPE, subject: ada, session, ...more };
      started.set(sid, { issuedAtMs: clock.nowMs, sub: input.subject.sub });
      return directory.recordSignIn(input);
    },
    logout: (more) => {
      tokens += 1;
      return directory.endIssuerSessions({
        issuer: ISSUER,
        issuedAtMs: clock.nowMs,
        jti: `token-${tokens}`,
        ...more,
      });
    },
    live: async (...sids) => {
      const states = await Promise.all(
        sids.map((sid) => {
          const { issuedAtMs, sub } = started.get(sid) ?? { issuedAtMs: START_MS, sub: 'ada' };
          return directory.sessionState({ subject: { issuer: ISSUER, sub }, session: { sid, issuedAtMs } });
        }),
      );
      return sids.filter((_, i) => states[i] === 'live');
    },
  };
}

test('a late one does not lower the floor of a later end', async () => {
  const { signIn, logout, live, directory, clock } = await open();
  clock.nowMs += HOUR_MS;
  await signIn('a');
  await directory.endAllSessions({ issuer: ISSUER, sub: 'ada' });
  expect(await logout({ sub: 'ada', issuedAtMs: START_MS })).toEqual({ ended: 0 });
  expect(await live('a')).toEqual([]);
});

describe('a token that names a session', () => {
  test('ends the sessions that began from this one, in every scope, and no other', async () => {
    const { signIn, logout, live } = await open();
    await signIn('a1', { idpSid: 'at-issuer-1' });
    await signIn('a2', { idpSid: 'at-issuer-1', scopeId: OTHER_SCOPE });
    await signIn('b', { idpSid: 'at-issuer-2' });
    expect(await logout({ sub: 'ada', idpSid: 'at-issuer-1' })).toEqual({ ended: 2 });
    expect(await live('a1', 'a2', 'b')).toEqual(['b']);
  });

  test('without a subject ends the session of any person', async () => {
    const { signIn, logout, live } = await open();
    await signIn('a', { idpSid: 'x' });
    expect(await logout({ idpSid: 'x' })).toEqual({ ended: 1 });
    expect(await live('a')).toEqual([]);
  });

  test('and another subject, or comes from another issuer, ends nothing', async () => {
    const { signIn, logout, live } = await open();
    await signIn('a', { idpSid: 'x' });
    expect(await logout({ idpSid: 'x', sub: 'bob' })).toEqual({ ended: 0 });
    expect(await logout({ idpSid: 'x', issuer: 'https://elsewhere.example' })).toEqual({ ended: 0 });
    expect(await live('a')).toEqual(['a']);
    // Nor does it block the next sign-in.
    expect(await signIn('b', { idpSid: 'x' })).toBe('live');
  });

  test('refuses the sign-in that completes afterwards from that session, for an hour, and stays with its refusal', async () => {
    const { signIn, logout, live, clock } = await open();
    await logout({ idpSid: 'x', sub: 'ada' });
    clock.nowMs += HOUR_MS - 1;
    expect(await signIn('late', { idpSid: 'x' })).toBe('ended');
    expect(await live('late')).toEqual([]);
    expect(await signIn('bobs', { idpSid: 'x', subject: person('bob') })).toBe('live');
    expect(await signIn('other', { idpSid: 'y' })).toBe('live');
    clock.nowMs += 1;
    expect(await signIn('much later', { idpSid: 'x' })).toBe('live');
    expect(await live('late', 'much later')).toEqual(['much later']);
  });

  test('ends a session of the subject too whose sign-in named no session of the issuer', async () => {
    const { signIn, logout, live, clock } = await open();
    await signIn('silent');
    await signIn('bobs', { subject: person('bob') });
    const issuedAtMs = clock.nowMs;
    clock.nowMs += DAY_MS;
    await signIn('since');
    expect(await logout({ idpSid: 'x', sub: 'ada', issuedAtMs })).toEqual({ ended: 1 });
    expect(await live('silent', 'bobs', 'since')).toEqual(['bobs', 'since']);
  });
});

describe('a token that names a person alone', () => {
  test("ends every session of theirs, listed or not, and no other person's", async () => {
    const { directory, signIn, logout, live } = await open();
    await signIn('a', { idpSid: 'x' });
    await signIn('b', { scopeId: OTHER_SCOPE });
    await signIn('bobs', { subject: person('bob') });
    expect(await logout({ sub: 'ada' })).toEqual({ ended: 2 });
    expect(await live('a', 'b', 'bobs', 'unlisted')).toEqual(['bobs']);
    const twin = { issuer: 'https://elsewhere.example', sub: 'ada' };
    const session = { sid: 'twins', issuedAtMs: START_MS };
    expect(await directory.sessionState({ subject: twin, session })).toBe('live');
  });

  test('spares a sign-in after it, in the very next moment', async () => {
    const { signIn, logout, live, clock } = await open();
    await signIn('before');
    await logout({ sub: 'ada' });
    clock.nowMs += 1;
    expect(await signIn('after')).toBe('live');
    expect(await live('before', 'after')).toEqual(['after']);
  });

  test('that arrives late does not end newer sessions; an issuer’s clock may be half a minute slow', async () => {
    const { signIn, logout, live, clock } = await open();
    await signIn('before');
    clock.nowMs += 30_000;
    await signIn('slow clock');
    clock.nowMs += 2_000;
    await signIn('since');
    expect(await logout({ sub: 'ada', issuedAtMs: START_MS })).toEqual({ ended: 2 });
    expect(await live('before', 'slow clock', 'since')).toEqual(['since']);
  });

  test('made by a clock that is ahead ends no session of the future', async () => {
    const { signIn, logout, live, clock } = await open();
    await logout({ sub: 'ada', issuedAtMs: clock.nowMs + 29_000 });
    clock.nowMs += 1;
    await signIn('next');
    expect(await live('next')).toEqual(['next']);
  });

  test('whose time is no number ends all sessions', async () => {
    const { signIn, logout, live, clock } = await open();
    await signIn('one');
    expect(await logout({ sub: 'ada', issuedAtMs: Number.NaN })).toEqual({ ended: 1 });
    clock.nowMs += 1;
    await signIn('two');
    expect(await live('one', 'two')).toEqual(['two']);
  });
});

test('the same token again changes nothing: no session since is ended, and no event is written', async () => {
  const { directory, signIn, logout, live, clock } = await open();
  await signIn('one');
  const token = { sub: 'ada', issuedAtMs: clock.nowMs, jti: 'repeated' };
  await logout(token);
  clock.nowMs += 1_000;
  await signIn('two');
  const before = await directory.listIdentityEvents({});
  expect(await logout(token)).toEqual({ ended: 0 });
  expect(await logout({ ...token, idpSid: 'x' })).toEqual({ ended: 0 });
  expect(await live('one', 'two')).toEqual(['two']);
  expect(await directory.listIdentityEvents({})).toEqual(before);
  // The id is the issuer's own: another issuer's token may have the same.
  expect(await logout({ ...token, issuer: 'https://elsewhere.example' })).toEqual({ ended: 0 });
  clock.nowMs += 8 * DAY_MS - 1_001;
  await signIn('three');
  await logout(token);
  expect(await live('three')).toEqual(['three']);
});

test('a token without a subject and a session is refused', async () => {
  const { logout } = await open();
  expect((await refusal(logout({}))).code).toBe('validation_failed');
});

test('the events say that it was the issuer', async () => {
  const { directory, signIn, logout } = await open();
  await signIn('a', { idpSid: 'x' });
  await logout({ idpSid: 'x' });
  await logout({ sub: 'ada' });
  const [all, one] = (await directory.listIdentityEvents({})).items;
  const subject = { issuer: ISSUER, sub: 'ada' };
  expect(one).toMatchObject({ type: 'session_ended', scopeId: SCOPE, subject, detail: { by: 'issuer' } });
  expect(all).toMatchObject({ type: 'all_sessions_ended', scopeId: null, subject, detail: { by: 'issuer' } });
});

test("A-22: another tenant's directory is not affected", async () => {
  const { other, signIn, logout } = await open();
  const session = { sid: 'there', issuedAtMs: START_MS };
  await other.recordSignIn({ scopeId: SCOPE, subject: ada, session, idpSid: 'x' });
  await signIn('here', { idpSid: 'x' });
  await logout({ idpSid: 'x' });
  await logout({ sub: 'ada' });
  expect(await other.sessionState({ subject: ada, session })).toBe('live');
});

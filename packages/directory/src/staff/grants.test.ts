/** Codes, devices and the tokens that come of them: once, in time, and never more than their owner may. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import { orderCode, redeem, staffMember, staffToken } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import { isWellFormedSecret } from '../access/secret.ts';
import type { StaffTokenRecord } from '../admin-operations.ts';

async function withAda(role: 'admin' | 'operator' | 'auditor' = 'operator') {
  const platform = await openPlatform();
  const ada = await staffMember(platform, { login: 'ada', role });
  return { platform, ada };
}

describe('an authorization code', () => {
  test('becomes a token of its member, shown once, listed and logged without its secret', async () => {
    const { platform, ada } = await withAda();
    const { secret, ...record } = await staffToken(platform, ada.id);
    expect(secret).toMatch(/^fh_staff_[0-9A-Za-z]{49}$/);
    expect(isWellFormedSecret(secret)).toBe(true);
    expect(record).toMatchObject({
      member: ada.id,
      client: 'cli',
      last4: secret.slice(-4),
      lastUsedAt: null,
    });
    expect(record.expiresAt).toBe('2026-12-21T08:00:00.000Z');
    const row = (await platform.adminLog()).at(-1);
    expect(row).toMatchObject({
      action: 'staff-tokens.create',
      actor: { id: ada.id },
      after: { client: 'cli' },
    });
    await platform.tamper((database) => {
      const stored = JSON.stringify(
        ['staff_tokens', 'staff_codes', 'admin_log'].map((table) =>
          database.prepare(`SELECT * FROM ${table}`).all(),
        ),
      );
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(secret.slice(9, 40));
    });
  });

  test.each([
    ['another client', { client: 'other' }],
    ['another redirect address', { redirectUri: 'http://127.0.0.1:4712/callback' }],
    ['a wrong verifier', { verifier: 'a verifier that is not the one of the challenge' }],
  ])('is refused to %s, and then to everybody', async (_, more) => {
    const { platform, ada } = await withAda();
    const { code } = await orderCode(platform, ada.id);
    expect(await redeem(platform, code, more)).toEqual({ refused: 'invalid_grant' });
    expect(await redeem(platform, code)).toEqual({ refused: 'invalid_grant' });
  });

  test('works for 60 seconds', async () => {
    const { platform, ada } = await withAda();
    const [late, inTime] = [await orderCode(platform, ada.id), await orderCode(platform, ada.id)];
    platform.clock.ms += 59_999;
    expect(await redeem(platform, inTime.code)).toHaveProperty('token');
    platform.clock.ms += 1;
    expect(await redeem(platform, late.code)).toEqual({ refused: 'invalid_grant' });
  });

  test('that is used twice takes back the token that it gave', async () => {
    const { platform, ada } = await withAda();
    const { code } = await orderCode(platform, ada.id);
    const first = await redeem(platform, code);
    const secret = 'token' in first ? first.token.secret : '';
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    expect(await redeem(platform, code)).toEqual({ refused: 'invalid_grant' });
    expect(await platform.admin.authenticate(secret)).toBeNull();
    expect((await platform.adminLog()).at(-1)).toMatchObject({ action: 'staff-tokens.revoke' });
  });
});

describe('a staff token', () => {
  test('is its member with a note of the token, in every row of the log', async () => {
    const { platform, ada } = await withAda();
    const { secret, id } = await staffToken(platform, ada.id);
    const actor = await platform.admin.authenticate(secret);
    expect(actor).toEqual({ kind: 'staff', id: ada.id, name: 'ada', role: 'operator', token: id });
    await platform.call('tenants.create', { body: { slug: 'a', name: 'A' }, as: actor as Actor });
    expect((await platform.adminLog()).at(-1)).toMatchObject({ actor: { id: ada.id }, token: id });
  });

  test('works for 30 days, and shows when it was used last', async () => {
    const { platform, ada } = await withAda();
    const { secret } = await staffToken(platform, ada.id);
    platform.clock.ms += 30 * 24 * 60 * 60 * 1000 - 1;
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    const list = () =>
      platform.value<{ items: StaffTokenRecord[] }>('staff-tokens.list', { query: { member: ada.id } });
    await expect.poll(async () => (await list()).items[0]?.lastUsedAt).not.toBeNull();
    platform.clock.ms += 1;
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('is revoked by any holder; another text changes nothing', async () => {
    const { platform, ada } = await withAda();
    const { secret } = await staffToken(platform, ada.id);
    for (const other of ['', 'fh_staff_x', `${secret}0`])
      await platform.admin.staff.revoke({ secret: other, requestId: 'r' });
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    await platform.admin.staff.revoke({ secret, requestId: 'req-revoke' });
    await platform.admin.staff.revoke({ secret, requestId: 'req-revoke' });
    expect(await platform.admin.authenticate(secret)).toBeNull();
    const rows = (await platform.adminLog()).filter(({ action }) => action === 'staff-tokens.revoke');
    expect(rows).toMatchObject([{ requestId: 'req-revoke', actor: { id: ada.id } }]);
  });

  test('of others is neither seen nor revoked by anybody but an admin', async () => {
    const { platform, ada } = await withAda();
    const bob = await staffMember(platform, { login: 'bob', role: 'auditor' });
    const [hers, his] = [await staffToken(platform, ada.id), await staffToken(platform, bob.id)];
    const as: Actor = { kind: 'staff', id: bob.id, name: 'bob', role: 'auditor' };
    const seen = async (query = {}) =>
      (await platform.value<{ items: { id: string }[] }>('staff-tokens.list', { as, query })).items.map(
        ({ id }) => id,
      );
    expect(await seen()).toEqual([his.id]);
    expect(await seen({ member: ada.id })).toEqual([]);
    const revoke = (token: string, by: Actor = as) =>
      platform.call('staff-tokens.revoke', { params: { token }, as: by });
    expect(await refusal(revoke(hers.id))).toMatchObject({ status: 404 });
    expect((await revoke(his.id)).status).toBe(204);
    expect((await revoke(hers.id, STAFF)).status).toBe(204);
    expect(await platform.admin.authenticate(hers.secret)).toBeNull();
  });
});

describe('RFC 8628: a device code', () => {
  const start = async (platform: Platform) => {
    const started = await platform.admin.staff.startDevice({ client: 'cli', source: null });
    const poll = (client = 'cli') =>
      platform.admin.staff.pollDevice({ deviceCode: started.deviceCode, client, requestId: 'req-poll' });
    return { ...started, poll };
  };

  test('waits, is approved by a member, and becomes one token', async () => {
    const { platform, ada } = await withAda();
    const { userCode, poll, intervalMs } = await start(platform);
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(await poll()).toEqual({ refused: 'authorization_pending' });
    const typed = userCode.toLowerCase().replace('-', ' ');
    const decide = (decision: 'look' | 'approve') =>
      platform.admin.staff.decideDevice({ member: ada.id, userCode: typed, decision });
    expect(await decide('look')).toEqual({ client: 'cli' });
    platform.clock.ms += intervalMs;
    expect(await poll()).toEqual({ refused: 'authorization_pending' });
    expect(await decide('approve')).toEqual({ client: 'cli' });
    expect(await poll('other')).toEqual({ refused: 'invalid_grant' });
    const outcome = await poll();
    const secret = 'token' in outcome ? outcome.token.secret : '';
    expect(await platform.admin.authenticate(secret)).toMatchObject({ id: ada.id, role: 'operator' });
    expect(await poll()).toEqual({ refused: 'invalid_grant' });
    expect(await decide('approve')).toEqual({ refused: 'unknown_code' });
  });

  test('that is denied gives nothing', async () => {
    const { platform, ada } = await withAda();
    const { userCode, poll } = await start(platform);
    await platform.admin.staff.decideDevice({ member: ada.id, userCode, decision: 'deny' });
    expect(await poll()).toEqual({ refused: 'access_denied' });
    expect(await poll()).toEqual({ refused: 'invalid_grant' });
  });

  test('is over after ten minutes, for both sides', async () => {
    const { platform, ada } = await withAda();
    const { userCode, poll, expiresInMs } = await start(platform);
    platform.clock.ms += expiresInMs;
    expect(
      await platform.admin.staff.decideDevice({ member: ada.id, userCode, decision: 'approve' }),
    ).toEqual({
      refused: 'unknown_code',
    });
    expect(await poll()).toEqual({ refused: 'expired_token' });
  });

  test('that is polled too soon makes its program wait longer each time', async () => {
    const { platform } = await withAda();
    const { poll } = await start(platform);
    await poll();
    platform.clock.ms += 4_000;
    expect(await poll()).toEqual({ refused: 'slow_down' });
    platform.clock.ms += 9_000;
    expect(await poll()).toEqual({ refused: 'slow_down' });
    platform.clock.ms += 15_000;
    expect(await poll()).toEqual({ refused: 'authorization_pending' });
  });

  test('cannot be guessed, and tries from a clock that was ahead keep no member waiting', async () => {
    const { platform, ada } = await withAda();
    const type = (text: string) =>
      platform.admin.staff.decideDevice({ member: ada.id, userCode: text, decision: 'look' });
    const right = platform.clock.ms;
    platform.clock.ms = right + 24 * 60 * 60 * 1000;
    for (let i = 0; i < 10; i++) await type('BBBB-BBBB');
    expect(await type('BBBB-BBBB')).toMatchObject({ refused: 'too_many_tries' });
    platform.clock.ms = right;
    const { userCode } = await start(platform);
    expect(await type(userCode)).toEqual({ client: 'cli' });
    for (let i = 0; i < 10; i++) expect(await type('BBBB-BBBB')).toEqual({ refused: 'unknown_code' });
    // Set back by less than a window, it forgets nothing.
    platform.clock.ms = right - 1_000;
    expect(await type(userCode)).toMatchObject({ refused: 'too_many_tries' });
  });

  test('cannot be guessed: after ten codes that are none, a member waits', async () => {
    const { platform, ada } = await withAda();
    const { userCode } = await start(platform);
    const type = (text: string) =>
      platform.admin.staff.decideDevice({ member: ada.id, userCode: text, decision: 'look' });
    for (let i = 0; i < 10; i++) expect(await type('BBBB-BBBB')).toEqual({ refused: 'unknown_code' });
    platform.clock.ms += 60_000;
    expect(await type(userCode)).toEqual({ refused: 'too_many_tries', retryAfterMs: 9 * 60 * 1000 });
    platform.clock.ms += 9 * 60 * 1000;
    const another = await start(platform);
    expect(await type(another.userCode)).toEqual({ client: 'cli' });
  });
});

/** A call that was on its way while its caller's access ended does nothing (design: control-plane, "Actors"). */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { type CallParts, openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import { ISSUER, sessionOf, signIn, staffMember, staffToken } from '../../test/staff.ts';
import type { AdminOperationName } from '../admin-operations.ts';
import type { Actor } from './actors.ts';

const ENDED = { status: 403, reason: 'access_ended' };
const EVE = { email: 'eve@example.test', name: 'Eve', role: 'admin' } as const;

/** Each kind of call: a read, one that is logged, a change, one with an effect elsewhere. */
async function refusedAll(platform: Platform, as: Actor): Promise<void> {
  expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject(ENDED);
  expect(await refusal(platform.call('staff.put', { body: EVE, as }))).toMatchObject(ENDED);
  expect(await refusal(platform.call('access-log.list', { as }))).toMatchObject(ENDED);
  const { id: tenant } = await platform.value<{ id: string }>('tenants.create', {
    body: { slug: 'held', name: 'Held' },
  });
  const body = { slug: 'main', name: 'Main', vertical: 'fieldwork' };
  expect(await refusal(platform.call('scopes.provision', { params: { tenant }, body, as }))).toMatchObject(
    ENDED,
  );
}

describe('a member of the staff', () => {
  const session = async (platform: Platform, login: string) => {
    const actor = await platform.admin.staff.session(sessionOf(login));
    if (!actor) throw new Error('there is no session');
    return actor;
  };

  test('who was removed while a call waited for its body does not put themselves back', async () => {
    const platform = await openPlatform();
    const { id: member } = await staffMember(platform, { login: 'eve', role: 'admin' });
    const as = await session(platform, 'eve');
    expect((await platform.call('tenants.list', { as })).status).toBe(200);
    await platform.call('staff.remove', { params: { member }, as: SERVICE });
    await refusedAll(platform, as);
    expect(await platform.value('staff.list')).toMatchObject({ items: [] });
  });

  test('whose role was lowered meanwhile acts with the old one no more', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'eve', role: 'admin' });
    const as = await session(platform, 'eve');
    await platform.call('staff.put', { body: { ...EVE, role: 'auditor' }, as: SERVICE });
    expect(await refusal(platform.call('staff.put', { body: EVE, as }))).toMatchObject(ENDED);
  });

  test('who signed out while a call waited for its body, on that browser', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'eve', role: 'admin' });
    const as = await session(platform, 'eve');
    await signIn(platform, 'eve', { sid: 'sid-elsewhere' });
    const elsewhere = await platform.admin.staff.session({ ...sessionOf('eve'), sid: 'sid-elsewhere' });
    await platform.admin.staff.signOut({ sid: 'sid-eve' });
    await refusedAll(platform, as);
    expect((await platform.call('tenants.list', { as: elsewhere as Actor })).status).toBe(200);
  });

  test('whose issuer ended their session meanwhile', async () => {
    const platform = await openPlatform();
    await staffMember(platform, { login: 'eve', role: 'admin' });
    const as = await session(platform, 'eve');
    await platform.admin.staff.endSessions({ issuer: ISSUER, subject: 'sub-eve' });
    await refusedAll(platform, as);
  });

  test('whose program lost its token meanwhile', async () => {
    const platform = await openPlatform();
    const { id } = await staffMember(platform, { login: 'eve', role: 'admin' });
    const { secret } = await staffToken(platform, id);
    const as = await platform.admin.authenticate(secret);
    if (!as) throw new Error('the token does not work');
    await platform.admin.staff.revoke({ secret, requestId: 'req-revoke' });
    await refusedAll(platform, as);
  });
});

/**
 * The sender of a body can hold any kind of call open: plans, long work, reads of an application, and checks before
 * it.
 */
describe('C-01: of what can be held open nothing is done any more, and nothing said:', () => {
  const at = { tenant: '', scope: '' };
  const plan = { dryRun: true };
  const CALLS: readonly [AdminOperationName, CallParts][] = [
    ['query.run', { params: at, body: { sql: 'SELECT 1' } }],
    ['scopes.configure', { params: at, body: { config: {} } }],
    ['scopes.rewind', { params: at, body: { bookmark: 'bm_1' } }],
    ['scopes.rewind', { params: at, body: { bookmark: 'bm_1' }, query: plan }],
    ['scopes.restore', { params: at, body: { from: { backup: 'bkp_01jd0000000000000000000001' } } }],
    ['scopes.reap', { params: at, body: {} }],
    ['scopes.reap', { params: at, body: {}, query: plan }],
    ['scopes.set-status', { params: at, body: { status: 'suspended' } }],
    ['scope-version.set', { params: at, body: { channel: 'prod' } }],
    ['scope-backups.create', { params: at, body: {} }],
    ['snapshots.take', { params: at, body: {} }],
    ['owner-claim.mint', { params: at }],
    ['tenants.reap', { params: { tenant: '' }, body: {} }],
    ['tenants.reap', { params: { tenant: '' }, body: {}, query: plan }],
    ['fleet-migrations.run', { body: {} }],
    ['fleet-migrations.run', { body: {}, query: plan }],
    ['directory-backups.create', { body: {} }],
    ['channels.promote', { params: { slug: 'app', channel: 'prod' }, body: { version: '1.0.0' } }],
    [
      'channels.promote',
      { params: { slug: 'app', channel: 'prod' }, body: { version: '1.0.0' }, query: plan },
    ],
    ['verticals.create', { body: { slug: 'next', name: 'Next' } }],
    ['issues.set-status', { body: { fingerprint: 'f'.repeat(32), status: 'resolved' } }],
  ];

  test.each(CALLS)('%s %j', async (operation, parts) => {
    const platform = await openPlatform({ backups: makeMemoryBackups() });
    const { id: tenant } = await platform.tenant('acme');
    const { id: scope } = await platform.scope(tenant);
    await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
    const { id: member } = await staffMember(platform, { login: 'eve', role: 'admin' });
    const as = (await platform.admin.staff.session(sessionOf('eve'))) as Actor;
    await platform.call('staff.remove', { params: { member }, as: SERVICE });
    const ids: Record<string, unknown> = { tenant, scope };
    const params = Object.fromEntries(
      Object.entries(parts.params ?? {}).map(([name, value]) => [name, ids[name] ?? value]),
    );
    const before = [await platform.adminLog(), platform.fieldwork.requests.length];
    expect(await refusal(platform.call(operation, { ...parts, params, as }))).toMatchObject(ENDED);
    expect([await platform.adminLog(), platform.fieldwork.requests.length]).toEqual(before);
  });
});

test('a token that was revoked meanwhile, of a builder or of a service', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const made = [
    await platform.value<{ token: { id: string }; secret: string }>('push-tokens.create', {
      body: { name: 'ci', tenant },
    }),
    await platform.value<{ token: { id: string }; secret: string }>('service-tokens.create', {
      body: { name: 'ci' },
    }),
  ];
  for (const [index, { token, secret }] of made.entries()) {
    const as = await platform.admin.authenticate(secret);
    if (!as) throw new Error('the token does not work');
    expect((await platform.call('tenants.list', { as })).status).toBe(200);
    await platform.call(index === 0 ? 'push-tokens.revoke' : 'service-tokens.revoke', {
      params: { token: token.id },
    });
    expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject(ENDED);
  }
});

describe('a service token that a member of the staff made', () => {
  const opened = async () => {
    const platform = await openPlatform();
    const { id: member } = await staffMember(platform, { login: 'eve', role: 'admin' });
    const eve = await platform.admin.staff.session(sessionOf('eve'));
    const { secret } = await platform.value<{ secret: string }>('service-tokens.create', {
      body: { name: 'nightly' },
      as: eve as Actor,
    });
    const as = await platform.admin.authenticate(secret);
    if (!as) throw new Error('the token does not work');
    return { platform, member, as };
  };

  test('whose owner was removed meanwhile', async () => {
    const { platform, member, as } = await opened();
    expect((await platform.call('tenants.list', { as })).status).toBe(200);
    await platform.call('staff.remove', { params: { member }, as: SERVICE });
    await refusedAll(platform, as);
  });

  test('whose owner was given another role meanwhile', async () => {
    const { platform, as } = await opened();
    await platform.call('staff.put', { body: { ...EVE, role: 'operator' }, as: SERVICE });
    await refusedAll(platform, as);
  });

  test('does not shed its owner on the way', async () => {
    const { platform, as } = await opened();
    const { kind, id, name } = as;
    await refusedAll(platform, { kind, id, name } as Actor);
  });

  test('goes on with the long work that it began, as a member does', async () => {
    const { platform, member, as } = await opened();
    const begun = await platform.call('fleet-migrations.run', { body: {}, as });
    await platform.call('staff.remove', { params: { member }, as: SERVICE });
    expect(await platform.finish(begun)).toMatchObject({ state: 'done' });
  });
});

/** Programs of members of the roster, in the directory: what ends a grant, and that nothing brings it back. */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, STAFF, STAFF_ISSUER } from '../../test/platform.ts';
import {
  DESKTOP,
  invite,
  letProgramIn,
  orderCode,
  redeem,
  staffMember,
  staffToken,
} from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import type { BackupRecord, StaffProgramRecord } from '../admin-operations.ts';
import { CONTROL_PLANE } from './program-store.ts';

const requestId = 'req-programs';

async function open() {
  const platform = await openPlatform({ backups: makeMemoryBackups() });
  const ada = await staffMember(platform, { login: 'ada', role: 'admin' });
  const works = async (token: string) => (await platform.admin.authenticate(token)) !== null;
  const end = (program: string) => platform.call('staff-programs.end', { params: { program } });
  return { platform, ada, works, end };
}

test('a restored directory gives no program back, and takes none away that was let in since', async () => {
  const { platform, ada, works, end } = await open();
  const ended = await letProgramIn(platform, ada.id);
  const goes = await letProgramIn(platform, ada.id);
  const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
    .result as BackupRecord;
  expect((await end(ended.id)).status).toBe(204);
  const since = await letProgramIn(platform, ada.id);
  await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
  expect(await Promise.all([ended, goes, since].map(({ access }) => works(access)))).toEqual([
    false,
    true,
    true,
  ]);
  const again = { scopeId: CONTROL_PLANE, client: DESKTOP, refreshToken: ended.refresh, requestId };
  expect(await platform.admin.staff.programs.refreshTokens(again)).toMatchObject({ outcome: 'refused' });
});

/** A member approves a device code. Returns the poll of its program. */
async function approvedDevice({ admin }: Platform, member: string) {
  const { userCode, deviceCode } = await admin.staff.startDevice({ client: 'cli', source: null });
  await admin.staff.decideDevice({ member, userCode, decision: 'approve' });
  return () => admin.staff.pollDevice({ deviceCode, client: 'cli', requestId });
}

test.each([
  [
    'here',
    (platform: Platform, member: string) =>
      platform.admin.staff.programs.signOutEverywhere({ member, requestId }),
  ],
  [
    'at the issuer',
    ({ admin }: Platform) => admin.staff.endSessions({ issuer: STAFF_ISSUER, subject: 'sub-ada', requestId }),
  ],
] as const)(
  'signing out everywhere, %s, ends staff tokens, and codes that would become one',
  async (_title, signOut) => {
    const { platform, ada, works } = await open();
    const bob = await staffMember(platform, { login: 'bob', role: 'operator' });
    const [hers, his] = [await staffToken(platform, ada.id), await staffToken(platform, bob.id)];
    const { code } = await orderCode(platform, ada.id);
    const poll = await approvedDevice(platform, ada.id);
    await signOut(platform, ada.id);
    expect([await works(hers.secret), await works(his.secret)]).toEqual([false, true]);
    expect(await redeem(platform, code)).toEqual({ refused: 'invalid_grant' });
    expect(await poll()).toEqual({ refused: 'invalid_grant' });
  },
);

test.each([
  ['another one', 'https://other.example'],
  ['none', null],
])(
  'after the platform moved to %s, no program of a member of the former issuer works until it is back',
  async (_title, staffIssuer) => {
    const wiring: { staffIssuer: string | null } = { staffIssuer: STAFF_ISSUER };
    const platform = await openPlatform(wiring);
    const { id } = await staffMember(platform, { login: 'ada', role: 'admin' });
    const [program, token] = [await letProgramIn(platform, id), await staffToken(platform, id)];
    const working = () =>
      Promise.all(
        [program.access, token.secret].map(
          async (secret) => (await platform.admin.authenticate(secret)) !== null,
        ),
      );
    const refreshed = () =>
      platform.admin.staff.programs.refreshTokens({
        ...{ scopeId: CONTROL_PLANE, client: DESKTOP, refreshToken: program.refresh, requestId },
      });
    const moveTo = (issuer: string | null) => {
      wiring.staffIssuer = issuer;
      return platform.tamper(() => undefined);
    };
    expect(await working()).toEqual([true, true]);
    await moveTo(staffIssuer);
    expect(await working()).toEqual([false, false]);
    expect(await refreshed()).toMatchObject({ outcome: 'refused', because: 'grant' });
    await moveTo(STAFF_ISSUER);
    expect(await working()).toEqual([true, true]);
    expect(await refreshed()).toMatchObject({ outcome: 'issued' });
  },
);

test('a program of others is neither seen nor ended by anybody but an admin', async () => {
  const { platform, ada, works } = await open();
  const bob = await staffMember(platform, { login: 'bob', role: 'auditor' });
  const [hers, his] = [await letProgramIn(platform, ada.id), await letProgramIn(platform, bob.id)];
  const as: Actor = { kind: 'staff', id: bob.id, name: 'bob', role: 'auditor' };
  const seen = async (by: Actor, query = {}) =>
    (await platform.value<{ items: StaffProgramRecord[] }>('staff-programs.list', { as: by, query })).items;
  expect(await seen(as)).toMatchObject([
    { id: his.id, member: bob.id, name: 'Desktop', host: '127.0.0.1', access: 'all', permissions: [] },
  ]);
  expect(await seen(as, { member: ada.id })).toEqual([]);
  expect((await seen(STAFF)).map(({ id }) => id)).toEqual([his.id, hers.id]);
  expect((await seen(STAFF, { member: ada.id })).map(({ id }) => id)).toEqual([hers.id]);
  const endIt = (program: string, by: Actor) =>
    platform.call('staff-programs.end', { params: { program }, as: by });
  expect(await refusal(endIt(hers.id, as))).toMatchObject({ status: 404, reason: 'unknown_program' });
  expect((await endIt(his.id, as)).status).toBe(204);
  expect((await endIt(hers.id, STAFF)).status).toBe(204);
  expect([await works(hers.access), await works(his.access)]).toEqual([false, false]);
  expect((await platform.adminLog()).slice(-2)).toMatchObject([
    {
      action: 'staff-programs.end',
      actor: { id: bob.id },
      target: { other: his.id },
      before: { program: 'Desktop' },
    },
    { action: 'staff-programs.end', actor: { id: STAFF.id }, before: { member: ada.id, access: 'all' } },
  ]);
});

test('a builder sees and ends their own over the API, and neither those of staff nor of another builder', async () => {
  const { platform, ada } = await open();
  const { id: tenant } = await platform.tenant('acme');
  const [bob, eve] = [
    await staffMember(platform, { login: 'bob', role: 'builder', tenant }),
    await staffMember(platform, { login: 'eve', role: 'builder', tenant }),
  ];
  const [hers, his, other] = [
    await letProgramIn(platform, ada.id),
    await letProgramIn(platform, bob.id),
    await letProgramIn(platform, eve.id),
  ];
  const token = await staffToken(platform, bob.id);
  const as = { kind: 'builder', id: bob.id, name: 'bob', tenant } as const;
  const listed = async (operation: 'staff-programs.list' | 'staff-tokens.list', by: Actor) =>
    (await platform.value<{ items: { id: string }[] }>(operation, { as: by })).items.map(({ id }) => id);
  const pushToken = platform.builder(tenant);
  expect(await listed('staff-programs.list', as)).toEqual([his.id]);
  expect(await listed('staff-tokens.list', as)).toEqual([token.id]);
  expect(await listed('staff-programs.list', pushToken)).toEqual([]);
  expect(await listed('staff-tokens.list', pushToken)).toEqual([]);
  const end = (program: string, by: Actor) =>
    platform.call('staff-programs.end', { params: { program }, as: by });
  for (const { id } of [hers, other])
    expect(await refusal(end(id, as))).toMatchObject({ reason: 'unknown_program' });
  expect(await refusal(end(his.id, pushToken))).toMatchObject({ reason: 'unknown_program' });
  expect((await end(his.id, as)).status).toBe(204);
  const revoke = platform.call('staff-tokens.revoke', { params: { token: token.id }, as });
  expect((await revoke).status).toBe(204);
  expect((await platform.adminLog()).slice(-2)).toMatchObject([
    {
      action: 'staff-programs.end',
      actor: { kind: 'builder', id: bob.id },
      target: { tenant, other: his.id },
    },
    {
      action: 'staff-tokens.revoke',
      actor: { kind: 'builder', id: bob.id },
      target: { tenant, other: token.id },
    },
  ]);
});

test('a program that may only read ends no other one', async () => {
  const { platform, ada } = await open();
  const { id: program } = await letProgramIn(platform, ada.id);
  const reads = { id: 'grt_1', name: 'Reader', access: 'read' } as const;
  const as: Actor = { kind: 'staff', id: ada.id, name: 'ada', role: 'admin', program: reads };
  const ending = platform.call('staff-programs.end', { params: { program }, as });
  expect(await refusal(ending)).toMatchObject({ reason: 'program_not_allowed' });
});

describe('long work', () => {
  type Beginner = 'program' | 'staff token' | 'service token' | 'session';
  type Opened = Awaited<ReturnType<typeof begun>>;
  /** A backup that stands still until it is let through. */
  async function begun(by: Beginner) {
    const backups = makeMemoryBackups();
    const platform = await openPlatform({ backups });
    const ada = await staffMember(platform, { login: 'ada', role: 'operator' });
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const [program, token] = [await letProgramIn(platform, ada.id), await staffToken(platform, ada.id)];
    const service = await platform.admin.mintServiceToken({ name: 'ci' });
    const secrets = { program: program.access, 'staff token': token.secret, 'service token': service.secret };
    const session: Actor = { kind: 'staff', id: ada.id, name: 'ada', role: 'operator', session: 'sid-ada' };
    const as = by === 'session' ? session : await platform.admin.authenticate(secrets[by]);
    if (!as) throw new Error('the program is not known');
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    backups.beforePut = () => {
      reached.resolve();
      return gate.promise;
    };
    const params = { tenant: scope.tenant, scope: scope.id };
    const { id } = await platform.value<{ id: string }>('scope-backups.create', { params, body: {}, as });
    await reached.promise;
    const end = () => {
      gate.resolve();
      return platform.finish({ value: { id } } as never);
    };
    return { platform, backups, ada, program, token, service: as.id, end };
  }

  test.each<[Beginner, string, (opened: Opened) => Promise<unknown>]>([
    [
      'service token',
      'it is revoked',
      ({ platform, service }) => platform.call('service-tokens.revoke', { params: { token: service } }),
    ],
    [
      'session',
      'its member leaves',
      ({ platform, ada }) => platform.call('staff.remove', { params: { member: ada.id } }),
    ],
    [
      'program',
      'an admin ends it',
      ({ platform, program }) => platform.call('staff-programs.end', { params: { program: program.id } }),
    ],
    [
      'program',
      'its member gets a lesser role',
      ({ platform }) => invite(platform, { login: 'ada', role: 'auditor' }),
    ],
    [
      'staff token',
      'it is revoked',
      ({ platform, token }) => platform.call('staff-tokens.revoke', { params: { token: token.id } }),
    ],
    ...(['program', 'staff token'] as const).flatMap(
      (by): ['program' | 'staff token', string, (opened: Opened) => Promise<unknown>][] => [
        [
          by,
          'none is admitted any more',
          ({ platform }) => platform.call('program-policy.put', { body: { programs: 'none', hosts: [] } }),
        ],
        [
          by,
          'its member leaves',
          ({ platform, ada }) => platform.call('staff.remove', { params: { member: ada.id } }),
        ],
        [
          by,
          'its member signs out everywhere',
          ({ platform, ada }) =>
            platform.admin.staff.programs.signOutEverywhere({ member: ada.id, requestId }),
        ],
        [
          by,
          'its member signs out at the issuer',
          ({ platform }) => platform.admin.staff.endSessions({ issuer: STAFF_ISSUER, subject: 'sub-ada' }),
        ],
      ],
    ),
  ])('by a %s is cancelled when %s', async (by, _title, ending) => {
    const opened = await begun(by);
    await ending(opened);
    expect(await opened.end()).toMatchObject({ state: 'cancelled' });
    expect(opened.backups.stored.size).toBe(0);
  });

  test.each<[string, (opened: Opened) => Promise<unknown>]>([
    [
      'another program ends',
      async ({ platform, ada }) => {
        const { id: program } = await letProgramIn(platform, ada.id);
        await platform.call('staff-programs.end', { params: { program } });
      },
    ],
    [
      'the program gives its access back itself',
      async ({ platform, program }) => {
        const { refresh: token } = program;
        const given = { scopeId: CONTROL_PLANE, client: DESKTOP, token, requestId };
        expect(await platform.admin.staff.programs.revokeToken(given)).toEqual({ isClient: true });
        expect(await platform.admin.authenticate(program.access)).toBeNull();
      },
    ],
  ])('goes on when %s', async (_title, act) => {
    const opened = await begun('program');
    await act(opened);
    expect(await opened.end()).toMatchObject({ state: 'done' });
  });
});

describe('the rule for programs', () => {
  const put = (platform: Platform, programs: string, hosts: readonly string[] = [], query = {}) =>
    platform.value('program-policy.put', { body: { programs, hosts }, query });

  test('admits any until it is set, and ends at once what it admits no more', async () => {
    const { platform, ada, works } = await open();
    expect(await platform.value('program-policy.get')).toMatchObject({
      programs: 'any',
      hosts: [],
      etag: '0',
    });
    const program = await letProgramIn(platform, ada.id);
    const token = await staffToken(platform, ada.id);
    const working = () => Promise.all([works(program.access), works(token.secret)]);
    await put(platform, 'listed', ['127.0.0.1', 'agent.example']);
    expect(await working()).toEqual([true, true]);
    expect(await put(platform, 'listed', ['agent.example'], { dryRun: true })).toMatchObject({
      ...{ programs: 1, tokens: 1 },
    });
    await put(platform, 'listed', ['agent.example']);
    expect(await working()).toEqual([false, false]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'program-policy.put',
      before: { programs: 'listed', hosts: ['127.0.0.1', 'agent.example'], ended: [program.id, token.id] },
      after: { programs: 'listed', hosts: ['agent.example'] },
    });
    await expect(letProgramIn(platform, ada.id)).rejects.toThrow('program_not_admitted');
  });

  test.each([
    ['none', []],
    ['listed', ['agent.example']],
  ])('of %s %j gives no staff token either, by a code or a device code', async (programs, hosts) => {
    const { platform, ada } = await open();
    const { code } = await orderCode(platform, ada.id);
    const poll = await approvedDevice(platform, ada.id);
    await put(platform, programs, hosts);
    expect(await redeem(platform, code)).toEqual({ refused: 'invalid_grant' });
    expect(await poll()).toEqual({ refused: 'access_denied' });
  });

  test('is not set over another one, and outlives a restore of the directory', async () => {
    const { platform } = await open();
    const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
      .result as BackupRecord;
    await put(platform, 'none');
    const stale = { body: { programs: 'any', hosts: [] }, ifMatch: '"0"' };
    expect(await refusal(platform.call('program-policy.put', stale))).toMatchObject({ status: 412 });
    await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
    expect(await platform.value('program-policy.get')).toMatchObject({ programs: 'none' });
  });
});

test('a call that is on its way when its program ends is refused', async () => {
  const { platform, ada, end } = await open();
  const { access, id } = await letProgramIn(platform, ada.id);
  const actor = await platform.admin.authenticate(access);
  if (!actor) throw new Error('the token does not work');
  const create = () => platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' }, as: actor });
  await end(id);
  await expect(create()).rejects.toMatchObject({ reason: 'access_ended' });
});

test('the plan of a removal counts programs of both sorts, and the removal ends them', async () => {
  const { platform, works } = await open();
  const bob = await staffMember(platform, { login: 'bob', role: 'operator' });
  const { access } = await letProgramIn(platform, bob.id);
  const { secret } = await staffToken(platform, bob.id);
  const plan = await platform.value('staff.remove', { params: { member: bob.id }, query: { dryRun: true } });
  expect(plan).toMatchObject({ programs: 2 });
  await platform.call('staff.remove', { params: { member: bob.id } });
  expect([await works(access), await works(secret)]).toEqual([false, false]);
});

test('the last use is noted with its address, at most once a minute', async () => {
  const { platform, ada } = await open();
  const { access } = await letProgramIn(platform, ada.id);
  const used = async () => {
    const [program] = await platform.admin.staff.programs.list({ member: ada.id });
    return [program?.lastUsedAtMs, program?.lastUsedFrom];
  };
  const startMs = platform.clock.ms;
  await platform.admin.authenticate(access, '192.0.2.1');
  await expect.poll(used).toEqual([startMs, '192.0.2.1']);
  platform.clock.ms += 59_999;
  await platform.admin.authenticate(access, '192.0.2.2');
  platform.clock.ms += 1;
  await platform.admin.authenticate(access, '192.0.2.3');
  await expect.poll(used).toEqual([startMs + 60_000, '192.0.2.3']);
});

test('of more than fifty programs of one member the oldest is ended', async () => {
  const { platform, ada, works } = await open();
  const first = await letProgramIn(platform, ada.id);
  for (let n = 0; n < 50; n++) {
    platform.clock.ms += 1;
    await letProgramIn(platform, ada.id);
  }
  expect(await works(first.access)).toBe(false);
  expect(await platform.admin.staff.programs.list({ member: ada.id })).toHaveLength(50);
  expect((await platform.adminLog()).filter(({ action }) => action === 'staff-programs.end')).toMatchObject([
    { after: { reason: 'limit' } },
  ]);
});

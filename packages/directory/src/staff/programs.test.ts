/** Programs of members of the roster, in the directory: what ends a grant, and that nothing brings it back. */
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform } from '../../test/platform.ts';
import { CHALLENGE, REDIRECT, staffMember, staffToken, VERIFIER } from '../../test/staff.ts';
import type { BackupRecord } from '../admin-operations.ts';
import { CONTROL_PLANE } from './programs.ts';

const requestId = 'req-programs';
const client = { id: 'fh_client_desktop', secretHash: null };

/** Lets a program in and returns its access token, its refresh token and its id. */
async function letIn({ admin }: Platform, member: string) {
  const { programs } = admin.staff;
  const admitted = await programs.admit({
    member,
    client: { ...client, kind: 'registered', metadata: '{}' },
    ...{ name: 'Desktop', host: '127.0.0.1', allowed: { access: 'all' } },
    code: { redirectUri: REDIRECT, challenge: CHALLENGE },
    requestId,
  });
  const answer = await programs.redeemCode({
    ...{ scopeId: CONTROL_PLANE, client, code: admitted?.code ?? '', redirectUri: null },
    ...{ verifier: VERIFIER, requestId },
  });
  if (answer.outcome !== 'issued') throw new Error('the code was refused');
  const [listed] = await programs.list({ member });
  return { access: answer.accessToken, refresh: answer.refreshToken, id: listed?.id ?? '' };
}

async function open() {
  const platform = await openPlatform({ backups: makeMemoryBackups() });
  const ada = await staffMember(platform, { login: 'ada', role: 'admin' });
  const works = async (token: string) => (await platform.admin.authenticate(token)) !== null;
  const end = (grant: string) => platform.admin.staff.programs.end({ grant, member: ada.id, requestId });
  return { platform, ada, works, end };
}

test('a restored directory gives no program back, and takes none away that was let in since', async () => {
  const { platform, ada, works, end } = await open();
  const ended = await letIn(platform, ada.id);
  const goes = await letIn(platform, ada.id);
  const backup = (await platform.finish(platform.call('directory-backups.create', { body: {} })))
    .result as BackupRecord;
  expect(await end(ended.id)).toBe(true);
  const since = await letIn(platform, ada.id);
  await platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
  expect(await Promise.all([ended, goes, since].map(({ access }) => works(access)))).toEqual([
    false,
    true,
    true,
  ]);
  const again = { scopeId: CONTROL_PLANE, client, refreshToken: ended.refresh, requestId };
  expect(await platform.admin.staff.programs.refreshTokens(again)).toMatchObject({ outcome: 'refused' });
});

test('a call that is on its way when its program ends is refused', async () => {
  const { platform, ada, end } = await open();
  const { access, id } = await letIn(platform, ada.id);
  const actor = await platform.admin.authenticate(access);
  if (!actor) throw new Error('the token does not work');
  const create = () => platform.call('tenants.create', { body: { slug: 'acme', name: 'Acme' }, as: actor });
  await end(id);
  await expect(create()).rejects.toMatchObject({ reason: 'access_ended' });
});

test('the plan of a removal counts programs of both sorts, and the removal ends them', async () => {
  const { platform, works } = await open();
  const bob = await staffMember(platform, { login: 'bob', role: 'operator' });
  const { access } = await letIn(platform, bob.id);
  const { secret } = await staffToken(platform, bob.id);
  const plan = await platform.value('staff.remove', { params: { member: bob.id }, query: { dryRun: true } });
  expect(plan).toMatchObject({ programs: 2 });
  await platform.call('staff.remove', { params: { member: bob.id } });
  expect([await works(access), await works(secret)]).toEqual([false, false]);
});

test('the last use is noted with its address, at most once a minute', async () => {
  const { platform, ada } = await open();
  const { access } = await letIn(platform, ada.id);
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
  const first = await letIn(platform, ada.id);
  for (let n = 0; n < 50; n++) {
    platform.clock.ms += 1;
    await letIn(platform, ada.id);
  }
  expect(await works(first.access)).toBe(false);
  expect(await platform.admin.staff.programs.list({ member: ada.id })).toHaveLength(50);
  expect((await platform.adminLog()).filter(({ action }) => action === 'staff-programs.end')).toMatchObject([
    { after: { reason: 'limit' } },
  ]);
});

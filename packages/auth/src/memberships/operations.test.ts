/** The end of a membership, and what the directory keeps until the scope has followed. */
import { expect, onTestFinished, test } from 'vitest';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { ISSUER, openPlatform, person, refusal, SCOPE } from '../../test/support.ts';
import { identityDirectory } from '../identity-directory/unit.ts';

async function openTeam() {
  const { directory, clock } = await openPlatform();
  const { principal: ada } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
  const invite = async (createdBy: string) => {
    const principal = await directory.newPrincipal();
    return {
      principal,
      ...(await directory.createInvite({ scopeId: SCOPE, principal, role: 'r', createdBy })),
    };
  };
  const { token, principal: ben } = await invite(ada);
  await directory.claimInvite({ token, subject: person('ben') });
  return { directory, clock, ada, ben, invite };
}

test('A-34: ends the invites that they made, in one transaction with the membership, and says why', async () => {
  const { directory, ada, ben, invite } = await openTeam();
  const { principal, token } = await invite(ben);
  await directory.removeMember({ scopeId: SCOPE, principal: ben, by: ada });
  expect((await directory.showInvite({ token })).state).toBe('revoked');
  expect(await refusal(directory.claimInvite({ token, subject: person('eve') }))).toMatchObject({
    reason: 'invite_revoked',
  });
  const { items } = await directory.listIdentityEvents({ scopeId: SCOPE, limit: 3 });
  expect(items.slice(1)).toMatchObject([
    { type: 'invite_revoked', principal, actor: null, detail: { reason: 'inviter_lost_right' } },
    { type: 'member_removed', principal: ben, actor: ada },
  ]);
  const left = [
    { principal: ben, role: null },
    { principal, role: 'r' },
  ].sort((a, b) => (a.principal < b.principal ? -1 : 1));
  expect(await directory.leftoverRoles({ scopeId: SCOPE })).toEqual(left);
});

test('A-34: an invite that was accepted or revoked meanwhile is not withdrawn', async () => {
  const { directory, ada, ben, invite } = await openTeam();
  const [accepted, revoked] = [await invite(ben), await invite(ben)];
  await directory.claimInvite({ token: accepted.token, subject: person('kim') });
  await directory.revokeInvite({ scopeId: SCOPE, principal: revoked.principal, by: ada });
  const events = (await directory.listIdentityEvents({ scopeId: SCOPE })).items.length;
  const principals = [accepted.principal, revoked.principal, 'prn_nobody'];
  await directory.withdrawInvites({ scopeId: SCOPE, principals });
  expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items).toHaveLength(events);
  expect((await directory.showInvite({ token: accepted.token })).state).toBe('accepted');
});

test('A-34: a directory from before ends the invites of those who were removed then, and no others', () => {
  const { db, close } = openNodeDatabase(':memory:');
  onTestFinished(close);
  const migrations = identityDirectory.migrations.flatMap((set) => set.migrations);
  for (const { version, sql } of migrations) if (version < 16) db.exec(sql);
  db.run("INSERT INTO people VALUES ('per_1', ?, 'bob', NULL, 'Bob', NULL, 0, 0)", ISSUER);
  db.run("INSERT INTO former_members VALUES (?, 'prn_bob', 'per_1', 7)", SCOPE);
  db.run("INSERT INTO bindings VALUES (?, 'per_1', 'prn_ada', 0)", SCOPE);
  const invite = `INSERT INTO invites (principal, scope_id, role, token_hash, email_match, created_by, created_at,
    expires_at, revoked_at) VALUES (?, ?, 'owner', ?, 'label', ?, 1, 99, ?)`;
  db.run(invite, 'prn_1', SCOPE, 'a', 'prn_bob', null);
  db.run(invite, 'prn_2', SCOPE, 'b', 'prn_ada', null);
  db.run(invite, 'prn_3', SCOPE, 'c', 'prn_ada', 3);
  for (const { version, sql } of migrations) if (version >= 16) db.exec(sql);
  expect(db.all('SELECT principal, revoked_at AS at FROM invites ORDER BY principal')).toEqual([
    { principal: 'prn_1', at: 7 },
    { principal: 'prn_2', at: null },
    { principal: 'prn_3', at: 3 },
  ]);
  expect(db.all('SELECT principal, role FROM leftover_roles ORDER BY principal')).toEqual([
    { principal: 'prn_1', role: 'owner' },
    { principal: 'prn_3', role: 'owner' },
    { principal: 'prn_bob', role: null },
  ]);
});

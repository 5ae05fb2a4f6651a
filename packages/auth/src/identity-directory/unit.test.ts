/** The directory as a unit: its methods, its queries, and its state after a restart. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeIdFactory } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../../../engine-node/src/index.ts';
import { openNodeDatabase } from '../../../engine-node/src/lib/node-database.ts';
import { person, refusal, SCOPE, START_MS, TENANT_A, TENANT_B, testRandom } from '../../test/support.ts';
import { identityDirectory, makeIdentityDirectory } from './unit.ts';

function dataDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'auth-unit-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The unit's methods straight over a database, without an engine around them. */
function openDirectly() {
  const database = openNodeDatabase(join(dataDirectory(), 'identity.sqlite'));
  onTestFinished(() => database.close());
  for (const set of identityDirectory.migrations)
    for (const each of set.migrations) database.db.exec(each.sql);
  const now = () => START_MS;
  const random = testRandom();
  const methods = identityDirectory.open({
    key: TENANT_A,
    db: database.db,
    guarded: database.guarded,
    now,
    random,
    newId: makeIdFactory({ now, random }),
    afterCommit: () => undefined,
    onRollback: () => undefined,
    onClose: () => undefined,
    report: () => undefined,
  });
  return { db: database.db, methods };
}

test('A-23: has every operation of the spec', () => {
  const { methods } = openDirectly();
  const operations = [
    'setPendingOwner',
    'resolvePrincipal',
    'ownerSeat',
    'mintOwnerClaim',
    'mintOwnerClaimLink',
    'claimOwner',
    'needsSetup',
    'createInvite',
    'listInvites',
    'revokeInvite',
    'claimInvite',
  ];
  expect(Object.keys(methods)).toEqual(expect.arrayContaining(operations));
});

test('a declared query writes nothing, for any state', () => {
  const { db, methods } = openDirectly();
  const { principal } = methods.setPendingOwner({ scopeId: SCOPE });
  const invitee = methods.newPrincipal();
  const { token } = methods.createInvite({
    scopeId: SCOPE,
    principal: invitee,
    role: 'r',
    createdBy: principal,
  });
  methods.putConfig({ scopeId: SCOPE, config: { A: '1' } });
  const subject = person('ada');
  const session = { sid: 's', issuedAtMs: START_MS };
  const { userId } = methods.importAccount({ email: 'ada@example.com', emailVerified: true });
  const passkey = { id: 'key', publicKey: 'pQ', counter: 0, backedUp: false, name: 'Key' };
  const challenge = { id: 'c', expiresAtMs: START_MS + 1 };
  methods.addPasskey({ scopeId: SCOPE, userId, session, passkey, challenge });
  const link = methods.beginSignUp({ scopeId: SCOPE, email: 'bob@example.com' }) as { token: string };
  const inputs: Record<string, unknown> = {
    showLink: { token: link.token, purpose: 'sign_up' },
    findPasskey: { id: passkey.id },
    accountSecurity: { userId },
    findAccount: { userId },
    findPrincipal: { scopeId: SCOPE, subject, session },
    namePrincipals: { scopeId: SCOPE, principals: [principal, invitee] },
    showInvite: { token },
    inviteTerms: { token },
    findMember: { scopeId: SCOPE, principal },
    sessionState: { subject, session },
    listSessions: subject,
    findClient: { scopeId: SCOPE, id: 'unknown' },
    listPrograms: { scopeId: SCOPE, principal: null },
    listProgramReads: { scopeId: SCOPE, principal: null },
    admitsProgram: { scopeId: SCOPE, host: 'agent.example' },
    usableProgram: { scopeId: SCOPE, principal, grant: 'unknown' },
    readQuestion: { scopeId: SCOPE, caller: principal, question: 'unknown' },
  };
  db.exec('PRAGMA query_only = 1');
  for (const name of identityDirectory.queries)
    expect(() =>
      (methods[name] as (input: unknown) => unknown)(inputs[name] ?? { scopeId: SCOPE }),
    ).not.toThrow();
  expect(() => methods.sessionSecret()).toThrow(/readonly/);
});

test('a seat, a binding, the secret and the order of events outlive a restart', async () => {
  const path = dataDirectory();
  let nowMs = START_MS;
  const open = () =>
    openNodeEngine({
      dataDirectory: path,
      now: () => nowMs,
      onIncident: (error) => expect.fail(String(error)),
    });
  const before = open();
  const first = before.unit(identityDirectory, TENANT_A, { create: true });
  const { principal } = await first.setPendingOwner({ scopeId: SCOPE });
  await first.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
  const secret = await first.sessionSecret();
  await before.close();

  nowMs -= 60_000;
  const after = open();
  onTestFinished(() => after.close());
  const second = after.unit(identityDirectory, TENANT_A);
  expect((await second.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') })).principal).toBe(
    principal,
  );
  expect(await second.setPendingOwner({ scopeId: SCOPE })).toMatchObject({
    state: 'claimed',
    created: false,
  });
  expect(await second.sessionSecret()).toBe(secret);
  await second.putConfig({ scopeId: SCOPE, config: { LATER: '1' } });
  expect((await second.listIdentityEvents({})).items[0]?.type).toBe('config_changed');
  const unknown = after.unit(identityDirectory, TENANT_B);
  expect(await refusal(unknown.needsSetup({ scopeId: SCOPE }))).toMatchObject({ code: 'not_found' });
});

test('the applications of one process that seal alike share one unit', () => {
  const sealing = makeKeyring(['a sealing key that is for tests only']);
  expect(makeIdentityDirectory({ sealing })).toBe(makeIdentityDirectory({ sealing }));
  expect(makeIdentityDirectory({ sealing })).not.toBe(makeIdentityDirectory());
  expect(makeIdentityDirectory()).toBe(identityDirectory);
});

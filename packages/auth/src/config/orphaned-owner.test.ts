/** A delivery that orphans the owner takes effect, with a warning to the operator and an event for the tenant. */
import { describe, expect, test } from 'vitest';
import { ISSUER, OTHER_SCOPE, openPlatform, person, SCOPE, TENANT_A } from '../../test/support.ts';
import { directoryIssuer } from '../accounts/contract.ts';
import type { IssuedSubject } from '../lib/subject.ts';

const ELSEWHERE = 'https://elsewhere.example';
const choiceOf = (issuer: string, clientId = 'notes') => ({
  'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId }),
});

/** An instance that Ada owns and to which Bob belongs. */
async function openOwned(
  owner: IssuedSubject = person('ada'),
  config: Record<string, string> = choiceOf(ISSUER),
) {
  const platform = await openPlatform();
  const { directory } = platform;
  const seat = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.putConfig({ scopeId: SCOPE, config });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: owner });
  const principal = await directory.newPrincipal();
  const terms = { scopeId: SCOPE, principal, role: 'member', createdBy: seat.principal };
  const { token } = await directory.createInvite(terms);
  await directory.claimInvite({ token, subject: person('bob') });
  const deliver = async (patch: Record<string, string | null>, scopeId = SCOPE) =>
    (await directory.putConfig({ scopeId, config: patch })).warnings?.[0] ?? null;
  const orphaned = async () =>
    (await directory.listIdentityEvents({ scopeId: SCOPE })).items.filter(
      ({ type }) => type === 'owner_stranded',
    );
  return { ...platform, owner: seat.principal, deliver, stranded: orphaned };
}

describe('a delivery after which people sign in at another issuer', () => {
  test('takes effect, and answers who is no member now and what to do', async () => {
    const { directory, deliver, owner, stranded: orphaned } = await openOwned();
    const warning = await deliver(choiceOf(ELSEWHERE));
    expect(warning).toEqual({
      code: 'owner_stranded',
      detail: expect.stringMatching(/Invite the new identity first.*mintOwnerRecovery/),
      owner: { principal: owner, name: 'ada' },
      issuer: ISSUER,
      stranded: 2,
      remaining: 0,
    });
    expect(await directory.getConfig({ scopeId: SCOPE })).toEqual(choiceOf(ELSEWHERE));
    expect(await orphaned()).toMatchObject([
      { principal: owner, subject: { issuer: ISSUER, sub: 'ada' }, detail: { stranded: '2' } },
    ]);
  });

  test('is answered the same when it is repeated, and is one event', async () => {
    const { deliver, stranded } = await openOwned();
    const first = await deliver(choiceOf(ELSEWHERE));
    expect(await deliver(choiceOf(ELSEWHERE))).toEqual(first);
    expect(await stranded()).toHaveLength(1);
    expect(await deliver(choiceOf(ISSUER))).toBeNull();
    expect(await stranded()).toHaveLength(1);
  });

  test('counts the members who can sign in as before', async () => {
    const { directory, deliver, owner } = await openOwned();
    const principal = await directory.newPrincipal();
    const { token } = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'owner',
      createdBy: owner,
    });
    await directory.claimInvite({ token, subject: person('ada', { issuer: ELSEWHERE }) });
    expect(await deliver(choiceOf(ELSEWHERE))).toMatchObject({ stranded: 2, remaining: 1 });
  });
});

describe('whether the owner is orphaned', () => {
  const accounts = { ...person('usr_1'), issuer: directoryIssuer(TENANT_A) };
  test.each([
    ['another client of the same issuer', person('ada'), choiceOf(ISSUER), choiceOf(ISSUER, 'other'), false],
    ['a setting that is not about signing in', person('ada'), choiceOf(ISSUER), { COLOR: 'red' }, false],
    ['the issuer with a slash more', person('ada'), choiceOf(ISSUER), choiceOf(`${ISSUER}/`), true],
    ['a choice that cannot be used', person('ada'), choiceOf(ISSUER), { 'platform:auth': '{}' }, true],
    ['no choice any more', person('ada'), choiceOf(ISSUER), { 'platform:auth': null }, true],
    [
      'access tokens of the same issuer',
      person('ada'),
      choiceOf(ISSUER),
      { 'platform:auth': null, AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER },
      false,
    ],
    [
      'access tokens of another',
      person('ada'),
      choiceOf(ISSUER),
      { 'platform:auth': null, AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ELSEWHERE },
      true,
    ],
    ['an issuer in the place of accounts', accounts, {}, choiceOf(ISSUER), true],
    ['accounts, as nothing delivered says', accounts, {}, { AUTH_PROVIDER: 'directory' }, false],
  ])('by %s: %s', async (_, owner, before, patch, expected) => {
    const { deliver } = await openOwned(owner, before);
    expect((await deliver(patch)) !== null).toBe(expected);
  });

  test('is not judged while the instance has no owner, nor for another instance', async () => {
    const { directory, deliver } = await openOwned();
    expect(await deliver(choiceOf(ELSEWHERE), OTHER_SCOPE)).toBeNull();
    await directory.setPendingOwner({ scopeId: OTHER_SCOPE });
    expect(await deliver(choiceOf(ISSUER), OTHER_SCOPE)).toBeNull();
  });
});

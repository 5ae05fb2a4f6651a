/** Whose an issuer, a pool or an organization is: one tenant's at a time, over the whole platform (requirement C-03). */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import type { IdentityRecord } from '../admin-operations.ts';

const ISSUER = 'https://login.example.com';
const ORGANIZATION = { kind: 'organization', issuer: ISSUER, value: 'org_7' };

const add = (platform: Platform, tenant: string, body: Record<string, unknown>, more = {}) =>
  platform.call('identities.add', { params: { tenant }, body, ...more });
const list = async (platform: Platform, tenant: string) =>
  (await platform.value<{ items: IdentityRecord[] }>('identities.list', { params: { tenant } })).items;

test('C-03: an organization is added with one row, listed, and removed with one row', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const { status, value, etag } = await add(platform, tenant, { ...ORGANIZATION, label: 'The head office' });
  const identity = value as IdentityRecord;
  expect([status, etag]).toEqual([201, identity.etag]);
  expect(identity).toEqual({
    id: expect.stringMatching(/^tid_/),
    tenant,
    ...ORGANIZATION,
    label: 'The head office',
    createdAt: '2026-11-21T08:00:00.000Z',
    etag: expect.any(String),
  });
  expect(await list(platform, tenant)).toEqual([identity]);

  const params = { tenant, identity: identity.id };
  expect(await refusal(platform.call('identities.remove', { params, ifMatch: '"0"' }))).toMatchObject({
    status: 412,
  });
  expect(await platform.call('identities.remove', { params, ifMatch: `"${etag}"` })).toMatchObject({
    status: 204,
  });
  expect(await list(platform, tenant)).toEqual([]);
  const fields = { ...ORGANIZATION, label: 'The head office' };
  expect((await platform.adminLog()).slice(1)).toMatchObject([
    { action: 'identities.add', target: { tenant, other: identity.id }, before: null, after: fields },
    { action: 'identities.remove', target: { tenant, other: identity.id }, before: fields, after: null },
  ]);
  expect(await refusal(platform.call('identities.remove', { params }))).toMatchObject({ status: 404 });
});

test('C-03: the same one again answers what is there, without a second row; another label is a conflict', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const first = await add(platform, tenant, ORGANIZATION);
  const again = await add(platform, tenant, ORGANIZATION);
  expect([again.status, again.value]).toEqual([200, first.value]);
  expect(await refusal(add(platform, tenant, { ...ORGANIZATION, label: 'Another' }))).toMatchObject({
    status: 409,
    reason: 'identity_exists',
  });
  expect(await platform.adminLog()).toHaveLength(2);
});

describe('C-03: what belongs to one tenant does not belong to another', () => {
  const whole = { kind: 'issuer', issuer: ISSUER };
  const pool = { kind: 'pool', issuer: ISSUER, value: 'org_7' };
  test.each([
    ['the same organization', ORGANIZATION, ORGANIZATION, true],
    [
      'the same, the issuer written differently',
      ORGANIZATION,
      { ...ORGANIZATION, issuer: `${ISSUER}:443/` },
      true,
    ],
    ['an organization of an issuer that is theirs', whole, ORGANIZATION, true],
    ['the whole issuer of which they have a part', ORGANIZATION, whole, true],
    ['the whole issuer that is theirs', whole, { ...whole, issuer: 'https://LOGIN.example.com' }, true],
    ['another organization', ORGANIZATION, { ...ORGANIZATION, value: 'org_8' }, false],
    ['an organization in other letters', ORGANIZATION, { ...ORGANIZATION, value: 'ORG_7' }, false],
    ['a pool of the same name', ORGANIZATION, pool, false],
    ['the same name at another issuer', ORGANIZATION, { ...ORGANIZATION, issuer: `${ISSUER}/other` }, false],
  ])('%s', async (_, theirs, ours, refused) => {
    const platform = await openPlatform();
    const { id: them } = await platform.tenant('globex');
    const { id: us } = await platform.tenant('acme');
    await add(platform, them, theirs);
    const before = await platform.adminLog();
    if (!refused) return expect(await add(platform, us, ours)).toMatchObject({ status: 201 });
    expect(await refusal(add(platform, us, ours))).toMatchObject({ status: 409, reason: 'identity_taken' });
    expect(await list(platform, us)).toEqual([]);
    expect(await platform.adminLog()).toEqual(before);
  });

  test('staff learn the other tenant, and no other caller does', async () => {
    const platform = await openPlatform();
    const { id: them } = await platform.tenant('globex');
    const { id: us } = await platform.tenant('acme');
    await add(platform, them, ORGANIZATION);
    expect((await refusal(add(platform, us, ORGANIZATION))).message).toContain('globex');
    const { message } = await refusal(add(platform, us, ORGANIZATION, { as: SERVICE }));
    expect(message).not.toContain('globex');
    expect(message).not.toContain(them);
  });

  test('what was removed may be another tenant’s', async () => {
    const platform = await openPlatform();
    const { id: them } = await platform.tenant('globex');
    const { id: us } = await platform.tenant('acme');
    const { value } = await add(platform, them, ORGANIZATION);
    const { id: identity } = value as IdentityRecord;
    // Another tenant's is not there to be removed.
    const params = { tenant: us, identity };
    expect(await refusal(platform.call('identities.remove', { params }))).toMatchObject({ status: 404 });
    await platform.call('identities.remove', { params: { tenant: them, identity } });
    expect(await add(platform, us, ORGANIZATION)).toMatchObject({ status: 201 });
  });
});

test.each([
  [{ kind: 'organization', issuer: ISSUER }, 'value'],
  [{ kind: 'pool', issuer: ISSUER }, 'value'],
  [{ kind: 'issuer', issuer: ISSUER, value: 'org_7' }, 'value'],
  [{ ...ORGANIZATION, value: ' org_7' }, 'value'],
  [{ ...ORGANIZATION, value: 'org\n7' }, 'value'],
  [{ ...ORGANIZATION, issuer: 'http://login.example.com' }, 'issuer'],
  [{ ...ORGANIZATION, kind: 'person' }, 'kind'],
  [{ ...ORGANIZATION, owner: 'me' }, 'owner'],
])('C-03: %j is refused, and nothing is written', async (body, field) => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  expect(await refusal(add(platform, tenant, body))).toMatchObject({
    status: 400,
    message: expect.stringContaining(field),
  });
  expect(await platform.adminLog()).toHaveLength(1);
});

test('C-03: a tenant that is not there has no identities, and no empty list of them', async () => {
  const platform = await openPlatform();
  const tenant = 'tnt_01jd0000000000000000000009';
  for (const call of [list(platform, tenant), add(platform, tenant, ORGANIZATION)])
    expect(await refusal(call)).toMatchObject({ status: 404, reason: 'unknown_tenant' });
});

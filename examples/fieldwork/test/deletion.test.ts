/** An instance that the platform deletes: who signed in there, and what was delivered, goes with it, and nothing else. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeIssuer, makeFakeIssuer } from '../../../packages/auth/test/fake-issuer.ts';
import { type Fixture, type Instance, joinTeam, openFixture, START_MS, type Visitor } from './fixture.ts';

const SECRET = 'delivered-and-secret';

let issuer: FakeIssuer;
let fixture: Fixture;
let yard: Instance;
beforeEach(async () => {
  issuer = await makeFakeIssuer({
    get nowMs() {
      return fixture?.clock.nowMs ?? START_MS;
    },
  });
  fixture = await openFixture({ fetch: issuer.fetch });
  yard = { ...fixture.pipes, scope: fixture.pipes.scope.replace(/1$/, '7') as Instance['scope'] };
  await fixture.provision(yard, 'The yard', { ...fixture.choice, OIDC_CLIENT_SECRET: SECRET });
});
afterEach(() => fixture[Symbol.asyncDispose]());

const refOf = ({ tenant, scope }: Instance) => ({ tenantId: tenant, scopeId: scope });
const deleteScope = (at: Instance) => fixture.platform('POST', '/internal/delete-scope', refOf(at));

/** Signs a person in through the issuer. */
async function signIn(at: Instance, sub: string): Promise<Visitor> {
  issuer.claims = { sub, name: sub, email: `${sub}@example.org`, email_verified: true };
  const away = await fixture.visitor(at).request('GET', '/api/auth/login');
  const back = new URL(issuer.authorize(away.headers.get('location') ?? ''));
  const landed = await fixture.visitor(at, cookiesOf(away)).request('GET', back.pathname + back.search);
  return fixture.visitor(at, cookiesOf(landed));
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
}

/** The whole contents of the tenant's identity directory, as text. */
async function stored(at: Instance): Promise<string> {
  const tools = fixture.engine.tools(fixture.fieldwork.units.identity, at.tenant);
  const read = (sql: string) =>
    tools.inspect({ sql, params: [], rowsMax: 1_000, bytesMax: 1_000_000, timeMs: 1_000 });
  const tables = (await read(`SELECT name FROM sqlite_schema WHERE type = 'table'`)).rows.flat();
  const rows = await Promise.all(tables.map(async (name) => (await read(`SELECT * FROM ${name}`)).rows));
  return JSON.stringify(rows);
}

/** An owner, a member of both instances, an invited person, and a non-member who looked in. */
async function moveIn(): Promise<{ readonly owner: Visitor; readonly link: string }> {
  const owner = await signIn(yard, 'ada');
  await owner.get('/api/me');
  await joinTeam(fixture, owner, yard, 'bob', 'technician');
  const foreman = await signIn(fixture.pipes, 'grace');
  await foreman.get('/api/me');
  await joinTeam(fixture, foreman, fixture.pipes, 'bob', 'technician');
  await (await signIn(yard, 'mallory')).get('/api/me');
  const { url } = await owner.post<{ url: string }>('/api/invites', {
    role: 'technician',
    email: 'kim@example.org',
  });
  return { owner, link: new URL(url).searchParams.get('invite') ?? '' };
}

test('C-04, D-03: nothing in the identity directory of the tenant names it, or people that only it knew', async () => {
  const { owner, link } = await moveIn();
  const names = [yard.scope, SECRET, 'ada@example.org', 'mallory', 'kim@example.org'];
  const before = await stored(yard);
  for (const each of names) expect(before).toContain(each);

  const response = await deleteScope(yard);
  expect([response.status, await response.json()]).toEqual([200, { scopeId: yard.scope }]);
  const after = await stored(yard);
  for (const each of names) expect(after).not.toContain(each);

  // The neighbour of the same tenant goes on, with the member whom both knew.
  for (const each of [fixture.pipes.scope, 'grace@example.org', 'bob@example.org'])
    expect(after).toContain(each);
  const bob = await fixture.signedIn(fixture.pipes, 'bob');
  expect(await bob.get('/api/me')).toMatchObject({ status: 'member' });
  // A router that still leads there finds no member, and an earlier invite opens nothing anywhere.
  expect((await owner.request('GET', '/api/orders')).status).not.toBe(200);
  expect(await bob.refused('POST', '/api/accept-invite', { token: link })).toMatchObject({
    reason: 'invite_invalid',
  });
  expect(fixture.incidents).toEqual([]);
});

test('a cookie of it is good for nothing, also where it is provisioned again', async () => {
  const { owner } = await moveIn();
  await deleteScope(yard);
  await fixture.provision(yard, 'The yard', fixture.choice);
  expect(await owner.get('/api/me')).toMatchObject({ status: 'signed_out' });
  const newcomer = await signIn(yard, 'zoe');
  expect(await newcomer.get('/api/me')).toMatchObject({ status: 'member' });
});

test('what was forgotten before the scope could be deleted stays so, and asking again deletes the rest', async () => {
  await moveIn();
  const tools = fixture.engine.tools.bind(fixture.engine);
  const removing = vi.spyOn(fixture.engine, 'tools').mockImplementation((unit, key) => ({
    ...tools(unit, key),
    remove: () => Promise.reject(new Error('the disk is away')),
  }));
  expect((await deleteScope(yard)).status).toBe(500);
  removing.mockRestore();
  expect(await stored(yard)).not.toContain(yard.scope);
  expect((await deleteScope(yard)).status).toBe(200);
  expect(await stored(yard)).not.toContain(yard.scope);
  // It is gone now, which the platform takes for an answer.
  const again = await deleteScope(yard);
  expect([again.status, await again.json()]).toMatchObject([404, { reason: 'unknown_scope' }]);
  expect(fixture.incidents).toHaveLength(1);
});

test('a scope whose identity could not be forgotten is not deleted', async () => {
  await moveIn();
  const unit = fixture.engine.unit.bind(fixture.engine);
  const forgetting = vi.spyOn(fixture.engine, 'unit').mockImplementation((definition, key, options) => {
    if (definition.kind === 'identity') throw new Error('the disk is away');
    return unit(definition, key, options);
  });
  expect((await deleteScope(yard)).status).toBe(500);
  forgetting.mockRestore();
  expect(await stored(yard)).toContain(yard.scope);
  expect(await fixture.fieldwork.host.scope(yard.scope).identify({})).toMatchObject({
    tenantId: yard.tenant,
  });
  expect((await deleteScope(yard)).status).toBe(200);
  expect(await stored(yard)).not.toContain(yard.scope);
});

test('A-22: another tenant cannot have it forgotten', async () => {
  await moveIn();
  const before = await stored(yard);
  const foreign = await deleteScope({ ...yard, tenant: fixture.sparks.tenant });
  expect(foreign.status).toBe(404);
  expect(await stored(yard)).toBe(before);
});

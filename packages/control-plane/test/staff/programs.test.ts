/** Programs of the roster that bring a registration or a document: let in with what they may do, refreshed, ended. */
import { describe, expect, test } from 'vitest';
import {
  CHALLENGE,
  type Fixture,
  ORIGIN,
  openFixture,
  ownPage,
  signedIn,
  tokenOf,
  VERIFIER,
} from './fixture.ts';

const LOOPBACK = 'http://127.0.0.1/callback';
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const asked = (login: string) => ({ headers: { cookie: `who=${login}` } });

async function register(
  fixture: Fixture,
  more: object = {},
): Promise<{ client_id: string; client_secret?: string }> {
  const response = await fixture.ask('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Desktop',
      redirect_uris: [LOOPBACK],
      token_endpoint_auth_method: 'none',
      ...more,
    }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as { client_id: string };
}

const query = (client_id: string, more: Record<string, string> = {}) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: 'http://127.0.0.1:4711/callback',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 's',
    resource: `${ORIGIN}/mcp`,
    ...more,
  })}`;

const ticketOf = (page: string) => /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';

async function question(
  fixture: Fixture,
  login: string,
  clientId: string,
  more: Record<string, string> = {},
) {
  const response = await fixture.ask(query(clientId, more), asked(login));
  return { response, page: await response.text() };
}

interface Answered {
  readonly access?: string;
  readonly permission?: string;
  readonly answer?: string;
}

function decide(fixture: Fixture, login: string, ticket: string, fields: Answered = {}) {
  return fixture.post('/oauth/consent', { ticket, answer: 'yes', access: 'all', ...fields }, ownPage(login));
}

const locationOf = (response: Response) => new URL(response.headers.get('location') ?? '', ORIGIN);

interface Granted {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly error?: string;
}

async function tokens(fixture: Fixture, form: Record<string, string>): Promise<Granted> {
  return (await (await fixture.post('/oauth/token', form)).json()) as Granted;
}

const redeem = (fixture: Fixture, client_id: string, code: string) =>
  tokens(fixture, { grant_type: 'authorization_code', client_id, code, code_verifier: VERIFIER });
const refresh = (fixture: Fixture, client_id: string, refresh_token: string) =>
  tokens(fixture, { grant_type: 'refresh_token', client_id, refresh_token });

async function letIn(fixture: Fixture, login: string, fields: Answered = {}) {
  const { client_id: clientId } = await register(fixture);
  const { page } = await question(fixture, login, clientId);
  const code =
    locationOf(await decide(fixture, login, ticketOf(page), fields)).searchParams.get('code') ?? '';
  return { clientId, code, ...(await redeem(fixture, clientId, code)) };
}

const whoIs = async (fixture: Fixture, token: string) =>
  (await fixture.ask('/auth/me', bearer(token))).status;
const create = (fixture: Fixture, token: string, slug: string) =>
  fixture.ask('/tenants', {
    method: 'POST',
    headers: { ...bearer(token).headers, 'content-type': 'application/json' },
    body: JSON.stringify({ slug, name: slug }),
  });
const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;

async function withAda(role: 'admin' | 'operator' | 'auditor' = 'operator') {
  const fixture = await openFixture();
  return { fixture, ada: await signedIn(fixture, 'ada', role) };
}

describe('a program with a registration', () => {
  test('asks by name and host, is let in for an hour, and is renewed', async () => {
    const { fixture, ada } = await withAda();
    const { client_id: clientId } = await register(fixture);
    const { response, page } = await question(fixture, 'ada', clientId);
    expect(page).toContain('Let Desktop in?');
    expect(page).toContain('<code>127.0.0.1</code>');
    expect(page).toContain('ada, operator');
    expect(page).toMatch(/value="read" checked/);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:4711");

    const answer = await decide(fixture, 'ada', ticketOf(page));
    const location = locationOf(answer);
    expect(location.origin).toBe('http://127.0.0.1:4711');
    expect([location.searchParams.get('iss'), location.searchParams.get('state')]).toEqual([ORIGIN, 's']);
    const granted = await redeem(fixture, clientId, location.searchParams.get('code') ?? '');
    expect(granted).toMatchObject({ expires_in: 3_600, scope: 'all' });
    expect(await (await fixture.ask('/auth/me', bearer(granted.access_token))).json()).toMatchObject({
      id: ada.id,
      role: 'operator',
    });
    fixture.clock.ms += 3_600_000;
    expect(await whoIs(fixture, granted.access_token)).toBe(401);
    const renewed = await refresh(fixture, clientId, granted.refresh_token);
    expect(await whoIs(fixture, renewed.access_token)).toBe(200);
    expect(renewed.refresh_token).not.toBe(granted.refresh_token);
  });

  test('whose refresh token is used twice loses everything, and the log says so', async () => {
    const { fixture } = await withAda();
    const { clientId, refresh_token } = await letIn(fixture, 'ada');
    const renewed = await refresh(fixture, clientId, refresh_token);
    expect((await refresh(fixture, clientId, refresh_token)).error).toBe('invalid_grant');
    expect(await whoIs(fixture, renewed.access_token)).toBe(401);
    expect((await refresh(fixture, clientId, renewed.refresh_token)).error).toBe('invalid_grant');
    expect((await fixture.adminLog()).at(-1)).toMatchObject({
      action: 'staff-programs.end',
      before: { program: 'Desktop' },
      after: { reason: 'token_reused' },
    });
  });

  test('whose code is used twice, or by a program without the verifier, has none', async () => {
    const { fixture } = await withAda();
    const { clientId, code, access_token } = await letIn(fixture, 'ada');
    expect((await redeem(fixture, clientId, code)).error).toBe('invalid_grant');
    expect(await whoIs(fixture, access_token)).toBe(401);
    const { client_id } = await register(fixture);
    const { page } = await question(fixture, 'ada', client_id);
    const stolen = locationOf(await decide(fixture, 'ada', ticketOf(page))).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', client_id, code: stolen, code_verifier: 'x'.repeat(43) };
    expect((await tokens(fixture, form)).error).toBe('invalid_grant');
    expect((await redeem(fixture, client_id, stolen)).error).toBe('invalid_grant');
  });

  test('revokes its refresh token, and with it the grant (RFC 7009)', async () => {
    const { fixture } = await withAda();
    const { clientId, refresh_token: token, access_token } = await letIn(fixture, 'ada');
    const other = await letIn(fixture, 'ada');
    expect((await fixture.post('/oauth/revoke', { client_id: other.clientId, token })).status).toBe(200);
    expect(await whoIs(fixture, access_token)).toBe(200);
    expect((await fixture.post('/oauth/revoke', { client_id: clientId, token })).status).toBe(200);
    expect(await whoIs(fixture, access_token)).toBe(401);
    expect(await whoIs(fixture, other.access_token)).toBe(200);
  });

  test('with a secret proves itself by it', async () => {
    const { fixture } = await withAda();
    const client = await register(fixture, { token_endpoint_auth_method: 'client_secret_basic' });
    const { page } = await question(fixture, 'ada', client.client_id);
    const code = locationOf(await decide(fixture, 'ada', ticketOf(page))).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER };
    expect((await tokens(fixture, { ...form, client_id: client.client_id })).error).toBe('invalid_client');
    const authorization = `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`;
    expect((await fixture.post('/oauth/token', form, { authorization })).status).toBe(200);
  });

  test('asks again after the member signed in, with a request that is too long for an address', async () => {
    const { fixture } = await withAda();
    const { client_id } = await register(fixture, { client_name: 'x'.repeat(80) });
    const anonymous = await fixture.ask(query(client_id, { state: 's'.repeat(600) }));
    const location = locationOf(anonymous);
    expect(location.pathname).toBe('/api/auth/login');
    const back = location.searchParams.get('returnTo') ?? '';
    expect(back.length).toBeLessThan(100);
    const cookie = anonymous.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await fixture.ask(back, { headers: { cookie: `${cookie}; who=ada` } });
    expect(await page.text()).toContain('x'.repeat(80));
    const forged = cookie.replace(/=.*/, '=A');
    for (const sent of ['who=ada', `${forged}; who=ada`])
      expect((await fixture.ask(back, { headers: { cookie: sent } })).status).toBe(400);
  });

  test('is no page of another origin: none may read what the endpoints answer', async () => {
    const { fixture } = await withAda();
    const init = { method: 'POST', headers: { origin: 'https://page.example' } };
    for (const path of ['/oauth/register', '/oauth/token', '/oauth/revoke']) {
      const body = new URLSearchParams({ client_id: 'fh_client_Zm9yZ2Vk', token: 't' });
      const { headers } = await fixture.ask(path, { ...init, body });
      expect([path, headers.get('access-control-allow-origin')]).toEqual([path, null]);
    }
  });

  test.each([
    ['a registration of another server', { client_id: 'fh_client_Zm9yZ2Vk' }],
    ['another address', { redirect_uri: 'https://evil.example/callback' }],
  ])('%s answers a page, and redirects no browser', async (_, more) => {
    const { fixture } = await withAda();
    const { client_id } = await register(fixture);
    const { response } = await question(fixture, 'ada', client_id, more);
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
  });

  test('for another resource is refused', async () => {
    const { fixture } = await withAda();
    const { client_id } = await register(fixture);
    const { response } = await question(fixture, 'ada', client_id, { resource: 'https://other.example/mcp' });
    expect(locationOf(response).searchParams.get('error')).toBe('invalid_target');
  });
});

describe('a program with a document', () => {
  test('is known by the host that wrote it', async () => {
    const id = 'https://agent.example/client.json';
    const fixture = await openFixture({
      fetchDocument: async () =>
        Response.json({ client_id: id, client_name: 'Agent', redirect_uris: ['https://agent.example/back'] }),
    });
    await signedIn(fixture, 'ada', 'admin');
    const { page } = await question(fixture, 'ada', id, { redirect_uri: 'https://agent.example/back' });
    expect(page).toContain('<code>agent.example</code> (this host has been checked)');
    const location = locationOf(await decide(fixture, 'ada', ticketOf(page)));
    expect(location.host).toBe('agent.example');
    const code = location.searchParams.get('code') ?? '';
    expect(await redeem(fixture, id, code)).toMatchObject({ scope: 'all' });
  });
});

describe('the rule of the admins', () => {
  const put = (fixture: Fixture, body: object) =>
    fixture.ask('/program-policy', {
      method: 'PUT',
      headers: { ...ownPage('ada'), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const known = (fixture: Fixture) =>
    fixture.ask(query('freehold-cli', { redirect_uri: 'http://127.0.0.1:4711/callback' }), asked('ada'));

  test('asks no member about a program that it does not admit, and tells the program', async () => {
    const { fixture } = await withAda('admin');
    const { client_id } = await register(fixture);
    const { page: before } = await question(fixture, 'ada', client_id);
    expect((await put(fixture, { programs: 'listed', hosts: ['agent.example'] })).status).toBe(200);
    const { response, page } = await question(fixture, 'ada', client_id);
    expect([response.status, ticketOf(page)]).toEqual([403, '']);
    expect(page).toContain('Desktop (127.0.0.1)');
    expect(page).toContain('error=access_denied');
    // A question that was asked before is answered in vain.
    const late = await decide(fixture, 'ada', ticketOf(before));
    expect([late.status, await reasonOf(late)]).toEqual([403, 'program_not_admitted']);
    expect(locationOf(await known(fixture)).searchParams.get('error')).toBe('access_denied');
    const device = await fixture.post('/device', { user_code: 'BCDF-GHJK' }, ownPage('ada'));
    expect(device.status).toBe(403);
    await put(fixture, { programs: 'listed', hosts: ['127.0.0.1'] });
    expect((await known(fixture)).status).toBe(200);
    expect((await letIn(fixture, 'ada')).scope).toBe('all');
  });
});

describe('the rule of the admins, on the page', () => {
  const pageOf = async (fixture: Fixture, login: string) =>
    (await fixture.ask('/oauth/programs', asked(login))).text();
  const send = (fixture: Fixture, fields: Record<string, string>, login = 'ada') =>
    fixture.post('/oauth/programs', fields, ownPage(login));

  test('says what would end before it is set', async () => {
    const { fixture } = await withAda('admin');
    const program = await letIn(fixture, 'ada');
    const token = await tokenOf(fixture, 'ada');
    const page = await pageOf(fixture, 'ada');
    expect(page).toMatch(/value="any" checked/);
    const chosen = { version: '0', programs: 'listed', hosts: 'Claude.ai\n\nagent.example' };
    const plan = await (await send(fixture, { ...chosen, rule: 'look' })).text();
    expect(plan).toContain('claude.ai, agent.example');
    expect(plan).toMatch(/Programs that end at once<\/dt><dd>1</);
    expect(plan).toMatch(/Staff tokens that end at once<\/dt><dd>1</);
    for (const each of [program.access_token, token]) expect(await whoIs(fixture, each)).toBe(200);
    const fields = [...plan.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, ...field]) => field);
    const set = await send(fixture, Object.fromEntries(fields));
    expect([set.status, set.headers.get('location')]).toEqual([303, '/oauth/programs']);
    for (const each of [program.access_token, token]) expect(await whoIs(fixture, each)).toBe(401);
    expect(await pageOf(fixture, 'ada')).toMatch(
      /value="listed" checked[\s\S]*claude\.ai\nagent\.example<\/textarea>/,
    );
    expect((await fixture.adminLog()).at(-1)).toMatchObject({
      action: 'program-policy.put',
      actor: { name: 'ada' },
      after: { programs: 'listed', hosts: ['claude.ai', 'agent.example'] },
    });
    // Another admin set it meanwhile.
    const late = await send(fixture, { ...chosen, rule: 'set' });
    expect([late.status, await late.text()]).toEqual([412, expect.stringContaining('was changed meanwhile')]);
  });

  test.each([
    ['hosts that are none', { programs: 'listed', hosts: 'https://claude.ai/' }, 400],
    ['no rule', { programs: 'some' }, 400],
  ])('of %s is refused in words', async (_title, fields, status) => {
    const { fixture } = await withAda('admin');
    const refused = await send(fixture, { rule: 'set', version: '0', ...fields });
    expect([refused.status, await refused.text()]).toEqual([status, expect.stringContaining('role="alert"')]);
  });

  test('is neither shown to other members nor set by them, nor by another site', async () => {
    const { fixture } = await withAda('operator');
    expect(await pageOf(fixture, 'ada')).not.toContain('Which programs are let in');
    const rule = { rule: 'set', version: '0', programs: 'none' };
    expect((await send(fixture, rule)).status).toBe(403);
    await signedIn(fixture, 'eve', 'admin');
    const elsewhere = { cookie: 'who=eve', 'sec-fetch-site': 'cross-site' };
    expect((await fixture.post('/oauth/programs', rule, elsewhere)).status).toBe(403);
    expect(await pageOf(fixture, 'eve')).toMatch(/value="any" checked/);
  });
});

describe('the consent', () => {
  test('cannot be forged: another page, another member, a made-up ticket, a ticket of ten minutes ago', async () => {
    const { fixture } = await withAda();
    await signedIn(fixture, 'bob', 'admin');
    const { client_id } = await register(fixture);
    const { page } = await question(fixture, 'ada', client_id);
    const ticket = ticketOf(page);
    const elsewhere = { cookie: 'who=ada', 'sec-fetch-site': 'cross-site' };
    expect(
      (await fixture.post('/oauth/consent', { ticket, answer: 'yes', access: 'all' }, elsewhere)).status,
    ).toBe(403);
    expect((await decide(fixture, 'bob', ticket)).status).toBe(400);
    expect((await decide(fixture, 'ada', 'bWFkZS11cA')).status).toBe(400);
    fixture.clock.ms += 600_000;
    expect((await decide(fixture, 'ada', ticket)).status).toBe(400);
  });

  test('asks again for a choice, and tells a no to the program', async () => {
    const { fixture } = await withAda();
    const { client_id } = await register(fixture);
    const ticket = ticketOf((await question(fixture, 'ada', client_id)).page);
    for (const fields of [{ access: '' }, { access: 'some' }, { access: 'some', permission: 'administer' }])
      expect((await decide(fixture, 'ada', ticket, fields)).status).toBe(422);
    const no = locationOf(await decide(fixture, 'ada', ticket, { answer: 'no' }));
    expect([no.searchParams.get('error'), no.searchParams.has('code')]).toEqual(['access_denied', false]);
  });
});

describe('spec 5.5: a program may do no more than it was let in for, and no more than its member', () => {
  test('reading only reads', async () => {
    const { fixture } = await withAda('admin');
    const { access_token } = await letIn(fixture, 'ada', { access: 'read' });
    expect((await fixture.ask('/tenants', bearer(access_token))).status).toBe(200);
    const refused = await create(fixture, access_token, 'acme');
    expect(refused.status).toBe(403);
    const problem = (await refused.json()) as { reason: string; detail: string };
    expect(problem.reason).toBe('program_not_allowed');
    expect(problem.detail).toContain('Desktop');
    // To give up a right is no reading.
    const own = await fixture.ask('/staff-tokens/tok_01arz3ndektsv4rrffq69g5fav', {
      method: 'DELETE',
      ...bearer(access_token),
    });
    expect(await reasonOf(own)).toBe('program_not_allowed');
  });

  test('operate changes tenants, but neither the roster nor tokens', async () => {
    const { fixture } = await withAda('admin');
    const { access_token } = await letIn(fixture, 'ada', { access: 'some', permission: 'operate' });
    const made = await create(fixture, access_token, 'acme');
    expect(made.status).toBe(201);
    const { id: tenant } = (await made.json()) as { id: string };
    const send = (method: string, path: string, body: object) =>
      fixture.ask(path, {
        method,
        headers: { ...bearer(access_token).headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const staff = await send('PUT', '/staff', { email: 'eve@example.test', name: 'Eve', role: 'admin' });
    expect(await reasonOf(staff)).toBe('program_not_allowed');
    const token = await send('POST', '/push-tokens', { name: 'ci', tenant, kind: 'deploy' });
    expect(await reasonOf(token)).toBe('program_not_allowed');
  });

  test('the log names the program, and its page shows when and from where it was used', async () => {
    const { fixture } = await withAda();
    const { access_token } = await letIn(fixture, 'ada');
    await create(fixture, access_token, 'acme');
    expect((await fixture.adminLog()).at(-1)).toMatchObject({
      action: 'tenants.create',
      actor: { kind: 'staff', name: 'ada, through Desktop' },
      token: expect.stringMatching(/^grt_/),
    });
    const page = await (await fixture.ask('/oauth/programs', asked('ada'))).text();
    expect(page).toContain('<h3>Desktop</h3>');
    expect(page).toContain('2026-11-21 08:00 UTC');
  });

  test('a lesser role ends it, and so does removal from the roster', async () => {
    const { fixture, ada } = await withAda('admin');
    await signedIn(fixture, 'bob', 'admin');
    const first = await letIn(fixture, 'ada');
    await fixture.invite('ada', 'operator');
    expect(await whoIs(fixture, first.access_token)).toBe(401);
    expect((await refresh(fixture, first.clientId, first.refresh_token)).error).toBe('invalid_grant');
    const second = await letIn(fixture, 'ada');
    await fixture.invite('ada', 'admin');
    expect(await whoIs(fixture, second.access_token)).toBe(200);
    await fixture.ask(`/staff/${ada.id}`, { method: 'DELETE', ...bearer(fixture.secret) });
    expect(await whoIs(fixture, second.access_token)).toBe(401);
    await signedIn(fixture, 'ada', 'admin');
    expect(await whoIs(fixture, second.access_token)).toBe(401);
    const ends = (await fixture.adminLog()).filter(({ before }) => Array.isArray(before?.programs));
    expect(ends.map(({ action }) => action)).toEqual(['staff.put', 'staff.remove']);
  });

  test('signing out everywhere ends it, here and at the issuer, and signing out of one session does not', async () => {
    const { fixture } = await withAda();
    const first = await letIn(fixture, 'ada');
    const issuer = { issuer: 'https://id.example.test', subject: 'ada' };
    await fixture.hostAdmin.staff.endSessions({ ...issuer, issuerSid: 'another' });
    expect(await whoIs(fixture, first.access_token)).toBe(200);
    await fixture.hostAdmin.staff.endSessions(issuer);
    expect(await whoIs(fixture, first.access_token)).toBe(401);
    await signedIn(fixture, 'ada', 'operator');
    const second = await letIn(fixture, 'ada');
    const old = await tokenOf(fixture, 'ada');
    expect((await fixture.post('/oauth/programs', { everywhere: 'yes' }, ownPage('ada'))).status).toBe(303);
    for (const token of [second.access_token, old]) expect(await whoIs(fixture, token)).toBe(401);
    expect((await fixture.ask('/auth/me', asked('ada'))).status).toBe(401);
    expect((await fixture.adminLog()).at(-1)).toMatchObject({ action: 'staff.sign-out-everywhere' });
  });

  test('a member ends their own, and an admin anybody’s', async () => {
    const { fixture } = await withAda('operator');
    await signedIn(fixture, 'bob', 'operator');
    await signedIn(fixture, 'eve', 'admin');
    const { access_token } = await letIn(fixture, 'ada');
    const staffToken = await tokenOf(fixture, 'ada');
    const programs = await fixture.hostAdmin.staff.programs.list({
      member: ((await (await fixture.ask('/auth/me', asked('ada'))).json()) as { id: string }).id,
    });
    expect(programs.map(({ kind }) => kind)).toEqual(['program', 'token']);
    const end = (login: string, program: string, headers = ownPage(login)) =>
      fixture.post('/oauth/programs', { program }, headers);
    for (const { id } of programs) expect((await end('bob', id)).status).toBe(404);
    expect(await (await fixture.ask('/oauth/programs', asked('bob'))).text()).not.toContain('Desktop');
    const elsewhere = { cookie: 'who=ada', 'sec-fetch-site': 'cross-site' };
    expect((await end('ada', programs[0]?.id ?? '', elsewhere)).status).toBe(403);
    expect(await whoIs(fixture, access_token)).toBe(200);
    const all = await (await fixture.ask('/oauth/programs', asked('eve'))).text();
    expect(all).toContain('Those of others');
    expect((await end('eve', programs[0]?.id ?? '')).status).toBe(303);
    expect((await end('ada', programs[1]?.id ?? '')).status).toBe(303);
    for (const token of [access_token, staffToken]) expect(await whoIs(fixture, token)).toBe(401);
    expect((await fixture.adminLog()).slice(-2)).toMatchObject([
      { action: 'staff-programs.end', actor: { name: 'eve' } },
      { action: 'staff-tokens.revoke', actor: { name: 'ada' } },
    ]);
  });
});

test('a builder’s program deploys, for their tenant, and changes nothing else', async () => {
  const fixture = await openFixture();
  const { id } = await fixture.tenant('acme');
  await signedIn(fixture, 'bob', 'builder', id);
  const { access_token } = await letIn(fixture, 'bob', { access: 'some', permission: 'deploy' });
  expect((await fixture.ask(`/tenants/${id}`, bearer(access_token))).status).toBe(200);
  const identity = await fixture.ask(`/tenants/${id}/scopes`, {
    method: 'POST',
    headers: { ...bearer(access_token).headers, 'content-type': 'application/json' },
    body: JSON.stringify({ vertical: 'fieldwork', slug: 'main', name: 'Main' }),
  });
  expect(await reasonOf(identity)).toBe('program_not_allowed');
});

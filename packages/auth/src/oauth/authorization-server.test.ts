/** The authorization server without a browser: what a program gets, and what an attacker does not. */
import { describe, expect, test } from 'vitest';
import {
  addMember,
  answer,
  callerWith,
  consent,
  LOOPBACK,
  ORIGIN,
  openServer,
  post,
  query,
  RESOURCE,
  redeem,
  refresh,
  register,
  SECRET,
  serverOver,
  signedIn,
  VERIFIER,
  WEB,
} from '../../test/programs.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, OTHER_SCOPE, person, refusal, SCOPE } from '../../test/support.ts';
import { RefusedAuthorization } from './authorization-server.ts';

/** The rest of a policy. */
const PLAIN = { callsPerMinute: null, mails: true };

const NEVER_ISSUED = `fh_refresh_${'0'.repeat(49)}`;

describe('a program', () => {
  test('finds out what the server takes, registers, is let in, calls, and refreshes', async () => {
    const open = await openServer();
    const { server, directory, clock, principal } = open;
    const metadata = await answer(server, new Request(`${ORIGIN}/.well-known/oauth-authorization-server`));
    expect(metadata.body).toMatchObject({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/oauth/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      registration_endpoint: `${ORIGIN}/oauth/register`,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });

    const { client_id: clientId } = await register(server);
    const request = await server.readRequest(query(clientId, { resource: RESOURCE }));
    expect(request).toMatchObject({ client: { name: 'Desktop' }, host: '127.0.0.1' });
    const location = new URL(await server.letIn(request, open.ada, { access: 'read' }));
    expect(location.origin).toBe('http://127.0.0.1:4711');
    expect(location.searchParams.get('state')).toBe('a state');
    // RFC 9207: a client of several servers knows whose answer this is.
    expect(location.searchParams.get('iss')).toBe(ORIGIN);

    const first = await redeem(server, clientId, location.searchParams.get('code') ?? '', {
      redirect_uri: 'http://127.0.0.1:4711/callback',
      resource: RESOURCE,
    });
    expect(first).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3_600, scope: 'read' },
    });
    expect(await callerWith(directory, String(first.body.access_token))).toEqual({
      sub: 'ada',
      principal,
      grant: { id: expect.stringMatching(/^grt_/), name: 'Desktop', access: 'read' },
    });

    clock.nowMs += HOUR_MS;
    expect(await callerWith(directory, String(first.body.access_token))).toBeNull();
    const second = await refresh(server, clientId, String(first.body.refresh_token));
    expect(second.status).toBe(200);
    expect(await callerWith(directory, String(second.body.access_token))).not.toBeNull();
  });

  test.each(['client_secret_post', 'client_secret_basic'] as const)(
    'that registered for %s proves itself by its secret, in the form or in the header',
    async (method) => {
      const open = await openServer();
      const { server } = open;
      const { client_id: id, client_secret: secret = '' } = await register(server, {
        token_endpoint_auth_method: method,
      });
      const code = await consent(open, id);
      const parameters = { grant_type: 'authorization_code', code, code_verifier: VERIFIER };
      const withoutSecret = await answer(server, post('/oauth/token', { ...parameters, client_id: id }));
      expect(withoutSecret).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
      const wrong = await answer(
        server,
        post('/oauth/token', { ...parameters, client_id: id, client_secret: `${secret}x` }),
      );
      expect(wrong.status).toBe(401);
      const inForm = await answer(
        server,
        post('/oauth/token', { ...parameters, client_id: id, client_secret: secret }),
      );
      expect(inForm.status).toBe(200);
      const basic = btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`);
      const inHeader = await answer(
        server,
        post(
          '/oauth/token',
          { grant_type: 'refresh_token', refresh_token: String(inForm.body.refresh_token) },
          { authorization: `Basic ${basic}` },
        ),
      );
      expect(inHeader.status).toBe(200);
    },
  );

  test('that registers twice may use either registration', async () => {
    const open = await openServer();
    const [first, second] = [await register(open.server), await register(open.server)];
    expect(first.client_id).not.toBe(second.client_id);
    for (const { client_id: id } of [second, first])
      expect((await redeem(open.server, id, await consent(open, id))).status).toBe(200);
  });
});

describe('a code', () => {
  test('is redeemed once: the second use ends what the first began', async () => {
    const open = await openServer();
    const { server, directory } = open;
    const { client_id: id } = await register(server);
    const code = await consent(open, id);
    const first = await redeem(server, id, code);
    expect(await redeem(server, id, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await callerWith(directory, String(first.body.access_token))).toBeNull();
    expect((await refresh(server, id, String(first.body.refresh_token))).status).toBe(400);
    const { items } = await directory.listIdentityEvents({ scopeId: SCOPE });
    expect(items[0]).toMatchObject({ type: 'program_ended', detail: { reason: 'token_reused' } });
  });

  test('that was injected into another client, or redeemed without its verifier, opens nothing', async () => {
    const open = await openServer();
    const { server } = open;
    const [victim, thief] = [await register(server), await register(server, { client_name: 'Thief' })];
    const code = await consent(open, victim.client_id);
    // The thief is a known client, too.
    await consent(open, thief.client_id);
    expect((await redeem(server, thief.client_id, code)).body).toMatchObject({ error: 'invalid_grant' });
    const guessed = await redeem(server, victim.client_id, code, { code_verifier: 'x'.repeat(43) });
    expect(guessed.body).toMatchObject({ error: 'invalid_grant' });
    // It has been in wrong hands, so that its own client gets nothing for it any more.
    expect((await redeem(server, victim.client_id, code)).body).toMatchObject({ error: 'invalid_grant' });
  });

  test('is bound to its redirect URI, and over after two minutes', async () => {
    const open = await openServer();
    const { server, clock } = open;
    const { client_id: id } = await register(server, { redirect_uris: [LOOPBACK, WEB] });
    const other = await redeem(server, id, await consent(open, id), { redirect_uri: WEB });
    expect(other.body).toMatchObject({ error: 'invalid_grant' });
    const late = await consent(open, id);
    clock.nowMs += 2 * MINUTE_MS;
    expect((await redeem(server, id, late)).body).toMatchObject({ error: 'invalid_grant' });
  });
});

describe('an authorization request', () => {
  const downgrades = [
    ['no challenge', { code_challenge: undefined }],
    ['no method, which means plain', { code_challenge_method: undefined }],
    ['the method plain', { code_challenge_method: 'plain' }],
    ['a challenge that is no hash', { code_challenge: 'short' }],
    ['the implicit flow', { response_type: 'token' }],
    ['an answer in the fragment', { response_mode: 'fragment' }],
    ['a request object', { request: 'eyJ' }],
    ['the resource of another instance', { resource: 'https://other.example/api/mcp' }],
  ] as const;
  test.each(downgrades)('with %s goes back to the program with an error', async (_, more) => {
    const { server } = await openServer();
    const { client_id: id } = await register(server);
    const refused = await server.readRequest(query(id, more)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RefusedAuthorization);
    const { searchParams } = new URL((refused as RefusedAuthorization).location);
    expect(searchParams.get('error')).toMatch(/^(invalid_request|unsupported_response_type|invalid_target)$/);
    expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['a state', ORIGIN]);
    expect(searchParams.has('code')).toBe(false);
  });

  const redirects = [
    'https://evil.example/callback',
    'https://agent.example.evil.example/callback',
    'https://agent.example@evil.example/callback',
    'https://agent.example/callback/../steal',
    'https://agent.example/callback?next=//evil.example',
    'https://agent.example/callback#',
    'https://AGENT.example/callback',
    'https://agent.example:8443/callback',
    'http://agent.example/callback',
    'http://127.0.0.1:4711/other',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost/callback',
    'http://127.0.0.1:4711@evil.example/callback',
    'javascript:alert(1)',
    ' https://agent.example/callback',
  ];
  test.each(redirects)('to the unregistered %s stays with the person', async (redirect) => {
    const { server } = await openServer();
    const { client_id: id } = await register(server, { redirect_uris: [LOOPBACK, WEB] });
    const refused = await server.readRequest(query(id, { redirect_uri: redirect })).catch((error) => error);
    expect(refused).toMatchObject({ name: 'OAuthError', code: 'invalid_redirect_uri' });
  });

  test('may name any port of a registered loopback address, and no second parameter of one name', async () => {
    const { server } = await openServer();
    const { client_id: id } = await register(server);
    const request = await server.readRequest(query(id, { redirect_uri: 'http://127.0.0.1:65000/callback' }));
    expect(request.redirectUri).toBe('http://127.0.0.1:65000/callback');
    const twice = query(id);
    twice.append('redirect_uri', WEB);
    await expect(server.readRequest(twice)).rejects.toMatchObject({ code: 'invalid_request' });
    const polluted = query(id);
    polluted.append('code_challenge', 'x'.repeat(43));
    await expect(server.readRequest(polluted)).rejects.toBeInstanceOf(RefusedAuthorization);
  });

  test('of a client that was registered at another instance, elsewhere, or long ago is not known here', async () => {
    const open = await openServer();
    const { server, clock } = open;
    const { client_id: other } = await register(serverOver(open, { scopeId: OTHER_SCOPE }));
    const { client_id: forged } = await register(serverOver(open, { secrets: ['x'.repeat(32)] }));
    const { client_id: own } = await register(server);
    for (const id of [
      other,
      forged,
      `${own.slice(0, -2)}AA`,
      'fh_client_',
      'agent',
      'https://agent.example/',
    ])
      await expect(server.readRequest(query(id))).rejects.toMatchObject({ code: 'invalid_client' });
    clock.nowMs += 30 * DAY_MS;
    await expect(server.readRequest(query(own))).rejects.toMatchObject({ code: 'invalid_client' });
  });
});

describe('a registration', () => {
  const malformed = [
    ['no addresses', { redirect_uris: [] }],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['plain http beyond loopback', { redirect_uris: ['http://agent.example/callback'] }],
    ['a fragment', { redirect_uris: ['https://agent.example/callback#a'] }],
    ['a file', { redirect_uris: ['file:///etc/passwd'] }],
    ['data', { redirect_uris: ['data:text/html,x'] }],
    ['very many addresses', { redirect_uris: Array.from({ length: 21 }, (_, i) => `${WEB}/${i}`) }],
    ['addresses of the browser', { redirect_uris: ['chrome-extension://abc/callback'] }],
    ['a way to prove itself that is not offered', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['another flow alone', { grant_types: ['client_credentials'] }],
    ['a text in place of a list', { redirect_uris: WEB }],
  ] as const;
  test.each(malformed)('with %s is refused', async (_, metadata) => {
    const { server } = await openServer();
    await expect(register(server, metadata)).rejects.toThrow(/invalid_(redirect_uri|client_metadata)/);
  });

  test('stores nothing, however many there are, and its name cannot hide what is beside it', async () => {
    const open = await openServer();
    const { server, directory } = open;
    let last = '';
    for (let i = 0; i < 500; i++) last = (await register(server, { client_name: `flood ${i}` })).client_id;
    expect(await directory.findClient({ scopeId: SCOPE, id: last })).toBeNull();
    const { client_id: id } = await register(server, { client_name: 'Cla\u202eude\n\u200b\u0000 of  Ada' });
    expect((await server.readRequest(query(id))).client.name).toBe('Cla ude of Ada');
  });

  test('takes addresses of apps', async () => {
    const { server } = await openServer();
    const uri = 'cursor://anysphere.cursor-mcp/oauth/callback';
    const { client_id: id } = await register(server, { redirect_uris: [uri] });
    expect(await server.readRequest(query(id, { redirect_uri: uri }))).toMatchObject({ host: 'cursor' });
  });
});

describe('a refresh token', () => {
  test('is used once: of two holders both lose the grant', async () => {
    const open = await openServer();
    const { server, directory } = open;
    const { clientId, refresh: stolen } = await signedIn(open);
    const owner = await refresh(server, clientId, stolen);
    expect(owner.status).toBe(200);
    expect((await refresh(server, clientId, stolen)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await callerWith(directory, String(owner.body.access_token))).toBeNull();
    expect((await refresh(server, clientId, String(owner.body.refresh_token))).status).toBe(400);
  });

  test('is one client’s, one instance’s, and no other kind of token', async () => {
    const open = await openServer();
    const { server, directory } = open;
    const { clientId, access, refresh: token } = await signedIn(open);
    const other = await signedIn(open);
    expect((await refresh(server, other.clientId, token)).status).toBe(400);
    expect((await refresh(server, clientId, access)).status).toBe(400);
    expect((await refresh(server, clientId, NEVER_ISSUED)).status).toBe(400);
    expect(await callerWith(directory, token)).toBeNull();
    // Another instance of the same tenant knows neither the client nor the token.
    const elsewhere = serverOver(open, { scopeId: OTHER_SCOPE });
    expect((await refresh(elsewhere, clientId, token)).body).toMatchObject({ error: 'invalid_client' });
    expect(await callerWith(directory, access, OTHER_SCOPE)).toBeNull();
    expect(await callerWith(open.other, access)).toBeNull();
    const foreign = post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: token,
      resource: 'https://other.example',
    });
    expect((await answer(server, foreign)).body).toMatchObject({ error: 'invalid_target' });
    expect((await refresh(server, clientId, token)).status).toBe(200);
  });

  test('ends after 60 days without use, and the grant after 180 days', async () => {
    const open = await openServer();
    const { server, clock } = open;
    const idle = await signedIn(open);
    const busy = await signedIn(open);
    let token = busy.refresh;
    for (let day = 0; day < 150; day += 50) {
      clock.nowMs += 50 * DAY_MS;
      const next = await refresh(server, busy.clientId, token);
      expect(next.status).toBe(200);
      token = String(next.body.refresh_token);
    }
    expect((await refresh(server, idle.clientId, idle.refresh)).status).toBe(400);
    clock.nowMs += 30 * DAY_MS;
    expect((await refresh(server, busy.clientId, token)).status).toBe(400);
  });
});

describe('a grant ends', () => {
  type Ends = readonly [name: string, (open: Awaited<ReturnType<typeof openServer>>) => Promise<unknown>];
  const ends: readonly Ends[] = [
    [
      'by its person',
      async ({ directory, principal }) => {
        const [item] = (await directory.listPrograms({ scopeId: SCOPE, principal })).items;
        await directory.endProgram({ scopeId: SCOPE, grant: item?.id ?? '', of: principal, by: principal });
      },
    ],
    ['with all sessions of its person', ({ directory }) => directory.endAllSessions(person('ada'))],
    [
      'with a logout at the issuer',
      ({ directory, clock }) =>
        directory.endIssuerSessions({ ...person('ada'), issuedAtMs: clock.nowMs, jti: 'logout-1' }),
    ],
    [
      'with a leaked session secret',
      async ({ directory }) => {
        await directory.sessionSecret();
        await directory.rotateSessionSecret({ keepFormer: false });
      },
    ],
    [
      'by a policy that admits no program',
      ({ directory, principal: by }) =>
        directory.setProgramPolicy({ scopeId: SCOPE, programs: 'none', hosts: [], ...PLAIN, by }),
    ],
    [
      'by a policy that lists others',
      ({ directory, principal: by }) =>
        directory.setProgramPolicy({
          scopeId: SCOPE,
          programs: 'listed',
          hosts: ['claude.ai'],
          ...PLAIN,
          by,
        }),
    ],
    ['with its scope', ({ directory }) => directory.forgetScope({ scopeId: SCOPE })],
  ];
  test.each(ends)('%s, and stays ended', async (_, end) => {
    const open = await openServer();
    const { server, directory } = open;
    const { clientId, access, refresh: token } = await signedIn(open);
    expect(await callerWith(directory, access)).not.toBeNull();
    await end(open);
    expect(await callerWith(directory, access)).toBeNull();
    expect((await refresh(server, clientId, token)).status).toBeGreaterThanOrEqual(400);
  });

  test('with the membership of its person, who may come back without it', async () => {
    const open = await openServer();
    const { server, directory, principal: owner } = open;
    const bea = { subject: person('bea'), sid: 'sid-2' };
    const principal = await addMember(directory, 'bea', owner);
    const { clientId, access, refresh: token } = await signedIn({ server, ada: bea });
    await directory.removeMember({ scopeId: SCOPE, principal, by: owner });
    expect(await callerWith(directory, access)).toBeNull();
    await addMember(directory, 'bea', owner);
    expect(await callerWith(directory, access)).toBeNull();
    expect((await refresh(server, clientId, token)).status).toBe(400);
  });

  test('not by a rotation that keeps the former secret: clients and programs stay', async () => {
    const open = await openServer();
    const { directory } = open;
    const { clientId, access, refresh: token } = await signedIn(open);
    await directory.sessionSecret();
    await directory.rotateSessionSecret({});
    expect(await callerWith(directory, access)).not.toBeNull();
    // A used client is stored, and needs no key to be known again.
    const rotated = serverOver(open, { secrets: ['another session secret, as long as the first'] });
    expect((await refresh(rotated, clientId, token)).status).toBe(200);
    expect((await rotated.readRequest(query(clientId))).client.name).toBe('Desktop');
  });

  test('by its program (RFC 7009), and of no other one', async () => {
    const open = await openServer();
    const { server, directory } = open;
    const [one, other] = [await signedIn(open), await signedIn(open)];
    const revoke = (client: string, token: string) =>
      answer(server, post('/oauth/revoke', { client_id: client, token }));
    expect((await revoke(other.clientId, one.refresh)).status).toBe(200);
    expect(await callerWith(directory, one.access)).not.toBeNull();
    expect((await revoke(one.clientId, one.access)).status).toBe(200);
    expect(await callerWith(directory, one.access)).toBeNull();
    const next = await refresh(server, one.clientId, one.refresh);
    expect(next.status).toBe(200);
    expect((await revoke(one.clientId, String(next.body.refresh_token))).status).toBe(200);
    expect(await callerWith(directory, String(next.body.access_token))).toBeNull();
    expect((await revoke('unknown', one.refresh)).status).toBe(401);
    expect(await callerWith(directory, other.access)).not.toBeNull();
  });

  test('as the oldest of more than 50', async () => {
    const open = await openServer();
    const first = await signedIn(open);
    for (let i = 0; i < 50; i++) await signedIn(open);
    expect(await callerWith(open.directory, first.access)).toBeNull();
    const { items } = await open.directory.listPrograms({ scopeId: SCOPE, principal: open.principal });
    expect(items).toHaveLength(50);
  });
});

describe('the consent', () => {
  test('comes back from the same session alone, within ten minutes, and unchanged', async () => {
    const { server, ada, clock } = await openServer();
    const { client_id: id } = await register(server);
    const request = await server.readRequest(query(id));
    const ticket = server.makeTicket(request, ada);
    expect(server.openTicket(ticket, ada)).toEqual(request);
    expect(server.openTicket(ticket, { ...ada, sid: 'sid-2' })).toBeNull();
    expect(server.openTicket(ticket, { ...ada, subject: person('eve') })).toBeNull();
    expect(server.openTicket(`${ticket.slice(0, 60)}A${ticket.slice(61)}`, ada)).toBeNull();
    expect(server.openTicket(id, ada)).toBeNull();
    clock.nowMs += 10 * MINUTE_MS;
    expect(server.openTicket(ticket, ada)).toBeNull();
  });

  test('of a person who is no member, and for a program that the owner does not admit, is none', async () => {
    const { server, directory, principal: by } = await openServer();
    const { client_id: id } = await register(server, { redirect_uris: [WEB] });
    const request = await server.readRequest(query(id, { redirect_uri: WEB }));
    const eve = { subject: person('eve'), sid: 'sid-3' };
    expect(await refusal(server.letIn(request, eve, { access: 'all' }))).toMatchObject({
      reason: 'not_a_member',
    });
    const ada = { subject: person('ada'), sid: 'sid-1' };
    await directory.setProgramPolicy({
      scopeId: SCOPE,
      programs: 'listed',
      hosts: ['claude.ai'],
      ...PLAIN,
      by,
    });
    expect(await refusal(server.letIn(request, ada, { access: 'all' }))).toMatchObject({
      reason: 'program_not_admitted',
    });
    await directory.setProgramPolicy({
      scopeId: SCOPE,
      programs: 'listed',
      hosts: ['agent.example'],
      ...PLAIN,
      by,
    });
    expect(new URL(await server.letIn(request, ada, { access: 'all' })).host).toBe('agent.example');
  });

  test('that was declined gives the program no code', async () => {
    const { server } = await openServer();
    const { client_id: id } = await register(server);
    const { searchParams } = new URL(server.deny(await server.readRequest(query(id))));
    expect(searchParams.get('error')).toBe('access_denied');
    expect(searchParams.has('code')).toBe(false);
  });
});

describe('a personal token', () => {
  test('is named, narrow, shown once, and ends', async () => {
    const { directory, clock, principal } = await openServer();
    const subject = person('ada');
    const { token } = await directory.makePersonalToken({
      scopeId: SCOPE,
      subject,
      name: 'Nightly export',
      allowed: { access: 'some', permissions: ['order.read'] },
      ttlMs: DAY_MS,
    });
    expect(token).toMatch(/^fh_personal_[0-9A-Za-z]{49}$/);
    expect(await callerWith(directory, token)).toMatchObject({
      grant: { name: 'Nightly export', access: 'some', permissions: ['order.read'] },
    });
    expect(
      await callerWith(
        directory,
        token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
      ),
    ).toBeNull();
    const listed = await directory.listPrograms({ scopeId: SCOPE, principal });
    expect(JSON.stringify(listed)).not.toContain(token);
    clock.nowMs += DAY_MS;
    expect(await callerWith(directory, token)).toBeNull();
  });

  test('has a name and an end', async () => {
    const { directory } = await openServer();
    const make = (more: object) =>
      directory.makePersonalToken({
        scopeId: SCOPE,
        subject: person('ada'),
        name: 'x',
        allowed: { access: 'read' },
        ttlMs: DAY_MS,
        ...more,
      });
    for (const more of [
      { name: ' ' },
      { name: 'a\nb' },
      { ttlMs: 0 },
      { ttlMs: 367 * DAY_MS },
      { ttlMs: 1.5 },
    ])
      expect(await refusal(make(more))).toMatchObject({ code: 'validation_failed' });
  });
});

test('no secret is stored in clear, and none is in an event', async () => {
  const open = await openServer();
  const { access, refresh: token } = await signedIn(open);
  const { items } = await open.directory.listIdentityEvents({ scopeId: SCOPE });
  const said = JSON.stringify(items);
  for (const secret of [access, token, SECRET]) expect(said).not.toContain(secret);
});

test('the endpoints answer pages of any origin, and refuse what is no form', async () => {
  const { server } = await openServer();
  const preflight = await server.handle(new Request(`${ORIGIN}/oauth/token`, { method: 'OPTIONS' }));
  expect(preflight?.headers.get('access-control-allow-origin')).toBe('*');
  // A page with a secret sends it in this header, which the wildcard does not cover.
  expect(preflight?.headers.get('access-control-allow-headers')).toContain('authorization');
  const json = new Request(`${ORIGIN}/oauth/token`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  expect(await answer(server, json)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  const got = await server.handle(new Request(`${ORIGIN}/oauth/token`));
  expect([got?.status, got?.headers.get('cache-control')]).toEqual([405, 'no-store']);
  expect(await server.handle(new Request(`${ORIGIN}/oauth/authorize`))).toBeNull();
});

/** The invite routes, called with requests. */
import {
  PlatformError,
  type PrincipalId,
  type ScopeId,
  type ScopeRef,
  type TenantId,
} from '@freehold/contracts';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import { openPlatform, person, SCOPE, START_MS, TENANT_A, type TestPlatform } from '../../test/support.ts';
import type { VerifiedSubject } from '../lib/subject.ts';
import { type InviteRouteDeps, mountInviteRoutes } from './routes.ts';

const ORIGIN = 'https://app.example';
const scope: ScopeRef = { tenantId: TENANT_A as TenantId, scopeId: SCOPE as ScopeId };

interface TestApp extends TestPlatform {
  readonly owner: PrincipalId;
  /** `principal:role` of every grant. */
  readonly grants: Set<string>;
  /** The calls, in order. */
  readonly journal: string[];
  /** The errors that reached the application's error handler. */
  readonly thrown: unknown[];
  as: VerifiedSubject | null;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string): Promise<Response>;
}

async function openApp(override: Partial<InviteRouteDeps> = {}, handled = true): Promise<TestApp> {
  const platform = await openPlatform();
  const { directory } = platform;
  const { principal: owner } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
  const grants = new Set<string>();
  const journal: string[] = [];
  const thrown: unknown[] = [];
  const app = new Hono();
  if (handled)
    app.onError((error) => {
      thrown.push(error);
      return error instanceof HTTPException
        ? error.getResponse()
        : new Response('from the app', { status: 418 });
    });
  const state: TestApp = {
    ...platform,
    owner,
    grants,
    journal,
    thrown,
    as: person('ada'),
    post: async (path, body, headers = {}) =>
      app.request(`${ORIGIN}${path}`, {
        method: 'POST',
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    get: async (path) => app.request(`${ORIGIN}${path}`),
  };
  mountInviteRoutes(app, {
    scope: () => scope,
    requireAdmin: async () => {
      const resolved = state.as && (await directory.resolvePrincipal({ scopeId: SCOPE, subject: state.as }));
      if (resolved?.principal !== owner)
        throw new PlatformError('permission_denied', 'You are not an admin.');
      return owner;
    },
    roles: ['member', 'manager', 'admin'],
    mayInvite: (_c, _inviter, role) => role !== 'admin',
    emailMatch: 'verified',
    directory: () => directory,
    provider: () => ({ resolve: async () => state.as }),
    assignScopeRole: (_c, { principal, role }, by) => {
      journal.push(`assign ${role} by ${by}`);
      grants.add(`${principal}:${role}`);
    },
    revokeScopeRole: (_c, { principal, role }, by) => {
      journal.push(`revoke ${role} by ${by}`);
      grants.delete(`${principal}:${role}`);
    },
    ...override,
  });
  return state;
}

async function invite(app: TestApp, body: object = { role: 'member' }) {
  const response = await app.post('/api/invites', body);
  expect(response.status).toBe(201);
  const answer = (await response.json()) as {
    invite: { principal: string; email: string | null };
    url: string;
  };
  return { ...answer, token: new URL(answer.url).searchParams.get('invite') ?? '' };
}

const problem = async (response: Response) => {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  return (await response.json()) as {
    code: string;
    reason?: string;
    detail: string;
    error: string;
    errors?: unknown;
  };
};

describe('POST /api/invites', () => {
  test('A-32: pre-mints a principal, grants it the role in the scope, and shows the link once', async () => {
    const app = await openApp();
    const response = await app.post('/api/invites', {
      role: 'member',
      email: 'bob@example.com',
      name: 'Bob',
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { invite, url } = (await response.json()) as { invite: { principal: string }; url: string };
    expect(invite).toEqual({
      principal: expect.stringMatching(/^prn_/),
      role: 'member',
      state: 'pending',
      email: 'bob@example.com',
      name: 'Bob',
      createdBy: app.owner,
      createdAt: '2026-11-21T08:00:00.000Z',
      expiresAt: '2026-11-28T08:00:00.000Z',
      acceptedAt: null,
      revokedAt: null,
    });
    expect(url).toMatch(/^https:\/\/app\.example\/\?invite=[\w-]{22}$/);
    expect([...app.grants]).toEqual([`${invite.principal}:member`]);
    const listed = await (await app.get('/api/invites')).text();
    expect(listed).toContain(invite.principal);
    expect(listed).not.toContain(new URL(url).searchParams.get('invite'));
  });

  test('A-32: lives as long as asked', async () => {
    const app = await openApp();
    const { token } = await invite(app, { role: 'member', ttlSeconds: 3_600 });
    expect(await app.directory.showInvite({ token })).toMatchObject({ expiresAtMs: START_MS + 3_600_000 });
  });

  test('A-35: when the invite cannot be stored the grant is taken back first, and the failure arrives untouched', async () => {
    const failure = new PlatformError('unavailable', 'The disk is full.');
    const app = await openApp();
    const broken = await openApp({
      directory: () => ({ ...pick(app), createInvite: () => Promise.reject(failure) }),
    });
    const response = await broken.post('/api/invites', { role: 'member' });
    expect(response.status).toBe(418);
    expect(broken.thrown).toEqual([failure]);
    expect(broken.thrown[0]).toBe(failure);
    expect(broken.journal).toEqual([`assign member by ${broken.owner}`, `revoke member by ${broken.owner}`]);
    expect([...broken.grants]).toEqual([]);
  });

  test('A-35: when the grant cannot be revoked either, both failures are in the cause', async () => {
    const failures = [new Error('no disk'), new Error('no kernel')];
    const app = await openApp();
    const broken = await openApp({
      directory: () => ({ ...pick(app), createInvite: () => Promise.reject(failures[0]) }),
      revokeScopeRole: () => Promise.reject(failures[1]),
    });
    const response = await broken.post('/api/invites', { role: 'member' });
    expect(await problem(response)).toMatchObject({ code: 'internal', reason: 'grant_left_behind' });
    expect(broken.thrown[0]).toBeInstanceOf(HTTPException);
    expect(broken.thrown[0]).toHaveProperty('cause.errors', failures);
  });

  test('A-35: when the grant is refused no invite is stored', async () => {
    const refused = new PlatformError('forbidden', 'Not this role.');
    const app = await openApp({ assignScopeRole: () => Promise.reject(refused) });
    await app.post('/api/invites', { role: 'member' });
    expect(app.thrown).toEqual([refused]);
    expect((await app.directory.listInvites({ scopeId: SCOPE })).items).toEqual([]);
  });

  test('A-37: only roles that the vertical offers, and only up to the inviter’s own', async () => {
    const app = await openApp();
    const unknown = await app.post('/api/invites', { role: 'emperor' });
    expect(unknown.status).toBe(400);
    expect(await problem(unknown)).toMatchObject({
      errors: [{ path: 'role', message: expect.stringContaining('member') }],
    });
    const above = await app.post('/api/invites', { role: 'admin' });
    expect(above.status).toBe(403);
    expect(await problem(above)).toMatchObject({ code: 'forbidden', reason: 'role_above_own' });
    expect(app.journal).toEqual([]);
  });

  test('A-37: what requireAdmin throws reaches the application untouched, and nothing happens', async () => {
    const app = await openApp();
    app.as = person('stranger');
    for (const send of [
      () => app.post('/api/invites', { role: 'member' }),
      () => app.post(`/api/invites/${app.owner}/revoke`),
      () => app.get('/api/invites'),
    ]) {
      expect((await send()).status).toBe(418);
      expect(app.thrown.pop()).toMatchObject({ name: 'PlatformError', code: 'permission_denied' });
    }
    expect(app.journal).toEqual([]);
  });
});

describe('A-38: bodies', () => {
  test.each<[string, string, unknown, string]>([
    ['/api/invites', 'no JSON', '{role', 'not valid JSON'],
    ['/api/invites', 'a list', [], 'The body is not valid'],
    ['/api/invites', 'no role', {}, 'role'],
    ['/api/invites', 'a field that is unknown', { role: 'member', principal: 'prn_x' }, 'principal'],
    ['/api/invites', 'a number for an e-mail', { role: 'member', email: 7 }, 'email'],
    ['/api/invites', 'a life of no time', { role: 'member', ttlSeconds: 0 }, 'ttlSeconds'],
    ['/api/accept-invite', 'null', 'null', 'The body is not valid'],
    ['/api/accept-invite', 'no token', {}, 'token'],
    ['/api/accept-invite', 'an object for a token', { token: {} }, 'token'],
    ['/api/accept-invite', 'a token without end', { token: 'x'.repeat(129) }, 'token'],
  ])('%s refuses %s with 400 naming the problem', async (path, _, body, named) => {
    const app = await openApp();
    const response = await app.post(path, body);
    expect(response.status).toBe(400);
    const document = await problem(response);
    expect(document).toMatchObject({ code: 'validation_failed', detail: expect.stringContaining(named) });
    expect(document.error).toBe(document.detail);
    expect(app.thrown[0]).toBeInstanceOf(HTTPException);
  });

  test('a body that does not say it is JSON is 400, an endless one 413', async () => {
    const app = await openApp();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
      expect((await app.post('/api/invites', { role: 'member' }, { 'content-type': type })).status).toBe(400);
    expect((await app.post('/api/invites')).status).toBe(400);
    const long = await app.post('/api/invites', JSON.stringify({ role: 'member', name: 'x'.repeat(20_000) }));
    expect(long.status).toBe(413);
    expect((await problem(long)).code).toBe('payload_too_large');
  });

  test('a bad cursor, page or address is 400', async () => {
    const app = await openApp();
    for (const query of ['limit=0', 'limit=x', 'page=2', 'token='])
      expect((await app.get(`/api/invites?${query}`)).status).toBe(400);
    expect((await app.post('/api/invites/nothing/revoke')).status).toBe(400);
  });

  test('without an error handler of the app’s own the refusal is a problem document all the same', async () => {
    const app = await openApp({}, false);
    const response = await app.post('/api/invites', {});
    expect(response.status).toBe(400);
    expect((await problem(response)).code).toBe('validation_failed');
  });
});

describe('cross-site requests', () => {
  test.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['a sibling host', { origin: 'https://other.app.example' }],
    ['the same host without TLS', { origin: 'http://app.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['a cross-site fetch', { 'sec-fetch-site': 'cross-site' }],
    ['a same-site fetch', { 'sec-fetch-site': 'same-site' }],
    ['a browser that says both', { 'sec-fetch-site': 'cross-site', origin: ORIGIN }],
  ])('%s is refused on every POST', async (_, headers) => {
    const app = await openApp();
    const { token, invite: made } = await invite(app);
    for (const [path, body] of [
      ['/api/invites', { role: 'member' }],
      [`/api/invites/${made.principal}/revoke`, {}],
      ['/api/accept-invite', { token }],
    ] as const) {
      const response = await app.post(path, body, headers);
      expect(response.status).toBe(403);
      expect(await problem(response)).toMatchObject({ code: 'forbidden', reason: 'cross_site' });
    }
    expect((await app.directory.listInvites({ scopeId: SCOPE })).items).toMatchObject([{ state: 'pending' }]);
  });

  test('the own origin passes, as browsers see it', async () => {
    const app = await openApp({ origin: () => 'https://public.example' });
    const headers = { origin: 'https://public.example', 'sec-fetch-site': 'same-origin' };
    const response = await app.post('/api/invites', { role: 'member' }, headers);
    expect(((await response.json()) as { url: string }).url).toMatch(/^https:\/\/public\.example\/\?invite=/);
  });
});

describe('GET /api/invites', () => {
  test('A-36: lists page by page', async () => {
    const app = await openApp();
    const made = [];
    for (let i = 0; i < 3; i++) made.unshift((await invite(app)).invite.principal);
    type Listed = { items: { principal: string }[]; nextCursor: string | null };
    const first = (await (await app.get('/api/invites?limit=2')).json()) as Listed;
    const second = (await (
      await app.get(`/api/invites?limit=2&cursor=${first.nextCursor}`)
    ).json()) as Listed;
    expect([...first.items, ...second.items].map((each) => each.principal)).toEqual(made);
    expect(second.nextCursor).toBeNull();
  });

  test('A-36: shows the invite to the holder of a link, without being an admin, and consumes nothing', async () => {
    const app = await openApp();
    const { token } = await invite(app, { role: 'manager', email: 'bob@example.com' });
    app.as = null;
    for (let i = 0; i < 2; i++) {
      const response = await app.get(`/api/invites?token=${token}`);
      expect(await response.json()).toEqual({
        role: 'manager',
        state: 'pending',
        email: 'bob@example.com',
        name: null,
        invitedBy: 'ada',
        expiresAt: '2026-11-28T08:00:00.000Z',
      });
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
    await app.get('/api/invites?token=unknown');
    expect(app.thrown).toMatchObject([{ code: 'not_found', reason: 'invite_invalid' }]);
  });
});

describe('POST /api/accept-invite', () => {
  test('A-33: binds the signed-in subject; again is the same membership', async () => {
    const app = await openApp();
    const { token, invite: made } = await invite(app);
    app.as = person('bob');
    for (let i = 0; i < 2; i++) {
      const response = await app.post('/api/accept-invite', { token });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ principal: made.principal, role: 'member' });
    }
    const resolved = await app.directory.resolvePrincipal({ scopeId: SCOPE, subject: person('bob') });
    expect(resolved.principal).toBe(made.principal);
    expect([...app.grants]).toEqual([`${made.principal}:member`]);
  });

  test('a 401 challenges for a bearer token only where one is taken; and no answer is sniffed', async () => {
    for (const [authorizationServers, challenge] of [
      [undefined, null],
      [['https://issuer.example'], 'Bearer'],
    ] as const) {
      const resolve = async () => null;
      const provider = authorizationServers === undefined ? { resolve } : { resolve, authorizationServers };
      const app = await openApp({ provider: () => provider });
      const response = await app.post('/api/accept-invite', { token: 'x' });
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge]);
      for (const each of [response, await app.get('/api/invites'), await app.post('/api/invites', 'no JSON')])
        expect([each.headers.get('x-content-type-options'), each.headers.get('cache-control')]).toEqual([
          'nosniff',
          'no-store',
        ]);
    }
  });

  test('A-33: an anonymous caller is 401, and the invite is not consumed', async () => {
    const app = await openApp();
    const { token } = await invite(app);
    app.as = null;
    const response = await app.post('/api/accept-invite', { token });
    expect(response.status).toBe(401);
    expect((await problem(response)).code).toBe('unauthenticated');
    expect((await app.directory.showInvite({ token })).state).toBe('pending');
  });

  test('A-34: the inviter’s right is judged again, by their present rights: a link made before opens nothing', async () => {
    let may: (principal: string, role: string) => boolean = () => true;
    const app = await openApp({ mayInvite: (_c, inviter, role) => may(inviter, role) });
    const { token, invite: made } = await invite(app);
    const asked: string[] = [];
    may = (principal, role) => {
      asked.push(`${principal} ${role}`);
      return false;
    };
    app.as = person('bob');
    for (const reason of ['inviter_lost_right', 'invite_revoked']) {
      const response = await app.post('/api/accept-invite', { token });
      if (reason === 'inviter_lost_right') {
        expect(response.status).toBe(409);
        expect(await problem(response)).toMatchObject({ code: 'invalid_transition', reason });
      } else expect(app.thrown.at(-1)).toMatchObject({ reason });
    }
    expect(asked).toEqual([`${app.owner} member`]);
    expect([...app.grants]).toEqual([]);
    expect(app.journal.at(-1)).toBe('revoke member by platform');
    expect((await app.directory.listInvites({ scopeId: SCOPE })).items).toMatchObject([
      { principal: made.principal, state: 'revoked' },
    ]);
    const { items } = await app.directory.listIdentityEvents({ scopeId: SCOPE });
    expect(items[1]).toMatchObject({
      type: 'invite_revoked',
      actor: null,
      detail: { reason: 'inviter_lost_right' },
    });
  });

  test('A-34: when the inviter’s right cannot be read, no invite is accepted and none ends', async () => {
    const failure = new Error('the kernel is away');
    let broken = false;
    const app = await openApp({
      mayInvite: () => {
        if (broken) throw failure;
        return true;
      },
    });
    const { token } = await invite(app);
    broken = true;
    app.as = person('bob');
    await app.post('/api/accept-invite', { token });
    expect(app.thrown.at(-1)).toBe(failure);
    expect((await app.directory.showInvite({ token })).state).toBe('pending');
    broken = false;
    expect((await app.post('/api/accept-invite', { token })).status).toBe(200);
  });

  test('A-33: is accepted also while leftover roles cannot be taken: a retired one is done, the others wait', async () => {
    const incidents: unknown[] = [];
    const failure = new Error('the kernel is away');
    const app = await openApp({
      revokeScopeRole: (_c, { role }) => {
        if (role === 'manager') throw failure;
        throw new PlatformError('not_found', 'There is no such role.', { reason: 'unknown_role' });
      },
      onIncident: (_c, error) => void incidents.push(error),
    });
    const { token } = await invite(app);
    const [manager, retired] = [await invite(app, { role: 'manager' }), await invite(app)];
    const ended = [manager, retired].map((each) => each.invite.principal);
    await app.directory.withdrawInvites({ scopeId: SCOPE, principals: ended });
    app.as = person('bob');
    expect((await app.post('/api/accept-invite', { token })).status).toBe(200);
    expect(incidents).toEqual([failure]);
    expect(await app.directory.leftoverRoles({ scopeId: SCOPE })).toMatchObject([{ role: 'manager' }]);
  });

  test('A-38: a provider that fails and a directory that refuses pass through untouched', async () => {
    const failure = new Error('the issuer is down');
    const broken = await openApp({ provider: () => ({ resolve: () => Promise.reject(failure) }) });
    await broken.post('/api/accept-invite', { token: 'x' });
    expect(broken.thrown[0]).toBe(failure);
    const app = await openApp();
    const { token } = await invite(app, { role: 'member', email: 'bob@example.com' });
    app.as = person('mallory', { emailVerified: true });
    await app.post('/api/accept-invite', { token });
    expect(app.thrown).toMatchObject([{ name: 'PlatformError', reason: 'invite_email_mismatch' }]);
  });

  test('A-07: an application may make the address no condition', async () => {
    const app = await openApp({ emailMatch: 'label' });
    const { token } = await invite(app, { role: 'member', email: 'bob@example.com' });
    app.as = person('mallory');
    expect((await app.post('/api/accept-invite', { token })).status).toBe(200);
  });
});

describe('POST /api/invites/:principal/revoke', () => {
  test('A-34: invalidates the invite and takes the grant back', async () => {
    const app = await openApp();
    const { token, invite: made } = await invite(app);
    const response = await app.post(`/api/invites/${made.principal}/revoke`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ invite: { principal: made.principal, state: 'revoked' } });
    expect([...app.grants]).toEqual([]);
    app.as = person('bob');
    await app.post('/api/accept-invite', { token });
    expect(app.thrown).toMatchObject([{ reason: 'invite_revoked' }]);
  });

  test('A-34: a grant that stayed behind is revoked by a retry', async () => {
    let broken = true;
    const grants = new Set<string>();
    const app = await openApp({
      assignScopeRole: (_c, { principal }) => grants.add(principal),
      revokeScopeRole: (_c, { principal }) => {
        if (broken) throw new Error('the kernel is away');
        return grants.delete(principal);
      },
    });
    const { invite: made } = await invite(app);
    const revoke = () => app.post(`/api/invites/${made.principal}/revoke`, {});
    expect((await revoke()).status).toBe(418);
    expect((await app.directory.listInvites({ scopeId: SCOPE })).items[0]?.state).toBe('revoked');
    broken = false;
    expect((await revoke()).status).toBe(200);
    expect([...grants]).toEqual([]);
  });

  test('A-34: an invite at a role that is retired meanwhile is revoked', async () => {
    const retired = new PlatformError('not_found', 'There is no such role.', { reason: 'unknown_role' });
    const app = await openApp({ revokeScopeRole: () => Promise.reject(retired) });
    const { invite: made } = await invite(app);
    expect((await app.post(`/api/invites/${made.principal}/revoke`)).status).toBe(200);
    expect(await app.directory.leftoverRoles({ scopeId: SCOPE })).toEqual([]);
  });

  test('A-34: an accepted invite keeps its grant', async () => {
    const app = await openApp();
    const { token, invite: made } = await invite(app);
    app.as = person('bob');
    await app.post('/api/accept-invite', { token });
    app.as = person('ada');
    await app.post(`/api/invites/${made.principal}/revoke`);
    expect(app.thrown).toMatchObject([{ code: 'invalid_transition', reason: 'invite_accepted' }]);
    expect([...app.grants]).toEqual([`${made.principal}:member`]);
  });
});

test('A-36: mounts exactly these four routes', async () => {
  const routes: string[] = [];
  const app = new Hono();
  mountInviteRoutes(app, {} as never);
  for (const { method, path } of app.routes)
    if (!routes.includes(`${method} ${path}`)) routes.push(`${method} ${path}`);
  expect(routes).toEqual([
    'GET /api/invites',
    'POST /api/invites',
    'POST /api/invites/:principal/revoke',
    'POST /api/accept-invite',
  ]);
});

/** A directory stub with every method written out, so that one can be replaced. */
function pick({ directory }: TestApp) {
  return {
    newPrincipal: directory.newPrincipal,
    createInvite: directory.createInvite,
    listInvites: directory.listInvites,
    showInvite: directory.showInvite,
    revokeInvite: directory.revokeInvite,
    claimInvite: directory.claimInvite,
    inviteTerms: directory.inviteTerms,
    withdrawInvites: directory.withdrawInvites,
    leftoverRoles: directory.leftoverRoles,
    leftoverRolesTaken: directory.leftoverRolesTaken,
  };
}

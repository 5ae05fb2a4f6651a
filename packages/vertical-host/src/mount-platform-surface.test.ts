import { MANAGEMENT_ROUTES, PlatformError, problemSchema, type VerticalScopeHost } from '@freehold/contracts';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import {
  ANSWERS,
  AT,
  type Call,
  notingHost,
  ROUTE_NAMES,
  requestOf,
  SCOPE,
} from '../test/management-samples.ts';
import type { PlatformSurfaceDeps } from './lib/platform-surface-deps.ts';
import { mountPlatformSurface } from './mount-platform-surface.ts';

interface Bindings {
  readonly PLATFORM_SECRET?: string | string[];
}
type AppEnv = { Bindings: Bindings };

const SCOPE_QUERY = `tenantId=${SCOPE.tenantId}&scopeId=${SCOPE.scopeId}`;
const SEAT = {
  state: 'pending' as const,
  reason: 'never_opened' as const,
  windowEndsAt: AT,
  claimedAt: null,
};
const CLAIM = { url: 'https://acme.example/?claim=t0ken', expiresAt: AT };

/** Says the second time that nothing changed. */
function provisionsOnce(calls: Call[]): Pick<VerticalScopeHost, 'provisionScopeLocal'> {
  return {
    provisionScopeLocal: async (scope) => {
      const isKnown = calls.some(([what]) => what === 'provisionScopeLocal');
      calls.push(['provisionScopeLocal', scope]);
      return isKnown ? 'unchanged' : 'provisioned';
    },
  };
}

const ROLES = { manager: ['order.create', 'order.read'] };

interface Surface {
  readonly app: Hono<AppEnv>;
  readonly calls: Call[];
  readonly incidents: unknown[];
  /** Calls the surface as the platform does. */
  readonly get: (path: string) => Promise<Response>;
  readonly post: (path: string, body: unknown) => Promise<Response>;
}

function surface(
  overrides: Partial<PlatformSurfaceDeps<Bindings>> = {},
  app: Hono<AppEnv> = new Hono<AppEnv>(),
): Surface {
  const calls: Call[] = [];
  const incidents: unknown[] = [];
  const note =
    <Answer>(what: string, answer: Answer) =>
    async ({ request, ownerRoleKey, env }: { request: unknown; ownerRoleKey: string; env: Bindings }) => {
      calls.push([what, request, ownerRoleKey, env]);
      return answer;
    };
  mountPlatformSurface(app, {
    platformSecret: (env) => env.PLATFORM_SECRET,
    hostFor: () => notingHost(calls, provisionsOnce(calls)),
    roles: ROLES,
    ownerRoleKey: 'owner',
    resolveOwner: note('resolveOwner', { ownerSeat: 'pending' as const }),
    onConfigure: note('onConfigure', { keys: ['platform:auth', 'LEFT_FROM_BEFORE'] }),
    ownerSeat: note('ownerSeat', SEAT),
    mintOwnerClaim: note('mintOwnerClaim', CLAIM),
    onProvision: note('onProvision', undefined),
    onIncident: (error) => void incidents.push(error),
    ...overrides,
  });
  const env: Bindings = { PLATFORM_SECRET: 's3cret' };
  const headers = { 'x-platform-secret': 's3cret', 'content-type': 'application/json' };
  return {
    app,
    calls,
    incidents,
    get: async (path) => app.request(path, { headers }, env),
    post: async (path, body) =>
      app.request(path, { method: 'POST', headers, body: JSON.stringify(body) }, env),
  };
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(await response.json());
  // D-06: the copy for one migration window
  expect(problem.error).toBe(problem.detail);
  return problem;
}

const PROVISION = { ...SCOPE, name: 'Acme' };
const EVERY_ROUTE = ROUTE_NAMES.map((name): [string, string] => [
  MANAGEMENT_ROUTES[name].method,
  requestOf(name).path,
]);

describe('D-04 the platform secret', () => {
  test.each<readonly [string, string]>([
    ...EVERY_ROUTE,
    ['GET', '/internal'],
    ['GET', '/internal/nonsense'],
    ['OPTIONS', '/internal/history'],
  ])('guards %s %s', async (method, path) => {
    const { app, calls } = surface();
    const ask = (secret: string | undefined, env: Bindings) =>
      app.request(
        path,
        { method, headers: secret === undefined ? {} : { 'x-platform-secret': secret } },
        env,
      );
    const refused: [string | undefined, Bindings, string][] = [
      ['s3cret', {}, 'platform_secret_unset'],
      ['', { PLATFORM_SECRET: '' }, 'platform_secret_unset'],
      ['', { PLATFORM_SECRET: [] }, 'platform_secret_unset'],
      ['', { PLATFORM_SECRET: ['', 's3cret'] }, 'platform_secret_mismatch'],
      [undefined, { PLATFORM_SECRET: 's3cret' }, 'platform_secret_mismatch'],
      ['s3cre', { PLATFORM_SECRET: 's3cret' }, 'platform_secret_mismatch'],
      ['S3cret', { PLATFORM_SECRET: 's3cret' }, 'platform_secret_mismatch'],
      ['s3cret, s3cret', { PLATFORM_SECRET: 's3cret' }, 'platform_secret_mismatch'],
    ];
    for (const [secret, env, reason] of refused) {
      const response = await ask(secret, env);
      expect(response.status).toBe(403);
      expect(await problemOf(response)).toMatchObject({ code: 'forbidden', reason });
    }
    expect(calls).toEqual([]);
    expect((await ask('s3cret', { PLATFORM_SECRET: 's3cret' })).status).not.toBe(403);
  });

  test('any secret of a list is taken while one is being replaced', async () => {
    const { app } = surface();
    const ask = (secret: string) =>
      app.request(
        `/internal/migrations?${SCOPE_QUERY}`,
        { headers: { 'x-platform-secret': secret } },
        { PLATFORM_SECRET: ['new', 'old'] },
      );
    expect([(await ask('new')).status, (await ask('old')).status, (await ask('older')).status]).toEqual([
      200, 200, 403,
    ]);
  });

  test('a secret that cannot be read lets no caller in', async () => {
    const { get, calls } = surface({
      platformSecret: () => {
        throw new Error('no vault');
      },
    });
    expect((await get(`/internal/migrations?${SCOPE_QUERY}`)).status).toBe(500);
    expect(calls).toEqual([]);
  });

  test('an encoded spelling of the prefix is guarded alike', async () => {
    const { app, calls } = surface();
    const response = await app.request(
      `/%69nternal/migrations?${SCOPE_QUERY}`,
      {},
      { PLATFORM_SECRET: 's3cret' },
    );
    expect([response.status, calls]).toEqual([403, []]);
  });

  test('the app’s other routes are not asked for it', async () => {
    const app = new Hono<AppEnv>();
    app.get('/internally', (c) => c.text('open'));
    expect(await (await surface({}, app).app.request('/internally')).text()).toBe('open');
  });
});

describe('D-03 provision', () => {
  test('makes the scope, projects the roles, settles the owner, delivers settings, then lets the vertical seed', async () => {
    const { post, calls } = surface();
    const env = { PLATFORM_SECRET: 's3cret' };
    const request = {
      ...PROVISION,
      owner: { email: 'ada@example.com' },
      config: { THEME: 'dark', OLD: null },
    };
    const response = await post('/internal/provision', request);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      scopeId: SCOPE.scopeId,
      status: 'provisioned',
      ownerSeat: 'pending',
    });
    expect(calls).toEqual([
      ['provisionScopeLocal', { ...SCOPE, name: 'Acme' }],
      ['projectRolesLocal', SCOPE, ROLES],
      ['resolveOwner', request, 'owner', env],
      ['onConfigure', { ...SCOPE, config: request.config }, 'owner', env],
      ['onProvision', { ...request, status: 'provisioned' }, 'owner', env],
    ]);
  });

  test('what the hook warns of about the settings is answered', async () => {
    const warning = { code: 'sign_in_unusable', detail: 'No member can sign in.', owner: 'of no interest' };
    const { post } = surface({ onConfigure: async () => ({ keys: ['A'], warnings: [warning] }) });
    const response = await post('/internal/provision', { ...PROVISION, config: { A: 'b' } });
    expect(await response.json()).toMatchObject({
      warnings: [{ code: 'sign_in_unusable', detail: 'No member can sign in.' }],
    });
  });

  test('twice is once: every step runs again, and the answer says that nothing changed', async () => {
    const { post, calls } = surface();
    await post('/internal/provision', PROVISION);
    const first = calls.map(([what]) => what);
    const response = await post('/internal/provision', PROVISION);
    expect(await response.json()).toMatchObject({ status: 'unchanged' });
    expect(calls.slice(first.length).map(([what]) => what)).toEqual(first);
    expect(first).not.toContain('onConfigure');
  });

  test('a step that fails stops the ones after it, and its problem is the answer', async () => {
    const { post, calls } = surface({
      resolveOwner: async () => {
        throw new PlatformError('unavailable', 'The identity directory is away.');
      },
    });
    const response = await post('/internal/provision', { ...PROVISION, config: { A: 'b' } });
    expect([response.status, (await problemOf(response)).code]).toEqual([503, 'unavailable']);
    expect(calls.map(([what]) => what)).toEqual(['provisionScopeLocal', 'projectRolesLocal']);
  });

  test('onProvision may be left out', async () => {
    const app = new Hono<AppEnv>();
    mountPlatformSurface(app, {
      platformSecret: () => 's3cret',
      hostFor: () => notingHost([]),
      roles: {},
      ownerRoleKey: 'owner',
      resolveOwner: async () => ({ ownerSeat: null }),
    });
    const response = await app.request('/internal/provision', {
      method: 'POST',
      headers: { 'x-platform-secret': 's3cret', 'content-type': 'application/json' },
      body: JSON.stringify(PROVISION),
    });
    expect(await response.json()).toMatchObject({ ownerSeat: null });
  });

  test.each([
    ['no body', undefined],
    ['an unknown field', { ...PROVISION, plan: 'gold' }],
    ['an unknown owner field', { ...PROVISION, owner: { phone: '1' } }],
    ['a bad email', { ...PROVISION, owner: { email: 'ada' } }],
    ['an empty name', { ...PROVISION, name: '' }],
    ['a setting that is no text', { ...PROVISION, config: { A: 1 } }],
    ['a scope of another kind', { ...PROVISION, scopeId: SCOPE.tenantId }],
    ['an array', [PROVISION]],
  ])('%s is 400 and touches nothing', async (_, body) => {
    const { post, calls } = surface();
    const response = await post('/internal/provision', body);
    expect([response.status, (await problemOf(response)).code]).toEqual([400, 'validation_failed']);
    expect(calls).toEqual([]);
  });
});

describe('D-03 the other flavoured routes', () => {
  test('configure delivers the patch and answers every key that is delivered now, never a value', async () => {
    const { post, calls } = surface();
    const config = { 'platform:auth': '{"mode":"oidc"}', API_KEY: null };
    const response = await post('/internal/configure', { ...SCOPE, config });
    expect(await response.json()).toEqual({ keys: ['LEFT_FROM_BEFORE', 'platform:auth'] });
    expect(calls[0]?.slice(0, 2)).toEqual(['onConfigure', { ...SCOPE, config }]);
  });

  test('a delivery that should be looked at says so, in a word and a sentence', async () => {
    const warning = { code: 'owner_stranded', detail: 'Sign-in is closed.', owner: 'of no interest' };
    const { post } = surface({ onConfigure: async () => ({ keys: ['b', 'a'], warnings: [warning] }) });
    const response = await post('/internal/configure', { ...SCOPE, config: { a: '1' } });
    expect(await response.json()).toEqual({
      keys: ['a', 'b'],
      warnings: [{ code: 'owner_stranded', detail: 'Sign-in is closed.' }],
    });
  });

  test('owner-seat answers the seat', async () => {
    const { get, calls } = surface();
    expect(await (await get(`/internal/owner-seat?${SCOPE_QUERY}`)).json()).toEqual(SEAT);
    expect(calls[0]?.slice(0, 2)).toEqual(['ownerSeat', SCOPE]);
  });

  test('owner-claim mints a link and answers 201', async () => {
    const { post, calls } = surface();
    const request = { ...SCOPE, origin: 'https://acme.example' };
    const response = await post('/internal/owner-claim', request);
    expect([response.status, await response.json()]).toEqual([201, CLAIM]);
    expect(calls[0]?.slice(0, 2)).toEqual(['mintOwnerClaim', request]);
  });

  test('a claim link leads to a web page only', async () => {
    const { post, calls } = surface();
    for (const origin of ['javascript:alert(1)', 'data:text/html,x', 'nonsense']) {
      const response = await post('/internal/owner-claim', { ...SCOPE, origin });
      expect((await problemOf(response)).errors?.[0]?.path).toBe('origin');
    }
    expect(calls).toEqual([]);
  });

  test('a claimed seat is the hook’s own 409', async () => {
    const { post } = surface({
      mintOwnerClaim: async () => {
        throw new PlatformError('conflict', 'The seat is taken.', { reason: 'seat_claimed' });
      },
    });
    const response = await post('/internal/owner-claim', { ...SCOPE, origin: 'https://acme.example' });
    expect([response.status, (await problemOf(response)).reason]).toEqual([409, 'seat_claimed']);
  });

  test('reconcile projects the roles that are sent, or the vertical’s own, and tells the hook', async () => {
    const hooked: unknown[] = [];
    const { post, calls } = surface({ onReconcile: async ({ request }) => void hooked.push(request) });
    const roles = { auditor: ['order.read'], assessor: [] };
    const response = await post('/internal/reconcile', { ...SCOPE, roles });
    expect([response.status, await response.json()]).toEqual([
      200,
      { scopeId: SCOPE.scopeId, roles: ['assessor', 'auditor'] },
    ]);
    expect(await (await post('/internal/reconcile', SCOPE)).json()).toMatchObject({ roles: ['manager'] });
    expect(await (await post('/internal/reconcile', { ...SCOPE, roles: {} })).json()).toMatchObject({
      roles: [],
    });
    expect(calls.map(([, , projected]) => projected)).toEqual([roles, ROLES, {}]);
    expect(hooked).toEqual([
      { ...SCOPE, roles },
      { ...SCOPE, roles: ROLES },
      { ...SCOPE, roles: {} },
    ]);
  });

  test('reconcile does without its hook, and a hook that fails is its answer', async () => {
    expect((await surface().post('/internal/reconcile', SCOPE)).status).toBe(200);
    const { post } = surface({
      onReconcile: async () => {
        throw new PlatformError('unavailable', 'Not now.');
      },
    });
    expect((await post('/internal/reconcile', SCOPE)).status).toBe(503);
  });

  const CLEARED = { ...SCOPE, ifMissing: 'clear' };

  test('delete-scope lets the vertical clean up while the scope is still there', async () => {
    const { post, calls } = surface({
      onDeleteScope: async ({ request }) => void calls.push(['onDeleteScope', request]),
    });
    const response = await post('/internal/delete-scope', SCOPE);
    expect([response.status, await response.json()]).toEqual([200, { scopeId: SCOPE.scopeId }]);
    expect(calls).toEqual([
      ['appliedMigrationsLocal', SCOPE],
      ['onDeleteScope', SCOPE],
      ['deleteScopeLocal', SCOPE],
    ]);
    const plain = surface();
    await plain.post('/internal/delete-scope', SCOPE);
    expect(plain.calls).toEqual([['deleteScopeLocal', SCOPE]]);
  });

  test('delete-scope of a scope that is not the tenant’s reaches neither hook nor scope', async () => {
    const calls: Call[] = [];
    const { post } = surface({
      hostFor: () =>
        notingHost(calls, {
          appliedMigrationsLocal: async () => {
            throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
          },
          deleteScopeLocal: async () => {
            throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
          },
        }),
      onDeleteScope: async () => void calls.push(['onDeleteScope']),
    });
    const response = await post('/internal/delete-scope', SCOPE);
    expect([response.status, (await problemOf(response)).reason]).toEqual([404, 'unknown_scope']);
    expect(calls).toEqual([]);
  });

  test('delete-scope of a scope whose database is gone removes what is left, and cleans up, at each repeat', async () => {
    const calls: Call[] = [];
    const { post } = surface({
      hostFor: () =>
        notingHost(calls, {
          appliedMigrationsLocal: async () => {
            throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
          },
        }),
      onDeleteScope: async ({ request }) => void calls.push(['onDeleteScope', request]),
    });
    const once = [
      ['deleteScopeLocal', CLEARED],
      ['onDeleteScope', SCOPE],
    ];
    for (const _ of [1, 2]) {
      const response = await post('/internal/delete-scope', SCOPE);
      expect([response.status, (await problemOf(response)).reason]).toEqual([404, 'unknown_scope']);
    }
    expect(calls).toEqual([...once, ...once]);
  });

  test('delete-scope of a damaged scope cleans up too: the platform knows whose it is', async () => {
    const calls: Call[] = [];
    const { post } = surface({
      hostFor: () =>
        notingHost(calls, {
          appliedMigrationsLocal: async () => {
            throw new PlatformError('unavailable', 'It is damaged.', { reason: 'unit_unreadable' });
          },
        }),
      onDeleteScope: async () => void calls.push(['onDeleteScope']),
    });
    expect((await post('/internal/delete-scope', SCOPE)).status).toBe(200);
    expect(calls.map(([what]) => what)).toEqual(['onDeleteScope', 'deleteScopeLocal']);
  });

  test('a clean-up that fails leaves the scope, so that asking again cleans up again', async () => {
    const { post, calls } = surface({
      onDeleteScope: async () => {
        throw new PlatformError('unavailable', 'The vault is away.');
      },
    });
    expect((await post('/internal/delete-scope', SCOPE)).status).toBe(503);
    expect(calls.map(([what]) => what)).toEqual(['appliedMigrationsLocal']);
  });

  test.each([
    ['resolveOwner', '/internal/provision', PROVISION],
    ['onConfigure', '/internal/configure', { ...SCOPE, config: {} }],
    ['onConfigure', '/internal/provision', { ...PROVISION, config: { A: 'b' } }],
    ['ownerSeat', `/internal/owner-seat?${SCOPE_QUERY}`, undefined],
    ['mintOwnerClaim', '/internal/owner-claim', { ...SCOPE, origin: 'https://acme.example' }],
  ])(
    'D-07 without %s, %s is 501 and names the hook, before anything is written',
    async (hook, path, body) => {
      const { get, post, calls } = surface({ [hook]: undefined });
      const response = body === undefined ? await get(path) : await post(path, body);
      expect(response.status).toBe(501);
      const problem = await problemOf(response);
      expect(problem).toMatchObject({ code: 'unsupported', reason: 'hook_omitted' });
      expect(problem.detail).toContain(hook);
      expect(calls).toEqual([]);
    },
  );

  test('without onConfigure a scope that brings no settings is provisioned', async () => {
    expect(
      (await surface({ onConfigure: undefined as never }).post('/internal/provision', PROVISION)).status,
    ).toBe(200);
  });
});

describe('D-06 every failure is a problem document', () => {
  test('an unknown address under /internal is 404, whatever the app says elsewhere', async () => {
    const app = new Hono<AppEnv>();
    app.notFound((c) => c.text('mine', 404));
    const { get } = surface({}, app);
    for (const path of [
      '/internal',
      '/internal/',
      '/internal/nonsense',
      '/internal/tables/',
      '/internal/tables/x/y',
    ]) {
      expect((await problemOf(await get(path))).code).toBe('not_found');
    }
    expect(await (await get('/elsewhere')).text()).toBe('mine');
  });

  test('415 and 413 of a body are problems too', async () => {
    const { app } = surface();
    const send = (body: string, type: string) =>
      app.request(
        '/internal/configure',
        { method: 'POST', body, headers: { 'x-platform-secret': 's3cret', 'content-type': type } },
        { PLATFORM_SECRET: 's3cret' },
      );
    expect((await problemOf(await send('{}', 'text/plain'))).code).toBe('unsupported_media_type');
    const large = ' '.repeat(1024 * 1024 + 1);
    expect((await problemOf(await send(large, 'application/json'))).code).toBe('payload_too_large');
  });
});

describe('the error handler', () => {
  const failing = (thrown: unknown) => ({
    hostFor: () => {
      throw thrown;
    },
  });
  const PATH = `/internal/migrations?${SCOPE_QUERY}`;

  test('D-06 renders a PlatformError of the app’s own routes, also where the app has a handler', async () => {
    const app = new Hono<AppEnv>();
    app.onError((_, c) => c.text('mine', 418));
    app.get('/orders', () => {
      throw new PlatformError('not_found', 'No orders.');
    });
    const response = await surface({}, app).app.request('/orders');
    expect([response.status, (await problemOf(response)).detail]).toEqual([404, 'No orders.']);
  });

  test.each([['before'], ['after']])(
    'D-07 hands other exceptions unchanged to a handler set %s the mount',
    async (when) => {
      const failure = new RangeError('x');
      const seen: unknown[] = [];
      const app = new Hono<AppEnv>();
      const set = () =>
        app.onError((err, c) => {
          seen.push(err);
          return c.text('mine', 418);
        });
      if (when === 'before') set();
      const { get, incidents } = surface(failing(failure), app);
      if (when === 'after') set();
      app.get('/orders', () => {
        throw failure;
      });
      const answers = [await get(PATH), await app.request('/orders')];
      expect(answers.map((each) => each.status)).toEqual([418, 418]);
      expect(seen).toHaveLength(2);
      for (const each of seen) expect(each).toBe(failure);
      expect(incidents).toEqual([]);
    },
  );

  test('a handler set after the mount does not take the PlatformErrors of /internal', async () => {
    const { app, get } = surface(failing(new PlatformError('not_found', 'No such scope.')));
    app.onError((_, c) => c.text('mine', 418));
    expect((await get(PATH)).status).toBe(404);
  });

  test('D-07 without one, an HTTP exception is its own response and anything else 500', async () => {
    const teapot = await surface(failing(new HTTPException(418, { message: 'short and stout' }))).get(PATH);
    expect([teapot.status, await teapot.text()]).toEqual([418, 'short and stout']);
    for (const thrown of [new Error('hunter2'), 'hunter2', null]) {
      const { get, incidents } = surface(failing(thrown));
      const response = await get(PATH);
      expect(response.status).toBe(500);
      expect(JSON.stringify(await problemOf(response))).not.toContain('hunter2');
      expect(incidents).toEqual([thrown]);
    }
  });

  test('a handler that throws in turn is 500, and what it threw is recorded', async () => {
    const app = new Hono<AppEnv>();
    app.onError((err) => {
      throw err;
    });
    const failure = new Error('x');
    const { get, incidents } = surface(failing(failure), app);
    expect((await problemOf(await get(PATH))).code).toBe('internal');
    expect(incidents).toEqual([failure]);
  });
});

describe('mounting', () => {
  const deps: PlatformSurfaceDeps<unknown> = {
    platformSecret: () => 's',
    hostFor: () => notingHost([]),
    roles: {},
    ownerRoleKey: 'owner',
  };

  test('a route that the secret would not cover is refused, and so is a second mount', () => {
    const app = new Hono();
    app.get('/internal/backdoor', (c) => c.text('open'));
    expect(() => mountPlatformSurface(app, deps)).toThrow(/\/internal\/backdoor/);
    const twice = new Hono();
    mountPlatformSurface(twice, deps);
    expect(() => mountPlatformSurface(twice, deps)).toThrow(/before mountPlatformSurface/);
  });

  test('middleware in front of it is welcome', async () => {
    const app = new Hono();
    app.use('/internal/*', async (c, next) => {
      await next();
      c.header('x-seen', 'yes');
    });
    mountPlatformSurface(app, deps);
    expect((await app.request('/internal/history')).headers.get('x-seen')).toBe('yes');
  });

  test('roles that are not well formed are refused at once', () => {
    expect(() => mountPlatformSurface(new Hono(), { ...deps, roles: { 'Not a key': [] } })).toThrow();
    expect(() => mountPlatformSurface(new Hono(), { ...deps, roles: { staff: ['no-dot'] } })).toThrow();
    expect(() => mountPlatformSurface(new Hono(), { ...deps, ownerRoleKey: '' })).toThrow();
  });

  test('D-05 a host has exactly the members of the specification', () => {
    const named = `provisionScopeLocal, restoreScopeLocal, projectRolesLocal, exportScopeLocal, snapshotScopeLocal, deleteScopeLocal, migrationBookmarksLocal, rewindScopeLocal, appliedMigrationsLocal, entityHistoryLocal, facetEventsLocal, eventCauseLocal, eventEffectsLocal, invocationEventsLocal, deadLettersLocal, introspectScopeTables, introspectScopeTable, introspectScopeQuery, listDenialsLocal, summarizeDenialsLocal, listPlatformRequests, listPlatformRequestHistory, settlePlatformRequest, connectorInvokeLocal, connectorAttachmentUploadLocal, connectorAttachmentOpenLocal, connectorGrantLocal`;
    // The table does not compile with a member more or less than the interface has.
    const members = Object.keys(ANSWERS satisfies Record<keyof VerticalScopeHost, unknown>);
    expect(members.toSorted()).toEqual(named.split(', ').toSorted());
  });

  test('D-05 a host is structural, and one that lacks a member does not compile', () => {
    type Dispensable = {
      [Member in keyof VerticalScopeHost]: Omit<VerticalScopeHost, Member> extends VerticalScopeHost
        ? Member
        : never;
    }[keyof VerticalScopeHost];
    // Does not compile as soon as a host may lack one of them.
    const allNeeded: [Dispensable] extends [never] ? true : false = true;
    expect(allNeeded).toBe(true);
    const { eventCauseLocal: _, ...older } = notingHost([]);
    const { appliedMigrationsLocal: __, ...oldest } = notingHost([]);
    const compile = (given: PlatformSurfaceDeps<unknown>) => given.ownerRoleKey;
    expect(compile({ ...deps, hostFor: () => ({ ...notingHost([]), more: 1 }) })).toBe('owner');
    // @ts-expect-error: eventCauseLocal is missing
    expect(compile({ ...deps, hostFor: () => older })).toBe('owner');
    // @ts-expect-error: appliedMigrationsLocal is missing, from a host that takes its time too
    expect(compile({ ...deps, hostFor: async () => oldest })).toBe('owner');
  });
});

/** Every route of the management contract, one table: what reaches the host, what comes back, and what is refused. */
import {
  MANAGEMENT_ROUTES,
  type ManagementRoute,
  PlatformError,
  PROBLEMS,
  type ProblemCode,
  problemSchema,
  type VerticalScopeHost,
} from '@freehold/contracts';
import fc from 'fast-check';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import {
  ANSWERS,
  askedWith,
  bytes,
  type Call,
  COPY,
  FIELDS,
  FILE,
  MEMBERS,
  notingHost,
  RECORD,
  ROUTE_NAMES,
  type RouteName,
  requestOf,
  SCOPE,
} from '../test/management-samples.ts';
import type { PlatformSurfaceDeps } from './lib/platform-surface-deps.ts';
import { mountPlatformSurface } from './mount-platform-surface.ts';

const SECRET = 's3cret';
const DELEGATED = Object.keys(MEMBERS) as (keyof typeof MEMBERS)[];
const GENERIC = DELEGATED.filter((name) => name !== 'provision' && name !== 'reconcile');

function surface(over: Partial<PlatformSurfaceDeps<unknown>> = {}) {
  const app = new Hono();
  const calls: Call[] = [];
  const incidents: unknown[] = [];
  mountPlatformSurface(app, {
    platformSecret: () => SECRET,
    hostFor: () => notingHost(calls),
    roles: {},
    ownerRoleKey: 'owner',
    onIncident: (error) => void incidents.push(error),
    ...over,
  });
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('x-platform-secret', SECRET);
    return app.request(path, { ...init, headers });
  };
  const ask = (name: RouteName, fields?: Readonly<Record<string, unknown>>): Promise<Response> => {
    const { path, init } = requestOf(name, fields);
    return send(path, init);
  };
  return { calls, incidents, send, ask };
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(await response.json());
  expect(problem.error).toBe(problem.detail);
  return problem;
}

/** A host whose every member does this. */
function hostOf(act: () => never | Promise<never>): VerticalScopeHost {
  const members = Object.keys(ANSWERS) as (keyof VerticalScopeHost)[];
  return Object.fromEntries(members.map((member) => [member, act])) as unknown as VerticalScopeHost;
}

test('D-01 every route of the specification is there, and nine beyond it', () => {
  const named = `export, restore, bookmarks, migrations, rewind, snapshot, delete-scope, tables, tables/:table, query, history, facets, cause, effects, invocation, dead-letters, denials, denials/summary, platform-requests, platform-requests/history, platform-requests/settle, connector-invoke, connector-attachment, connector-attachment/:attachment, connector-grant, provision, reconcile, configure, owner-seat, owner-claim`;
  expect(ROUTE_NAMES.map((name) => MANAGEMENT_ROUTES[name].path)).toEqual([
    ...named.split(', '),
    'owner-recovery',
    'owner-replacement',
    'owner-recovery/end',
    'session-secret/rotate',
    'dead-letters/retry',
    'shred-subject',
    'examine-copy',
    'snapshots/:snapshot',
    'snapshot/delete',
  ]);
});

test('C-22 the platform’s roles are projected beside the vertical’s own, which win', async () => {
  const calls: Call[] = [];
  const roles = { owner: ['order.read'], staff: ['order.read'] };
  const { ask } = surface({ hostFor: () => notingHost(calls), roles });
  const platformRoles = { staff: ['order.delete'], support: ['order.read'] };
  const response = await ask('reconcile', { ...SCOPE, platformRoles });
  expect(await response.json()).toEqual({ scopeId: SCOPE.scopeId, roles: ['owner', 'staff', 'support'] });
  expect(calls).toEqual([['projectRolesLocal', SCOPE, { ...roles, support: ['order.read'] }]]);
});

describe('C-10, C-20 what a host may be able to do beyond the specification', () => {
  const RECEIPT = { subject: 'customer-17', keyDigest: null, shreddedAt: '2026-11-21T08:30:00.000Z' };

  test('is asked of it, with the request as it came', async () => {
    const calls: unknown[] = [];
    const able = {
      retryDeadLetterLocal: async (ref: unknown) => void calls.push(ref),
      shredSubjectLocal: async (ref: unknown) => {
        calls.push(ref);
        return RECEIPT;
      },
    };
    const { ask } = surface({ hostFor: () => ({ ...notingHost([]), ...able }) as never });
    const answers = [await ask('retryDeadLetter'), await ask('shredSubject')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      FIELDS.retryDeadLetter,
      RECEIPT,
    ]);
    expect(calls).toEqual([
      { ...SCOPE, ...FIELDS.retryDeadLetter },
      { ...SCOPE, ...FIELDS.shredSubject },
    ]);
  });

  test('is asked of a hook, for the way back of an owner', async () => {
    const calls: unknown[] = [];
    const stubs = { url: 'https://acme.example/?invite=x', expiresAt: '2026-11-22T08:30:00.000Z' };
    const { ask } = surface({
      mintOwnerRecovery: async ({ request, ownerRoleKey }) => {
        calls.push([request, ownerRoleKey]);
        return stubs;
      },
    });
    const response = await ask('ownerRecovery');
    expect([response.status, await response.json()]).toEqual([201, stubs]);
    expect(calls).toEqual([[{ ...SCOPE, ...FIELDS.ownerRecovery }, 'owner']]);
    expect((await ask('ownerRecovery', { ...SCOPE, ...FIELDS.ownerRecovery, recover: false })).status).toBe(
      400,
    );
    expect((await surface().ask('ownerRecovery')).status).toBe(501);
  });

  test('is asked of a hook, for the replacement of an owner and for the end of a link, which settles invites', async () => {
    const calls: unknown[] = [];
    const made = {
      url: 'https://acme.example/?invite=x',
      expiresAt: '2026-11-22T08:30:00.000Z',
      notice: 'mail',
    } as const;
    const note = (name: string) => (request: unknown) => void calls.push([name, request]);
    const { ask } = surface({
      mintOwnerReplacement: async ({ request }) => {
        note('replace')(request);
        return made;
      },
      endOwnerRecovery: async ({ request }) => {
        note('end')(request);
        return { ended: true };
      },
      settleInvites: async ({ request }) => note('settle')(request),
    });
    const response = await ask('ownerReplacement');
    expect([response.status, await response.json()]).toEqual([201, made]);
    expect(await (await ask('ownerRecoveryEnd')).json()).toEqual({ ended: true });
    expect(calls).toEqual([
      ['replace', { ...SCOPE, ...FIELDS.ownerReplacement }],
      ['end', { ...SCOPE, ...FIELDS.ownerRecoveryEnd }],
      ['settle', SCOPE],
    ]);
    const unmeant = { ...SCOPE, ...FIELDS.ownerReplacement, replace: false };
    expect((await ask('ownerReplacement', unmeant)).status).toBe(400);
    for (const name of ['ownerReplacement', 'ownerRecoveryEnd'] as const)
      expect((await surface().ask(name)).status).toBe(501);
  });

  test('is asked of a hook, for another session secret, of which nothing is told', async () => {
    const calls: unknown[] = [];
    const formerValidUntil = '2026-11-29T08:30:00.000Z';
    const { ask } = surface({
      rotateSessionSecret: async ({ request }) => {
        calls.push(request);
        return { formerValidUntil, secret: 'of no concern' };
      },
    });
    const response = await ask('sessionSecretRotate');
    expect([response.status, await response.json()]).toEqual([200, { formerValidUntil }]);
    expect(calls).toEqual([{ ...SCOPE, ...FIELDS.sessionSecretRotate }]);
    expect((await ask('sessionSecretRotate', { ...SCOPE, by: 'ada' })).status).toBe(400);
    expect((await surface().ask('sessionSecretRotate')).status).toBe(501);
  });

  test.each(['retryDeadLetter', 'shredSubject'] as const)(
    'is 501 where it is not able to: %s',
    async (name) => {
      const response = await surface().ask(name);
      expect([response.status, (await problemOf(response)).reason]).toEqual([501, 'host_cannot']);
    },
  );
});

describe('D-01, D-02, D-22 a delegation', () => {
  const JSON_ROUTES = GENERIC.filter((name) => MANAGEMENT_ROUTES[name].answers === 'json');
  /** The host's result, in the form of the route. */
  const wrapped = (name: keyof typeof MEMBERS): unknown => {
    const answer = ANSWERS[MEMBERS[name]];
    if (name === 'deleteScope') return { scopeId: SCOPE.scopeId };
    return Array.isArray(answer) ? { items: answer } : answer;
  };
  const UPLOADED = { ...SCOPE, connection: FIELDS.connectorAttachmentUpload.connection };

  test.each(JSON_ROUTES)('%s hands its request to the host and answers what it said', async (name) => {
    const { calls, ask } = surface();
    const response = await ask(name);
    expect([response.status, await response.json()]).toEqual([MANAGEMENT_ROUTES[name].status, wrapped(name)]);
    expect(response.headers.get('cache-control')).toContain('no-store');
    const { connection: _, ...meta } = FIELDS.connectorAttachmentUpload;
    const asked =
      name === 'connectorAttachmentUpload'
        ? [{ ...UPLOADED, meta }, FILE]
        : name === 'restore'
          ? [askedWith(name), COPY]
          : [askedWith(name)];
    expect(calls).toEqual([[MEMBERS[name], ...asked]]);
  });

  test.each(['export', 'connectorAttachmentOpen'] as const)('%s answers bytes', async (name) => {
    const { calls, ask } = surface();
    const response = await ask(name);
    expect([response.status, await response.text()]).toEqual([200, name === 'export' ? COPY : FILE]);
    expect(calls).toEqual([[MEMBERS[name], askedWith(name)]]);
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment;/);
  });

  test('an export says what it is', async () => {
    const { headers } = await surface().ask('export');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/x-ndjson',
      'x-export-format': 'ndjson',
      'x-export-bookmark': 'bm_7',
      'content-disposition': `attachment; filename="${SCOPE.scopeId}.ndjson"; filename*=UTF-8''${SCOPE.scopeId}.ndjson`,
    });
    const plain = surface({
      hostFor: () =>
        notingHost([], {
          exportScopeLocal: async () => ({ format: 'sqlite', bookmark: null, body: bytes(COPY) }),
        }),
    });
    const other = (await plain.ask('export', SCOPE)).headers;
    expect([other.get('content-type'), other.has('x-export-bookmark')]).toEqual([
      'application/vnd.sqlite3',
      false,
    ]);
  });

  test('D-02 an attachment brings its record in a header, and a name that cannot break out', async () => {
    const { headers } = await surface().ask('connectorAttachmentOpen');
    const record = Buffer.from(headers.get('x-attachment-record') ?? '', 'base64url').toString();
    expect(JSON.parse(record)).toEqual(RECORD);
    // No browser may open the file as the type that it claims to be.
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="R_sum_ _1_.pdf"; filename*=UTF-8''R%C3%A9sum%C3%A9%20%221%22.pdf`,
    );
  });

  test.each([['a\r\nset-cookie: x=1'], ['"; filename="evil.exe'], ['\ud800'], ["it's(1)*.txt"]])(
    'D-02 no file name writes headers of its own: %j',
    async (filename) => {
      const { ask } = surface({
        hostFor: () =>
          notingHost([], {
            connectorAttachmentOpenLocal: async () =>
              ({ record: { ...RECORD, filename }, body: bytes(FILE) }) as never,
          }),
      });
      const { status, headers } = await ask('connectorAttachmentOpen');
      expect([status, headers.has('set-cookie')]).toEqual([200, false]);
      expect(headers.get('content-disposition')).toMatch(
        /^attachment; filename="[\w. -]*"; filename\*=UTF-8''[\w.%~!-]*$/,
      );
    },
  );

  test('HEAD opens nothing that stays open', async () => {
    let cancelled = false;
    const { send } = surface({
      hostFor: () =>
        notingHost([], {
          exportScopeLocal: async () => ({
            format: 'ndjson',
            bookmark: null,
            body: new ReadableStream({
              pull: (controller) => controller.enqueue(new Uint8Array(9)),
              cancel: () => {
                cancelled = true;
              },
            }),
          }),
        }),
    });
    const response = await send(requestOf('export').path, { method: 'HEAD' });
    expect([response.status, response.body, cancelled]).toEqual([200, null, true]);
    expect(response.headers.get('x-export-format')).toBe('ndjson');
  });

  test('hostFor is given the bindings of the request, and may take its time', async () => {
    const seen: unknown[] = [];
    const app = new Hono<{ Bindings: { name: string } }>();
    mountPlatformSurface(app, {
      platformSecret: () => SECRET,
      hostFor: async (env) => {
        seen.push(env);
        return notingHost([]);
      },
      roles: {},
      ownerRoleKey: 'owner',
    });
    for (const name of GENERIC) {
      const { path, init } = requestOf(name);
      const headers = new Headers(init.headers);
      headers.set('x-platform-secret', SECRET);
      expect((await app.request(path, { ...init, headers }, { name })).ok).toBe(true);
    }
    expect(seen).toEqual(GENERIC.map((name) => ({ name })));
  });
});

describe('a request is refused before the host hears of it', () => {
  test.each(ROUTE_NAMES)(
    '%s: with an unknown field, a missing scope, or a scope that is no id',
    async (name) => {
      const { calls, ask } = surface();
      const good = { ...SCOPE, ...FIELDS[name] };
      for (const fields of [
        { ...good, extra: '1' },
        { ...good, tenantId: undefined },
        { ...good, scopeId: undefined },
        { ...good, tenantId: SCOPE.scopeId },
        { ...good, scopeId: `${SCOPE.scopeId}x` },
      ]) {
        const response = await ask(name, fields);
        const problem = await problemOf(response);
        expect([response.status, problem.code]).toEqual([400, 'validation_failed']);
        expect(problem.errors?.length).toBeGreaterThan(0);
      }
      expect(calls).toEqual([]);
    },
  );

  test.each<[RouteName, Record<string, unknown>]>([
    ['history', { entityId: undefined }],
    ['history', { limit: 0 }],
    ['history', { limit: 201 }],
    ['history', { limit: 'many' }],
    ['cause', { event: '17' }],
    ['effects', { event: undefined }],
    ['invocation', { invocation: 'inv_1' }],
    ['denialsSummary', { groupBy: 'tenant' }],
    ['facets', { groupBy: 'payload' }],
    ['facets', { since: 'yesterday' }],
    ['bookmarks', { at: '2026' }],
    ['table', { filters: 'no json' }],
    ['table', { filters: { column: 'a' } }],
    ['table', { filters: [{ column: 'a', op: 'drop', value: 1 }] }],
    ['table', { filters: [{ column: 'a', op: '=', value: 1, __proto__: null, more: 1 }] }],
    ['table', { filters: '[{"column":"a","op":"is null","__proto__":{}}]' }],
    ['table', { filters: Array.from({ length: 11 }, () => ({ column: 'a', op: 'is null' })) }],
    ['table', { filters: [{ column: 'a', op: '=', value: 'x'.repeat(1_024) }] }],
    ['table', { order: 'random' }],
    ['query', { sql: 'x'.repeat(20_001) }],
    ['query', { params: [{}] }],
    ['rewind', { at: '2026-11-21T08:30:00.000Z' }],
    ['rewind', { bookmark: undefined }],
    ['restore', { format: 'xlsx' }],
    ['restore', { format: undefined }],
    ['export', { format: 'xlsx' }],
    ['settlePlatformRequest', { status: 'pending' }],
    ['settlePlatformRequest', { revision: '1' }],
    ['connectorInvoke', { connection: 'con_1' }],
    ['connectorInvoke', { idempotencyKey: '' }],
    ['connectorGrant', { permission: 'everything' }],
    ['connectorAttachmentOpen', { attachment: 'att_1' }],
    ['connectorAttachmentUpload', { filename: '' }],
    ['connectorAttachmentUpload', { digest: 'abc' }],
    ['reconcile', { roles: { 'Not a key': [] } }],
    ['reconcile', { roles: { staff: ['no-dot'] } }],
  ])('%s with %j is 400', async (name, change) => {
    const { calls, ask } = surface();
    const response = await ask(name, { ...SCOPE, ...FIELDS[name], ...change });
    expect([response.status, (await problemOf(response)).code]).toEqual([400, 'validation_failed']);
    expect(calls).toEqual([]);
  });

  test('a field in the query twice, or in the path and the query, is 400', async () => {
    const { calls, send } = surface();
    const twice = `${requestOf('migrations').path}&tenantId=${SCOPE.tenantId}`;
    const both = `${requestOf('table').path}&table=orders`;
    for (const path of [twice, both])
      expect((await problemOf(await send(path))).code).toBe('validation_failed');
    expect((await problemOf(await send('/internal/tables/%ff'))).code).toBe('validation_failed');
    expect(calls).toEqual([]);
  });

  test('D-06 a restore of another media type, or compressed, is 415 and names what is taken', async () => {
    const { calls, send } = surface();
    const { path } = requestOf('restore');
    const restore = (headers: Record<string, string>) => send(path, { method: 'POST', body: COPY, headers });
    for (const type of ['application/vnd.sqlite3', 'application/octet-stream', 'text/plain', '']) {
      const response = await restore({ 'content-type': type });
      expect([response.status, response.headers.get('accept')]).toEqual([415, 'application/x-ndjson']);
      await problemOf(response);
    }
    const packed = await restore({ 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' });
    expect([packed.status, packed.headers.get('accept-encoding')]).toEqual([415, 'identity']);
    expect(calls).toEqual([]);
    const spelt = await restore({ 'content-type': 'Application/X-NDJSON; charset=utf-8' });
    expect(spelt.status).toBe(200);
  });

  test.each(ROUTE_NAMES)('D-06 %s with another method is 405 with Allow', async (name) => {
    const { calls, send } = surface();
    const { method }: ManagementRoute = MANAGEMENT_ROUTES[name];
    const allow = method === 'GET' ? 'GET, HEAD, OPTIONS' : 'OPTIONS, POST';
    for (const other of ['PUT', 'DELETE', 'PATCH', method === 'GET' ? 'POST' : 'GET']) {
      const response = await send(requestOf(name).path, { method: other });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      expect((await problemOf(response)).code).toBe('method_not_allowed');
    }
    const options = await send(requestOf(name).path, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, allow]);
    expect(calls).toEqual([]);
  });

  test('D-06 a JSON body of another type is 415, and one beyond the limit is 413', async () => {
    const { calls, send } = surface();
    for (const name of ROUTE_NAMES.filter((each) => MANAGEMENT_ROUTES[each].takes === 'json')) {
      const { path } = requestOf(name);
      const post = (body: string, type: string) =>
        send(path, { method: 'POST', body, headers: { 'content-type': type } });
      expect((await problemOf(await post('{}', 'text/plain'))).status).toBe(415);
      expect((await problemOf(await post(' '.repeat(1_048_577), 'application/json'))).status).toBe(413);
    }
    expect(calls).toEqual([]);
  });
});

test('D-06 whatever is asked, the answer is of the contract or a problem, and never our bug', async () => {
  const value = fc.oneof(
    fc.constantFrom(
      SCOPE.tenantId,
      SCOPE.scopeId,
      '',
      '0',
      'null',
      '[]',
      '{}',
      '\0',
      '%',
      '__proto__',
      'sqlite',
    ),
    fc.string({ maxLength: 20 }),
    fc.json({ maxDepth: 2 }),
  );
  const name = fc.oneof(
    fc.constantFrom(
      'tenantId',
      'scopeId',
      'limit',
      'filters',
      'table',
      'event',
      'format',
      'roles',
      '__proto__',
    ),
    fc.string({ maxLength: 8 }),
  );
  const { send, incidents } = surface({ resolveOwner: async () => ({ ownerSeat: null }) });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ROUTE_NAMES),
      fc.dictionary(name, value, { maxKeys: 4 }),
      fc.subarray(['scope', 'fields'] as const),
      value,
      async (route, more, remaining, body) => {
        const base = {
          ...(remaining.includes('scope') ? SCOPE : {}),
          ...(remaining.includes('fields') ? FIELDS[route] : {}),
        };
        const { path, init } = requestOf(route, { ...base, ...more });
        const type = new Headers(init.headers).get('content-type');
        const isText = MANAGEMENT_ROUTES[route].takes === 'json' && body.length % 2 === 1;
        const response = await send(
          path,
          isText ? { ...init, body, headers: { 'content-type': type ?? '' } } : init,
        );
        if (response.status >= 400) {
          const { code } = await problemOf(response);
          expect(code).not.toBe('internal');
        } else await response.arrayBuffer();
      },
    ),
    { numRuns: runs(300) },
  );
  expect(incidents).toEqual([]);
});

describe('a restore', () => {
  const over = (restoreScopeLocal: VerticalScopeHost['restoreScopeLocal'], restoreBytesMax?: number) =>
    surface({
      hostFor: () => notingHost([], { restoreScopeLocal }),
      ...(restoreBytesMax === undefined ? {} : { restoreBytesMax }),
    });

  test('beyond the limit of the vertical is 413, whatever the host makes of the stream that ended', async () => {
    const { ask } = over(async (_scope, body) => {
      await new Response(body).text().catch(() => {
        throw new PlatformError('validation_failed', 'The copy is damaged.', { reason: 'copy_damaged' });
      });
      throw new Error('the whole copy came through');
    }, COPY.length - 1);
    expect((await problemOf(await ask('restore'))).code).toBe('payload_too_large');
    expect((await surface({ restoreBytesMax: COPY.length }).ask('restore')).status).toBe(200);
    const announced = surface({ restoreBytesMax: COPY.length });
    const { path, init } = requestOf('restore');
    const headers = { 'content-type': 'application/x-ndjson', 'content-length': String(COPY.length + 1) };
    expect((await announced.send(path, { ...init, headers })).status).toBe(413);
    expect(announced.calls).toEqual([]);
  });

  test('that the host refuses lets go of the sender', async () => {
    let cancelled = false;
    const { send } = over(async () => {
      throw new PlatformError('validation_failed', 'Not this.', { reason: 'copy_foreign' });
    });
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(9)),
      cancel: () => {
        cancelled = true;
      },
    });
    const { path, init } = requestOf('restore');
    const response = await send(path, { ...init, body, duplex: 'half' });
    expect([(await problemOf(response)).reason, cancelled]).toEqual(['copy_foreign', true]);
  });

  test('whose sender breaks off is 400, and says so', async () => {
    const { send } = over(async (_scope, body) => {
      await new Response(body).text();
      throw new Error('the whole copy came through');
    });
    let sent = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        if (sent++ > 2) return controller.error(new Error('hunter2'));
        controller.enqueue(new Uint8Array(9));
      },
    });
    const { path, init } = requestOf('restore');
    const problem = await problemOf(await send(path, { ...init, body, duplex: 'half' }));
    expect([problem.code, problem.reason]).toEqual(['validation_failed', 'body_incomplete']);
    expect(JSON.stringify(problem)).not.toContain('hunter2');
  });

  test('without a body is an empty copy, which the host judges', async () => {
    const { send, calls } = surface();
    const { path, init } = requestOf('restore');
    expect((await send(path, { method: 'POST', headers: init.headers ?? {} })).status).toBe(200);
    expect(calls[0]?.[2]).toBe('');
  });
});

describe('D-07 what the host says', () => {
  // spec 7.2, row by row; then the rest of the closed list
  const ROWS: readonly (readonly [ProblemCode, number])[] = [
    ['permission_denied', 403],
    ['not_found', 404],
    ['invalid_transition', 409],
    ['immutable', 409],
    ['runtime_fault', 502],
    ['validation_failed', 400],
    ['precondition_failed', 412],
    ['conflict', 409],
    ...(Object.keys(PROBLEMS) as ProblemCode[]).map((code) => [code, PROBLEMS[code].status] as const),
  ];

  test.each(DELEGATED)('%s answers every failure with its status and the module’s reason', async (name) => {
    for (const [code, status] of ROWS) {
      const { ask, incidents } = surface({
        hostFor: () =>
          hostOf(() => {
            throw new PlatformError(code, 'As the host says.', { reason: 'narrower' });
          }),
        resolveOwner: async () => ({ ownerSeat: null }),
      });
      const response = await ask(name);
      expect(response.status).toBe(status);
      expect(await problemOf(response)).toMatchObject({
        code,
        reason: 'narrower',
        detail: 'As the host says.',
      });
      expect(incidents).toEqual([]);
    }
  });

  const HOSTILE: readonly (readonly [string, () => unknown])[] = [
    ['a string', () => 'hunter2'],
    ['null', () => null],
    ['undefined', () => undefined],
    ['a symbol', () => Symbol('hunter2')],
    ['a frozen error', () => Object.freeze(new Error('hunter2'))],
    [
      'an error whose getters throw',
      () =>
        Object.defineProperty(new Error('hunter2'), 'message', {
          get: () => {
            throw new Error('hunter2');
          },
        }),
    ],
    [
      'a proxy that refuses everything',
      () => {
        const refuse = (): never => {
          throw new Error('hunter2');
        };
        return new Proxy(() => undefined, {
          get: refuse,
          has: refuse,
          getPrototypeOf: refuse,
          ownKeys: refuse,
        });
      },
    ],
  ];

  test.each(DELEGATED)('%s: whatever is thrown, or rejected with, is 500 and says nothing', async (name) => {
    for (const [, make] of HOSTILE) {
      for (const act of [
        () => {
          throw make();
        },
        () => Promise.reject(make()),
      ]) {
        const { ask, incidents } = surface({
          hostFor: () => hostOf(act),
          resolveOwner: async () => ({ ownerSeat: null }),
        });
        const response = await ask(name);
        const text = await response.clone().text();
        expect([response.status, (await problemOf(response)).code]).toEqual([500, 'internal']);
        expect(text).not.toContain('hunter2');
        expect(incidents).toHaveLength(1);
      }
    }
  });

  test.each(GENERIC.filter((name) => name !== 'deleteScope'))(
    '%s: an answer that the contract does not know is our bug, and does not leave',
    async (name) => {
      const throwing = Object.defineProperty({}, 'items', {
        enumerable: true,
        get: () => {
          throw new Error('hunter2');
        },
      });
      for (const answer of [null, undefined, 7, 'hunter2', { items: [{ password: 'hunter2' }] }, throwing]) {
        const { ask, incidents } = surface({ hostFor: () => hostOf((async () => answer) as never) });
        const response = await ask(name);
        const text = await response.clone().text();
        expect([response.status, (await problemOf(response)).code]).toEqual([500, 'internal']);
        expect(text).not.toContain('hunter2');
        expect(incidents).toHaveLength(1);
      }
    },
  );

  test('bytes that are no stream, have another reader, or come with no good head are our bug', async () => {
    const taken = bytes(COPY);
    taken.getReader();
    let cancelled = false;
    const held = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true;
      },
    });
    for (const opened of [
      { format: 'ndjson', bookmark: null, body: COPY },
      { format: 'ndjson', bookmark: null, body: taken },
      { format: 'ndjson', bookmark: 'a\r\nset-cookie: x', body: bytes(COPY) },
      { format: 'exe', bookmark: null, body: held },
    ]) {
      const { ask } = surface({
        hostFor: () => notingHost([], { exportScopeLocal: async () => opened as never }),
      });
      expect((await problemOf(await ask('export'))).reason).toBe('invalid_response');
    }
    expect(cancelled).toBe(true);
  });

  test('what it says beyond the contract stays inside', async () => {
    const secret = { sql: 'CREATE TABLE secret', credential: 'hunter2' };
    const { ask } = surface({
      hostFor: () =>
        notingHost([], {
          appliedMigrationsLocal: async () => [{ ...ANSWERS.appliedMigrationsLocal[0], ...secret }],
          connectorGrantLocal: async () => ({ ...ANSWERS.connectorGrantLocal, ...secret }),
          connectorInvokeLocal: async () => ({ ...ANSWERS.connectorInvokeLocal, ...secret }),
          connectorAttachmentOpenLocal: async () =>
            ({ record: { ...RECORD, ...secret }, body: bytes(FILE) }) as never,
        }),
    });
    expect(await (await ask('migrations')).json()).toEqual({ items: ANSWERS.appliedMigrationsLocal });
    // spec D-02: no credential is ever returned
    expect(await (await ask('connectorGrant')).json()).toEqual(ANSWERS.connectorGrantLocal);
    expect(await (await ask('connectorInvoke')).json()).toEqual(ANSWERS.connectorInvokeLocal);
    const header = (await ask('connectorAttachmentOpen')).headers.get('x-attachment-record') ?? '';
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual(RECORD);
  });
});

describe('a stream of the host', () => {
  const exporting = (body: ReadableStream<Uint8Array>) =>
    surface({
      hostFor: () =>
        notingHost([], { exportScopeLocal: async () => ({ format: 'ndjson', bookmark: null, body }) }),
    });

  test('that fails at once is a problem document', async () => {
    const refused = new PlatformError('unavailable', 'The disk is away.');
    const failing = (reason: unknown) => new ReadableStream({ pull: () => Promise.reject(reason) });
    expect((await problemOf(await exporting(failing(refused)).ask('export'))).code).toBe('unavailable');
    const { ask, incidents } = exporting(failing('hunter2'));
    expect((await problemOf(await ask('export'))).code).toBe('internal');
    expect(incidents).toEqual(['hunter2']);
  });

  test('that fails later breaks the answer off, says nothing of why, and is recorded', async () => {
    let sent = 0;
    const failure = new Error('hunter2');
    const { ask, incidents } = exporting(
      new ReadableStream({
        pull: (controller) => {
          if (sent++ > 2) return controller.error(failure);
          controller.enqueue(new Uint8Array(9));
        },
      }),
    );
    const response = await ask('export');
    expect(response.status).toBe(200);
    const error = await response.text().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toContain('hunter2');
    expect(incidents).toEqual([failure]);
  });

  test('that yields something else than bytes breaks the answer off', async () => {
    const { ask } = exporting(bytes(COPY).pipeThrough(new TextDecoderStream() as never));
    expect((await problemOf(await ask('export'))).code).toBe('internal');
  });

  test('is read no faster than it is taken', async () => {
    let pulled = 0;
    const { ask } = exporting(
      new ReadableStream(
        {
          pull: (controller) => {
            pulled += 1;
            controller.enqueue(new Uint8Array(1_024));
          },
        },
        { highWaterMark: 0 },
      ),
    );
    const reader = (await ask('export')).body?.getReader();
    for (let i = 0; i < 5; i++) await reader?.read();
    expect(pulled).toBe(5);
    await reader?.cancel();
  });

  test('is cancelled when the reader stops', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { ask } = exporting(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(9)),
        cancel: resolve,
      }),
    );
    await (await ask('export')).body?.cancel('enough');
    expect(await promise).toBe('enough');
  });
});

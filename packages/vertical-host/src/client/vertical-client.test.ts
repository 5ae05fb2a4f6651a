/** The effects that a vertical's answer may have on the platform, and those it may not. */
import {
  EXPORT_MEDIA_TYPES,
  MANAGEMENT_ROUTES,
  PlatformError,
  PROBLEMS,
  type ProblemCode,
  problemDocument,
  type VerticalScopeHost,
} from '@freehold/contracts';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import {
  ANSWERS,
  askedWith,
  bytes,
  type Call,
  CONNECTION,
  COPY,
  FIELDS,
  FILE,
  MEMBERS,
  notingHost,
  RECORD,
  SCOPE,
} from '../../test/management-samples.ts';
import { mountPlatformSurface } from '../mount-platform-surface.ts';
import { makeVerticalClient, type VerticalClient, type VerticalClientOptions } from './index.ts';

const PLATFORM_SECRET = 's3cret';
const READ = { ...SCOPE } as never;

function client(
  fetch: (request: Request) => Promise<Response>,
  more: Partial<VerticalClientOptions> = {},
): VerticalClient {
  return makeVerticalClient({ fetch, platformSecret: PLATFORM_SECRET, ...more });
}

/** A client of a vertical in this process, and what its host was asked. */
function connected(over: Partial<VerticalScopeHost> = {}) {
  const calls: Call[] = [];
  const app = new Hono();
  mountPlatformSurface(app, {
    platformSecret: () => PLATFORM_SECRET,
    hostFor: () => notingHost(calls, over),
    roles: { manager: ['order.read'] },
    ownerRoleKey: 'owner',
    resolveOwner: async () => ({ ownerSeat: null }),
    onIncident: () => undefined,
  });
  const requests: Request[] = [];
  const vertical = client(async (request) => {
    requests.push(request);
    return app.fetch(request);
  });
  return { calls, requests, vertical };
}

/** A timer that goes off when a test says so. */
function handTimer() {
  const running = new Set<{ readonly ms: number; readonly fire: () => void }>();
  return {
    running,
    setTimer: (ms: number, fire: () => void) => {
      const timer = { ms, fire };
      running.add(timer);
      return () => void running.delete(timer);
    },
    goOff: () => {
      for (const timer of running) timer.fire();
      running.clear();
    },
  };
}

const refusal = (promise: Promise<unknown>): Promise<PlatformError> =>
  promise.then(
    () => expect.unreachable('it was answered'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(PlatformError);
      return error as PlatformError;
    },
  );
const json = (value: unknown, init?: ResponseInit) => async () => Response.json(value, init);
const text = (body: ReadableStream<Uint8Array>) => new Response(body).text();

describe('D-05 every member', () => {
  const SIMPLE = (Object.keys(MEMBERS) as (keyof typeof MEMBERS)[]).filter(
    (name) =>
      MANAGEMENT_ROUTES[name].takes !== 'bytes' &&
      MANAGEMENT_ROUTES[name].takes !== 'form' &&
      MANAGEMENT_ROUTES[name].answers === 'json' &&
      name !== 'reconcile',
  );

  test.each(SIMPLE)('of %s asks as it was asked, and answers what the host said', async (name) => {
    const { calls, vertical } = connected();
    const member = MEMBERS[name];
    const call = vertical[member] as (request: unknown) => Promise<unknown>;
    expect(await call(askedWith(name))).toEqual(ANSWERS[member]);
    expect(calls[0]).toEqual([member, askedWith(name)]);
  });

  test('projects exactly these roles', async () => {
    const { calls, vertical } = connected();
    const { roles } = FIELDS.reconcile as { roles: Record<string, string[]> };
    expect(await vertical.projectRolesLocal(READ, roles)).toBeUndefined();
    await vertical.projectRolesLocal(READ, {});
    expect(calls).toEqual([
      ['projectRolesLocal', SCOPE, roles],
      ['projectRolesLocal', SCOPE, {}],
    ]);
  });

  test('brings copies out and in', async () => {
    const { calls, vertical } = connected();
    const { body, ...head } = await vertical.exportScopeLocal(askedWith('export') as never);
    expect([head, await text(body)]).toEqual([ANSWERS.exportScopeLocal, COPY]);
    const restored = await vertical.restoreScopeLocal(askedWith('restore') as never, bytes(COPY));
    expect(restored).toEqual(ANSWERS.restoreScopeLocal);
    expect(calls.at(-1)).toEqual(['restoreScopeLocal', askedWith('restore'), COPY]);
  });

  test('brings attachments in and out', async () => {
    const { calls, vertical } = connected();
    const { connection, ...meta } = FIELDS.connectorAttachmentUpload;
    const upload = { ...SCOPE, connection, meta } as never;
    expect(await vertical.connectorAttachmentUploadLocal(upload, bytes(FILE))).toEqual(RECORD);
    expect(calls).toEqual([['connectorAttachmentUploadLocal', upload, FILE]]);
    const opened = await vertical.connectorAttachmentOpenLocal(askedWith('connectorAttachmentOpen') as never);
    expect([opened.record, await text(opened.body)]).toEqual([RECORD, FILE]);
  });

  test('is asked with the platform secret, below the base address, and follows no redirect', async () => {
    const requests: Request[] = [];
    const vertical = makeVerticalClient({
      baseUrl: 'https://acme.example/app/',
      platformSecret: PLATFORM_SECRET,
      fetch: async (request) => {
        requests.push(request);
        return Response.json({ items: [] });
      },
    });
    await vertical.appliedMigrationsLocal(READ);
    const [request] = requests;
    expect(request?.url).toBe(
      `https://acme.example/app/internal/migrations?tenantId=${SCOPE.tenantId}&scopeId=${SCOPE.scopeId}`,
    );
    expect(request?.headers.get('x-platform-secret')).toBe(PLATFORM_SECRET);
    expect(request?.redirect).toBe('manual');
  });
});

describe('a refusal of the vertical', () => {
  test.each(Object.keys(PROBLEMS) as ProblemCode[])(
    '%s comes through with all that it says',
    async (code) => {
      const refused = new PlatformError(code, 'As the vertical says.', {
        reason: 'narrower',
        errors: [{ path: 'a', message: 'is wrong' }],
        headers: { 'retry-after': '7', 'set-cookie': 'x=1' },
      });
      const { vertical } = connected({
        entityHistoryLocal: async () => {
          throw refused;
        },
      });
      const error = await refusal(vertical.entityHistoryLocal(askedWith('history') as never));
      expect(error).toMatchObject({
        code,
        status: PROBLEMS[code].status,
        reason: 'narrower',
        message: 'As the vertical says.',
        errors: [{ path: 'a', message: 'is wrong' }],
        headers: { 'retry-after': '7' },
      });
    },
  );

  test('keeps a status of its own', async () => {
    const problem = await problemDocument(new PlatformError('conflict', 'No.')).json();
    const answer = json(problem, { status: 422, headers: { 'content-type': 'application/problem+json' } });
    expect(await refusal(client(answer).appliedMigrationsLocal(READ))).toMatchObject({
      status: 422,
      code: 'conflict',
    });
  });

  test('by the gate comes through as well', async () => {
    const app = new Hono();
    mountPlatformSurface(app, {
      platformSecret: () => 'another',
      hostFor: () => notingHost([]),
      roles: {},
      ownerRoleKey: 'owner',
    });
    const other = client(async (request) => app.fetch(request));
    expect(await refusal(other.appliedMigrationsLocal(READ))).toMatchObject({
      code: 'forbidden',
      reason: 'platform_secret_mismatch',
    });
  });
});

describe('an answer outside of the contract is 502', () => {
  const PROBLEM = { 'content-type': 'application/problem+json' };
  const BAD: readonly (readonly [string, () => Promise<Response>])[] = [
    ['a page', async () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['JSON of another type', async () => new Response('{"items":[]}')],
    [
      'JSON that is cut short',
      async () => new Response('{"items":', { headers: { 'content-type': 'application/json' } }),
    ],
    ['JSON outside of the contract', json({ things: [] })],
    ['null', json(null)],
    ['nothing', async () => new Response(null, { status: 204 })],
    [
      'a redirect',
      async () => new Response(null, { status: 302, headers: { location: 'http://elsewhere.example' } }),
    ],
    ['an error without explanation', async () => new Response('oops', { status: 500 })],
    ['a problem of another type', json({ code: 'conflict' }, { status: 409 })],
    ['a problem that is none', json({ code: 'conflict' }, { status: 409, headers: PROBLEM })],
    [
      'a problem of an unknown code',
      json(
        { type: '/x', title: 'x', status: 418, code: 'teapot', detail: 'x', error: 'x' },
        { status: 418, headers: PROBLEM },
      ),
    ],
    ['a problem that says it went well', async () => new Response('{}', { status: 200, headers: PROBLEM })],
    [
      'one that breaks off',
      async () =>
        new Response(
          new ReadableStream({
            start: (controller) => {
              controller.enqueue(new TextEncoder().encode('{"items":'));
              controller.error(new Error('connection reset'));
            },
          }),
          { headers: { 'content-type': 'application/json' } },
        ),
    ],
  ];
  const CALLS: readonly (readonly [string, (vertical: VerticalClient) => Promise<unknown>])[] = [
    ['reads', (vertical) => vertical.appliedMigrationsLocal(READ)],
    ['exports', (vertical) => vertical.exportScopeLocal(READ)],
    [
      'attachments',
      (vertical) => vertical.connectorAttachmentOpenLocal(askedWith('connectorAttachmentOpen') as never),
    ],
    ['restores', (vertical) => vertical.restoreScopeLocal(askedWith('restore') as never, bytes(COPY))],
  ];

  test.each(BAD)('%s', async (_, answer) => {
    for (const [, call] of CALLS) {
      expect(await refusal(call(client(answer)))).toMatchObject({
        code: 'runtime_fault',
        status: 502,
        reason: 'vertical_answer',
      });
    }
  });

  test('one that never ends is cut off', async () => {
    let sent = 0;
    const endless = async () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent += 1;
            controller.enqueue(new Uint8Array(1_048_576).fill(32));
          },
        }),
        { headers: { 'content-type': 'application/json' } },
      );
    expect((await refusal(client(endless).appliedMigrationsLocal(READ))).reason).toBe('vertical_answer');
    expect(sent).toBeLessThan(40);
  });

  test.each<[string, Record<string, string>]>([
    ['no head', {}],
    ['another format', { 'x-export-format': 'exe' }],
    ['a format that its type denies', { 'x-export-format': 'sqlite' }],
    ['a bookmark that is none', { 'x-export-format': 'ndjson', 'x-export-bookmark': '' }],
  ])('bytes with %s', async (_, headers) => {
    let cancelled = false;
    const body = new ReadableStream({
      cancel: () => {
        cancelled = true;
      },
    });
    const answer = async () =>
      new Response(body, { headers: { 'content-type': EXPORT_MEDIA_TYPES.ndjson, ...headers } });
    expect((await refusal(client(answer).exportScopeLocal(READ))).reason).toBe('vertical_answer');
    expect(cancelled).toBe(true);
  });

  test('fields that the contract does not know are dropped', async () => {
    const item = { ...ANSWERS.appliedMigrationsLocal[0], sql: 'CREATE TABLE secret' };
    expect(await client(json({ items: [item], more: 1 })).appliedMigrationsLocal(READ)).toEqual(
      ANSWERS.appliedMigrationsLocal,
    );
  });
});

describe('a vertical that cannot be reached is 503', () => {
  test.each([
    ['rejects', () => Promise.reject(new TypeError('fetch failed'))],
    [
      'throws at once',
      () => {
        throw new TypeError('fetch failed');
      },
    ],
  ])('when its transport %s', async (_, fetch) => {
    const { running, setTimer } = handTimer();
    const vertical = client(fetch, { setTimer });
    const unreachable = { code: 'unavailable', status: 503, reason: 'vertical_unreachable' };
    expect(await refusal(vertical.appliedMigrationsLocal(READ))).toMatchObject(unreachable);
    expect(await refusal(vertical.exportScopeLocal(READ))).toMatchObject(unreachable);
    expect(running.size).toBe(0);
  });
});

describe('a vertical that keeps silent is given up on', () => {
  const timeout = { code: 'unavailable', status: 503, reason: 'vertical_timeout' };
  const never = () => new Promise<Response>(() => undefined);
  const stalled = async () =>
    new Response(new ReadableStream(), { headers: { 'content-type': 'application/json' } });

  test.each([
    ['never answers', never],
    ['stops in the middle of its answer', stalled],
  ])('when it %s, also if it does not look at the signal', async (_, fetch) => {
    const { running, setTimer, goOff } = handTimer();
    let signal: AbortSignal | undefined;
    const vertical = client(
      (request) => {
        signal = request.signal;
        return fetch();
      },
      { setTimer },
    );
    const asked = refusal(vertical.appliedMigrationsLocal(READ));
    expect([...running].map(({ ms }) => ms)).toEqual([30_000]);
    goOff();
    expect(await asked).toMatchObject(timeout);
    expect(signal?.aborted).toBe(true);
    expect(running.size).toBe(0);
  });

  test('sooner for a question than for what moves a whole scope', async () => {
    const { running, setTimer, goOff } = handTimer();
    const vertical = client(never, { setTimer, timeoutMs: 5, transferTimeoutMs: 50 });
    const asked = [
      vertical.introspectScopeTables(READ),
      vertical.exportScopeLocal(READ),
      vertical.deleteScopeLocal(READ),
    ];
    expect([...running].map(({ ms }) => ms)).toEqual([5, 50, 50]);
    goOff();
    for (const each of asked) expect(await refusal(each)).toMatchObject(timeout);
  });

  test('also in the middle of its bytes; but not while no reader waits for them', async () => {
    const { running, setTimer, goOff } = handTimer();
    let cancelled = false;
    const body = new ReadableStream(
      {
        start: (controller) => controller.enqueue(new Uint8Array(3)),
        cancel: () => {
          cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { 'content-type': EXPORT_MEDIA_TYPES.ndjson, 'x-export-format': 'ndjson' };
    const vertical = client(async () => new Response(body, { headers }), { setTimer });
    const reader = (await vertical.exportScopeLocal(READ)).body.getReader();
    expect(running.size).toBe(0);
    expect((await reader.read()).value?.byteLength).toBe(3);
    expect(running.size).toBe(0);
    const next = refusal(reader.read());
    await expect.poll(() => running.size).toBe(1);
    goOff();
    expect(await next).toMatchObject(timeout);
    expect(cancelled).toBe(true);
  });

  test('also when it takes nothing of what is sent; but not while the sender makes it wait', async () => {
    const { running, setTimer, goOff } = handTimer();
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    const begun = Promise.withResolvers<void>();
    const vertical = client(
      (request) => {
        if (request.method === 'GET') return json({ items: [] })();
        reader = request.body?.getReader() as typeof reader;
        begun.resolve();
        return never();
      },
      { setTimer },
    );
    let give: ReadableStreamDefaultController<Uint8Array> | undefined;
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<unknown>();
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          give = controller;
        },
        cancel,
      },
      { highWaterMark: 0 },
    );
    const asked = refusal(vertical.restoreScopeLocal(askedWith('restore') as never, body));
    await begun.promise;
    const read = reader?.read();
    expect(running.size).toBe(0);
    give?.enqueue(new Uint8Array(3));
    expect((await read)?.value?.byteLength).toBe(3);
    expect(running.size).toBe(1);
    goOff();
    expect(await asked).toMatchObject(timeout);
    await cancelled;
  });
});

describe('bytes', () => {
  const opening = (body: ReadableStream<Uint8Array> | null, record: object = RECORD) =>
    client(async () => {
      const header = Buffer.from(JSON.stringify(record)).toString('base64url');
      return new Response(body, {
        headers: { 'content-type': 'application/octet-stream', 'x-attachment-record': header },
      });
    }).connectorAttachmentOpenLocal(askedWith('connectorAttachmentOpen') as never);

  test('that break off are a fault of the vertical, not an end', async () => {
    let sent = 0;
    const { body } = await opening(
      new ReadableStream({
        pull: (controller) => {
          if (sent++ > 0) return controller.error(new Error('connection reset'));
          controller.enqueue(new Uint8Array(3));
        },
      }),
    );
    expect(await refusal(text(body))).toMatchObject({ code: 'runtime_fault', reason: 'vertical_answer' });
  });

  test.each([[FILE.slice(0, -1)], [`${FILE}x`], ['']])(
    'other than the record counts are no attachment: %j',
    async (other) => {
      const { body } = await opening(bytes(other));
      expect((await refusal(text(body))).reason).toBe('vertical_answer');
    },
  );

  test('of an empty file are none', async () => {
    const { body } = await opening(null, { ...RECORD, bytes: 0 });
    expect(await text(body)).toBe('');
  });

  test('are let go of at their source when the reader has had enough', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { body } = await opening(
      new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(3)), cancel: resolve }),
    );
    const reader = body.getReader();
    await reader.read();
    await reader.cancel('enough');
    expect(await promise).toBe('enough');
  });
});

describe('what is sent', () => {
  const endless = () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<unknown>();
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          pulled += 1;
          controller.enqueue(new Uint8Array(1_024));
        },
        cancel: resolve,
      },
      { highWaterMark: 0 },
    );
    return { body, cancelled, pulled: () => pulled };
  };
  const upload = {
    ...SCOPE,
    connection: CONNECTION,
    meta: { entity: { type: 'order', id: '1' }, filename: 'x', mediaType: 'a/b' },
  } as never;

  test('is let go of when the vertical refuses, and its refusal is what counts', async () => {
    const refused = async (): Promise<never> => {
      throw new PlatformError('permission_denied', 'Not here.');
    };
    const { vertical } = connected({ connectorAttachmentUploadLocal: refused, restoreScopeLocal: refused });
    const [file, copy] = [endless(), endless()];
    expect((await refusal(vertical.connectorAttachmentUploadLocal(upload, file.body))).code).toBe(
      'permission_denied',
    );
    expect((await refusal(vertical.restoreScopeLocal(askedWith('restore') as never, copy.body))).code).toBe(
      'permission_denied',
    );
    await Promise.all([file.cancelled, copy.cancelled]);
  });

  test('is not even begun when the scope is not there', async () => {
    const { vertical, requests } = connected({
      appliedMigrationsLocal: async () => {
        throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
      },
    });
    const copy = endless();
    const error = await refusal(vertical.restoreScopeLocal(askedWith('restore') as never, copy.body));
    expect(error.reason).toBe('unknown_scope');
    await copy.cancelled;
    expect([copy.pulled(), requests.map(({ method }) => method)]).toEqual([0, ['GET']]);
  });

  test('and fails at its source fails as it failed there', async () => {
    const failure = new RangeError('the tape is torn');
    let sent = 0;
    const torn = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (sent++ % 2 === 1) return controller.error(failure);
          controller.enqueue(new Uint8Array(3));
        },
      });
    const { vertical } = connected();
    await expect(vertical.restoreScopeLocal(askedWith('restore') as never, torn())).rejects.toBe(failure);
    await expect(vertical.connectorAttachmentUploadLocal(upload, torn())).rejects.toBe(failure);
  });

  test('has a boundary that the file cannot guess', async () => {
    const types: (string | null)[] = [];
    const vertical = client(async (request) => {
      types.push(request.headers.get('content-type'));
      return new Response();
    });
    for (let i = 0; i < 2; i++)
      await vertical.connectorAttachmentUploadLocal(upload, bytes(FILE)).catch(() => undefined);
    expect(types[0]).toMatch(/^multipart\/form-data; boundary=freehold-[0-9a-f]{48}$/);
    expect(types[1]).not.toBe(types[0]);
  });
});

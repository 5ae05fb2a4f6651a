/**
 * Section 7 of the spec for a whole vertical over a real scope: every row of 7.2 as a request and its answer. It runs
 * wherever a host of scopes runs, through whatever stands between a request and the application there.
 */
import { PlatformError, problemSchema, type ScopeId, type ScopeRef } from '@freehold/contracts';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ScopeHost } from '../../kernel/src/index.ts';
import { library, recordIncident } from '../../testkit/src/scope-contract/index.ts';
import { mountOperations, mountPlatformSurface } from '../src/index.ts';

/** The ways to call a vertical in an environment. */
export interface SectionSevenSetup {
  /** Names the environment in the report. */
  readonly name: string;
  /** Puts an application over a host of `libraryUnit` where requests reach it, for one test. */
  open(build: (host: ScopeHost) => Hono): Promise<{
    readonly host: ScopeHost;
    readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
  }>;
}

const SECRET = 'the platform secret of section seven';
const TENANT = 'tnt_01j00000000000000000000007';
const LIBRARIAN = 'prn_01j00000000000000000000071';
const VISITOR = 'prn_01j00000000000000000000072';

/** Lets the caller in that a header names; of the platform’s hooks all but one are left out. */
function vertical(host: ScopeHost, platformSecret: string | undefined): Hono {
  const app = new Hono();
  app.onError((error, c) => c.text(`the app’s own handler: ${error.message}`, 418));
  mountOperations(app, library.operations, (c) =>
    host.operations(c.req.header('x-scope') as ScopeId, c.req.header('x-as') as never),
  );
  app.get('/own/:code', (c) => {
    if (c.req.param('code') === 'another') throw new TypeError('of another kind');
    throw new PlatformError(c.req.param('code') as never, 'Of the vertical’s own.');
  });
  mountPlatformSurface(app, {
    platformSecret: () => platformSecret,
    hostFor: () => host,
    roles: {},
    ownerRoleKey: 'librarian',
    onIncident: (error, { path }) => recordIncident(error, { kind: 'vertical', key: '', method: path }),
  });
  return app;
}

let scopes = 0;

async function openVertical(setup: SectionSevenSetup, secret: string | null = SECRET) {
  scopes += 1;
  const ref = { tenantId: TENANT, scopeId: `scp_01j7${String(scopes).padStart(22, '0')}` } as ScopeRef;
  const { host, ask } = await setup.open((present) => vertical(present, secret ?? undefined));
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  const scope = host.scope(ref.scopeId);
  await scope.assignRole({ principal: LIBRARIAN as never, role: 'librarian', by: 'platform' });
  await scope.assignRole({ principal: VISITOR as never, role: 'visitor', by: 'platform' });
  const query = new URLSearchParams({ ...ref }).toString();
  return {
    host,
    ref,
    as: (who: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      ask(path, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json', 'x-as': who, 'x-scope': ref.scopeId, ...headers },
      }),
    own: (code: string) => ask(`/own/${code}`),
    read: (route: string, more = '', of = query) =>
      ask(`/internal/${route}?${of}${more}`, { headers: { 'x-platform-secret': SECRET } }),
    write: (route: string, body: object) =>
      ask(`/internal/${route}`, {
        method: 'POST',
        headers: { 'x-platform-secret': SECRET, 'content-type': 'application/json' },
        body: JSON.stringify({ ...ref, ...body }),
      }),
  };
}
type Vertical = Awaited<ReturnType<typeof openVertical>>;

async function expectProblem(response: Response, status: number, code: string): Promise<void> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(await response.json());
  expect([response.status, problem.status, problem.code]).toEqual([status, status, code]);
  expect(problem.error).toBe(problem.detail);
}

const waiting = z.object({ items: z.array(z.object({ id: z.string(), revision: z.int() })) });

const bookOf = async (response: Response): Promise<string> =>
  z.object({ book: z.string() }).parse(await response.json()).book;

/** Condition, status, code, and a request that meets it. */
const ROWS: readonly (readonly [string, number, string, (opened: Vertical) => Promise<Response>])[] = [
  [
    'permission denied',
    403,
    'permission_denied',
    ({ as }) => as(VISITOR, '/api/op/book/add', { title: 'x' }),
  ],
  ['not found', 404, 'not_found', ({ as }) => as(LIBRARIAN, '/api/books/lost')],
  [
    'unknown scope',
    404,
    'not_found',
    ({ read }) => read('tables', '', `tenantId=${TENANT}&scopeId=scp_01j70000000000000000000099`),
  ],
  [
    'a scope of another tenant',
    404,
    'not_found',
    ({ read, ref }) => read('tables', '', `tenantId=tnt_01j00000000000000000000008&scopeId=${ref.scopeId}`),
  ],
  [
    'invalid transition',
    409,
    'invalid_transition',
    async ({ as, read, write }) => {
      await as(LIBRARIAN, '/api/op/platform/ask', { kind: 'domain' });
      const { items } = waiting.parse(await (await read('platform-requests')).json());
      const settle = (status: string) => write('platform-requests/settle', { ...items[0], status });
      await settle('done');
      return settle('refused');
    },
  ],
  [
    'invalid transition, of the vertical’s own',
    409,
    'invalid_transition',
    ({ own }) => own('invalid_transition'),
  ],
  ['immutable', 409, 'immutable', ({ own }) => own('immutable')],
  ['runtime fault', 502, 'runtime_fault', ({ own }) => own('runtime_fault')],
  [
    'a body that fails its schema, of an operation',
    400,
    'validation_failed',
    ({ as }) => as(LIBRARIAN, '/api/op/book/add', { title: 7 }),
  ],
  [
    'a body that fails its schema, of the platform',
    400,
    'validation_failed',
    ({ write }) => write('provision', { name: '', nonsense: true }),
  ],
  [
    'a stale If-Match',
    412,
    'precondition_failed',
    async ({ as }) => {
      const book = await bookOf(await as(LIBRARIAN, '/api/op/book/add', { title: 'x' }));
      const seen = (await as(LIBRARIAN, `/api/books/${book}`)).headers.get('etag') ?? '';
      await as(LIBRARIAN, '/api/op/book/lend', { book }, { 'if-match': seen });
      return as(LIBRARIAN, '/api/op/book/lend', { book }, { 'if-match': seen });
    },
  ],
  [
    'a reused Idempotency-Key with a conflict',
    409,
    'conflict',
    async ({ as }) => {
      await as(LIBRARIAN, '/api/op/book/add', { title: 'x' }, { 'idempotency-key': 'k' });
      return as(LIBRARIAN, '/api/op/book/add', { title: 'y' }, { 'idempotency-key': 'k' });
    },
  ],
];

/** Declares the suite. */
export function describeSectionSeven(setup: SectionSevenSetup): void {
  describe(`D-07 section 7 on ${setup.name}`, () => {
    test.each(ROWS)('%s is %i, code %s', async (_condition, status, code, meet) => {
      await expectProblem(await meet(await openVertical(setup)), status, code);
    });

    test('D-10 the replay of a stored request is the stored response, and says so', async () => {
      const { as } = await openVertical(setup);
      const add = () => as(LIBRARIAN, '/api/op/book/add', { title: 'x' }, { 'idempotency-key': 'k' });
      const [first, again] = [await add(), await add()];
      expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([
        null,
        'true',
      ]);
      expect(await again.text()).toBe(await first.text());
    });

    test('D-04 an unset platform secret is 403, whatever is presented', async () => {
      const { read } = await openVertical(setup, null);
      await expectProblem(await read('tables'), 403, 'forbidden');
    });

    test.each([
      ['provision', { name: 'x' }],
      ['configure', { config: {} }],
      ['owner-seat', null],
      ['owner-claim', { origin: 'https://library.test' }],
    ])('D-03 the hook of %s was omitted: 501', async (route, body) => {
      const { read, write } = await openVertical(setup);
      await expectProblem(await (body === null ? read(route) : write(route, body)), 501, 'unsupported');
    });

    test('another exception is handed unchanged to the app’s own handler', async () => {
      const response = await (await openVertical(setup)).own('another');
      expect([response.status, await response.text()]).toEqual([
        418,
        'the app’s own handler: of another kind',
      ]);
    });
  });
}

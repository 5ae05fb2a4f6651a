import { PlatformError, PROBLEMS, type ProblemCode, problemSchema } from '@freehold/contracts';
import fc from 'fast-check';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { requestId } from 'hono/request-id';
import { describe, expect, test, vi } from 'vitest';
import { type ProblemOptions, problemResponse, type RequestIncidentSink } from './problem-response.ts';

/** Renders what was thrown, as a vertical's own route would. */
async function render(thrown: unknown, options: ProblemOptions = {}, headers: Record<string, string> = {}) {
  const app = new Hono();
  app.get('/orders/*', (c) => problemResponse(c, thrown, options));
  return app.request('/orders/17?token=secret', { headers });
}

function recorder() {
  const incidents: Parameters<RequestIncidentSink>[] = [];
  const options: ProblemOptions = {
    onIncident: (...incident) => void incidents.push(incident),
    newRequestId: () => 'req-new',
  };
  return { incidents, options };
}

test.each(Object.keys(PROBLEMS) as ProblemCode[])('D-08 a PlatformError %s is its envelope', async (code) => {
  const { incidents, options } = recorder();
  const error = new PlatformError(code, 'A sentence.', {
    reason: 'narrower',
    errors: [{ path: 'a.0', message: 'is wrong' }],
    headers: { allow: 'GET' },
  });
  const response = await render(error, options);
  expect(response.status).toBe(PROBLEMS[code].status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('allow')).toBe('GET');
  expect(response.headers.get('www-authenticate')).toBe(code === 'unauthenticated' ? 'Bearer' : null);
  expect(await response.json()).toEqual({
    type: `/problems/${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    code,
    detail: 'A sentence.',
    // spec 9.2: the copy for one migration window
    error: 'A sentence.',
    reason: 'narrower',
    errors: [{ path: 'a.0', message: 'is wrong' }],
    requestId: 'req-new',
  });
  expect(incidents).toEqual([]);
});

test('D-08 an error that carries its own response is untouched', async () => {
  const { incidents, options } = recorder();
  const challenge = new Response('who are you', { status: 401, headers: { 'www-authenticate': 'Basic' } });
  const answers = await Promise.all([
    render(new HTTPException(401, { res: challenge }), options),
    render(new HTTPException(503, { message: 'no issuer' }), options),
    render({ getResponse: () => new Response(null, { status: 302, headers: { location: '/in' } }) }, options),
  ]);
  expect(answers.map((each) => each.status)).toEqual([401, 503, 302]);
  expect(answers[0]?.headers.get('www-authenticate')).toBe('Basic');
  expect(await answers[0]?.text()).toBe('who are you');
  expect(await answers[1]?.text()).toBe('no issuer');
  expect(answers[2]?.headers.get('location')).toBe('/in');
  for (const answer of answers) expect(answer.headers.has('x-request-id')).toBe(false);
  expect(incidents).toEqual([]);
});

function hostileProxy(): object {
  const refuse = (): never => {
    throw new Error('trap');
  };
  return new Proxy(() => undefined, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse });
}

class HostileError extends Error {
  override get message(): string {
    throw new Error('getter');
  }
  override get stack(): string {
    throw new Error('getter');
  }
}

class LyingPlatformError extends PlatformError {
  override get status(): number {
    throw new Error('getter');
  }
}

const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['undefined', undefined],
  ['a string', 'password=hunter2'],
  ['a symbol', Symbol('s')],
  ['a bigint', 1n],
  ['an object without a prototype', Object.create(null)],
  ['a frozen error', Object.freeze(new Error('password=hunter2'))],
  ['an error whose getters throw', new HostileError()],
  ['a proxy that refuses everything', hostileProxy()],
  ['a function', () => 'password=hunter2'],
  ['a promise', Promise.resolve('password=hunter2')],
  ['a getResponse that throws', { getResponse: () => expect.unreachable() }],
  ['a getResponse that answers no response', { getResponse: () => 'password=hunter2' }],
  ['a PlatformError whose members throw', new LyingPlatformError('conflict', 'x')],
  ['a PlatformError of an unknown code', new PlatformError('teapot' as ProblemCode, 'x')],
  [
    'a PlatformError whose code is no code but a word of the prototype',
    new PlatformError('toString' as ProblemCode, 'x'),
  ],
  [
    'a PlatformError with an impossible header',
    new PlatformError('conflict', 'x', { headers: { 'a b': '\n' } }),
  ],
];

describe('whatever is thrown', () => {
  test.each(HOSTILE)('%s is 500 internal, says nothing, and is recorded', async (_, thrown) => {
    const { incidents, options } = recorder();
    const response = await render(thrown, options);
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(problemSchema.parse(JSON.parse(text)).code).toBe('internal');
    expect(text).not.toContain('hunter2');
    expect(incidents).toHaveLength(1);
    // The sink is told what was thrown and where, but nothing of the query.
    expect(incidents[0]?.[0] === thrown).toBe(true);
    expect(incidents[0]?.[1]).toEqual({ requestId: 'req-new', method: 'GET', path: '/orders/17' });
  });

  test('a sink that throws changes no answer, and both errors reach the console', async () => {
    const console = vi.spyOn(globalThis.console, 'error').mockImplementation(() => undefined);
    try {
      const response = await render(new Error('first'), {
        onIncident: () => {
          throw new Error('sink');
        },
      });
      expect(response.status).toBe(500);
      expect(console.mock.calls.flat().join('\n')).toMatch(/sink.*first/s);
    } finally {
      console.mockRestore();
    }
  });

  test('without a sink the console has it, whatever it is', async () => {
    const console = vi.spyOn(globalThis.console, 'error').mockImplementation(() => undefined);
    try {
      for (const [, thrown] of HOSTILE) expect((await render(thrown)).status).toBe(500);
      expect(console).toHaveBeenCalledTimes(HOSTILE.length);
    } finally {
      console.mockRestore();
    }
  });

  test('any value is a problem', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything({ withNullPrototype: true, withBigInt: true }), async (thrown) => {
        const { incidents, options } = recorder();
        const response = await render(thrown, options);
        expect(problemSchema.parse(await response.json()).code).toBe('internal');
        expect(incidents).toHaveLength(1);
      }),
      { numRuns: 200 },
    );
  });
});

test('an internal PlatformError is recorded where its cause is known, and once', async () => {
  const { incidents, options } = recorder();
  await render(new PlatformError('internal', 'Recorded by its unit.'), options);
  expect(incidents).toEqual([]);
  await render(new PlatformError('internal', 'Made here.', { cause: new Error('why') }), options);
  expect(incidents).toHaveLength(1);
});

describe('the request id', () => {
  const idOf = async (response: Response) => {
    const { requestId } = problemSchema.parse(await response.json());
    expect(response.headers.get('x-request-id')).toBe(requestId);
    return requestId;
  };
  const error = new PlatformError('conflict', 'x');

  test.each([['req_01h:a/b'], ['two words'], ['x'.repeat(129)], ['']])(
    'is ours, also when the caller sent %j',
    async (sent) => {
      const options = { newRequestId: () => 'req-new' };
      expect(await idOf(await render(error, options, { 'x-request-id': sent }))).toBe('req-new');
    },
  );

  test('is random when nothing says otherwise, and never twice the same', async () => {
    const ids = await Promise.all([render(error), render(error)].map(async (each) => idOf(await each)));
    expect(new Set(ids).size).toBe(2);
  });

  test('is the one that a middleware settled on', async () => {
    const app = new Hono();
    app.use(requestId({ generator: () => 'from-middleware' }));
    app.get('/', (c) => problemResponse(c, error));
    expect(await idOf(await app.request('/'))).toBe('from-middleware');
  });
});

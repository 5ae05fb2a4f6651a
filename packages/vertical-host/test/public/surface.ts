/** A public surface to test with: its vertical takes bookings for a shop, and everything that happens is written down. */
import { type InvokeResult, PlatformError, type Problem, problemSchema } from '@freehold/contracts';
import { type Context, type Env, type ErrorHandler, Hono } from 'hono';
import { expect } from 'vitest';
import {
  mountPublicSurface,
  type PublicActor,
  type PublicHandler,
  type PublicRequest,
  type PublicSurfaceOptions,
  problemResponse,
} from '../../src/index.ts';

export const SHOP = 'https://shop.example';

/** Header → value, or `origin: undefined` for none. The default is the listed page's. */
export interface Ask extends Omit<RequestInit, 'headers'> {
  readonly origin?: string | undefined;
  readonly headers?: Record<string, string>;
}

export interface Surface {
  readonly app: Hono;
  /** The list that the resolver answers from. Tests change it. */
  readonly live: { origins: string[] };
  readonly asked: { readonly origin: string; readonly service: string }[];
  readonly handled: PublicRequest[];
  readonly invoked: {
    readonly operation: string;
    readonly input: unknown;
    readonly key: string | undefined;
  }[];
  /** The errors that reached the app's error handler. */
  readonly errors: unknown[];
  readonly incidents: unknown[];
  ask(path: string, init?: Ask): Promise<Response>;
}

export interface SurfaceSetup extends Partial<PublicSurfaceOptions> {
  /** Stands for every handler. Default: it invokes `booking/request` with the body, and answers the output. */
  readonly handler?: PublicHandler<Env>;
  readonly invoke?: (operation: string, input: unknown) => Promise<Partial<InvokeResult>>;
  /** The app's own error handler; null leaves it without. Default: problem documents. */
  readonly onError?: ErrorHandler | null;
  /** Sees the app before the surface is mounted. */
  readonly before?: (app: Hono) => void;
}

export function openSurface({ handler, invoke, onError, before, ...options }: SurfaceSetup = {}): Surface {
  const app = new Hono();
  const surface: Surface = {
    app,
    live: { origins: [SHOP, 'http://localhost:5173'] },
    asked: [],
    handled: [],
    invoked: [],
    errors: [],
    incidents: [],
    ask: async (path, { origin, headers = {}, ...init } = { origin: SHOP }) =>
      app.request(`http://pipes.example${path}`, {
        ...init,
        headers: { ...(origin === undefined ? {} : { origin }), ...headers },
      }),
  };
  const onIncident = (error: unknown): void => void surface.incidents.push(error);
  if (onError !== null)
    app.onError(
      onError ??
        ((error, c) => {
          surface.errors.push(error);
          return problemResponse(c, error, { onIncident });
        }),
    );
  before?.(app);
  const handle = async (c: Context, request: PublicRequest): Promise<Response> => {
    surface.handled.push(request);
    if (handler) return handler(c, request);
    const { output } = await request.actor.invoke('booking/request', request.body);
    return c.json(output);
  };
  mountPublicSurface(app, {
    service: 'booking',
    basePath: '/public',
    onIncident,
    resolveActor: async (_c, asked): Promise<PublicActor> => {
      surface.asked.push(asked);
      return {
        allowedOrigins: [...surface.live.origins],
        invoke: async (operation, input, { idempotencyKey: key }) => {
          surface.invoked.push({ operation, input, key });
          const result = await invoke?.(operation, input);
          return { output: { done: true }, invocation: 'inv_1', version: null, replayed: false, ...result };
        },
      };
    },
    routes: (route) => {
      route.get('/slots', handle);
      route.get('/slots/:day', handle);
      route.post('/bookings', handle);
      // Declared in the order that would hide the literal one.
      route.get('/bookings/:id', handle);
      route.patch('/bookings/:id', handle);
      route.delete('/bookings/:booking', handle);
      route.put('/bookings/latest', handle);
    },
    ...options,
  });
  return surface;
}

export function json(body: unknown, init: Ask = {}): Ask {
  return {
    method: 'POST',
    origin: SHOP,
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** The problem that a response is. It must be one. */
export async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(await response.json());
  expect(problem.status).toBe(response.status);
  return problem;
}

/** The parts of an answer that an unlisted page can observe: all but the request id. */
export async function seen(response: Response): Promise<unknown> {
  const { requestId: _, ...problem } = await problemOf(response);
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
  return { problem, headers };
}

/** The headers of CORS that a response has. */
export function corsOf(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-')));
}

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

/** Thrown values that must not be shown. */
export const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['an error', new Error('password=hunter2')],
  ['null', null],
  ['undefined', undefined],
  ['a string', 'password=hunter2'],
  ['a number', 404],
  ['a symbol', Symbol('s')],
  ['an object that looks like a refusal', { code: 'not_found', message: 'password=hunter2', status: 404 }],
  ['an object without a prototype', Object.create(null)],
  ['a frozen error', Object.freeze(new Error('password=hunter2'))],
  ['an error whose getters throw', new HostileError()],
  ['a proxy that refuses everything', hostileProxy()],
  ['a promise', Promise.resolve('password=hunter2')],
  ['a PlatformError whose members throw', new LyingPlatformError('conflict', 'x')],
  ['a PlatformError of an unknown code', new PlatformError('teapot' as never, 'x')],
  [
    'a PlatformError with an impossible header',
    new PlatformError('conflict', 'x', { headers: { 'a b': '\n' } }),
  ],
];

/** The declaration of a vertical's public surface, and the arguments of its handlers (spec 4.6). */
import type { InvokeRequest, InvokeResult } from '@freehold/contracts';
import type { Context, Env } from 'hono';
import type { ProblemOptions } from '../lib/problem-response.ts';

/** The parts of a call beside the operation and its input. */
export type PublicCall = Pick<InvokeRequest, 'idempotencyKey'>;

/** The service principal of one instance, and the origins whose pages may ask it. */
export interface PublicActor {
  /**
   * Runs an operation as the service.
   * @param call has the idempotency key. Pass it on: without it a repeated click acts twice.
   */
  invoke(operation: string, input: unknown, call: PublicCall): Promise<InvokeResult>;
  /**
   * As browsers write them: `https://shop.example`, `http://localhost:5173`. Compared exactly; there are no patterns.
   * Read again for each request, so that a removed origin is refused from then on.
   */
  readonly allowedOrigins: readonly string[];
}

/** The actor of a handler, with idempotency keys. */
export interface HandlerActor extends Omit<PublicActor, 'invoke'> {
  /**
   * Runs an operation as the service of the surface. On an unsafe method, the `Idempotency-Key` of the request makes a
   * repeat answer like the first: a handler that repeats the same calls in the same order acts once.
   */
  invoke(operation: string, input: unknown): Promise<InvokeResult>;
}

/** Facts about the request that the surface has checked. */
export interface PublicRequest {
  readonly actor: HandlerActor;
  /** The origin of the page that asks, one of `allowedOrigins`. */
  readonly origin: string;
  /** The JSON body. Empty for GET and HEAD, and where none was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers a request of a listed page. An error goes to the app's error handler, and the page may read its answer. */
export type PublicHandler<E extends Env> = (
  c: Context<E>,
  request: PublicRequest,
) => Promise<Response> | Response;

/** Registers handlers by method. Paths are of plain words and `:parameters`, relative to `basePath`. */
export interface PublicRouteRegistry<E extends Env> {
  get(path: string, handler: PublicHandler<E>): void;
  post(path: string, handler: PublicHandler<E>): void;
  put(path: string, handler: PublicHandler<E>): void;
  patch(path: string, handler: PublicHandler<E>): void;
  delete(path: string, handler: PublicHandler<E>): void;
}

export interface PublicSurfaceOptions<E extends Env = Env> extends ProblemOptions {
  /** The key of the service in the manifest, without `service:`. The surface acts as no other principal. */
  readonly service: string;
  /** Everything under it belongs to the surface. Plain words and `:parameters`: `/public`. */
  readonly basePath: string;
  /**
   * Finds the instance that a request is for, and returns its service and its list of origins; null when there is
   * none. Asked once per request, preflights included. It sees the request without `Cookie` and `Authorization`. A
   * `PlatformError` `not_found` means null; other errors go to the app's error handler.
   */
  readonly resolveActor: (
    c: Context<E>,
    asked: { readonly origin: string; readonly service: string },
  ) => Promise<PublicActor | null> | PublicActor | null;
  /** Called once, at mount. */
  readonly routes: (route: PublicRouteRegistry<E>) => void;
  /** The largest body, in bytes. Default: 1 MiB. */
  readonly bodyLimitBytes?: number;
}

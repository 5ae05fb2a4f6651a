/** What a vertical says of its public surface, and what its handlers are given (spec 4.6). */
import type { InvokeRequest, InvokeResult } from '@freehold/contracts';
import type { Context, Env } from 'hono';
import type { ProblemOptions } from '../problem-response.ts';

/** What travels with a call of an operation beside its input. */
export type PublicCall = Pick<InvokeRequest, 'idempotencyKey'>;

/** The service principal of one instance, and the origins whose pages may ask it. */
export interface PublicActor {
  /**
   * Runs an operation as the service.
   * @param call has the key under which a repeat is recognised. Pass it on: without it a repeated click acts twice.
   */
  invoke(operation: string, input: unknown, call: PublicCall): Promise<InvokeResult>;
  /**
   * As browsers write them: `https://shop.example`, `http://localhost:5173`. Compared exactly; there are no patterns.
   * Read anew for each request, so that an origin that is taken off the list is refused from then on.
   */
  readonly allowedOrigins: readonly string[];
}

/** The actor as a handler sees it: repeats are taken care of. */
export interface HandlerActor extends Omit<PublicActor, 'invoke'> {
  /**
   * Runs an operation as the service of the surface. On an unsafe method, the `Idempotency-Key` of the request makes
   * a repeat answer what the first answered: a handler that repeats the same calls in the same order acts once.
   */
  invoke(operation: string, input: unknown): Promise<InvokeResult>;
}

/** Beside the request, what the surface found out about it. */
export interface PublicRequest {
  readonly actor: HandlerActor;
  /** The origin of the page that asks, one of `allowedOrigins`. */
  readonly origin: string;
  /** The JSON body. Empty for GET and HEAD, and where none was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Answers a request of a listed page. What it throws goes to the app's error handler, and the page may read what
 * that answers.
 */
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
  /** The key of the service in the manifest, without `service:`. The surface acts as this one and as nobody else. */
  readonly service: string;
  /** Everything under it belongs to the surface. Plain words and `:parameters`: `/public`. */
  readonly basePath: string;
  /**
   * Finds the instance that a request is for, and answers its service and its list of origins; null when there is
   * none. Asked once a request, preflights included. It sees the request without `Cookie` and `Authorization`.
   * A `PlatformError` `not_found` means null; whatever else it throws goes to the app's error handler.
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

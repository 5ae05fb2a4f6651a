/** The requests that applications answer, seen from outside: whose they were, what came of them, how long it took. */
import type { NodeEnv } from '../network/router.ts';
import { whileServing } from './served-node.ts';

/** One request to an application. Holds nothing that its sender wrote. */
export interface ServedRequest {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly version: string;
  readonly surface: string;
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
}

export type VerticalFetch = (request: Request, env: NodeEnv) => Response | Promise<Response>;

export interface ServingOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** It must not throw. */
  readonly onServed: (served: ServedRequest) => void;
}

/** Wraps an application: what is thrown inside is known to be of its node, and each request is told once. */
export function observed(fetch: VerticalFetch, { now, onServed }: ServingOptions): VerticalFetch {
  return async (request, env) => {
    const { node } = env;
    if (node === null) return fetch(request, env);
    const startedAtMs = now();
    // Whatever is thrown becomes a 500 further out.
    let status = 500;
    try {
      const response = await whileServing(node, () => fetch(request, env));
      status = response.status;
      return response;
    } finally {
      const { tenant, scope, vertical, version, surface } = node;
      const durationMs = Math.max(0, now() - startedAtMs);
      onServed({ tenant, scope, vertical, version, surface, method: request.method, status, durationMs });
    }
  };
}

/** The requests that applications answer, seen from outside: whose they were, what came of them, how long it took. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestLine } from '@freehold/control-plane';
import type { NodeEnv } from '../network/router.ts';

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

export interface ServedNode {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly version: string;
}

const storage = new AsyncLocalStorage<ServedNode>();

/** Runs a task for a node. */
export function whileServing<T>(node: ServedNode, task: () => T): T {
  return storage.run(node, task);
}

/** The node of the request that led here, or null where none did. */
export function servedNode(): ServedNode | null {
  return storage.getStore() ?? null;
}

/** Takes one line, without its line break. It must not throw. */
export type LineSink = (line: string) => void;

export interface RequestLog {
  /** A request to the control plane. */
  onRequest(line: RequestLine): void;
  /** A request to an application. */
  onServed(served: ServedRequest): void;
}

/** Nothing that a sender wrote is in a line, but the method and the request id; addresses hold tokens. */
export function makeRequestLog(write: LineSink, now: () => number): RequestLog {
  const line = (kind: string, fields: object): void =>
    write(JSON.stringify({ level: 'info', at: new Date(now()).toISOString(), kind, ...fields }));
  return {
    onRequest: ({ requestId, operation, method, status, durationMs, actor }) =>
      line('control-plane', {
        requestId,
        operation,
        method,
        status,
        durationMs,
        actor: actor && { kind: actor.kind, id: actor.id },
      }),
    onServed: (served) => line('application', served),
  };
}

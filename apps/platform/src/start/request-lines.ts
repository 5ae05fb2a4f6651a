/** The line that each request leaves behind, where the operator wants one: who asked for what, and what came of it. */
import type { RequestLine } from '@freehold/control-plane';
import type { ServedRequest } from '../feeds/serving.ts';

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

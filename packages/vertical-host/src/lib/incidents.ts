/** What nobody expected, told to whoever looks after the application. */
import type { Context } from 'hono';
import { requestIdOf } from './request-id.ts';

/**
 * Receives what nobody expected, with where it happened: the path is without its query, which may hold a token.
 * `requestId` is the one that the caller was told.
 */
export type RequestIncidentSink = (
  error: unknown,
  where: { readonly requestId: string; readonly method: string; readonly path: string },
) => void;

export interface IncidentOptions {
  /** Where errors that are our bug are recorded. Default: the console, so that none is ever lost. */
  readonly onIncident?: RequestIncidentSink;
  /** Names a request that brought no usable `x-request-id`. Default: a random UUID. */
  readonly newRequestId?: () => string;
}

/** Records an error of a request. Never throws. */
export function recordIncident(c: Context, error: unknown, options: IncidentOptions): void {
  const { onIncident: sink = recordOnConsole, newRequestId } = options;
  // As it was sent: a decoded path could hold a line break and forge a line of the log.
  const where = {
    requestId: requestIdOf(c, newRequestId),
    method: c.req.method,
    path: new URL(c.req.url).pathname,
  };
  try {
    sink(error, where);
  } catch (failure) {
    // The recorder is broken. Neither its error nor the one it was given may vanish with it.
    recordOnConsole(failure, where);
    if (sink !== recordOnConsole) recordOnConsole(error, where);
  }
}

function recordOnConsole(error: unknown, where: Parameters<RequestIncidentSink>[1]): void {
  const line = `${where.method} ${where.path} failed (request ${where.requestId}): ${describe(error)}`;
  // biome-ignore lint/suspicious/noConsole: without a sink this is the last place where an error can be seen.
  console.error(line);
}

/** An error in words. Even asking for them may throw. */
function describe(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? String(error)) : String(error);
  } catch {
    return 'a value that cannot be printed was thrown';
  }
}

/** Disconnecting a connection because what it served is reaped: the platform's own work, which nobody called for by itself. */
import type { Actor, AdminCall } from '../actors.ts';
import type { Disconnecting } from './delegated-operations.ts';

const PLATFORM: Actor = { kind: 'system', id: 'reaping', name: "The platform's own work of a reap" };

/**
 * The call that would have disconnected this one alone.
 * @param run the long work that it is part of: it stands where the id of a request does.
 */
export function disconnectCall(
  run: { readonly id: string },
  { tenant, connection }: Pick<Disconnecting, 'tenant' | 'connection'>,
): AdminCall {
  return {
    operation: 'connections.disconnect',
    params: { tenant, connection },
    query: {},
    body: {},
    actor: PLATFORM,
    requestId: run.id,
  };
}

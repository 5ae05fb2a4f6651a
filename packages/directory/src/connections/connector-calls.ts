/**
 * Calls that a connection makes in a scope (spec 4.4, connector write-back). Each one passes the gate anew: a connection
 * that was disconnected or shut out a moment ago does nothing more, whatever the scope's own grants still say.
 */
import { type ConnectorInvoke, connectorInvokeResponse } from '@freehold/contracts';
import type { z } from 'zod';
import type { VerticalGateway } from '../gateway.ts';
import { askVertical, type Deadline } from '../verticals/client.ts';
import { noVertical } from '../verticals/reach.ts';
import type { ConnectionDeps } from './deps.ts';

export type ConnectorAnswer = z.output<typeof connectorInvokeResponse>;

/**
 * Builds the function that runs one operation as the connection.
 * It rejects with `not_found`; `conflict`, reason `connection_not_live`; `forbidden`, reason `not_granted`; what the
 * vertical said.
 */
export function makeConnectorInvoke(
  { directory }: Pick<ConnectionDeps, 'directory'>,
  { gateway, deadline }: { readonly gateway: VerticalGateway; readonly deadline: Deadline },
): (call: ConnectorInvoke) => Promise<ConnectorAnswer> {
  return async (call) => {
    const { tenantId, scopeId, ...body } = call;
    const { vertical } = await directory.connectionGate({
      tenant: tenantId,
      scope: scopeId,
      connection: body.connection,
    });
    const bound = gateway.bound(vertical);
    if (bound) {
      const question = { path: 'connector-invoke', scope: { tenantId, scopeId }, body };
      return askVertical(bound, { ...question, answer: connectorInvokeResponse }, deadline);
    }
    const local = gateway.local(vertical);
    if (!local) throw noVertical(vertical);
    return local.connectorInvokeLocal(call);
  };
}

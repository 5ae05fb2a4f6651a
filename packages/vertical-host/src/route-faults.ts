/** The check of an operation before there is a mount: for a declaration that is to fail whole. */
import type { OperationDeclaration } from '@freehold/operations';
import { type DeclarationFault, faultsIn } from '@freehold/operations/faults';
import { attempt, operationRoute, type RouteFaultCode } from './lib/operation-routes.ts';
import { mcpToolsOf } from './mcp/tools.ts';

/** Returns the mistakes by which an operation cannot be mounted or be a tool. Paths begin at the operation. */
export function findRouteFaults(
  name: string,
  operation: OperationDeclaration,
): readonly DeclarationFault<RouteFaultCode>[] {
  return faultsIn((report) => {
    if (operationRoute(name, operation, report) === null) return;
    attempt(report, { path: [], code: 'operation_tool' }, () => mcpToolsOf({ [name]: operation }));
  });
}

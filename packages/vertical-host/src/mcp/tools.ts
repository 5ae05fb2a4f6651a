/** The tools of a vertical: one for each operation that declares an http binding (spec 4.5.3). */
import { isReadOnly, type OperationDeclaration, type OperationTable } from '@freehold/operations';
import {
  contentBlocks,
  type McpTool as Tool,
  toolHints,
  toolInputSchema,
  toolOutputSchema,
} from '@freehold/operations/mcp';

/** One operation as a model sees it. Its name is the operation's with `_` for each slash: `order_create`. */
export interface McpTool extends Tool {
  /** The operation behind it: `order/create`. */
  readonly operation: string;
}

/** MCP 2026-07-28, "Tool Names". */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * The tools of a table, in the order of its declarations: operations without an `http` binding and those with `mcp:
 * false` are left out.
 * @throws Error when two operations would be one tool, naming both, and for one that cannot be a tool.
 */
export function mcpToolsOf(operations: OperationTable): McpTool[] {
  const taken = new Map<string, string>();
  return Object.entries(operations)
    .filter(([, { http, mcp }]) => http !== undefined && mcp !== false)
    .map(([operation, declaration]) => {
      const name = toolName(operation);
      const other = taken.get(name);
      if (other !== undefined) throw new Error(`${other} and ${operation} would be the same tool: ${name}`);
      taken.set(name, operation);
      return toolOf(name, operation, declaration);
    });
}

/** An operation's name has no underscore, so that two names never become one. */
function toolName(operation: string): string {
  const name = operation.replaceAll('/', '_');
  if (!TOOL_NAME.test(name))
    throw new Error(
      `The operation ${operation} cannot be a tool: ${name} is not 1 to 128 letters, digits and _-.`,
    );
  return name;
}

function toolOf(name: string, operation: string, declaration: OperationDeclaration): McpTool {
  const { summary, description = summary, input, output, mcp, http } = declaration;
  const shown = mcp || undefined;
  try {
    const outputSchema = output === contentBlocks ? undefined : toolOutputSchema(output);
    return {
      name,
      operation,
      title: shown?.title ?? summary,
      description,
      inputSchema: toolInputSchema(input),
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations: toolHints({
        readOnly: isReadOnly(declaration),
        destructive: shown?.destructive ?? http?.method === 'DELETE',
        method: http?.method,
      }),
    };
  } catch (cause) {
    throw new Error(`The operation ${operation} cannot be described as a tool`, { cause });
  }
}

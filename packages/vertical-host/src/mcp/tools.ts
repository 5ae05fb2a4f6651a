/** The tools of a vertical: one for each operation that declares an http binding (spec 4.5.3). */
import { isReadOnly, type OperationDeclaration, type OperationTable } from '@freehold/contracts';
import type { JsonSchema } from '@freehold/contracts/http';
import { contentBlocks } from './content-blocks.ts';
import { type ObjectSchema, toolInputSchema, toolOutputSchema } from './tool-schemas.ts';

/** What a client may think of a call before it is made. Hints: permissions are checked whatever they say. */
export interface McpToolHints {
  /** True for an operation that changes nothing, so for every GET. */
  readonly readOnlyHint: boolean;
  /** True where the declaration says so, and for DELETE. */
  readonly destructiveHint: boolean;
  /** True for reads, PUT and DELETE. Any other call is made repeatable by an idempotency key. */
  readonly idempotentHint: boolean;
  /** Always false: an operation works on its own scope, and on nothing outside. */
  readonly openWorldHint: false;
}

/** One operation as a model sees it. */
export interface McpTool {
  /** The operation's name with `_` for each slash: `order/create` is `order_create`. */
  readonly name: string;
  /** The operation behind it: `order/create`. */
  readonly operation: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema 2020-12. */
  readonly inputSchema: ObjectSchema;
  /** JSON Schema 2020-12. Absent for an operation that says nothing of its answer, or answers `contentBlocks`. */
  readonly outputSchema?: JsonSchema;
  readonly annotations: McpToolHints;
}

/** MCP 2026-07-28, "Tool Names". */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * The tool surface of a table, in the order of its declarations: operations without an `http` binding and those
 * with `mcp: false` are left out.
 * @throws Error when two operations would be one tool, naming both, and for one that no tool can be made of.
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

/** An operation's name never holds an underscore, so that no two of them meet here. */
function toolName(operation: string): string {
  const name = operation.replaceAll('/', '_');
  if (!TOOL_NAME.test(name))
    throw new Error(
      `The operation ${operation} cannot be a tool: ${name} is not 1 to 128 letters, digits and _-.`,
    );
  return name;
}

function toolOf(name: string, operation: string, declaration: OperationDeclaration): McpTool {
  const { summary, description = summary, input, output, mcp } = declaration;
  try {
    const outputSchema = output === contentBlocks ? undefined : toolOutputSchema(output);
    return {
      name,
      operation,
      title: (mcp || undefined)?.title ?? summary,
      description,
      inputSchema: toolInputSchema(input),
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations: hintsOf(declaration),
    };
  } catch (cause) {
    throw new Error(`The operation ${operation} cannot be described as a tool`, { cause });
  }
}

function hintsOf(declaration: OperationDeclaration): McpToolHints {
  const readOnly = isReadOnly(declaration);
  const method = declaration.http?.method;
  const destructive = (declaration.mcp || undefined)?.destructive ?? method === 'DELETE';
  return {
    readOnlyHint: readOnly,
    destructiveHint: !readOnly && destructive,
    idempotentHint: readOnly || method === 'PUT' || method === 'DELETE',
    openWorldHint: false,
  };
}

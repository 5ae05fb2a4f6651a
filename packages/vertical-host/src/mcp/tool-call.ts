/** One `tools/call`: its operation invoked as a route would, and what came of it as a tool result. */
import {
  httpBinding,
  type InvokeRequest,
  type InvokeResult,
  type OperationDeclaration,
  type OperationStub,
  PlatformError,
  type Problem,
  problemSchema,
} from '@freehold/contracts';
import { readCallMeta } from '@freehold/operations/mcp';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Context } from 'hono';
import { type ProblemOptions, problemResponse } from '../problem-response.ts';
import { problemMeta, resultMeta } from './call-meta.ts';
import { contentBlocks } from './content-blocks.ts';
import type { McpTool } from './tools.ts';

export interface ToolCall {
  readonly tool: McpTool;
  readonly declaration: OperationDeclaration;
  readonly arguments: Readonly<Record<string, unknown>> | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The call of an operation that a tool call is.
 * @throws PlatformError `validation_failed` when `_meta` holds a condition that is none.
 */
export function readToolCall({ tool, declaration, arguments: input, meta }: ToolCall): InvokeRequest {
  const conditions = readCallMeta(meta);
  const isRead = httpBinding(tool.operation, declaration).method === 'GET';
  return { operation: tool.operation, input: input ?? {}, ...(isRead ? {} : conditions) };
}

/**
 * Makes the call. Never rejects: a refusal, and a failure of ours, is a result that says so, because the model that
 * called can read it and do better. What nobody expected is recorded, and told without a word about its cause.
 */
export async function answerToolCall(
  c: Context,
  stub: OperationStub,
  { tool, declaration }: ToolCall,
  request: InvokeRequest,
  options: ProblemOptions,
): Promise<CallToolResult> {
  try {
    const result = await stub.invoke(request);
    return declaration.output === contentBlocks ? blocksResult(result) : dataResult(result);
  } catch (thrown) {
    return problemResult(tool, await problemOf(c, thrown, options));
  }
}

function dataResult(result: InvokeResult): CallToolResult {
  // Whoever reads only text reads the same JSON (MCP 2026-07-28, "Structured Content"), so it is written first.
  const text = JSON.stringify(result.output ?? null);
  return {
    content: [{ type: 'text', text }],
    structuredContent: JSON.parse(text),
    _meta: resultMeta(result),
  };
}

function blocksResult(result: InvokeResult): CallToolResult {
  const parsed = contentBlocks.safeParse(result.output);
  if (!parsed.success)
    throw new TypeError('the operation answered no content blocks', { cause: parsed.error });
  return { content: parsed.data as CallToolResult['content'], _meta: resultMeta(result) };
}

/**
 * A refusal. The document is the text, and `_meta` for software. It is structured content only for a tool that
 * promises none: clients hold structured content to the output schema, some of them on errors too.
 */
function problemResult({ outputSchema }: McpTool, problem: Problem): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(problem) }],
    ...(outputSchema === undefined ? { structuredContent: { ...problem } } : {}),
    _meta: problemMeta(problem),
  };
}

/** The document of whatever was thrown, recorded like that of a route. */
async function problemOf(c: Context, thrown: unknown, options: ProblemOptions): Promise<Problem> {
  const parsed = problemSchema.safeParse(await documentOf(problemResponse(c, thrown, options)));
  if (parsed.success) return parsed.data;
  // It brought a response of its own, a redirect perhaps, that no tool result can carry.
  const cause = new PlatformError('internal', 'Something went wrong on our side. It has been recorded.', {
    cause: thrown,
  });
  return problemSchema.parse(await problemResponse(c, cause, options).json());
}

async function documentOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

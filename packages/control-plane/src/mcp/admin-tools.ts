/**
 * The staff tools: each admin operation that answers JSON as a tool, and the input of a tool call as that of an admin
 * call.
 */
import { PlatformError, parseInput } from '@freehold/contracts';
import type { JsonSchema } from '@freehold/contracts/http';
import type { AdminCall } from '@freehold/directory';
import type { AdminOperation } from '@freehold/directory/declarations';
import {
  type CallConditions,
  MCP_META,
  type McpTool,
  malformedMeta,
  readCallMeta,
  toolHints,
  toolInputSchema,
  toolOutputSchema,
} from '@freehold/operations/mcp';
import { z } from 'zod';
import {
  type AdminOperationTable,
  isUnsafe,
  strictInput,
  takesIdempotencyKey,
  takesIfMatch,
} from '../declared/operations.ts';

export type ToolInput = Pick<AdminCall, 'params' | 'query' | 'body' | 'idempotencyKey' | 'ifMatch'>;

export interface AdminTool extends McpTool {
  readonly operation: AdminOperation;
  /** @throws PlatformError `validation_failed`. */
  read(
    given: Readonly<Record<string, unknown>>,
    meta: Readonly<Record<string, unknown>> | undefined,
  ): ToolInput;
}

const PARTS = ['params', 'query', 'body'] as const;

/**
 * Makes the tools of a table, in its order. An operation of bytes, in or out, has no tool.
 * @throws TypeError for an operation with one field name in two parts: as arguments they would be one.
 */
export function adminToolsOf(table: AdminOperationTable): readonly AdminTool[] {
  return Object.values(table)
    .filter(({ bytes, upload }) => bytes === undefined && upload === undefined)
    .map((operation) => {
      const tool = made.get(operation) ?? makeTool(operation);
      made.set(operation, tool);
      return tool;
    });
}

/** Describing a hundred operations takes 30 ms: once in a process, whatever number of servers it has. */
const made = new WeakMap<AdminOperation, AdminTool>();

function makeTool(operation: AdminOperation): AdminTool {
  const schemas = strictInput(operation);
  const shape: Record<string, z.core.$ZodType> = {};
  for (const part of PARTS)
    for (const [name, field] of Object.entries(schemas[part].shape)) {
      if (Object.hasOwn(shape, name)) throw new TypeError(`${operation.name} has two fields ${name}`);
      shape[name] = field;
    }
  let answers: JsonSchema | null = null;
  return {
    operation,
    ...descriptionOf(operation, z.strictObject(shape)),
    // Not before the first list: it takes as long again, and no start is to wait for it.
    get outputSchema() {
      answers ??= answerSchema(operation);
      return answers;
    },
    read: (given, meta) => {
      const stray = Object.keys(given).find((name) => !Object.hasOwn(shape, name));
      if (stray !== undefined) throw invalid('The arguments are not valid: one of them is unknown.', stray);
      const read = (part: (typeof PARTS)[number]) => {
        const own = Object.entries(given).filter(([name]) => Object.hasOwn(schemas[part].shape, name));
        return parseInput('The input', schemas[part], Object.fromEntries(own));
      };
      return {
        params: read('params'),
        query: read('query'),
        body: read('body'),
        ...(isUnsafe(operation.method) ? conditionsOf(meta, operation) : {}),
      };
    },
  };
}

/** The form of each answer, which is a plan where one is asked for. The whole schemas would be two thirds of a list. */
function answerSchema({ name, output, plan }: AdminOperation): JsonSchema {
  const schema = toolOutputSchema(plan === undefined ? output : z.union([output, plan]), true);
  if (schema === undefined) throw new TypeError(`${name} says nothing of its answer`);
  return schema;
}

const SHOW_THE_PLAN = 'Before you call it, call it with dryRun, show your person the plan, and ask them.';

function descriptionOf(operation: AdminOperation, input: z.ZodObject): McpTool {
  const { name, summary, description, method, audit, plan, destructive = false } = operation;
  return {
    // Names of operations hold no underscore, so that no two collide.
    name: name.replaceAll('.', '_'),
    title: summary,
    description: description === undefined ? summary : `${summary}. ${description}`,
    inputSchema: toolInputSchema(input),
    ...(plan === undefined ? {} : { askFirst: SHOW_THE_PLAN }),
    annotations: toolHints({
      readOnly: audit !== 'audit' && (method === 'GET' || audit === 'access'),
      destructive,
      method,
    }),
  };
}

function conditionsOf(
  meta: Readonly<Record<string, unknown>> | undefined,
  operation: AdminOperation,
): CallConditions {
  const conditions = readCallMeta(meta);
  // A condition that is not checked is refused, and so is a key without a stored answer.
  if (conditions.ifMatch !== undefined && !takesIfMatch(operation))
    throw malformedMeta(MCP_META.ifMatch, 'is not looked at by this tool');
  if (conditions.idempotencyKey !== undefined && !takesIdempotencyKey(operation))
    throw malformedMeta(MCP_META.idempotencyKey, 'is not looked at by this tool');
  return conditions;
}

function invalid(detail: string, path: string): PlatformError {
  return new PlatformError('validation_failed', detail, { errors: [{ path, message: detail }] });
}

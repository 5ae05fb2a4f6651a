/** A declared operation as a model sees it: what it takes and answers, and what to think of a call before it is made. */
import type { HttpMethod } from '@freehold/contracts';
import { alternatives, type JsonSchema } from '@freehold/contracts/http';
import { z } from 'zod';

/** A schema whose root says that it is an object, as a tool list asks of inputs. */
export type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** Hints for a client before it makes a call. Permissions are checked whatever they say. */
export interface McpToolHints {
  /** True for an operation that changes nothing. */
  readonly readOnlyHint: boolean;
  /** True for what deletes, ends or replaces something. */
  readonly destructiveHint: boolean;
  /** True for reads, PUT and DELETE. Any other call is made repeatable by an idempotency key. */
  readonly idempotentHint: boolean;
  /** Always false: an operation works on its own data, and on nothing outside. */
  readonly openWorldHint: false;
}

/** One operation as a model sees it. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema 2020-12. */
  readonly inputSchema: ObjectSchema;
  /** JSON Schema 2020-12. Absent for an operation that says nothing of its answer. */
  readonly outputSchema?: JsonSchema;
  readonly annotations: McpToolHints;
  /**
   * Of a destructive tool, the sentence that its description ends with where the client cannot be asked: what to do before a
   * call. Default: to ask the person.
   */
  readonly askFirst?: string;
}

export function toolHints(call: {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly method: HttpMethod | undefined;
}): McpToolHints {
  const { readOnly, destructive, method } = call;
  return {
    readOnlyHint: readOnly,
    destructiveHint: !readOnly && destructive,
    idempotentHint: readOnly || method === 'PUT' || method === 'DELETE',
    openWorldHint: false,
  };
}

/** The arguments of a tool: an object, or a union of objects. */
export function toolInputSchema(input: z.ZodType): ObjectSchema {
  return { type: 'object', ...(z.toJSONSchema(input, { io: 'input' }) as JsonSchema) };
}

const BEYOND_FORM = [
  ...['title', 'description', 'default', 'pattern', 'format', 'contentEncoding', 'propertyNames'],
  ...[
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
  ],
] as const;

/**
 * The structured content of a tool, or undefined when its operation says nothing of its answer: clients refuse an
 * answer that its schema does not fit, so that there is no schema rather than one that is guessed. Open for fields
 * to come, as in the OpenAPI document: a client keeps a tool list longer than we keep a version.
 * @param isBrief leaves out what is not of the form itself, for a list that would be too long: words, patterns and bounds.
 */
export function toolOutputSchema(output: z.ZodType, isBrief = false): JsonSchema | undefined {
  const root = z.toJSONSchema(output, {
    io: 'output',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (isBrief) for (const keyword of BEYOND_FORM) delete jsonSchema[keyword];
    },
  }) as JsonSchema;
  if (Object.keys(root).every((keyword) => keyword === '$schema')) return undefined;
  // Clients of 2025-11-25 take objects only, and are told so by the root itself, never by what it refers to.
  const isObject = alternatives(root, root).every(({ type }) => type === 'object');
  return isObject ? { type: 'object', ...root } : root;
}

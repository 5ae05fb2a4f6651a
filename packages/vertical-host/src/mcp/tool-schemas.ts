/** What a tool takes and answers, as JSON Schema 2020-12: the one form of its operation's schemas that clients read. */
import { alternatives, type JsonSchema } from '@freehold/contracts/http';
import { z } from 'zod';

/** A schema whose root says that it is an object, as a tool list asks of inputs. */
export type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** The arguments of a tool. Holds for inputs that `operationRoutes` let through: objects, or unions of objects. */
export function toolInputSchema(input: z.ZodType): ObjectSchema {
  return { type: 'object', ...(z.toJSONSchema(input, { io: 'input' }) as JsonSchema) };
}

/**
 * The structured content of a tool, or undefined when its operation says nothing of its answer: clients refuse an
 * answer that its schema does not fit, so that there is no schema rather than one that is guessed. Open for fields
 * to come, as in the OpenAPI document: a client keeps a tool list longer than we keep a version.
 */
export function toolOutputSchema(output: z.ZodType): JsonSchema | undefined {
  const root = z.toJSONSchema(output, {
    io: 'output',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as JsonSchema;
  if (Object.keys(root).every((keyword) => keyword === '$schema')) return undefined;
  // Clients of 2025-11-25 take objects only, and are told so by the root itself, never by what it refers to.
  const isObject = alternatives(root, root).every(({ type }) => type === 'object');
  return isObject ? { type: 'object', ...root } : root;
}

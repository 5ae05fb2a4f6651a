/** The input of a declaration, made ready to judge requests: its schemas refuse what they do not name. */
import type { AdminOperation } from '@freehold/directory/declarations';
import { z } from 'zod';

/** The three schemas of a call, each refusing fields that it does not name. */
export interface StrictInput {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodObject;
}

/** What arrives as text, after it was judged. */
export type Fields = Readonly<Record<string, unknown>>;

/** The declared schemas; one that is not declared admits no field at all. */
export function strictInput(operation: AdminOperation): StrictInput {
  return {
    params: strict(operation.input.params),
    query: strict(operation.input.query),
    body: strict(operation.input.body),
  };
}

function strict(schema: z.ZodObject | undefined): z.ZodObject {
  if (schema === undefined) return z.strictObject({});
  // A schema that is strict already keeps its identity, and with it its name in the OpenAPI document.
  return schema.def.catchall instanceof z.ZodNever ? schema : schema.strict();
}

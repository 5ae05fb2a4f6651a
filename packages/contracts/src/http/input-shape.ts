/**
 * An input schema as JSON Schema: which fields it takes, and proof that it refuses all others. What the address of
 * a request can say is read by it, and the OpenAPI document is made from it.
 */
import { z } from 'zod';

/** As much of JSON Schema (2020-12) as is read here. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export interface InputShape {
  /** The whole schema: the root that every `$ref` below it starts from. */
  readonly root: JsonSchema;
  /** Field name → its schema. For a union of objects, a field of several members takes what any of them takes. */
  readonly fields: ReadonlyMap<string, JsonSchema>;
  /** The fields that no input can do without. */
  readonly required: ReadonlySet<string>;
}

/**
 * Reads the shape of an input schema.
 * @throws Error when it is not an object (or a union of objects) that refuses unknown keys: a misspelt field must
 * never be dropped in silence (design: control-plane, "Errors"). Also when it has no form in JSON.
 */
export function inputShape(schema: z.ZodType): InputShape {
  const root = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
  const members = alternatives(root, root);
  const fields = new Map<string, JsonSchema>();
  for (const member of members) {
    if (member.type !== 'object') throw new Error('its input must be an object: use z.strictObject');
    if (member.additionalProperties !== false) {
      throw new Error('its input must refuse unknown fields: use z.strictObject');
    }
    for (const [name, field] of Object.entries((member.properties ?? {}) as Record<string, JsonSchema>)) {
      const known = fields.get(name);
      fields.set(name, known === undefined ? field : { anyOf: [known, field] });
    }
  }
  const [first = [], ...others] = members.map((member) => (member.required ?? []) as string[]);
  const required = new Set(first.filter((name) => others.every((each) => each.includes(name))));
  return { root, fields, required };
}

/**
 * The schemas that a value may match instead of this one: references followed, unions and lists of types taken
 * apart, until each has at most one type.
 */
export function alternatives(
  schema: JsonSchema,
  root: JsonSchema,
  seen: readonly JsonSchema[] = [],
): JsonSchema[] {
  // A type that is nothing but itself again has no further alternatives.
  if (seen.includes(schema)) return [];
  const path = [...seen, schema];
  if (typeof schema.$ref === 'string') return alternatives(target(schema.$ref, root), root, path);
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return union.flatMap((each: JsonSchema) => alternatives(each, root, path));
  if (Array.isArray(schema.type)) return schema.type.map((type: unknown) => ({ ...schema, type }));
  return [schema];
}

/** Follows `#` and `#/$defs/Name`, which is all that zod writes. */
function target(ref: string, root: JsonSchema): JsonSchema {
  if (ref === '#') return root;
  const name = ref.slice('#/$defs/'.length);
  const found = (root.$defs as Record<string, JsonSchema> | undefined)?.[name];
  if (!found) throw new Error(`its schema refers to ${ref}, which it does not hold`);
  return found;
}

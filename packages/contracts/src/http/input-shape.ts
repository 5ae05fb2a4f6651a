/**
 * An input schema as JSON Schema: its fields, and the check that it refuses all others. It serves to read the fields of
 * an address, and to make the OpenAPI document.
 */
import { z } from 'zod';

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export interface InputShape {
  /** The whole schema: the root of every `$ref`. */
  readonly root: JsonSchema;
  /** Field name → its schema. In a union of objects, a field takes the values of every member. */
  readonly fields: ReadonlyMap<string, JsonSchema>;
  /** The fields that every input must have. */
  readonly required: ReadonlySet<string>;
}

/** Each instance of a vertical reads the same schemas when it is opened. */
const shapes = new WeakMap<z.ZodType, InputShape>();

/**
 * Reads the shape of an input schema, once for each schema.
 * @throws Error when it has no form in JSON, or is not an object (or a union of objects) that refuses unknown keys: a
 * misspelt field must not be dropped silently (design: control-plane, "Errors").
 */
export function inputShape(schema: z.ZodType): InputShape {
  const known = shapes.get(schema);
  if (known) return known;
  const shape = readShape(schema);
  shapes.set(schema, shape);
  return shape;
}

function readShape(schema: z.ZodType): InputShape {
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
 * Returns the schemas that a value may match instead of this one, each with at most one type: references are followed,
 * unions and lists of types are split.
 */
export function alternatives(
  schema: JsonSchema,
  root: JsonSchema,
  seen: readonly JsonSchema[] = [],
): JsonSchema[] {
  // A schema that refers to itself has no further alternatives.
  if (seen.includes(schema)) return [];
  const path = [...seen, schema];
  if (typeof schema.$ref === 'string') return alternatives(target(schema.$ref, root), root, path);
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return union.flatMap((each: JsonSchema) => alternatives(each, root, path));
  if (Array.isArray(schema.type)) return schema.type.map((type: unknown) => ({ ...schema, type }));
  return [schema];
}

/** Follows `#` and `#/$defs/Name`, the only forms of zod. */
function target(ref: string, root: JsonSchema): JsonSchema {
  if (ref === '#') return root;
  const name = ref.slice('#/$defs/'.length);
  const found = (root.$defs as Record<string, JsonSchema> | undefined)?.[name];
  if (!found) throw new Error(`its schema refers to ${ref}, which it does not hold`);
  return found;
}

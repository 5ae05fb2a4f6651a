/** The input of a declaration, made ready to judge requests: strict schemas, and query strings as typed values. */
import { type FieldError, PlatformError, parseInput } from '@freehold/contracts';
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

/** What `z.toJSONSchema` makes, as far as coercion looks at it. */
type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The declared schemas; one that is not declared admits no field at all. */
export function strictInput(operation: AdminOperation): StrictInput {
  return {
    params: strict(operation.input.params),
    query: strict(operation.input.query),
    body: strict(operation.input.body),
  };
}

/** Turns text fields into the types that a schema asks for, then parses. */
export interface TextReader {
  /** @throws PlatformError `validation_failed`. */
  read(fields: Iterable<readonly [name: string, value: string]>): Fields;
}

/**
 * Builds the reader of one schema's text form. A number and a boolean are read by their JSON spelling; a field
 * that is an array takes repeated keys; any other field may be given once.
 * @param subject the start of the sentence that refuses: "The query".
 * @throws TypeError when the schema has a field that text cannot express.
 */
export function textReader(subject: string, schema: z.ZodObject): TextReader {
  const root = z.toJSONSchema(schema, { io: 'input' });
  const fieldReaders = new Map(
    Object.entries(root.properties ?? {}).map(([name, field]) => [name, fieldReader(name, field, root)]),
  );
  return {
    read: (fields) => {
      const given = new Map<string, string[]>();
      for (const [name, value] of fields) given.set(name, [...(given.get(name) ?? []), value]);
      const typed: [string, unknown][] = [];
      const errors: FieldError[] = [];
      for (const [name, values] of given) {
        const reader = fieldReaders.get(name) ?? SINGLE_TEXT;
        if (values.length > 1 && !reader.repeats)
          errors.push({ path: name, message: 'is given more than once' });
        else typed.push([name, reader.read(values)]);
      }
      if (errors.length > 0)
        throw new PlatformError(
          'validation_failed',
          `${subject} is not valid. A field is given more than once.`,
          {
            errors,
          },
        );
      return parseInput(subject, schema, Object.fromEntries(typed));
    },
  };
}

interface FieldReader {
  readonly repeats: boolean;
  read(values: readonly string[]): unknown;
}

/** How a field that the schema does not name is read: as it is, for the schema to refuse. */
const SINGLE_TEXT: FieldReader = { repeats: false, read: ([value]) => value };

/** A JSON number (RFC 8259, section 6). `0x10`, ` 1`, `1_000` and the empty text are none. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function fieldReader(name: string, field: unknown, root: JsonSchema): FieldReader {
  const types = typesOf(field, root);
  if (types.has('object')) throw new TypeError(`the field ${name} cannot be written in a query string`);
  if (types.has('array')) {
    const item = scalarReader(typesOf(itemsOf(field, root), root));
    return { repeats: true, read: (values) => values.map(item) };
  }
  const scalar = scalarReader(types);
  return { repeats: false, read: (values) => scalar(values[0] as string) };
}

function scalarReader(types: ReadonlySet<string>): (raw: string) => unknown {
  // Where text is welcome, text stays text: `?q=42` searches for "42".
  if (types.has('string')) return (raw) => raw;
  return (raw) => {
    if (types.has('boolean') && (raw === 'true' || raw === 'false')) return raw === 'true';
    if ((types.has('integer') || types.has('number')) && JSON_NUMBER.test(raw)) return Number(raw);
    return raw;
  };
}

/** Every JSON type that a field can have. */
function typesOf(field: unknown, root: JsonSchema): ReadonlySet<string> {
  if (typeof field !== 'object' || field === null) return new Set();
  const schema = resolve(field as JsonSchema, root);
  const own = schema.type === undefined ? [] : [schema.type].flat();
  const values = [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const])];
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return new Set([
    ...own,
    ...values.map((value) => (value === null ? 'null' : typeof value)),
    ...branches.flatMap((branch) => [...typesOf(branch, root)]),
  ]);
}

function itemsOf(field: unknown, root: JsonSchema): unknown {
  const schema = resolve(field as JsonSchema, root);
  return (
    schema.items ?? schema.anyOf?.map((branch) => itemsOf(branch, root)).find((items) => items !== undefined)
  );
}

function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const name = schema.$ref?.replace('#/$defs/', '');
  return (name === undefined ? undefined : root.$defs?.[name]) ?? schema;
}

function strict(schema: z.ZodObject | undefined): z.ZodObject {
  if (schema === undefined) return z.strictObject({});
  // A schema that is strict already keeps its identity, and with it its name in the OpenAPI document.
  return schema.def.catchall instanceof z.ZodNever ? schema : schema.strict();
}

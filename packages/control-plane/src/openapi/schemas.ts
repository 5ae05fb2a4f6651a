/**
 * Schemas as OpenAPI 3.1 has them, which is JSON Schema 2020-12, which is what zod writes. What is left to do here:
 * named schemas move to `components`, each under one name for its request form and one for its answer form.
 */
import { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Where named schemas are. */
export const COMPONENTS = '#/components/schemas/';

/** Ends the name of every request form, until `mergeTwins` has found those that equal their answer form. */
export const REQUEST_FORM = 'Input';

/** Collects the named schemas of a document while its parts are made. */
export interface SchemaCollector {
  /** The form in which a caller sends a value: what has a default may be left out. */
  input(schema: z.ZodType): JsonSchema;
  /** The form in which we answer it. Open for fields to come, so that older clients keep working. */
  output(schema: z.ZodType): JsonSchema;
  /** Every named schema that was met. */
  components(): Record<string, JsonSchema>;
}

/** Makes a collector. It throws a TypeError when two different schemas have one name. */
export function makeSchemaCollector(): SchemaCollector {
  const named = new Map<string, JsonSchema>();

  const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const {
      $schema: _dialect,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      unrepresentable: 'throw',
      override: ({ jsonSchema }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
      },
    });
    const rename = (name: string): string => (io === 'input' ? `${name}${REQUEST_FORM}` : name);
    for (const [name, definition] of Object.entries($defs)) add(rename(name), hoisted(definition, rename));
    return hoisted(root, rename);
  };

  const add = (name: string, schema: JsonSchema): void => {
    const known = named.get(name);
    if (known && !isSameJson(known, schema)) throw new TypeError(`two schemas have the name ${name}`);
    named.set(name, schema);
  };

  return {
    input: (schema) => convert(schema, 'input'),
    output: (schema) => convert(schema, 'output'),
    components: () => Object.fromEntries(named),
  };
}

/** Whether two values are the same JSON, with their members in the same order. */
export function isSameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** A copy of a value in which every `$ref` was changed. */
export function mapReferences<T>(value: T, change: (reference: string) => string): T {
  return mapValue(value, change) as T;
}

function hoisted(schema: JsonSchema, rename: (name: string) => string): JsonSchema {
  return mapReferences(schema, (reference) => `${COMPONENTS}${rename(reference.replace('#/$defs/', ''))}`);
}

function mapValue(value: unknown, change: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapValue(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string' ? change(member) : mapValue(member, change),
    ]),
  );
}

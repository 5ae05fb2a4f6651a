/**
 * Schemas as OpenAPI 3.1 has them, which is JSON Schema 2020-12, which is what zod writes. What is left to do here:
 * named schemas move to `components`, each under one name for its request form and one for its answer form.
 */
import { z } from 'zod';
import type { JsonSchema } from '../input-shape.ts';

/** Where named schemas are. */
export const COMPONENTS = '#/components/schemas/';

/** Ends the name of every request form, until `mergeTwins` has found those that equal their answer form. */
export const REQUEST_FORM = 'Input';

/** Where a part of a schema stands. */
export interface PartOf {
  /** The whole schema, with the definitions that the part refers to. */
  readonly root: JsonSchema;
  /** Begins the names of what has no id and refers to itself; unique in the document. */
  readonly name: string;
}

/** Collects the named schemas of a document while its parts are made. Each method throws as its maker says. */
export interface SchemaCollector {
  /** The form in which a caller sends a value: what has a default may be left out. */
  input(schema: z.ZodType, name: string): JsonSchema;
  /** A part of a request form that was written by `z.toJSONSchema` already. */
  inputPart(part: JsonSchema, of: PartOf): JsonSchema;
  /** The form in which we answer it. Open for fields to come, so that older clients keep working. */
  output(schema: z.ZodType, name: string): JsonSchema;
  /** Every named schema that was met. */
  components(): Record<string, JsonSchema>;
}

/**
 * Makes a collector. Its methods throw a TypeError when two different schemas have one name, and an Error when a
 * schema has no form in JSON.
 * @param unrepresentable `any` describes an answer without a form in JSON, such as a transform's, as anything.
 */
export function makeSchemaCollector({
  unrepresentable = 'throw',
}: {
  readonly unrepresentable?: 'throw' | 'any';
} = {}): SchemaCollector {
  const named = new Map<string, { readonly source: string; readonly schema: JsonSchema }>();

  const place = (part: JsonSchema, { root, name }: PartOf, suffix: string): JsonSchema => {
    // zod numbers what has no id from zero in every schema.
    const address = (id: string): string => (id.startsWith('__') ? `${name}.${id}` : `${id}${suffix}`);
    const pointer = (reference: string): string => {
      if (reference !== '#') return `${COMPONENTS}${address(reference.slice('#/$defs/'.length))}`;
      add(name, root);
      return `${COMPONENTS}${name}`;
    };
    const add = (key: string, definition: JsonSchema): void => {
      const source = sourceOf(definition);
      const known = named.get(key);
      if (known && known.source !== source) throw new TypeError(`two schemas have the name ${key}`);
      if (known) return;
      // Taken before it is filled, because it may be met inside itself.
      named.set(key, { source, schema: {} });
      named.set(key, { source, schema: mapReferences(withoutDefinitions(definition), pointer) });
    };
    const definitions = (root.$defs ?? {}) as Record<string, JsonSchema>;
    for (const [id, definition] of Object.entries(definitions)) add(address(id), definition);
    return mapReferences(withoutDefinitions(part), pointer);
  };

  return {
    input: (schema, name) => {
      const root = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
      return place(root, { root, name }, REQUEST_FORM);
    },
    inputPart: (part, of) => place(part, of, REQUEST_FORM),
    output: (schema, name) => {
      const root = z.toJSONSchema(schema, {
        io: 'output',
        unrepresentable,
        override: ({ jsonSchema }) => {
          if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        },
      }) as JsonSchema;
      return place(root, { root, name }, '');
    },
    components: () => Object.fromEntries([...named].map(([name, { schema }]) => [name, schema])),
  };
}

/** A definition as text, to tell whether two are the same. What has no id is numbered anew in each schema. */
function sourceOf(definition: JsonSchema): string {
  return JSON.stringify(definition, (key, value) =>
    key === '$ref' && typeof value === 'string' ? value.replace(/^#(?:\/\$defs\/__.*)?$/, '#') : value,
  );
}

function withoutDefinitions({ $defs, $schema, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** Keywords whose value is data, in which nothing is a reference. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
/** Keywords whose members are named by the author: a property may be called `default` or `$ref`. */
const NAMING_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'schemas',
  'responses',
]);

/** A copy of a schema, or of a whole document, in which every `$ref` was changed. */
export function mapReferences<T extends object>(value: T, change: (reference: string) => string): T {
  return Object.fromEntries(
    Object.entries(value).map(([keyword, member]) => {
      if (DATA_KEYWORDS.has(keyword)) return [keyword, member];
      if (keyword === '$ref' && typeof member === 'string') return [keyword, change(member)];
      if (NAMING_KEYWORDS.has(keyword)) {
        const members = Object.entries(member as object);
        return [keyword, Object.fromEntries(members.map(([name, each]) => [name, mapped(each, change)]))];
      }
      return [keyword, mapped(member, change)];
    }),
  ) as T;
}

function mapped(value: unknown, change: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => mapped(each, change));
  return typeof value === 'object' && value !== null ? mapReferences(value, change) : value;
}

/** Arbitrary values of a declared schema, for property tests: what zod accepts, from the JSON Schema that it writes. */
import fc from 'fast-check';
import { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Values that the schema accepts, in the form in which they are sent (`input`) or answered (`output`). */
export function valuesOf(schema: z.ZodType, io: 'input' | 'output'): fc.Arbitrary<unknown> {
  const root = z.toJSONSchema(schema, { io });
  return fromSchema(root, root);
}

function fromSchema(schema: JsonSchema, root: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) {
    const target = root.$defs?.[schema.$ref.replace('#/$defs/', '')];
    if (!target) throw new TypeError(`no definition ${schema.$ref}`);
    return fromSchema(target, root);
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return fc.oneof(...branches.map((branch) => fromSchema(branch as JsonSchema, root)));
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => ofType(type, schema, root)));
}

function ofType(type: string, schema: JsonSchema, root: JsonSchema): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'string':
      return strings(schema);
    case 'array': {
      const { minItems: minLength = 0, maxItems = 3, items } = schema;
      return fc.array(fromSchema((items ?? {}) as JsonSchema, root), {
        minLength,
        maxLength: Math.min(maxItems, minLength + 3),
      });
    }
    case 'object':
      return objects(schema, root);
    default:
      throw new TypeError(`no values of the type ${type}`);
  }
}

/** Values of each pattern: to read a pattern takes longer than to draw from it. */
const matching = new Map<string, fc.Arbitrary<string>>();

function matchingOf(pattern: string): fc.Arbitrary<string> {
  const made = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern));
  matching.set(pattern, made);
  return made;
}

function strings(schema: JsonSchema): fc.Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength = minLength + 20 } = schema;
  if (schema.contentMediaType === 'application/json') {
    const content = (schema.contentSchema ?? {}) as JsonSchema;
    return fromSchema(content, content)
      .map((value) => JSON.stringify(value))
      .filter((text) => text.length <= maxLength);
  }
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((date) => date.toISOString());
  if (format === 'email') return fc.constantFrom('a@b.co', 'first.last+tag@mail.example.com');
  if (format === 'uri') return fc.constantFrom('https://a.example/?claim=x', 'https://b.example');
  if (pattern === undefined)
    return fc
      .string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 20) })
      .filter((text) => text.length <= maxLength);
  return matchingOf(pattern).filter(
    (text) => text.length >= minLength && text.length <= (schema.maxLength ?? 1000),
  );
}

function objects(schema: JsonSchema, root: JsonSchema): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const fixed = fc.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, fromSchema(each as JsonSchema, root)]),
    ),
    { requiredKeys: required },
  );
  if (typeof additionalProperties !== 'object')
    return fixed.filter((value) => {
      const size = Object.keys(value).length;
      return size >= minProperties && size <= maxProperties;
    });
  const names = propertyNames ? fromSchema(propertyNames as JsonSchema, root) : fc.string();
  return fc.dictionary(
    (names as fc.Arbitrary<string>).filter((name) => name !== '__proto__'),
    fromSchema(additionalProperties, root),
    { maxKeys: 3, noNullPrototype: true },
  );
}

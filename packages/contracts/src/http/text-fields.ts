/**
 * Fields that arrive as text, in a path or a query, converted to the types of their schema. The readers check only the
 * spelling; the schema checks the value.
 */
import type { z } from 'zod';
import { type FieldError, PlatformError, parseInput } from '../problems.ts';
import { alternatives, type InputShape, inputShape, type JsonSchema } from './input-shape.ts';

/** A JSON number (RFC 8259, section 6): no leading zero or plus, no hex, no white space. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export type TextField = readonly [name: string, texts: readonly string[]];

/** The largest number of `name=value` pairs in a query string, far above that of any declaration. */
const QUERY_PAIRS_MAX = 200;

/**
 * Returns the fields of a query string. A repeated key is one field with several texts.
 * @throws PlatformError `validation_failed` on more than 200 pairs.
 */
export function queryFields(url: URL): TextField[] {
  if (url.searchParams.size > QUERY_PAIRS_MAX) {
    throw new PlatformError(
      'validation_failed',
      `The query is not valid. It has more than ${QUERY_PAIRS_MAX} fields.`,
      {
        errors: [{ path: '', message: `has more than ${QUERY_PAIRS_MAX} fields` }],
      },
    );
  }
  const fields = new Map<string, string[]>();
  for (const [name, text] of url.searchParams) {
    const texts = fields.get(name);
    if (texts) texts.push(text);
    else fields.set(name, [text]);
  }
  return [...fields];
}

/**
 * Builds the reader of a schema's text form: it converts the fields, then parses them.
 * @param subject the start of the refusal's sentence: "The query".
 * @returns the reader, which throws PlatformError `validation_failed`.
 * @throws Error when the schema takes unknown fields, or has one without a text form.
 */
export function textReader<S extends z.ZodType>(
  subject: string,
  schema: S,
): (fields: readonly TextField[]) => z.output<S> {
  const shape = inputShape(schema);
  assertTextual(shape.fields.keys(), shape);
  return (fields) => parseInput(subject, schema, readText(subject, fields, shape));
}

/** Checks that each of these fields has a text form. @throws Error naming a field that is an object, or a list of them. */
export function assertTextual(names: Iterable<string>, { fields, root }: InputShape): void {
  for (const name of names) {
    const isTextual = alternatives(fields.get(name) ?? {}, root).some((each) =>
      each.type === 'array' ? alternatives(itemSchema(each, 0), root).some(isScalar) : isScalar(each),
    );
    if (!isTextual) throw new Error(`its field ${name} is an object, which an address cannot carry`);
  }
}

/**
 * Converts fields by an input's shape, without parsing them. An unknown field stays text: the schema refuses it by name.
 * @throws PlatformError `validation_failed`, with one entry for each text that is no value of its field.
 */
export function readText(
  subject: string,
  fields: readonly TextField[],
  shape: InputShape,
): Record<string, unknown> {
  const faults: FieldError[] = [];
  const values = fields.map(([name, texts]): [string, unknown] => {
    const reading = readField(texts, shape.fields.get(name) ?? {}, shape.root);
    if ('fault' in reading) {
      faults.push({ path: [name, ...(reading.path ?? [])].join('.'), message: reading.fault });
      return [name, undefined];
    }
    return [name, reading.value];
  });
  const first = faults[0];
  if (first) {
    throw new PlatformError(
      'validation_failed',
      `${subject} is not valid. ${first.path}: ${first.message}.`,
      {
        errors: faults,
      },
    );
  }
  // fromEntries calls no setter: a field named __proto__ is only a field.
  return Object.fromEntries(values);
}

type Reading = { readonly value: unknown } | { readonly fault: string; readonly path?: readonly string[] };

function readField(texts: readonly string[], field: JsonSchema, root: JsonSchema): Reading {
  const forms = alternatives(field, root);
  const list = forms.find((each) => each.type === 'array');
  const scalars = forms.filter(isScalar);
  const [only] = texts;
  if (only !== undefined && texts.length === 1 && scalars.length > 0) {
    const reading = readScalar(only, scalars);
    if (!list || 'value' in reading) return reading;
  }
  if (!list) return { fault: 'must be given once' };
  const items: unknown[] = [];
  for (const [index, text] of texts.entries()) {
    const reading = readScalar(text, alternatives(itemSchema(list, index), root).filter(isScalar));
    if ('fault' in reading) return { fault: reading.fault, path: [String(index)] };
    items.push(reading.value);
  }
  return { value: items };
}

/**
 * Reads one text. A literal wins over a type, and text over a number: a field that takes strings and numbers gets the
 * string, so that every string has a form.
 */
function readScalar(text: string, forms: readonly JsonSchema[]): Reading {
  for (const literal of forms.flatMap(literals)) {
    if (String(literal) === text) return { value: literal };
  }
  const open = forms.filter((each) => literals(each).length === 0);
  if (open.some((each) => each.type === undefined || each.type === 'string')) return { value: text };
  const types = new Set(open.map((each) => each.type));
  if (types.has('null') && text === 'null') return { value: null };
  if (types.has('boolean') && (text === 'true' || text === 'false')) return { value: text === 'true' };
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (types.has('number') && Number.isFinite(number)) return { value: number };
  if (types.has('integer') && Number.isSafeInteger(number)) return { value: number };
  // The schema's own error names its literals.
  if (open.length < forms.length || open.length === 0) return { value: text };
  const wanted = SPELLINGS.filter(([type]) => types.has(type)).map(([, spelling]) => spelling);
  return { fault: `must be ${wanted.join(' or ')}` };
}

const SPELLINGS: readonly (readonly [type: string, spelling: string])[] = [
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
  ['null', 'null'],
];

function literals(schema: JsonSchema): unknown[] {
  if (Array.isArray(schema.enum)) return schema.enum;
  return 'const' in schema ? [schema.const] : [];
}

function isScalar(schema: JsonSchema): boolean {
  return schema.type !== 'array' && schema.type !== 'object';
}

function itemSchema(list: JsonSchema, index: number): JsonSchema {
  const tuple = list.prefixItems as readonly JsonSchema[] | undefined;
  return tuple?.[index] ?? (list.items as JsonSchema | undefined) ?? {};
}

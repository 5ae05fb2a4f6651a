/** The fields of a form, from the JSON Schema of an input. Nothing here knows the caller. */
import { alternatives, type JsonSchema } from '@freehold/contracts/http';
import { z } from 'zod';
import { timeOfDay } from '../records/fields.ts';
import type { DeclaredField } from '../wire/declared.ts';

/** The type of records by the pattern of its ids: a field with this pattern names such a record. */
export type TargetsByPattern = ReadonlyMap<string, string>;

/** Texts that may be longer than this get a field of several lines. */
const LINE_LENGTH_MAX = 200;

/**
 * Returns the fields of an input, in the order of its schema.
 * @param root An object, or a union of objects, whose fields are then all optional that are not in each member.
 */
export function fieldModels(root: JsonSchema, targets: TargetsByPattern): DeclaredField[] {
  const members = alternatives(root, root);
  const fields = new Map<string, JsonSchema>();
  for (const { properties = {} } of members)
    for (const [name, schema] of Object.entries(properties as Record<string, JsonSchema>))
      if (!fields.has(name)) fields.set(name, schema);
  const isRequired = (name: string): boolean =>
    members.every(({ required }) => Array.isArray(required) && required.includes(name));
  return [...fields].map(([name, schema]) =>
    fieldModel({ name, schema, isRequired: isRequired(name) }, { root, targets }),
  );
}

function fieldModel(
  {
    name,
    schema,
    isRequired,
  }: { readonly name: string; readonly schema: JsonSchema; readonly isRequired: boolean },
  { root, targets }: { readonly root: JsonSchema; readonly targets: TargetsByPattern },
): DeclaredField {
  const all = alternatives(schema, root);
  const values = all.filter(({ type }) => type !== 'null');
  // A value of several types is typed as JSON.
  const [value = {}] = values.length === 1 ? values : [];
  const { title, description } = { ...value, ...schema };
  const kind = valueKindOf(value, targets);
  return {
    name,
    label: typeof title === 'string' ? title : inWords(name),
    // The hints of our own types are for programs: a page says the same by its form.
    ...(typeof description === 'string' && !OWN_KINDS.has(kind) && { hint: description }),
    kind,
    required: isRequired && schema.default === undefined,
    nullable: values.length < all.length,
    ...(schema.default !== undefined && { default: schema.default as never }),
    ...detailsOf(kind, value, targets),
  };
}

const OWN_KINDS: ReadonlySet<string> = new Set(['money', 'minutes', 'relation']);

function valueKindOf(value: JsonSchema, targets: TargetsByPattern): DeclaredField['kind'] {
  if (Array.isArray(value.enum) && value.enum.every((each) => typeof each === 'string')) return 'choice';
  switch (value.type) {
    case 'boolean':
      return 'boolean';
    case 'integer':
      return value.format === 'money' || value.format === 'minutes' ? value.format : 'integer';
    case 'number':
      return 'number';
    case 'string':
      return textKindOf(value, targets);
    case 'array':
      return Array.isArray((value.items as JsonSchema | undefined)?.enum) ? 'choices' : 'json';
    default:
      return 'json';
  }
}

let knownPattern: unknown;
/** A time of day to the minute has a pattern, and no format of its own. */
function timeOfDayPattern(): unknown {
  knownPattern ??= z.toJSONSchema(timeOfDay()).pattern;
  return knownPattern;
}

const TEXT_FORMATS: Readonly<Record<string, DeclaredField['kind']>> = {
  date: 'day',
  time: 'time',
  'date-time': 'moment',
  email: 'email',
  uri: 'url',
};

function textKindOf(
  { format, pattern, maxLength }: JsonSchema,
  targets: TargetsByPattern,
): DeclaredField['kind'] {
  if (typeof pattern === 'string' && targets.has(pattern)) return 'relation';
  if (pattern === timeOfDayPattern()) return 'time';
  if (typeof format === 'string' && Object.hasOwn(TEXT_FORMATS, format))
    return TEXT_FORMATS[format] as DeclaredField['kind'];
  return typeof maxLength === 'number' && maxLength > LINE_LENGTH_MAX ? 'text' : 'line';
}

function detailsOf(
  kind: DeclaredField['kind'],
  value: JsonSchema,
  targets: TargetsByPattern,
): Partial<DeclaredField> {
  switch (kind) {
    case 'choice':
      return { options: optionsOf(value) };
    case 'choices':
      return { options: optionsOf(value.items as JsonSchema) };
    case 'relation':
      return { target: targets.get(value.pattern as string) as string };
    case 'line':
    case 'text':
    case 'email':
    case 'url':
      return typeof value.maxLength === 'number' ? { lengthMax: value.maxLength } : {};
    case 'money':
      return { currency: String(value.currency), ...boundsOf(value) };
    case 'integer':
    case 'number':
    case 'minutes':
      return boundsOf(value);
    default:
      return {};
  }
}

/** The values of a list, by the `labels` of its schema, or in words. */
function optionsOf({ enum: values, labels = {} }: JsonSchema): NonNullable<DeclaredField['options']> {
  const named = labels as Readonly<Record<string, string>>;
  return (values as unknown[]).map(String).map((value) => ({
    value,
    label: Object.hasOwn(named, value) ? (named[value] as string) : inWords(value),
  }));
}

/** A bound that every safe integer meets says nothing. */
function boundsOf({ minimum, maximum }: JsonSchema): Partial<DeclaredField> {
  const isBound = (bound: unknown): bound is number =>
    typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return { ...(isBound(minimum) && { min: minimum }), ...(isBound(maximum) && { max: maximum }) };
}

/** `firstDay`, `first-day` and `first_day` → `First day` */
export function inWords(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[-_]+/g, ' ')
    .trim()
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

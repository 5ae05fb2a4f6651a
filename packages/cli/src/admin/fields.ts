/** Derives from the schemas of a declaration how each field is typed on a command line. */
import type { AdminOperation } from '@freehold/directory/declarations';
import { z } from 'zod';
import { kebab, type Option } from '../lib/command.ts';

/** The way in which typed words become a value. */
export type Reading = 'text' | 'text-or-file' | 'number' | 'boolean' | 'json' | 'json-or-text' | 'secret';

export interface Field {
  readonly part: 'params' | 'query' | 'body';
  readonly name: string;
  readonly reading: Reading;
  readonly isList: boolean;
  /** Whether the word `null` means none. */
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  readonly values: readonly string[] | null;
  readonly summary: string;
  readonly hasDefault: string | null;
}

/** Secrets come from a file or standard input: other programs of the machine can read a command line. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['apiKey', 'secret']);

/** Long text that is often kept in a file; no such text begins with `@`, or is `-`. */
const FILED_TEXT: ReadonlySet<string> = new Set(['sql']);

/** Fields with the id of a tenant or a scope, for which its slug can be typed too. */
export const SLUGGED: ReadonlyMap<string, 'tenant' | 'scope'> = new Map([
  ['tenant', 'tenant'],
  ['ownerTenant', 'tenant'],
  ['scope', 'scope'],
]);

/** Returns the fields in the order in which help shows them: those of the path first. */
export function fieldsOf({ input, path }: AdminOperation): readonly Field[] {
  const inPath = [...path.matchAll(/:([A-Za-z0-9]+)/g)].map(([, name]) => name as string);
  const params = fieldsIn('params', input.params).sort(
    (left, right) => inPath.indexOf(left.name) - inPath.indexOf(right.name),
  );
  return [...params, ...fieldsIn('query', input.query), ...fieldsIn('body', input.body)];
}

/** Describes a field as an option. */
export function optionOf(field: Field): Option {
  const { reading, isList, values, isRequired } = field;
  const summary = summaryOf(field);
  // A required field of a body can also come in --body.
  const required = isRequired && field.part !== 'body';
  if (reading === 'boolean' && !isList) return { kind: 'choice', summary, required };
  return {
    kind: isList ? 'list' : 'value',
    summary,
    placeholder: PLACEHOLDERS[reading] ?? kebab(field.name),
    required,
    ...(values ? { values } : {}),
  };
}

const PLACEHOLDERS: Partial<Record<Reading, string>> = {
  number: 'number',
  json: 'json|@file|-',
  secret: '@file|-',
  'text-or-file': 'text|@file|-',
};

function summaryOf({ summary, isList, isNullable, isRequired, part, hasDefault, reading }: Field): string {
  const more = [
    isList ? 'can be given several times' : null,
    reading === 'secret' ? 'read from a file or standard input' : null,
    isNullable ? 'null for none' : null,
    isRequired && part === 'body' ? 'required' : null,
    hasDefault === null ? null : `default ${hasDefault}`,
  ].filter((each) => each !== null);
  return more.length === 0 ? summary : `${summary}; ${more.join(', ')}`;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

function fieldsIn(part: Field['part'], schema: z.ZodObject | undefined): Field[] {
  return Object.entries(schema?.shape ?? {}).map(([name, own]) => fieldOf(part, name, own as z.ZodType));
}

function fieldOf(part: Field['part'], name: string, schema: z.ZodType): Field {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const whole = resolved(root, root);
  const branches = branchesOf(whole, root);
  const kinds = branches.filter(({ type }) => type !== 'null');
  const list = kinds.length === 1 && kinds[0]?.type === 'array' ? kinds[0] : null;
  const items = list ? branchesOf(resolved((list.items ?? {}) as JsonSchema, root), root) : kinds;
  const { default: preset } = whole;
  return {
    part,
    name,
    reading: givenReading(name) ?? readingOf(items),
    isList: list !== null,
    isNullable: list === null && branches.length > kinds.length && kinds.length > 0,
    isRequired: !schema.safeParse(undefined).success,
    values: valuesOf(items),
    summary: `${sentence(whole.description ?? wordsOf(name))}${SLUGGED.has(name) ? ', by its id or its slug' : ''}${formsText(items)}`,
    hasDefault: preset === undefined || preset === null || preset === '' ? null : presetText(preset),
  };
}

function givenReading(name: string): Reading | null {
  if (SECRET_FIELDS.has(name)) return 'secret';
  return FILED_TEXT.has(name) ? 'text-or-file' : null;
}

/** Shows an object that takes exactly one of several keys in each of its forms. */
function formsText([kind]: readonly JsonSchema[]): string {
  if (kind?.maxProperties !== 1) return '';
  const forms = Object.keys(kind.properties ?? {}).map((key) => `{"${key}":"<id>"}`);
  return `: ${forms.join(' or ')}`;
}

function branchesOf(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  const branches = schema.anyOf ?? schema.oneOf;
  if (!branches) return [schema];
  return branches.flatMap((branch) => branchesOf(resolved(branch as JsonSchema, root), root));
}

function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const target = schema.$ref && root.$defs?.[schema.$ref.replace('#/$defs/', '')];
  return target
    ? ({ ...target, description: schema.description ?? target.description } as JsonSchema)
    : schema;
}

function readingOf(kinds: readonly JsonSchema[]): Reading {
  const types = new Set(kinds.map(({ type, enum: values }) => (values ? 'string' : type)));
  if (types.size === 1) {
    if (types.has('string')) return 'text';
    if (types.has('integer') || types.has('number')) return 'number';
    if (types.has('boolean')) return 'boolean';
  }
  return types.has('string') ? 'json-or-text' : 'json';
}

function valuesOf(kinds: readonly JsonSchema[]): readonly string[] | null {
  const values = kinds.flatMap((kind) => kind.enum ?? (kind.const === undefined ? [] : [kind.const]));
  const all = kinds.every((kind) => kind.enum ?? kind.const !== undefined);
  return all && values.length > 0 ? values.map(String) : null;
}

/** `ownerTenant` → `Owner tenant`. */
function wordsOf(name: string): string {
  const words = kebab(name).replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns one line without a full stop. */
function sentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  return line.charAt(0).toUpperCase() + line.slice(1);
}

function presetText(preset: unknown): string | null {
  const text = typeof preset === 'string' ? preset : JSON.stringify(preset);
  return text === '[]' || text === '{}' ? null : text;
}

/** Whether the operation answers pages. */
export function isPaged({ input, output }: AdminOperation): boolean {
  return output instanceof z.ZodObject && 'items' in output.shape && 'cursor' in (input.query?.shape ?? {});
}

/** Whether the body has fields. */
export function takesBody({ input }: AdminOperation): boolean {
  return Object.keys(input.body?.shape ?? {}).length > 0;
}

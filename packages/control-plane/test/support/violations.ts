/** Requests that break the published schema of an operation in exactly one place. */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import fc from 'fast-check';
import { openApiDocument } from '../../src/openapi/document.ts';
import { partsOf, type RequestParts, type ValidInput, validInputs } from './requests.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface Violation {
  /** Which field, and how. */
  readonly what: string;
  readonly parts: RequestParts;
}

interface OperationObject {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}

const published = openApiDocument(adminOperations);

/** By what the document says, with the limits that the generator derives: they have to be the server's. */
export function violationsOf(operation: AdminOperation): Violation[] {
  const { parameters = [], requestBody } = (published.paths[openApiPath(operation.path)]?.[
    operation.method.toLowerCase()
  ] ?? {}) as OperationObject;
  const [valid] = fc.sample(validInputs(operation), { numRuns: 1, seed: 7 }) as [ValidInput];
  const fields = parameters.flatMap(({ name, in: place, required, schema }) => {
    const part = { path: 'params', query: 'query' }[place];
    if (part === undefined) return [];
    const wrong = brokenTexts(schema).map((value) => [`${place} ${name} = ${shown(value)}`, value] as const);
    const changed = wrong.map(([what, value]) => ({
      what,
      input: { ...valid, [part]: { ...valid[part as 'params' | 'query'], [name]: value } },
    }));
    if (!required || place === 'path') return changed;
    const { [name]: _, ...query } = valid.query;
    return [...changed, { what: `query without ${name}`, input: { ...valid, query } }];
  });
  const form = requestBody?.content['application/json']?.schema;
  const bodies = form && valid.body ? broken(form, valid.body, 3) : [];
  return [
    ...fields,
    ...bodies.map(({ at, value }) => ({
      what: `body ${at}`,
      input: { ...valid, body: value as ValidInput['body'] },
    })),
  ].map(({ what, input }) => ({ what, parts: partsOf(operation, input) }));
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 60);
}

function resolved(schema: Schema): Schema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
  return name === undefined ? schema : resolved((published.components.schemas[name] ?? {}) as Schema);
}

/** Texts that a parameter of this schema must not take. */
function brokenTexts(schema: Schema): string[] {
  const { type, maxLength, pattern, enum: values, maximum, minimum, minLength } = resolved(schema);
  if (type === 'boolean') return ['maybe'];
  if (type === 'integer' || type === 'number')
    return [
      'x',
      ...(type === 'integer' ? ['1.5'] : []),
      ...(typeof maximum === 'number' ? [String(maximum + 1)] : []),
      ...(typeof minimum === 'number' ? [String(minimum - 1)] : []),
    ];
  if (type !== 'string') return [];
  if (values) return ['none of these'];
  return [
    ...(typeof maxLength === 'number' ? ['x'.repeat(maxLength + 1)] : []),
    ...(typeof pattern === 'string' && !new RegExp(pattern, 'u').test('\u007f ') ? ['\u007f '] : []),
    ...(typeof minLength === 'number' && minLength > 1 ? ['x'.repeat(minLength - 1)] : []),
  ];
}

interface Broken {
  readonly at: string;
  readonly value: unknown;
}

/** Copies of a valid value, each with one thing wrong. */
function broken(given: Schema, valid: unknown, depth: number): Broken[] {
  const schema = resolved(given);
  const { type, properties = {}, required = [], items, maxItems, minItems } = schema;
  if (type === 'object' && typeof valid === 'object' && valid !== null) {
    const fields = properties as Readonly<Record<string, Schema>>;
    const missing = (required as string[]).map((name): Broken => {
      const { [name]: _, ...rest } = valid as Record<string, unknown>;
      return { at: `without ${name}`, value: rest };
    });
    if (depth === 0) return missing;
    const inside = Object.entries(fields).flatMap(([name, field]) =>
      broken(field, (valid as Record<string, unknown>)[name], depth - 1).map(({ at, value }) => ({
        at: `${name} ${at}`,
        value: { ...valid, [name]: value },
      })),
    );
    return [{ at: 'a text', value: 'text' }, ...missing, ...inside];
  }
  if (type === 'array') {
    const first = Array.isArray(valid) ? valid[0] : undefined;
    const many = typeof maxItems === 'number' && first !== undefined ? [Array(maxItems + 1).fill(first)] : [];
    const few = typeof minItems === 'number' && minItems > 0 ? [[]] : [];
    const wrong = items && depth > 0 ? broken(items as Schema, first, depth - 1) : [];
    return [
      ...[...many, ...few, 'text'].map((value) => ({ at: `= ${shown(value)}`, value })),
      ...wrong.map(({ at, value }) => ({ at: `item ${at}`, value: [value] })),
    ];
  }
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') {
    const texts = brokenTexts(schema);
    const numbers =
      type === 'integer' || type === 'number' ? texts.map(Number).filter((each) => !Number.isNaN(each)) : [];
    const values = [...(type === 'string' ? texts : ['text']), ...numbers, { zz: 1 }];
    return values.map((value) => ({ at: `= ${shown(value)}`, value }));
  }
  return [];
}

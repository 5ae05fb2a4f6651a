/** The declaration of an application, as its pages are made from it. Nothing here knows the caller. */
import { inputShape, type JsonSchema } from '@freehold/contracts/http';
import { httpBinding, isReadOnly, type OperationDeclaration, pathParams } from '@freehold/operations';
import { z } from 'zod';
import type { App } from '../declaration/app.ts';
import { PATHS } from '../pages/frame.ts';
import { type AnyRecords, recordTypesOf } from '../records/records.ts';
import { isSearched } from '../records/tables.ts';
import type { DeclaredField, DeclaredKind, DeclaredOperation } from '../wire/declared.ts';
import { fieldModels, inWords, type TargetsByPattern } from './field-models.ts';

/** An operation with what it takes to judge whether a caller may perform it. */
export interface JudgedOperation {
  readonly declaration: OperationDeclaration;
  readonly model: DeclaredOperation;
}

export interface DeclaredApp {
  /** Without the caller's part. */
  readonly kinds: readonly Omit<DeclaredKind, 'attachments'>[];
  readonly operations: readonly JudgedOperation[];
}

/** Each instance of an application asks for the same. */
const known = new WeakMap<object, DeclaredApp>();

/** Reads the declaration, once. */
export function declaredApp({ operations }: Pick<App, 'operations'>): DeclaredApp {
  const found = known.get(operations);
  if (found) return found;
  const types = recordTypesOf(operations);
  const targets = new Map(types.map(({ id, type }) => [String(jsonSchema(id).pattern), type]));
  const kinds = types.map((each) => kindOf(each, targets));
  const declared: DeclaredApp = {
    kinds,
    operations: Object.entries(operations).map(([name, declaration]) => {
      const model = operationModel(name, declaration, targets);
      const kind = kinds.find(({ type }) => name.startsWith(`${type}/`));
      const verb = kind && name.slice(kind.type.length + 1);
      // Lists, and reading one record, are what the pages are made of, and no buttons on them.
      if (verb === 'list' || verb === 'get') return { declaration, model: { ...model, fields: [] } };
      const fields = verb === 'update' ? namedAlike(model.fields, kind?.fields ?? []) : model.fields;
      return { declaration, model: { ...model, fields } };
    }),
  };
  known.set(operations, declared);
  return declared;
}

/** A change takes other values than a new record, under the same names for people. */
function namedAlike(fields: readonly DeclaredField[], named: readonly DeclaredField[]): DeclaredField[] {
  return fields.map((field) => {
    const { label, hint, options } = named.find(({ name }) => name === field.name) ?? field;
    return {
      ...field,
      label,
      ...(hint !== undefined && { hint }),
      ...(options !== undefined && { options }),
    };
  });
}

function kindOf({ type, shape }: AnyRecords, targets: TargetsByPattern): DeclaredApp['kinds'][number] {
  const { parameter, plural, names, table, title, filters, sorts } = shape;
  const fields = z.object(Object.fromEntries(table.fields.map(({ name, schema }) => [name, schema])));
  return {
    type,
    parameter,
    singular: names?.one ?? inWords(type),
    several: names?.several ?? inWords(plural),
    page: pageOf(plural),
    path: `/api/${plural}`,
    title,
    fields: fieldModels(jsonSchema(fields), targets),
    isSearched: isSearched(table),
    filters: filters.map((names) => [...names]),
    sorts: [...sorts],
  };
}

/** The first segments of addresses that no type of records has: those of supplied pages, and of what is no page. */
const TAKEN = new Set([
  ...Object.values(PATHS).map((path) => path.split('/')[1]),
  ...['api', 'assets', 'internal', 'problems', 'public'],
]);

/** The address of the pages of a type. */
function pageOf(plural: string): string {
  return TAKEN.has(plural) ? `/records/${plural}` : `/${plural}`;
}

function operationModel(
  name: string,
  operation: OperationDeclaration,
  targets: TargetsByPattern,
): DeclaredOperation {
  const { summary, description, mcp } = operation;
  const { method, path } = httpBinding(name, operation);
  const about = aboutOf(operation);
  const fields = fieldModels(inputShape(operation.input).root, targets);
  return {
    name,
    summary,
    ...(description !== undefined && { description }),
    method,
    path,
    isReading: isReadOnly(operation),
    isDestructive: (typeof mcp === 'object' && mcp.destructive === true) || method === 'DELETE',
    about,
    fields: fields.filter((field) => field.name !== about?.parameter),
  };
}

/** Stands before the name of an input field in the value that it has here: no type has it in its name. */
const FIELD = '\u0000';

/** The record that an operation is about, learnt by an input whose fields have their own names as values. */
function aboutOf({ entity, http }: OperationDeclaration): DeclaredOperation['about'] {
  if (!entity) return null;
  try {
    const named = new Proxy({}, { get: (_, key) => FIELD + String(key) });
    const { type, id } = entity(named);
    const parameter = String(id).slice(FIELD.length);
    if (!String(id).startsWith(FIELD) || type.includes(FIELD)) return null;
    // An operation that takes further ids in its address has a page of its own to be reached from.
    return (http ? pathParams(http.path) : []).some((each) => each !== parameter)
      ? null
      : { type, parameter };
  } catch {
    return null;
  }
}

function jsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
}

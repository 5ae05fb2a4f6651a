/** The plan of an import: which column goes into which field, and what becomes of duplicates. */
import { PlatformError } from '@freehold/contracts';
import type { z } from 'zod';
import type { Delimiter } from './csv.ts';
import { type Field, unwrap } from './fields.ts';
import type { RecordShape } from './shape.ts';

/** The column with the id of a record that is there. */
export const ID_COLUMN = 'id';
/** The column that a file of errors adds. */
export const ERROR_COLUMN = 'error';
/** The column with the id of a related record beside that of its name. */
export const idColumnOf = (field: string): string => `${field}.id`;

/** `clearing`: the keys of an earlier judgement are given back. */
export type Phase =
  | 'receiving'
  | 'mapping'
  | 'clearing'
  | 'checking'
  | 'checked'
  | 'applying'
  | 'moving'
  | 'changing';
export type Duplicates = 'refuse' | 'skip' | 'update';

/** The choices of a person about an import. */
export interface ImportPlan {
  /** The field for each column of the file; null leaves it out. Default: fields of the same name. */
  readonly columns?: Readonly<Record<string, string | null>>;
  /** `id`, or a field that is unique: by it a record that is there is found. Default: none is looked for. */
  readonly key?: string | null;
  /** The end of lines whose record is there. Default `refuse`. */
  readonly duplicates?: Duplicates;
}

/** The state of an import between two steps. */
export interface ImportData {
  readonly phase: Phase;
  readonly filename: string | null;
  readonly delimiter: Delimiter;
  /** The number of the last part that came. */
  readonly part: number;
  /** The beginning of a line that the next part ends. */
  readonly rest: string;
  readonly header: readonly string[];
  /** The target of each column, in the order of the header; null: it is left out. */
  readonly mapping: readonly (string | null)[];
  /** The name of the key by which records that are there are found; null: none are looked for. */
  readonly key: string | null;
  readonly duplicates: Duplicates;
  /** Whether lines with errors are left out, rather than refusing all. */
  readonly leaves: boolean;
  /** The last line that this phase has done. */
  readonly at: number;
  readonly lines: number;
  readonly ready: number;
  readonly errors: number;
  readonly skipped: number;
  readonly updates: number;
  readonly made: number;
  readonly changed: number;
}

/** A key: an id, or fields that no two records have in common. */
export interface Key {
  readonly name: string;
  readonly fields: readonly Field[];
}

/** Returns the keys of a type of records. */
export function keysOf({ unique }: RecordShape): readonly Key[] {
  return [
    { name: ID_COLUMN, fields: [] },
    ...unique.map((fields) => ({ name: fields.map(({ name }) => name).join('+'), fields })),
  ];
}

/** Returns everything that a column can go into. */
export function targetsOf({ table }: RecordShape): readonly string[] {
  return [
    ID_COLUMN,
    ...table.fields.flatMap(({ name, target }) => (target ? [name, idColumnOf(name)] : [name])),
  ];
}

/** Returns the fields that every new record needs. */
export function requiredFields({ table }: RecordShape): readonly string[] {
  return table.fields
    .filter(({ isOptional, schema }) => !isOptional && !schema.safeParse(undefined).success)
    .map(({ name }) => name);
}

/** Returns which columns look like a sealed field. Their values stand nowhere in clear, and so are not staged. */
export function sealedColumns(shape: RecordShape, header: readonly string[]): readonly boolean[] {
  return header.map((name) => {
    // One at a time, so that no second column of that name is missed.
    const [target] = guessMapping(shape, [name]);
    return typeof target === 'string' && shape.byName.get(target)?.isSealed === true;
  });
}

/** Guesses the target of each column: the field of the same name, or title, but for case and signs. */
export function guessMapping(shape: RecordShape, header: readonly string[]): (string | null)[] {
  const targets = new Map<string, string>();
  for (const field of shape.table.fields) {
    const { title } = (unwrap(field.schema).inner.meta() ?? {}) as z.core.GlobalMeta;
    if (title !== undefined) targets.set(plain(title), field.name);
  }
  for (const target of targetsOf(shape)) targets.set(plain(target), target);
  const taken = new Set<string>();
  return header.map((name) => {
    const target = targets.get(plain(name));
    if (target === undefined || taken.has(target)) return null;
    taken.add(target);
    return target;
  });
}

function plain(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Returns a given mapping in the order of the header. @throws PlatformError `validation_failed` at the column. */
export function readMapping(
  shape: RecordShape,
  header: readonly string[],
  given: Readonly<Record<string, string | null>>,
): (string | null)[] {
  const targets = targetsOf(shape);
  const errors: { path: string; message: string }[] = [];
  for (const [column, target] of Object.entries(given)) {
    const path = `columns.${column}`;
    if (!header.includes(column)) errors.push({ path, message: 'is no column of the file' });
    if (target !== null && !targets.includes(target))
      errors.push({ path, message: `is no field: ${target}; there are ${targets.join(', ')}` });
    if (target !== null && Object.values(given).filter((each) => each === target).length > 1)
      errors.push({ path, message: `goes into ${target}, as another column does` });
  }
  const [first] = errors;
  if (first)
    throw new PlatformError('validation_failed', `The columns do not fit. ${first.path}: ${first.message}.`, {
      errors,
    });
  return header.map((name) => given[name] ?? null);
}

/** Returns what is missing before lines can be judged: required fields, and the columns of the key. */
export function missingOf(
  shape: RecordShape,
  { mapping, key }: Pick<ImportData, 'mapping' | 'key'>,
): string[] {
  const has = (name: string) => mapping.includes(name) || mapping.includes(idColumnOf(name));
  // Lines that only change records need what they change.
  const required = key === ID_COLUMN && has(ID_COLUMN) ? [] : requiredFields(shape);
  const { fields } = keysOf(shape).find(({ name }) => name === key) ?? { fields: [] };
  const ofKey = key === ID_COLUMN ? [ID_COLUMN] : fields.map(({ name }) => name);
  return [...new Set([...required, ...ofKey])].filter((name) => !has(name));
}

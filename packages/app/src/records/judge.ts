/**
 * The judgement of the lines of an import: what each one is to become, or what is wrong with it. It is made before any
 * line counts, and again when the line is taken over. It says nothing about a record that the caller may not read but
 * that a value is taken.
 */
import { PlatformError, parseInput } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import type { z } from 'zod';
import { type CellForm, cellForm, readCell } from './cells.ts';
import type { Cell } from './csv.ts';
import type { Field } from './fields.ts';
import { ID_COLUMN, type ImportData, idColumnOf, type Key, keysOf } from './import-plan.ts';
import type { StoredRow } from './list.ts';
import { IMPORTED, isImportShown, liveCondition } from './partitions.ts';
import { requireRelated, requireUnique, type StoredValues } from './rows.ts';
import type { RecordShape } from './shape.ts';
import { uniqueCondition } from './tables.ts';
import { changedFields, storedValues } from './writes.ts';

export interface Line {
  readonly number: number;
  readonly cells: readonly Cell[];
}

export type Judgement =
  | { readonly status: 'ready'; readonly values: StoredValues }
  | { readonly status: 'update'; readonly before: StoredRow; readonly values: StoredValues }
  | { readonly status: 'skip' }
  | { readonly status: 'error'; readonly error: string };

export interface JudgeParts {
  readonly shape: RecordShape;
  /** The fields, without any others. */
  readonly fields: z.ZodType;
  /** The permission to read one. */
  readonly read: string;
}

type Values = Record<string, unknown>;
const forms = new WeakMap<Field, CellForm>();

/** Judges some lines together: names of related records are looked up for all of them at once. */
export function judgeLines(
  ctx: OperationContext,
  parts: JudgeParts,
  data: Pick<ImportData, 'mapping' | 'key' | 'duplicates'>,
  lines: readonly Line[],
): readonly Judgement[] {
  const { shape } = parts;
  const columns = columnsOf(shape, data.mapping);
  const related = new Map(
    columns.flatMap(({ field }) =>
      field?.target ? [[field, relatedRecords(ctx, field, columns, lines)] as const] : [],
    ),
  );
  const key = keysOf(shape).find(({ name }) => name === data.key) ?? null;
  const mapped = columns.flatMap(({ field }) => field ?? []);
  return lines.map(({ cells }) => {
    const read = readLine(columns, related, cells);
    if (cells.length > data.mapping.length)
      read.errors.push({ path: 'line', message: 'has more cells than there are columns' });
    let found: readonly Fault[] = [];
    let judgement: Judgement | null = null;
    try {
      judgement = judge(ctx, parts, { ...read, key, duplicates: data.duplicates, mapped });
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      found = error.errors ?? [{ path: '', message: error.message }];
    }
    // A field whose cell cannot be read is missing because of that.
    const others = found.filter(({ path }) => !read.errors.some((each) => each.path === path));
    const errors = [...read.errors, ...others];
    if (judgement && errors.length === 0) return judgement;
    return {
      status: 'error',
      error: errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '),
    };
  });
}

interface Fault {
  readonly path: string;
  readonly message: string;
}

interface Column {
  readonly at: number;
  readonly target: string;
  readonly field: Field | undefined;
  readonly isId: boolean;
}

function columnsOf({ byName, table }: RecordShape, mapping: ImportData['mapping']): readonly Column[] {
  return mapping.flatMap((target, at): Column[] => {
    if (target === null) return [];
    const ofId = table.fields.find(({ name }) => idColumnOf(name) === target);
    return [{ at, target, field: ofId ?? byName.get(target), isId: ofId !== undefined }];
  });
}

/** The records that the cells of a relation name, by id and by name; `several` where a name is not one record's alone. */
type Related = ReadonlyMap<string, string | 'several'>;

function relatedRecords(
  ctx: OperationContext,
  field: Field,
  columns: readonly Column[],
  lines: readonly Line[],
): Related {
  const { target } = field;
  const found = new Map<string, string>();
  if (!target) return found;
  const cells = new Set<string>();
  for (const column of columns)
    if (column.field === field)
      for (const line of lines) {
        const cell = line.cells[column.at]?.trim();
        if (cell) cells.add(cell);
      }
  const { name: table, title } = target.table;
  const reach = ctx.reach(target.entity.read, target.type);
  const readable = reach === 'all' ? null : new Set(reach);
  const rows = ctx.sql.all<{ id: string; title: SqlValue }>(
    `SELECT id, ${title} AS title FROM ${table}
     WHERE ${liveCondition(ctx, target)} AND ${title} IN (SELECT value FROM json_each(?1))
     UNION SELECT id, NULL FROM ${table}
     WHERE ${liveCondition(ctx, target)} AND id IN (SELECT value FROM json_each(?1))`,
    JSON.stringify([...cells]),
  );
  for (const { id, title: name } of rows) {
    if (readable && !readable.has(id)) continue;
    const word = name === null ? id : asciiLower(String(name));
    found.set(word, found.has(word) && found.get(word) !== id ? 'several' : id);
  }
  return found;
}

interface ReadLine {
  readonly values: Values;
  readonly errors: Fault[];
  readonly id: string | null;
}

function readLine(
  columns: readonly Column[],
  related: ReadonlyMap<Field, Related>,
  cells: readonly Cell[],
): ReadLine {
  const values: Values = {};
  const errors: Fault[] = [];
  let id: string | null = null;
  for (const { at, target, field, isId } of columns) {
    const cell = cells[at] ?? null;
    if (!field) {
      id = cell?.trim() || null;
      continue;
    }
    if (field.target) {
      const text = cell?.trim() || null;
      // The id says more than the name beside it.
      if (text === null || (!isId && typeof values[field.name] === 'string')) continue;
      const found =
        related.get(field)?.get(text) ?? (isId ? undefined : related.get(field)?.get(asciiLower(text)));
      const type = field.target.type.replaceAll('-', ' ');
      if (found === undefined) errors.push({ path: field.name, message: `there is no such ${type}` });
      else if (found === 'several')
        errors.push({ path: field.name, message: `several have this name; give the id of the ${type}` });
      else values[field.name] = found;
      continue;
    }
    let form = forms.get(field);
    if (!form) {
      form = cellForm(field);
      forms.set(field, form);
    }
    const read = readCell(form, cell);
    if (read === undefined) continue;
    if ('error' in read) errors.push({ path: target, message: read.error });
    else values[field.name] = read.value;
  }
  return { values, errors, id };
}

interface ToJudge extends ReadLine {
  readonly key: Key | null;
  readonly duplicates: ImportData['duplicates'];
  /** The fields that have a column. */
  readonly mapped: readonly Field[];
}

function judge(
  ctx: OperationContext,
  parts: JudgeParts,
  { key, duplicates, values, id, mapped, errors }: ToJudge,
): Judgement {
  const { shape, fields } = parts;
  const { table, type } = shape;
  const found = key === null ? null : sameRecord(ctx, parts, key, { values, id });
  if (found !== null && duplicates === 'skip') return { status: 'skip' };
  const path = key?.name ?? ID_COLUMN;
  if (found !== null && duplicates === 'refuse')
    throw refused(path, `there is a ${type.replaceAll('-', ' ')} with this already`);
  if (found === null && id !== null && key?.name === ID_COLUMN)
    throw refused(path, `there is no such ${type.replaceAll('-', ' ')}`);
  const sent =
    found === null
      ? values
      : changedFields(table, found, { ...emptied(ctx, found, mapped, values), ...values });
  const stored = storedValues(table, parseInput('The line', fields, sent) as Values);
  if (errors.length > 0) return { status: 'error', error: '' };
  const changed =
    found === null ? table.fields : table.fields.filter(({ column }) => stored[column] !== found[column]);
  requireRelated(ctx, { ...table, fields: changed }, stored);
  requireUnique(ctx.sql, shape, stored, found?.id ?? '');
  return found === null
    ? { status: 'ready', values: stored }
    : { status: 'update', before: found, values: stored };
}

/**
 * Returns the record that has the key of a line; null for none.
 * @throws PlatformError that says no more of one which the caller may not read than that the key is taken.
 */
function sameRecord(
  ctx: OperationContext,
  { shape, read }: JudgeParts,
  { name, fields }: Key,
  { values, id }: Pick<ReadLine, 'values' | 'id'>,
): StoredRow | null {
  const { table, type } = shape;
  let found: StoredRow | undefined;
  if (name === ID_COLUMN) {
    if (id === null) return null;
    found = ctx.sql.get<StoredRow>(
      `SELECT * FROM ${table.name} WHERE id = ? AND ${liveCondition(ctx, shape)}`,
      id,
    );
  } else {
    const own = fields.map((field) => storedValue(values[field.name]));
    // A line without the key is new.
    if (own.includes(null)) return null;
    const same = fields.map(({ column }) => `${column} = ?`).join(' AND ');
    found = ctx.sql.get<StoredRow>(
      `SELECT * FROM ${table.name} WHERE ${uniqueCondition(table)} AND ${same}`,
      ...own,
    );
  }
  if (!found) return null;
  const reach = ctx.reach(read, type);
  const isReadable = reach === 'all' || reach.includes(found.id);
  const isThere = found.archived !== IMPORTED || isImportShown(ctx, shape);
  if (isReadable && isThere) return found;
  if (name === ID_COLUMN) return null;
  throw refused(name, 'is taken already');
}

function storedValue(value: unknown): SqlValue {
  return (typeof value === 'boolean' ? Number(value) : (value ?? null)) as SqlValue;
}

/** Returns the fields that empty cells clear in a record that is there: not a relation that the caller may not see. */
function emptied(ctx: OperationContext, found: StoredRow, mapped: readonly Field[], values: Values): Values {
  const cleared = mapped.filter(({ name, isOptional, target, column }) => {
    if (!isOptional || values[name] !== undefined) return false;
    if (!target || found[column] === null) return true;
    const reach = ctx.reach(target.entity.read, target.type);
    return reach === 'all' || reach.includes(found[column] as string);
  });
  return Object.fromEntries(cleared.map(({ name }) => [name, null]));
}

/** Returns what makes a line the same as another one of the file, by the name of the key. */
export function sameness(
  shape: RecordShape,
  judgement: Judgement,
): readonly { readonly name: string; readonly key: string }[] {
  if (judgement.status !== 'ready' && judgement.status !== 'update') return [];
  const { values } = judgement;
  const keys = keysOf(shape).flatMap(({ name, fields }) => {
    const own = fields.map(({ column }) => values[column] ?? null);
    return fields.length === 0 || own.includes(null) ? [] : [{ name, key: JSON.stringify([name, ...own]) }];
  });
  const ofId =
    judgement.status === 'update'
      ? [{ name: ID_COLUMN, key: JSON.stringify([ID_COLUMN, judgement.before.id]) }]
      : [];
  return [...ofId, ...keys].map(({ name, key }) => ({ name, key: asciiLower(key) }));
}

/** Texts differ without regard to the case of ASCII letters, as the tables compare them. */
function asciiLower(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function refused(path: string, message: string): PlatformError {
  return new PlatformError('conflict', `${path}: ${message}`, { errors: [{ path, message }] });
}

/**
 * The change of a column's type, or of whether it must be filled. SQLite changes no column in place, and a table that others
 * name cannot be replaced: a new column takes the values over, and then the name.
 */
import { z } from 'zod';
import type { PresentColumn } from './difference.ts';
import { type Field, unwrap } from './fields.ts';
import { columnDeclaration } from './tables.ts';

/** The builder's word on values. */
export interface ValueConsent {
  /** The columns of which values may be lost when their type changes: `animals.fee`. */
  readonly convert: ReadonlySet<string>;
  /** Column → the value of the records that have none: `animals.fee` → `0`. */
  readonly fill: ReadonlyMap<string, string>;
}

export interface ColumnChange {
  readonly steps: readonly { readonly sql: string; readonly isDestructive: boolean }[];
  /** The question that only the builder can answer; null for none. */
  readonly question: string | null;
  /** The words of the builder that were about it: `convert animals.fee`. */
  readonly used: readonly string[];
}

/** Whether a present column is not as a field declares it. */
export function isOtherColumn(field: Field, present: PresentColumn): boolean {
  const isSameKind = present.type === field.type && present.references === targetOf(field);
  return !isSameKind || (present.isNullable !== field.isOptional && !isLackingAllowed(field, present));
}

/** Whether a column may be empty and is of a relation that became required: SQLite adds none that must be filled. */
export function isLackingAllowed(field: Field, { isNullable, references }: PresentColumn): boolean {
  return field.target !== undefined && !field.isOptional && isNullable && references === targetOf(field);
}

function targetOf({ target }: Field): string | null {
  return target?.table.name ?? null;
}

/** Returns the steps that make a present column what a field declares. */
export function changeColumn(
  table: string,
  field: Field,
  present: PresentColumn,
  { convert, fill }: ValueConsent,
): ColumnChange {
  const { column, type, isOptional } = field;
  const at = `${table}.${column}`;
  const given = fill.get(at);
  const words = [
    ...(convert.has(at) ? [`convert ${at}`] : []),
    ...(given === undefined ? [] : [`fill ${at}`]),
  ];
  const asks = (question: string): ColumnChange => ({ steps: [], question, used: words });
  if (field.target && present.references !== targetOf(field))
    return asks(
      `${at} holds ${present.references === null ? 'values' : `records of ${present.references}`} and is declared as a relation to ${targetOf(field)}: give the relation another name, and take the values over in a migration of your own.`,
    );
  const { value, loses } = convertedValue(column, present.type, type);
  if (loses && !convert.has(at))
    return asks(
      `${at} holds ${present.type} and is declared as ${type}: values that are none are lost. May they be (--convert ${at})?`,
    );
  // A value that is lost is empty, too.
  const canBeEmpty = present.isNullable || loses;
  const filled = valueOfNone(field, given);
  const needsValue = canBeEmpty && !isOptional;
  const isNeeded = { convert: loses, fill: needsValue };
  if (needsValue && filled === null)
    return asks(
      given === undefined
        ? `${at} may be empty and is declared as required: which value do the records get that have none (--fill ${at}=value)? Or give the field a default, or keep it optional.`
        : `${at} does not take the value ${given}: give one that fits the field.`,
    );
  const next = `${column}_next`;
  const neutral = filled ?? (type === 'TEXT' ? "''" : '0');
  const source = needsValue ? `coalesce(${value}, ${filled})` : value;
  const alter = `ALTER TABLE ${table}`;
  const declared = `${columnDeclaration(field)}${isOptional ? '' : ` DEFAULT ${neutral}`}`;
  return {
    steps: [
      { sql: `${alter} ADD COLUMN ${next} ${declared}`, isDestructive: false },
      { sql: `UPDATE ${table} SET ${next} = ${source}`, isDestructive: loses },
      { sql: `${alter} DROP COLUMN ${column}`, isDestructive: false },
      { sql: `${alter} RENAME COLUMN ${next} TO ${column}`, isDestructive: false },
    ],
    question: null,
    used: words.filter((word) => isNeeded[word.startsWith('fill') ? 'fill' : 'convert']),
  };
}

/** Returns the value of a column in another type, as SQL: null for a text that is no number. */
function convertedValue(
  column: string,
  from: string,
  to: Field['type'],
): { readonly value: string; readonly loses: boolean } {
  if (from === to) return { value: column, loses: false };
  if (to === 'TEXT') return { value: `CAST(${column} AS TEXT)`, loses: from === 'BLOB' };
  if (from === 'INTEGER') return { value: `CAST(${column} AS REAL)`, loses: false };
  if (from === 'REAL') return { value: whole(`round(${column})`), loses: true };
  // A text is a number where JSON reads it as one. CASE reads no further than it has to.
  const text = `trim(${column})`;
  const [types, value] =
    to === 'INTEGER'
      ? ["'integer'", whole(`CAST(${text} AS REAL)`, text)]
      : ["'integer', 'real'", `CAST(${text} AS REAL)`];
  return {
    value: `CASE json_valid(${text}) WHEN 1 THEN CASE WHEN json_type(${text}) IN (${types}) THEN ${value} END END`,
    loses: true,
  };
}

/** Returns a whole number as SQL, null beyond the safe integers: no reader of the column could take one. */
function whole(real: string, source = real): string {
  const limit = Number.MAX_SAFE_INTEGER;
  return `CASE WHEN ${real} BETWEEN -${limit} AND ${limit} THEN CAST(${source} AS INTEGER) END`;
}

/** Returns the value of records that have none, as SQL: the given one, or the default; null where neither fits. */
export function valueOfNone(field: Field, given: string | undefined): string | null {
  if (given !== undefined) return literalOf(field, given);
  return field.schema instanceof z.ZodDefault ? literal(field.schema.def.defaultValue) : null;
}

function literalOf({ schema, type, isBoolean }: Field, given: string): string | null {
  const { inner } = unwrap(schema);
  const value = isBoolean ? given === 'true' : type === 'TEXT' ? given : Number(given);
  const isReadable = isBoolean
    ? given === 'true' || given === 'false'
    : given.trim() !== '' || type === 'TEXT';
  return isReadable && inner.safeParse(value).success ? literal(value) : null;
}

function literal(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : null;
}

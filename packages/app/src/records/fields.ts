/** The types of a record's fields, and the column that each is stored in (design: application, "Records"). */
import type { SqlValue } from '@freehold/store';
import { z } from 'zod';
import type { AnyRecords } from './records.ts';

declare const related: unique symbol;
/** The id of another record, in the input of an operation. */
export type RelatedId = string & { readonly [related]: true };

/** A related record as its reader sees it. Both are null where the reader may not read that record. */
export interface RelatedRecord {
  readonly id: string | null;
  readonly name: string | null;
}

const targets = new WeakMap<z.ZodType, AnyRecords>();

/**
 * A field that names another record: an id in inputs, `{ id, name }` in outputs. The record must exist, be one that the
 * caller may read, and not be archived when it is chosen.
 */
export function relation(target: AnyRecords): z.ZodType<RelatedId, string> {
  const schema = target.id.describe(`The id of a record of the type ${target.type}`);
  targets.set(schema, target);
  return schema as unknown as z.ZodType<RelatedId, string>;
}

/**
 * An amount of money in the smallest unit of a currency (ISO 4217): 1250 of `EUR` is 12.50 euros. At least 0, unless
 * `min` says otherwise; at most 10^12.
 */
export function money(currency: string, { min = 0 }: { readonly min?: number } = {}): z.ZodNumber {
  return z
    .int()
    .min(min)
    .max(1e12)
    .meta({ format: 'money', currency, description: `In the smallest unit of ${currency}` }) as z.ZodNumber;
}

/** A day without a time: `2026-03-10`. */
export const day = (): z.ZodISODate => z.iso.date();

/** A time of day to the minute: `08:30`. */
export const timeOfDay = (): z.ZodISOTime => z.iso.time({ precision: -1 });

/** A length of time in whole minutes, at least 0. */
export function minutes(): z.ZodNumber {
  return z.int().min(0).max(1e9).meta({ format: 'minutes', description: 'In minutes' }) as z.ZodNumber;
}

/** A field as it is stored. */
export interface Field {
  readonly name: string;
  readonly column: string;
  /** The type of the column: a sealed value is a text, whatever it is of. */
  readonly type: 'TEXT' | 'INTEGER' | 'REAL';
  /** The type of its values. */
  readonly valueType: 'TEXT' | 'INTEGER' | 'REAL';
  readonly isBoolean: boolean;
  /** Whether its values are sealed for the person that the record stands for. */
  readonly isSealed: boolean;
  /** Whether it can be without a value: its column is then null. */
  readonly isOptional: boolean;
  /** Whether its input can be null, and not only left out. */
  readonly takesNull: boolean;
  /** The records that it names, if it is a relation. */
  readonly target: AnyRecords | undefined;
  readonly schema: z.ZodType;
}

/** @throws TypeError on a schema that fits into no column, and on a name that is none. */
export function fieldOf(records: string, name: string, schema: z.ZodType, isSealed = false): Field {
  // The id of a record stands beside its fields in the input of an update, under the name of the type.
  const isTaken = RESERVED.has(name) || name === camelCase(records);
  if (!/^[a-z][A-Za-z0-9]{0,62}$/.test(name) || isTaken)
    throw new TypeError(`records('${records}'): ${name} cannot be the name of a field`);
  const { inner, isOptional } = unwrap(schema);
  const type = columnType(inner);
  if (!type)
    throw new TypeError(
      `records('${records}'): the field ${name} must be a text, a number, a boolean, one of a list, or a relation`,
    );
  return {
    name,
    // Under a name of its own: a field that is sealed from now on has values in clear in its other column.
    column: isSealed ? `${snakeCase(name)}_sealed` : snakeCase(name),
    type: isSealed ? 'TEXT' : type,
    valueType: type,
    isSealed,
    isBoolean: inner instanceof z.ZodBoolean,
    isOptional,
    takesNull: schema.safeParse(null).success,
    target: targets.get(inner),
    schema,
  };
}

/** The fields that every record has, and the inputs of its list. */
const RESERVED = new Set([
  'id',
  'createdAt',
  'updatedAt',
  'archivedAt',
  'archived',
  'limit',
  'cursor',
  'sort',
  'q',
]);

/** The schema without what makes it optional. */
export function unwrap(schema: z.ZodType): { readonly inner: z.ZodType; readonly isOptional: boolean } {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return { inner: unwrap(schema.unwrap() as z.ZodType).inner, isOptional: true };
  if (schema instanceof z.ZodDefault) return unwrap(schema.unwrap() as z.ZodType);
  return { inner: schema, isOptional: false };
}

function columnType(schema: z.ZodType): Field['type'] | null {
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat) return 'TEXT';
  if (schema instanceof z.ZodEnum)
    return schema.options.every((each) => typeof each === 'string') ? 'TEXT' : null;
  if (schema instanceof z.ZodBoolean) return 'INTEGER';
  if (!(schema instanceof z.ZodNumber)) return null;
  return schema.format === 'safeint' || schema.format === 'int32' || schema.format === 'uint32'
    ? 'INTEGER'
    : 'REAL';
}

/** Returns the value of a field as an input has it. */
export function inputValue(
  { column, isBoolean }: Field,
  row: Readonly<Record<string, SqlValue>>,
): string | number | boolean | null {
  const value = (row[column] ?? null) as string | number | null;
  return isBoolean && value !== null ? value === 1 : value;
}

/** `work-order` → `workOrder` */
export function camelCase(type: string): string {
  return type.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `firstDay` → `first_day` */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
}

/** The text form of a copy (store: `UnitTools.export`), and the values of its rows. */
import type { SqlValue } from '@freehold/store';
import { copyDamaged } from './refusals.ts';

export interface NdjsonTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** SHA-256 over the lines of its rows, each with its line end, hexadecimal. */
  readonly sha256: string;
}

/** The first line. */
export interface NdjsonHeader {
  readonly freehold: 1;
  readonly kind: string;
  readonly key: string;
  readonly schema: readonly string[];
  readonly tables: readonly NdjsonTable[];
}

/** The last line: a digest of everything before it. */
export interface NdjsonTrailer {
  readonly end: true;
  readonly sha256: string;
}

/** Encodes a value in the form of a table's plan: integers and texts have a letter in front, numbers are REAL. */
export function encodeValue(value: SqlStorageValue, isReal: boolean): unknown {
  if (value === null) return null;
  if (typeof value === 'number') return encodeReal(value, isReal);
  if (typeof value !== 'string') return { $bytes: Buffer.from(value).toString('base64') };
  const text = value.slice(1);
  if (value.startsWith('t')) return text;
  const integer = Number(text);
  return Number.isSafeInteger(integer) ? integer : { $integer: text };
}

/** A whole number in JSON is read as an INTEGER; only a REAL column converts it to a REAL. */
function encodeReal(value: number, isReal: boolean): unknown {
  const isPlain = Number.isFinite(value) && !Object.is(value, -0) && (isReal || !Number.isSafeInteger(value));
  return isPlain ? value : { $real: Object.is(value, -0) ? '-0' : String(value) };
}

/** A value to be bound, and whether it is an INTEGER, which workerd never binds as such. */
export interface BoundValue {
  readonly value: SqlValue;
  readonly isInteger: boolean;
}

/** @throws PlatformError `validation_failed`, reason `copy_damaged`, on an invalid value. */
export function decodeValue(value: unknown): BoundValue {
  if (value === null || typeof value === 'string') return { value, isInteger: false };
  if (typeof value === 'number') return { value, isInteger: Number.isSafeInteger(value) };
  const [name, text, ...more] = Object.entries(value as object).flat();
  if (typeof text === 'string' && more.length === 0) {
    if (name === '$integer' && /^-?\d{1,19}$/.test(text)) return { value: text, isInteger: true };
    if (name === '$real' && /^(?:-?Infinity|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(text))
      return { value: Number(text), isInteger: false };
    if (name === '$bytes' && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
      return { value: new Uint8Array(Buffer.from(text, 'base64')), isInteger: false };
  }
  throw copyDamaged('a value of a row is invalid');
}

/** @throws PlatformError `validation_failed`, reason `copy_damaged`. */
export function parseHeader(line: Uint8Array): NdjsonHeader {
  const header = parseLine(line) as Partial<NdjsonHeader> | null;
  const isText = (value: unknown): value is string => typeof value === 'string';
  const fits =
    header?.freehold === 1 &&
    isText(header.kind) &&
    Array.isArray(header.schema) &&
    header.schema.every(isText) &&
    Array.isArray(header.tables) &&
    header.tables.every(
      (table) => isText(table?.name) && Array.isArray(table.columns) && table.columns.every(isText),
    );
  if (!fits) throw copyDamaged('its first line does not describe it');
  return header as NdjsonHeader;
}

/** @throws PlatformError `validation_failed`, reason `copy_damaged`. */
export function parseLine(line: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(line));
  } catch (cause) {
    throw copyDamaged('a line of it cannot be read', cause);
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

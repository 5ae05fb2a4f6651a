/** The values of fields as cells of a table: written in one form, and read in the forms in which people write them. */
import { z } from 'zod';
import { type Cell, guarded } from './csv.ts';
import { type Field, unwrap } from './fields.ts';

type Value = string | number | boolean | null;
export type ReadCell = { readonly value: Value } | { readonly error: string };

type Kind = 'text' | 'choice' | 'boolean' | 'whole' | 'number' | 'money' | 'minutes' | 'day' | 'time';

/** The form of the cells of one field. It is made once, because the schema is looked into. */
export interface CellForm {
  readonly kind: Kind;
  /** Digits behind the point of a currency. */
  readonly digits: number;
  readonly currency: string;
  readonly choices: readonly string[];
  /** Whether an empty cell is an empty text. */
  readonly isRequiredText: boolean;
}

export function cellForm({ schema, isBoolean, isOptional, valueType, target }: Field): CellForm {
  const { inner } = unwrap(schema);
  const meta = (inner.meta() ?? {}) as { readonly format?: string; readonly currency?: string };
  const { currency = '' } = meta;
  const def = inner.def as { readonly format?: string };
  const kind = ((): Kind => {
    if (isBoolean) return 'boolean';
    if (target) return 'text';
    if (inner instanceof z.ZodEnum) return 'choice';
    if (meta.format === 'money' || meta.format === 'minutes') return meta.format;
    if (valueType !== 'TEXT') return valueType === 'INTEGER' ? 'whole' : 'number';
    return def.format === 'date' ? 'day' : def.format === 'time' ? 'time' : 'text';
  })();
  return {
    kind,
    currency,
    digits: kind === 'money' ? digitsOf(currency) : 0,
    choices: inner instanceof z.ZodEnum ? (inner.options as string[]) : [],
    isRequiredText: kind === 'text' && !target && !isOptional && !(schema instanceof z.ZodDefault),
  };
}

function digitsOf(currency: string): number {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return maximumFractionDigits;
}

/** Returns the cell of a value. */
export function writeCell({ kind, digits }: CellForm, value: Value): Cell {
  if (value === null) return null;
  if (kind === 'money') return decimal(value as number, digits);
  if (typeof value === 'string') return guarded(value);
  return String(value);
}

function decimal(units: number, digits: number): string {
  if (digits === 0) return String(units);
  const text = String(Math.abs(units)).padStart(digits + 1, '0');
  return `${units < 0 ? '-' : ''}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Returns the value of a cell; undefined where an empty one leaves the field out. Its schema judges it after that. */
export function readCell(form: CellForm, cell: Cell): ReadCell | undefined {
  if (cell === null) return form.isRequiredText ? { value: '' } : undefined;
  if (form.kind === 'text') return { value: cell };
  const text = cell.trim();
  if (text === '') return undefined;
  return READERS[form.kind](text, form);
}

const READERS: Readonly<Record<Exclude<Kind, 'text'>, (text: string, form: CellForm) => ReadCell>> = {
  choice: (text, { choices }) => {
    const found =
      choices.find((each) => each === text) ??
      choices.find((each) => each.toLowerCase() === text.toLowerCase());
    return found === undefined ? wrong(`must be one of ${choices.join(', ')}`) : { value: found };
  },
  boolean: (text) => {
    const word = text.toLowerCase();
    if (['true', 'yes', 'ja', '1', 'x', 'wahr'].includes(word)) return { value: true };
    return ['false', 'no', 'nein', '0', 'falsch'].includes(word)
      ? { value: false }
      : wrong('must be true or false');
  },
  whole: (text) =>
    /^[+-]?\d{1,3}(?:[ '\u2019\u00a0\u202f]\d{3})+$|^[+-]?\d{1,16}$/.test(text)
      ? { value: Number(text.replaceAll(/[^\d+-]/g, '')) }
      : wrong('must be a whole number, such as 1250'),
  number: (text) =>
    /^[+-]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?$/i.test(text)
      ? { value: Number(text.replace(',', '.')) }
      : wrong('must be a number, such as 12.5'),
  money: (text, form) => readMoney(text, form),
  minutes: (text) => {
    const [, hours, rest] = /^(\d{1,6}):([0-5]\d)$/.exec(text) ?? [];
    if (hours !== undefined) return { value: Number(hours) * 60 + Number(rest) };
    return /^\d{1,10}$/.test(text)
      ? { value: Number(text) }
      : wrong('must be minutes, such as 90, or hours and minutes, such as 1:30');
  },
  day: (text) => {
    const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? [];
    if (year !== undefined) return { value: `${year}-${pad(month)}-${pad(day)}` };
    return /^\d{4}-\d{2}-\d{2}$/.test(text) ? { value: text } : wrong('must be a day, such as 2026-03-10');
  },
  time: (text) => {
    const [, hours, rest] = /^(\d{1,2}):(\d{2})(?::00)?$/.exec(text) ?? [];
    return hours === undefined ? wrong('must be a time, such as 08:30') : { value: `${pad(hours)}:${rest}` };
  },
};

/** An amount in the currency. A point or a comma before three digits could be either, and is refused. */
function readMoney(text: string, { digits, currency }: CellForm): ReadCell {
  const sign = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
    .formatToParts(0)
    .find(({ type }) => type === 'currency')?.value;
  const plain = [currency, sign ?? currency].reduce((rest, each) => rest.replace(each, ''), text).trim();
  const [, minus, whole, mark, part = ''] =
    /^(-?)(\d{1,16}|\d{1,3}(?:([ '\u2019.,\u00a0\u202f])\d{3})(?:\3\d{3})*)(?:[.,](\d{1,4}))?$/.exec(plain) ??
    [];
  const isAmbiguous =
    whole !== undefined && (mark === '.' || mark === ',') && part === '' && whole.split(mark).length === 2;
  const isSame = part !== '' && plain.at(-part.length - 1) === mark;
  if (whole === undefined || isAmbiguous || isSame || part.length > digits)
    return wrong(`must be an amount, such as ${decimal(125_000, digits)}`);
  const units = Number(whole.replaceAll(/\D/g, '') + part.padEnd(digits, '0'));
  return { value: minus === '-' ? -units : units };
}

function pad(number: string | undefined): string {
  return (number ?? '').padStart(2, '0');
}

function wrong(error: string): ReadCell {
  return { error };
}

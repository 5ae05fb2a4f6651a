/**
 * Values of fields: as a record has them (JSON), as people type them (`Typed`), and as they are shown. Pure: the language
 * is given.
 */
import type { DeclaredField, DeclaredKind } from '../../src/wire/declared.ts';
import type { Texts } from '../texts/en.ts';

/** A related record: both are null where the reader may not see it. */
export interface Related {
  readonly id: string | null;
  readonly name: string | null;
}

/** The content of a field in a form; an empty text, or no related record, is no value. */
export type Typed = string | boolean | readonly string[] | Related | null;

/** The language that values are typed and shown in. */
export interface Spoken {
  readonly locale: string;
  readonly t: Texts;
}

export type Parsed =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

const NO_VALUE: Parsed = { value: undefined };

/** Returns a value as a form shows it. @param value as a record or a default has it. */
export function typedOf(field: DeclaredField, value: unknown, { locale }: Spoken): Typed {
  const isMissing = value === null || value === undefined;
  switch (field.kind) {
    case 'boolean':
      // One that can be without a value is a choice of three.
      return hasThreeStates(field) ? (isMissing ? '' : String(value)) : value === true;
    case 'choices':
      return Array.isArray(value) ? value.map(String) : [];
    case 'relation':
      return isMissing ? null : typeof value === 'string' ? { id: value, name: null } : (value as Related);
    case 'money':
      return isMissing ? '' : amountText(value as number, { currency: field.currency ?? 'EUR', locale });
    case 'number':
    case 'integer':
      return isMissing
        ? ''
        : new Intl.NumberFormat(locale, { useGrouping: false, maximumFractionDigits: 20 }).format(
            value as number,
          );
    case 'minutes':
      return isMissing ? '' : clockText(value as number);
    case 'moment':
      return isMissing ? '' : localMoment(value as string);
    case 'json':
      return isMissing ? '' : JSON.stringify(value, null, 2);
    default:
      return isMissing ? '' : String(value);
  }
}

/** Whether a yes or no can also be neither. */
export function hasThreeStates({ required, nullable, default: fallback }: DeclaredField): boolean {
  return !required && fallback === undefined && nullable;
}

/** Returns the value to send, `undefined` for none, or the fault in the reader's language. */
export function parseTyped(field: DeclaredField, typed: Typed, spoken: Spoken): Parsed {
  const parsed = parseValue(field, typed, spoken);
  const isNeeded = field.required && parsed.fault === undefined && parsed.value === undefined;
  return isNeeded ? { fault: spoken.t.faults.needed } : parsed;
}

function parseValue(field: DeclaredField, typed: Typed, spoken: Spoken): Parsed {
  if (typeof typed === 'boolean') return { value: typed };
  if (typed === null) return NO_VALUE;
  if (typeof typed === 'object') {
    if ('id' in typed) return typed.id === null ? NO_VALUE : { value: typed.id };
    return typed.length === 0 && !field.required ? NO_VALUE : { value: [...typed] };
  }
  // Blanks around a text are a slip; within a note they are its author's.
  const text = field.kind === 'text' ? typed : typed.trim();
  if (text.trim() === '') return NO_VALUE;
  switch (field.kind) {
    case 'boolean':
      return { value: text === 'true' };
    case 'money':
      return withinBounds(field, parseAmount(text, field.currency ?? 'EUR', spoken), spoken);
    case 'minutes':
      return withinBounds(field, parseMinutes(text, spoken), spoken);
    case 'integer':
    case 'number':
      return withinBounds(field, parseNumber(field.kind, text, spoken), spoken);
    case 'moment':
      return { value: new Date(text).toISOString() };
    case 'json':
      try {
        return { value: JSON.parse(text) };
      } catch {
        return { fault: spoken.t.faults.json };
      }
    default:
      return { value: text };
  }
}

function withinBounds(field: DeclaredField, parsed: Parsed, spoken: Spoken): Parsed {
  if (typeof parsed.value !== 'number') return parsed;
  const { min, max } = field;
  const { faults } = spoken.t;
  if (min !== undefined && parsed.value < min) return { fault: faults.least(shownOf(field, min, spoken)) };
  if (max !== undefined && parsed.value > max) return { fault: faults.most(shownOf(field, max, spoken)) };
  return parsed;
}

/** The digits after the point in a currency: 2 for EUR, 0 for JPY. */
function digitsOf(currency: string): number {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return maximumFractionDigits;
}

function amountText(
  value: number,
  { currency, locale }: { readonly currency: string; readonly locale: string },
): string {
  const digits = digitsOf(currency);
  return new Intl.NumberFormat(locale, {
    useGrouping: false,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value / 10 ** digits);
}

/** Reads digits alone into the smallest unit: a sum of binary fractions would be a cent off. */
function parseAmount(text: string, currency: string, { locale, t }: Spoken): Parsed {
  const digits = digitsOf(currency);
  const plain = plainNumber(text.replaceAll(/[\p{Sc}A-Za-z]/gu, ''), locale);
  const match = plain === null ? null : /^(-?)(\d+)(?:\.(\d*))?$/.exec(plain);
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  if (!match || fraction.length > digits) return { fault: t.faults.money };
  const value = Number(sign + whole + fraction.padEnd(digits, '0'));
  return Number.isSafeInteger(value) ? { value: value === 0 ? 0 : value } : { fault: t.faults.money };
}

function parseNumber(kind: 'integer' | 'number', text: string, { locale, t }: Spoken): Parsed {
  const plain = plainNumber(text, locale);
  const value = plain === null ? Number.NaN : Number(plain);
  if (!Number.isFinite(value)) return { fault: t.faults.number };
  return kind === 'integer' && !Number.isSafeInteger(value) ? { fault: t.faults.whole } : { value };
}

/**
 * A number as people type it, with a point and no groups: `1.250,50` in German and `1,250.50` in English are `1250.50`. A
 * separator that could not group is the decimal one, whatever the language. Null for what is no number.
 */
function plainNumber(text: string, locale: string): string | null {
  const bare = text.replaceAll(/[\s'’]/gu, '').replace(/^−/, '-');
  const group = new Intl.NumberFormat(locale).format(11_111).includes(',') ? ',' : '.';
  const isGrouped = new RegExp(`^-?\\d{1,3}(?:[${group}]\\d{3})+(?![${group}\\d])`).test(bare);
  const point = (isGrouped ? bare.replaceAll(group, '') : bare).replace(',', '.');
  return /^-?\d+(?:\.\d*)?$/.test(point) ? point : null;
}

function parseMinutes(text: string, { t }: Spoken): Parsed {
  const clock = /^(\d{1,7}):([0-5]\d)$/.exec(text);
  if (clock) return { value: Number(clock[1]) * 60 + Number(clock[2]) };
  return /^\d{1,10}$/.test(text) ? { value: Number(text) } : { fault: t.faults.minutes };
}

/** 90 → `1:30` */
function clockText(minutes: number): string {
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

/** A moment as an input of the type `datetime-local` has it: in the reader's time zone, to the minute. */
function localMoment(iso: string): string {
  const at = new Date(iso);
  // An address can bring any text.
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Returns a value as text for people; an empty text for none. */
export function shownOf(field: DeclaredField, value: unknown, { locale, t }: Spoken): string {
  if (value === null || value === undefined || value === '') return '';
  switch (field.kind) {
    case 'boolean':
      return value === true ? t.yes : t.no;
    case 'choice':
      return field.options?.find((option) => option.value === value)?.label ?? String(value);
    case 'choices':
      return (value as unknown[])
        .map((each) => field.options?.find((option) => option.value === each)?.label ?? String(each))
        .join(', ');
    case 'relation':
      return (value as Related).name ?? t.hidden;
    case 'money': {
      const currency = field.currency ?? 'EUR';
      return new Intl.NumberFormat(locale, { style: 'currency', currency }).format(
        (value as number) / 10 ** digitsOf(currency),
      );
    }
    case 'minutes':
      return durationText(value as number, locale);
    case 'integer':
    case 'number':
      return new Intl.NumberFormat(locale, { maximumFractionDigits: 10 }).format(value as number);
    case 'day':
      return dayText(value as string, locale);
    case 'moment':
      return momentText(value as string, locale);
    case 'json':
      return typeof value === 'string' ? value : JSON.stringify(value);
    default:
      return String(value);
  }
}

/** Returns the text that stands for a record. */
export function titleOf(
  { fields, title }: Pick<DeclaredKind, 'fields' | 'title'>,
  record: Readonly<Record<string, unknown>>,
  spoken: Spoken,
): string {
  const field = fields.find(({ name }) => name === title);
  return (field && shownOf(field, record[title], spoken)) || spoken.t.unnamed;
}

function durationText(minutes: number, locale: string): string {
  const unit = (value: number, name: string): string =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'short' }).format(value);
  const parts = [
    ...(minutes >= 60 ? [unit(Math.floor(minutes / 60), 'hour')] : []),
    ...(minutes % 60 > 0 || minutes === 0 ? [unit(minutes % 60, 'minute')] : []),
  ];
  return parts.join(' ');
}

/** A day has no time zone: it is shown as written. */
function dayText(day: string, locale: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(at.getTime())
    ? day
    : new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(at);
}

export function momentText(iso: string, locale: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime())
    ? iso
    : new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(at);
}

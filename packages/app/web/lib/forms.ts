/** The input that a form sends, and its answer to changes of others. Pure. */
import type { DeclaredField } from '../../src/wire/declared.ts';
import { parseTyped, type Related, type Spoken, type Typed, typedOf } from './values.ts';

export type Values = Readonly<Record<string, Typed>>;
export type Faults = Readonly<Record<string, string>>;
export type JsonRecord = Readonly<Record<string, unknown>>;

/** The first content of a form: a record's values, or the defaults. */
export function valuesOf(
  fields: readonly DeclaredField[],
  record: JsonRecord | null,
  spoken: Spoken,
): Values {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      typedOf(field, record === null ? field.default : record[field.name], spoken),
    ]),
  );
}

export interface Judged {
  readonly input: Record<string, unknown>;
  readonly faults: Faults;
}

/** Judges a whole form. A field without a value is left out. */
export function judge(fields: readonly DeclaredField[], values: Values, spoken: Spoken): Judged {
  const input: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const parsed = parseTyped(field, values[field.name] ?? '', spoken);
    if (parsed.fault !== undefined) faults[field.name] = parsed.fault;
    else if (parsed.value !== undefined) input[field.name] = parsed.value;
  }
  return { input, faults };
}

/**
 * Judges a change: only the fields that differ from what the form began with are sent, so that what others changed
 * meanwhile stays. A field that was emptied is null.
 */
export function judgeChange(
  fields: readonly DeclaredField[],
  { before, values }: { readonly before: Values; readonly values: Values },
  spoken: Spoken,
): Judged {
  const changed = fields.filter(({ name }) => !isSame(before[name] ?? null, values[name] ?? null));
  const { input, faults } = judge(changed, values, spoken);
  for (const { name } of changed) if (!(name in input) && !(name in faults)) input[name] = null;
  return { input, faults };
}

export function isSame(one: Typed, other: Typed): boolean {
  return JSON.stringify(comparable(one)) === JSON.stringify(comparable(other));
}

/** A related record is the same whatever its name; an empty text is no value. */
function comparable(typed: Typed): unknown {
  if (typed === '' || typed === null) return null;
  return typeof typed === 'object' && 'id' in typed ? (typed as Related).id : typed;
}

/** A field that another person changed while it was being edited. */
export interface Overtaken {
  readonly field: DeclaredField;
  readonly theirs: Typed;
  /** Whether the form's own value differs from theirs and from what it began with: only one of them can stay. */
  readonly isContested: boolean;
}

/** Compares the form with what is there now. */
export function overtakenFields(
  fields: readonly DeclaredField[],
  { before, values, now }: { readonly before: Values; readonly values: Values; readonly now: Values },
): Overtaken[] {
  return fields.flatMap((field) => {
    const [was, mine, theirs] = [before, values, now].map((each) => each[field.name] ?? null) as [
      Typed,
      Typed,
      Typed,
    ];
    if (isSame(was, theirs)) return [];
    return [{ field, theirs, isContested: !isSame(mine, was) && !isSame(mine, theirs) }];
  });
}

/** The form after a change of others: their values, but for the fields that were typed in. */
export function rebased({
  before,
  values,
  now,
}: {
  readonly before: Values;
  readonly values: Values;
  readonly now: Values;
}): Values {
  return Object.fromEntries(
    Object.keys(values).map((name) => {
      const mine = values[name] ?? null;
      return [name, isSame(mine, before[name] ?? null) ? (now[name] ?? null) : mine];
    }),
  );
}

/** The faults of a refusal, by field: `address.street` is one of `address`. Those of no field are left out. */
export function faultsOf(
  errors: readonly { readonly path: string; readonly message: string }[],
  fields: readonly DeclaredField[],
): Faults {
  const names = new Set(fields.map(({ name }) => name));
  return Object.fromEntries(
    errors
      .map(({ path, message }) => [path.split(/[.[]/)[0] ?? '', message] as const)
      .filter(([name]) => names.has(name)),
  );
}

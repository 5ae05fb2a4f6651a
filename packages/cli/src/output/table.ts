/** Writes tables that fit their terminal, and records line by line. */

const GAP = '  ';
/** A narrower column is of no use: columns on the right are left out instead. */
const COLUMN_MIN = 8;

/**
 * Writes rows under their headings. Cuts cells that do not fit with an ellipsis; keeps ids whole.
 * @param columns the width of the terminal; null cuts nothing.
 */
export function tableText(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | null,
): string {
  const titles = headings.map(titleOf);
  const wanted = titles.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const widths = columns === null ? wanted : widthsThatFit(wanted, rows, columns);
  const left = headings.length - widths.length;
  const line = (cells: readonly string[]) =>
    widths
      .map((width, index) => cut(cells[index] ?? '', width).padEnd(width))
      .join(GAP)
      .trimEnd();
  const lines = [line(titles), ...rows.map(line)];
  if (left > 0) lines.push(`(${left} more ${left === 1 ? 'column' : 'columns'}: --json has them all)`);
  return lines.join('\n');
}

/** `createdAt` → `CREATED AT`. */
function titleOf(heading: string): string {
  return heading.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toUpperCase();
}

/** Narrows the widest columns first, then leaves out the last ones. Part of an id is useless. */
function widthsThatFit(
  wanted: readonly number[],
  rows: readonly (readonly string[])[],
  columns: number,
): number[] {
  const widths = [...wanted];
  const isWhole = widths.map((_, index) => index === 0 || rows.some((row) => ID.test(row[index] ?? '')));
  const total = () => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > columns && widths.length > 0) {
    const widest = Math.max(...widths.filter((_, index) => !isWhole[index]), 0);
    const index = widths.findIndex((width, each) => width === widest && !isWhole[each]);
    if (widest > COLUMN_MIN) widths[index] = widest - 1;
    else if (widths.length > 1) widths.pop();
    else return widths;
  }
  return widths;
}

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Writes a list of records as a table, with a column for every field that has a value. */
export function listText(items: readonly unknown[], columns: number | null): string {
  const records = items.map((item) => (isRecord(item) ? item : { value: item }));
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const shown = names.filter((name) => records.some((record) => (record[name] ?? null) !== null));
  const rows = records.map((record) => shown.map((name) => cellOf(record[name])));
  return tableText(shown, rows, columns);
}

/** Writes a field in a row: a record in short, a list of records as its length. */
function cellOf(value: unknown): string {
  if (Array.isArray(value) && value.some(isRecord)) return `(${value.length})`;
  if (!isRecord(value)) return scalarText(value);
  const known = Object.entries(value).filter(([, each]) => (each ?? null) !== null);
  return known.length === 0 ? '-' : known.map(([name, each]) => `${name}=${scalarText(each)}`).join(' ');
}

/** Writes a record, a line for each field; nested fields are indented below it. */
export function recordText(value: unknown, columns: number | null, indent = ''): string {
  if (!isRecord(value)) return `${indent}${scalarText(value)}`;
  const entries = Object.entries(value);
  const width = Math.max(...entries.map(([name]) => name.length), 0);
  return entries
    .map(([name, field]) => {
      if (isRecord(field) && Object.keys(field).length > 0)
        return `${indent}${name}\n${recordText(field, columns, `${indent}  `)}`;
      if (Array.isArray(field) && field.some(isRecord)) {
        const inner = listText(field, columns === null ? null : Math.max(columns - indent.length - 2, 40));
        return `${indent}${name}\n${inner.replaceAll(/^/gm, `${indent}  `)}`;
      }
      return `${indent}${name.padEnd(width)}${GAP}${scalarText(field)}`.trimEnd();
    })
    .join('\n');
}

/** Writes one line. Control characters are shown escaped: tenants' text must not steer the operator's terminal. */
export function scalarText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' || typeof each === 'number'))
    return value.length === 0 ? '-' : harmless(value.map((each) => scalarText(each)).join(', '));
  return harmless(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Rounds to three decimals for people; `--json` has all of them. */
function numberText(value: number): string {
  return String(Number.isInteger(value) ? value : Math.round(value * 1_000) / 1_000);
}

function harmless(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    char === '\n' ? '⏎' : `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Writes tables that fit their terminal, and records line by line. */

const GAP = '  ';
/** A narrower column is of no use: it is left out instead. */
const COLUMN_MIN = 20;

/**
 * Writes rows under their headings. Columns that do not fit are left out, the later ones first; cells are cut with an
 * ellipsis, but not ids and times.
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
  const fitted = columns === null ? wanted : widthsThatFit(wanted, rows, columns);
  const widths = fitted.map((width, index) => ({ width, index })).filter(({ width }) => width > 0);
  const left = headings.length - widths.length;
  const line = (cells: readonly string[]) =>
    widths
      .map(({ width, index }) => cut(cells[index] ?? '', width).padEnd(width))
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

/** Returns the width of each column, 0 for one that is left out. Part of an id or of a time is useless. */
function widthsThatFit(
  wanted: readonly number[],
  rows: readonly (readonly string[])[],
  columns: number,
): number[] {
  const least = wanted.map((width, index) => {
    if (index === 0) return width;
    const whole = rows.map((row) => WHOLE.exec(row[index] ?? '')?.[0].length ?? 0);
    return Math.max(Math.min(width, COLUMN_MIN), ...whole);
  });
  let room = columns + GAP.length;
  const widths = least.map((width, index) => {
    const isTaken = index === 0 || width + GAP.length <= room;
    if (isTaken) room -= width + GAP.length;
    return isTaken ? width : 0;
  });
  for (const [index, width] of widths.entries()) {
    const more = width === 0 ? 0 : Math.max(0, Math.min((wanted[index] ?? 0) - width, room));
    widths[index] = width + more;
    room -= more;
  }
  return widths;
}

/** The part of a cell that is never cut: an id, or a time. */
const WHOLE = /^(?:[a-z]{3}_[0-9a-z]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z)/;

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** The columns that say what a row is about and what became of it: they stand first, and stay in a narrow terminal. */
const FIRST: readonly string[] = [
  ...['id', 'sequence', 'event', 'bookmark', 'slug', 'key', 'hostname', 'name', 'email'],
  ...['action', 'operation', 'kind', 'type', 'version', 'target', 'status', 'state', 'outcome', 'permission'],
  ...['model', 'meter', 'at'],
];

/** Writes a list of records as a table, with a column for every field that has a value. */
export function listText(items: readonly unknown[], columns: number | null): string {
  const records = items.map((item) => (isRecord(item) ? item : { value: item }));
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rank = (name: string) => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  const shown = names
    .filter((name) => records.some((record) => (record[name] ?? null) !== null))
    .sort((left, right) => rank(left) - rank(right));
  const rows = records.map((record) =>
    shown.map((name) => (name === 'target' ? targetOf(record.target) : cellOf(record[name]))),
  );
  return tableText(shown, rows, columns);
}

/** Writes the target of a log row by its narrowest id: a scope's id names its tenant too. */
function targetOf(target: unknown): string {
  if (!isRecord(target)) return cellOf(target);
  const { scope, tenant, vertical, other } = target;
  const known = [scope ?? tenant ?? vertical, other].filter((each) => (each ?? null) !== null);
  return known.length === 0 ? cellOf(target) : known.map(scalarText).join(' ');
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

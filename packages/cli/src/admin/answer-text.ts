/** Writes an answer for people: a table, a record, or that there is nothing. */
import type { ClientResponse } from '@freehold/control-plane/client';
import type { AdminOperation } from '@freehold/directory/declarations';
import type { World } from '../lib/world.ts';
import { isRecord, listText, recordText, tableText } from '../output/table.ts';

type Answer = Pick<ClientResponse<unknown>, 'value'> &
  Partial<Pick<ClientResponse<unknown>, 'etag' | 'replayed'>>;

/** Fields whose value is shown once and never again. */
const SHOWN_ONCE: readonly string[] = ['secret', 'token', 'url'];

export function answerText(
  operation: AdminOperation,
  { value, etag = null, replayed = false }: Answer,
  world: Pick<World, 'output'>,
): string {
  const notes = [
    replayed ? 'This is the stored answer of an earlier call with the same idempotency key.' : null,
    isRecord(value) && value.dryRun === true ? 'This is a plan: nothing was changed.' : null,
    unknownSubject(operation, value),
    showsSecret(operation, value) ? 'Keep it now: it is shown this once.' : null,
    etag === null || (isRecord(value) && value.etag === etag) ? null : `(version ${etag}, for --if-match)`,
  ];
  return [valueText(value, world), ...notes].filter((line) => line !== null).join('\n');
}

function valueText(value: unknown, world: Pick<World, 'output'>): string {
  const { columns } = world.output;
  if (value === null || value === undefined) return 'Done.';
  if (!isRecord(value)) return recordText(value, columns);
  const { items, nextCursor = null, rows, columns: headings, ...rest } = value;
  if (Array.isArray(items)) {
    const list = listAnswerText(items, typeof nextCursor === 'string' ? nextCursor : null, world);
    return Object.keys(rest).length === 0 ? list : `${list}\n\n${recordText(rest, columns)}`;
  }
  if (Array.isArray(rows) && Array.isArray(headings) && rows.every(Array.isArray))
    return rowsText({ rows, headings, rest: { ...rest, nextCursor } }, columns);
  return Object.keys(value).length === 0 ? 'Nothing.' : recordText(value, columns);
}

/** Writes one page of a list, or a whole list. */
export function listAnswerText(
  items: readonly unknown[],
  nextCursor: string | null,
  { output }: Pick<World, 'output'>,
): string {
  if (items.length === 0) return 'There are none.';
  const more =
    nextCursor === null ? [] : [`There are more: --all lists them, --cursor ${nextCursor} goes on.`];
  return [listText(items, output.columns), ...more].join('\n');
}

/** Writes the answer of a query or a table: values in the order of their columns. */
function rowsText(
  {
    rows,
    headings,
    rest,
  }: { readonly rows: unknown[][]; readonly headings: unknown[]; readonly rest: object },
  columns: number | null,
): string {
  const names = headings.map((each) => String(isRecord(each) ? each.name : each));
  const more = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== null && value !== false),
  );
  const cells = rows.map((row) => row.map((cell) => cellText(cell)));
  const table = rows.length === 0 ? 'There are no rows.' : tableText(names, cells, columns);
  return Object.keys(more).length === 0 ? table : `${table}\n\n${recordText(more, columns)}`;
}

/** Writes one value of the data window in one line. Data is never rounded. */
export function cellText(cell: unknown): string {
  if (typeof cell === 'number') return String(cell);
  if (!isRecord(cell)) return recordText(cell, null);
  if (typeof cell.$integer === 'string') return cell.$integer;
  if (typeof cell.$text === 'string') return `${recordText(cell.$text, null)}…`;
  return `<${Number(cell.length)} bytes>`;
}

/** Only the answer that creates a token or a link holds its secret. */
function showsSecret({ success, audit, method }: AdminOperation, value: unknown): boolean {
  return (
    isRecord(value) &&
    method === 'POST' &&
    audit === 'audit' &&
    success === 201 &&
    SHOWN_ONCE.some((field) => typeof value[field] === 'string')
  );
}

/** A mistyped id erases nothing, and the receipt alone looks like one of a person who was known. */
function unknownSubject({ name }: AdminOperation, value: unknown): string | null {
  if (name !== 'subjects.shred' || !isRecord(value)) return null;
  if (value.dryRun === true)
    return value.receipt === null && value.events === 0
      ? 'No event of the scope names this id: check it, if you expected some.'
      : null;
  return value.keyDigest === null
    ? 'The scope had no key for this id, and so no sealed data about it: check the id, if you expected some.'
    : null;
}

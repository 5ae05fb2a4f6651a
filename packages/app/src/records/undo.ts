/**
 * The undoing of an import, step by step: what it made is archived, and what it changed gets its values back, unless one of
 * them was changed since, or no longer fits.
 */
import { type JsonValue, PlatformError, parseInput } from '@freehold/contracts';
import type { OperationContext, WorkHandle, WorkRow } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import { inputValue } from './fields.ts';
import type { ImportParts } from './import-steps.ts';
import type { StoredRow } from './list.ts';
import { ARCHIVED } from './partitions.ts';
import type { StoredValues } from './rows.ts';
import type { RecordShape } from './shape.ts';
import { change, changedFields, setArchived, storedValues } from './writes.ts';

/** Records of one step. */
const RECORDS_PER_STEP = 50;
/** A staged line is no longer than an event; a record with more than this cannot be taken back. */
const WAY_LENGTH_MAX = 60_000;

export const undoKind = (type: string): string => `${type}/import-undo`;

/** The state of an undoing between two steps. */
export interface UndoData {
  /** The import. */
  readonly of: string;
  readonly phase: 'made' | 'changed';
  /** The last line of this phase that was done. */
  readonly at: number;
  /** The changed records that stay as they are. */
  readonly left: number;
}

export function undoStart(of: string): UndoData {
  return { of, phase: 'made', at: 0, left: 0 };
}

interface WayBack {
  /** The record: by it, an erasure finds what was staged about a person, whatever their name is now. */
  readonly record: string;
  /** Column → the value before the import and the one that it wrote. */
  readonly values: Readonly<Record<string, readonly [before: SqlValue, after: SqlValue]>>;
}

/** Returns what takes a change back, as it is staged; null where it is too long. */
export function wayBack({ table }: RecordShape, before: StoredRow, values: StoredValues): JsonValue {
  const changed = table.fields.filter(({ column }) => values[column] !== before[column]);
  const way = {
    record: before.id,
    values: Object.fromEntries(
      changed.map(({ column }) => [column, [before[column] ?? null, values[column] ?? null]]),
    ),
  } as JsonValue;
  return JSON.stringify(way).length > WAY_LENGTH_MAX ? null : way;
}

export function undoStep(ctx: OperationContext, parts: ImportParts, work: WorkHandle): void {
  ctx.check(parts.write);
  const data = work.data as unknown as UndoData;
  if (data.phase === 'changed') changeBack(ctx, parts, work, data);
  else archiveMade(ctx, parts, work, data);
}

function archiveMade(ctx: OperationContext, { shape }: ImportParts, work: WorkHandle, data: UndoData): void {
  const rows = ctx.work(data.of).rows.after(data.at, RECORDS_PER_STEP, 'done');
  for (const { note } of rows) {
    const row = rowOf(ctx, shape, note);
    if (row) setArchived(ctx, shape, row, ARCHIVED);
  }
  const isLast = rows.length < RECORDS_PER_STEP;
  const next: UndoData = isLast
    ? { ...undoStart(data.of), phase: 'changed' }
    : { ...data, at: rows.at(-1)?.number ?? 0 };
  work.save({ data: next as never, done: work.done + rows.length, next: 'run' });
}

function changeBack(ctx: OperationContext, parts: ImportParts, work: WorkHandle, data: UndoData): void {
  const rows = ctx.work(data.of).rows.after(data.at, RECORDS_PER_STEP, 'changed');
  const backs = rows.filter((row) => isTakenBack(ctx, parts, row));
  const left = data.left + rows.length - backs.length;
  work.save({
    data: { ...data, at: rows.at(-1)?.number ?? data.at, left } as never,
    done: work.done + rows.length,
    next: rows.length < RECORDS_PER_STEP ? 'end' : 'run',
  });
}

function isTakenBack(ctx: OperationContext, { shape, fields }: ImportParts, { value }: WorkRow): boolean {
  if (value === null) return false;
  const { record, values: way } = value as unknown as WayBack;
  const row = rowOf(ctx, shape, record);
  if (!row || row.archived === ARCHIVED) return false;
  const columns = shape.table.fields.filter(({ column }) => Object.hasOwn(way, column));
  if (columns.some(({ column }) => row[column] !== way[column]?.[1])) return false;
  const earlier = {
    ...row,
    ...Object.fromEntries(columns.map(({ column }) => [column, way[column]?.[0] ?? null])),
  };
  const sent = Object.fromEntries(columns.map((field) => [field.name, inputValue(field, earlier)]));
  try {
    const whole = parseInput('The record', fields, changedFields(shape.table, row, sent));
    change(ctx, shape, row, storedValues(shape.table, whole as Readonly<Record<string, unknown>>));
    return true;
  } catch (error) {
    // Its value is another record's by now, or the record that it named is gone.
    if (error instanceof PlatformError) return false;
    throw error;
  }
}

function rowOf({ sql }: OperationContext, { table }: RecordShape, id: string | null): StoredRow | undefined {
  return sql.get<StoredRow>(`SELECT * FROM ${table.name} WHERE id = ?`, id);
}

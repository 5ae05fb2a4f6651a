/**
 * The steps of an import. All lines are judged; the good ones become records that no reader sees; one mark shows all of
 * them; then they move to the others with their events, and records that are there are changed. Each line is done in the
 * transaction that writes its row, so that none counts twice.
 */
import { PlatformError } from '@freehold/contracts';
import type { LongWork, OperationContext, WorkHandle, WorkRow } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { cellForm } from './cells.ts';
import type { Cell } from './csv.ts';
import type { Field } from './fields.ts';
import type { ImportData } from './import-plan.ts';
import { type Judgement, type JudgeParts, judgeLines, sameness } from './judge.ts';
import type { StoredRow } from './list.ts';
import { HIDDEN, IMPORTED, importKind, SHOWN } from './partitions.ts';
import type { RecordShape } from './shape.ts';
import { wordTable } from './tables.ts';
import { undoKind, undoStep, wayBack } from './undo.ts';
import { change, insertRecord, move } from './writes.ts';

/** Lines of one step at most; fewer where they take long. */
const LINES_PER_STEP = 50;
/** After so many lines a step looks whether it has taken long enough: others wait for it. */
const LINES_PER_LOOK = 10;
const STEP_MS = 20;

export interface ImportParts extends JudgeParts {
  /** The permissions to import, and to make and change single records. */
  readonly permission: string;
  readonly write: string;
  /** The name of several, for people. */
  readonly several: string;
  /** The shape with its sealed fields, of which nothing is staged. */
  readonly whole: RecordShape;
}

/** The long work of a type of records that are imported. */
export function importWorks(parts: ImportParts): Readonly<Record<string, LongWork>> {
  const { shape, permission, several } = parts;
  return {
    [importKind(shape.type)]: {
      summary: `Import ${several}`,
      permission,
      step: (ctx, work) => importStep(ctx, parts, work),
      abandon: ({ sql }, { mark }) => mark !== HIDDEN || removeHidden(sql, shape),
      namesOf: ({ sql }, subject) => namesIn(sql, shape, subject),
    },
    [undoKind(shape.type)]: {
      summary: `Undo an import of ${several}`,
      permission,
      step: (ctx, work) => undoStep(ctx, parts, work),
    },
  };
}

function importStep(ctx: OperationContext, parts: ImportParts, work: WorkHandle): void {
  const data = work.data as unknown as ImportData;
  switch (data.phase) {
    case 'clearing':
      work.save({ data: stored({ ...data, phase: afterClearing(work) }), next: 'run' });
      return;
    case 'checking':
      ctx.check(parts.write);
      check(ctx, parts, work, data);
      return;
    case 'applying':
      ctx.check(parts.write);
      apply(ctx, parts, work, data);
      return;
    case 'moving':
      moveRows(ctx, parts, work, data);
      return;
    case 'changing':
      changeRows(ctx, parts, work, data);
      return;
    default:
      work.save({ next: 'wait' });
  }
}

/**
 * Does some lines after one, with a status or with any, and writes what becomes of them. Returns the last line that was
 * done, and whether none is left.
 */
function someLines(
  { rows }: WorkHandle,
  { after, status }: { readonly after: number; readonly status?: string },
  work: (rows: readonly WorkRow[]) => readonly WorkRow[],
): { readonly at: number; readonly isLast: boolean } {
  const found = rows.after(after, LINES_PER_STEP, status);
  // Where the clock stands still within a transaction, as on workerd, all of them are done.
  const endMs = performance.now() + STEP_MS;
  let done = 0;
  while (done < found.length && (done === 0 || performance.now() < endMs)) {
    const some = found.slice(done, done + LINES_PER_LOOK);
    rows.put(work(some));
    done += some.length;
  }
  const isLast = done === found.length && found.length < LINES_PER_STEP;
  return { at: found[done - 1]?.number ?? after, isLast };
}

/** Gives some keys of an earlier judgement back. Returns the phase that follows. */
export function afterClearing({ rows }: WorkHandle): 'clearing' | 'checking' {
  return rows.unclaim() ? 'checking' : 'clearing';
}

/** Judges some lines, before any of them counts. */
function check(ctx: OperationContext, parts: ImportParts, work: WorkHandle, data: ImportData): void {
  const counts = { ready: data.ready, errors: data.errors, skipped: data.skipped, updates: data.updates };
  const { at, isLast } = someLines(work, { after: data.at }, (rows) =>
    judgeLines(ctx, parts, data, rows.map(lineOf)).map((judgement, index): WorkRow => {
      const row = rows[index] as WorkRow;
      const twin = firstTwin(parts.shape, work, judgement, row.number);
      const { status, note } = twin === null ? outcomeOf(judgement) : { status: 'error', note: twin };
      counts[COUNTED[status as keyof typeof COUNTED]] += 1;
      return { ...row, status, note };
    }),
  );
  work.save({
    data: stored({ ...data, ...counts, phase: isLast ? 'checked' : 'checking', at: isLast ? 0 : at }),
    done: at,
    next: isLast ? 'wait' : 'run',
  });
}

const COUNTED = { ready: 'ready', error: 'errors', skip: 'skipped', update: 'updates' } as const;

function outcomeOf(judgement: Judgement): { readonly status: string; readonly note: string | null } {
  return { status: judgement.status, note: judgement.status === 'error' ? judgement.error : null };
}

/** Returns the error of a line that has the same key as an earlier one; null where none has. */
function firstTwin(
  shape: RecordShape,
  work: WorkHandle,
  judgement: Judgement,
  number: number,
): string | null {
  for (const { name, key } of sameness(shape, judgement)) {
    const first = work.rows.claim(key, number);
    // People count the header as the first line.
    if (first !== number) return `${name}: line ${first + 1} has the same`;
  }
  return null;
}

/** Makes some records that no reader sees yet. With none left, all of them are shown. */
function apply(ctx: OperationContext, parts: ImportParts, work: WorkHandle, data: ImportData): void {
  let { made, errors, ready } = data;
  const { at, isLast } = someLines(work, { after: data.at, status: 'ready' }, (rows) =>
    judgeLines(ctx, parts, data, rows.map(lineOf)).map((judgement, index): WorkRow => {
      const row = rows[index] as WorkRow;
      if (judgement.status === 'ready') {
        made += 1;
        ready -= 1;
        const note = insertOrFault(ctx, parts.shape, judgement, data, row);
        if (typeof note === 'string') return { ...row, status: 'made', value: null, note };
        made -= 1;
        errors += 1;
        return { ...row, status: 'error', note: note.error };
      }
      ready -= 1;
      errors += 1;
      const error = judgement.status === 'error' ? judgement.error : 'there is one with this key by now';
      if (!data.leaves) throw stopped(row, error);
      return { ...row, status: 'error', note: error };
    }),
  );
  const next = { ...data, made, errors, ready, at: isLast ? 0 : at };
  work.save({
    data: stored({ ...next, phase: isLast ? 'moving' : 'applying' }),
    done: made,
    ...(isLast ? { mark: SHOWN, next: 'finish' } : { next: 'run' }),
  });
}

/** Two lines of one step can be the same as each other only here. */
function insertOrFault(
  ctx: OperationContext,
  shape: RecordShape,
  { values }: Extract<Judgement, { status: 'ready' }>,
  { leaves }: ImportData,
  row: WorkRow,
): string | { readonly error: string } {
  try {
    return insertRecord(ctx, shape, values, IMPORTED).id;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (!leaves) throw stopped(row, error.message);
    return { error: error.message };
  }
}

function stopped({ number }: WorkRow, error: string): PlatformError {
  return new PlatformError(
    'conflict',
    `Line ${number + 1} cannot be taken over any more, and nothing was. ${error}`,
    { reason: 'import_line' },
  );
}

/** Moves some of the shown records to the others. */
function moveRows(ctx: OperationContext, parts: ImportParts, work: WorkHandle, data: ImportData): void {
  const { shape } = parts;
  const { at, isLast } = someLines(work, { after: data.at, status: 'made' }, (rows) =>
    rows.map((row) => {
      const made = ctx.sql.get<StoredRow>(`SELECT * FROM ${shape.table.name} WHERE id = ?`, row.note);
      // One that was changed since is moved already.
      if (made) move(ctx, shape, made);
      return { ...row, status: 'done' };
    }),
  );
  const phase = isLast ? 'changing' : 'moving';
  work.save({ data: stored({ ...data, at: isLast ? 0 : at, phase }), next: 'run' });
}

/** Changes some of the records that were there. */
function changeRows(ctx: OperationContext, parts: ImportParts, work: WorkHandle, data: ImportData): void {
  const { shape } = parts;
  let { changed, errors, updates } = data;
  const { at, isLast } = someLines(work, { after: data.at, status: 'update' }, (rows) =>
    judgeLines(ctx, parts, data, rows.map(lineOf)).map((judgement, index): WorkRow => {
      const row = rows[index] as WorkRow;
      updates -= 1;
      if (judgement.status !== 'update') {
        errors += 1;
        const error = judgement.status === 'error' ? judgement.error : 'it is not there any more';
        return { ...row, status: 'error', note: error };
      }
      const before = move(ctx, shape, judgement.before);
      change(ctx, shape, before, judgement.values);
      changed += 1;
      return { ...row, status: 'changed', value: wayBack(shape, before, judgement.values), note: before.id };
    }),
  );
  work.save({
    data: stored({ ...data, changed, errors, updates, at }),
    done: data.made + changed,
    ...(isLast ? { mark: null, next: 'end' } : { next: 'run' }),
  });
}

/** Removes a part of the records that were never shown. Returns whether none is left. */
function removeHidden(sql: SqlDatabase, { table }: RecordShape): boolean {
  const rows = sql.all<{ id: string }>(
    `SELECT id FROM ${table.name} WHERE archived = ${IMPORTED} LIMIT ${LINES_PER_STEP}`,
  );
  const ids = JSON.stringify(rows.map(({ id }) => id));
  if (table.search.length > 0)
    sql.run(`DELETE FROM ${wordTable(table)} WHERE id IN (SELECT value FROM json_each(?))`, ids);
  sql.run(`DELETE FROM ${table.name} WHERE id IN (SELECT value FROM json_each(?))`, ids);
  return rows.length < LINES_PER_STEP;
}

/** The texts about a person of whom a record is erased: in the lines of that type, and of those that name it. */
function namesIn(sql: SqlDatabase, shape: RecordShape, subject: string): readonly string[] {
  const shapes = [shape, ...shape.table.fields.flatMap(({ target }) => target?.shape ?? [])];
  const of = shapes.find(({ id }) => id.safeParse(subject).success);
  const row = of && sql.get<StoredRow>(`SELECT * FROM ${of.table.name} WHERE id = ?`, subject);
  if (!row) return [];
  const personal = of.personal.length === 0 ? [of.byName.get(of.title) as Field] : of.personal;
  return personal.flatMap((field) => {
    const value = row[field.column] ?? null;
    return value === null || !isText(field) ? [] : [String(value)];
  });
}

/** Whether values are words. A number, a day, a choice or a relation is in the lines of others, too, and names no person. */
function isText(field: Field): boolean {
  return field.target === undefined && cellForm(field).kind === 'text';
}

function lineOf({ number, value }: WorkRow): { readonly number: number; readonly cells: readonly Cell[] } {
  return { number, cells: (value ?? []) as readonly Cell[] };
}

/** The data as the kernel stores it. */
export function stored(data: ImportData): never {
  return data as never;
}

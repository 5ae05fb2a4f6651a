/** The operations that import and export records as CSV. They are given where the declaration names their permissions. */
import { cutPage, PlatformError } from '@freehold/contracts';
import { type Operation, type OperationContext, operation, type WorkHandle } from '@freehold/kernel';
import { z } from 'zod';
import { cellForm, writeCell } from './cells.ts';
import { type Cell, csvLine, delimiterOf, guarded, readCsv, unguarded } from './csv.ts';
import type { Field } from './fields.ts';
import {
  ERROR_COLUMN,
  guessMapping,
  ID_COLUMN,
  type ImportData,
  idColumnOf,
  keysOf,
  missingOf,
  readMapping,
  requiredFields,
  sealedColumns,
  targetsOf,
} from './import-plan.ts';
import { afterClearing, type ImportParts, stored } from './import-steps.ts';
import { keyOf, listRows, type StoredRow } from './list.ts';
import { HIDDEN, importKind, SHOWN } from './partitions.ts';
import { presentRows } from './rows.ts';
import { listSubjects } from './sealed.ts';
import { listQuery, listSchema, type RecordShape } from './shape.ts';
import { type UndoData, undoKind, undoStart } from './undo.ts';
import { entityOf } from './writes.ts';

/** The characters of one part of a file. */
export const PART_LENGTH_MAX = 500_000;
/** The lines of one part: they are staged in one transaction. */
const PART_LINES_MAX = 5_000;
const COLUMNS_MAX = 100;
const LINES_MAX = 200_000;
/** Records, or lines with errors, in one part of an answer. */
const ROWS_PER_PART = 500;

const duplicates = z.enum(['refuse', 'skip', 'update']);
const plan = {
  columns: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('The field for each column of the file; null leaves it out. Default: fields of the same name'),
  key: z
    .string()
    .nullable()
    .optional()
    .describe('What is the same in a line and the record that it is about: id, or a field that is unique'),
  duplicates: duplicates
    .optional()
    .describe(
      'What becomes of lines whose record is there: refused (the default), skipped, or it is updated',
    ),
};
const csv = z.string().max(PART_LENGTH_MAX);
const importId = z.string().max(64);
const count = z.int().min(0);

/** An import as its caller sees it. */
export const importSchema = z
  .object({
    id: z.string(),
    state: z
      .enum([
        'receiving',
        'mapping',
        'checking',
        'checked',
        'applying',
        'finishing',
        'done',
        'stopping',
        'failed',
        'cancelled',
        'halted',
        'undoing',
        'undone',
      ])
      .describe('checked waits to be applied; while applying, no record is seen; from finishing on, all are'),
    filename: z.string().nullable(),
    columns: z.array(z.object({ name: z.string(), field: z.string().nullable() })),
    fields: z.array(z.object({ name: z.string(), isRequired: z.boolean() })),
    missing: z.array(z.string()).describe('Fields that have no column and need one'),
    key: z.string().nullable(),
    keys: z.array(z.string()),
    duplicates,
    lines: count,
    ready: count,
    errors: count,
    skipped: count,
    updates: count,
    made: count,
    changed: count,
    done: count,
    total: count.nullable(),
    error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    undo: z.string().nullable().describe('The long work that undoes it'),
    left: count.describe(
      'Records that it changed and that stay so, since they were changed once more or no longer fit',
    ),
  })
  .meta({ id: 'RecordImport' });
export type RecordImport = z.output<typeof importSchema>;

export function importOperations(parts: ImportParts): Readonly<Record<string, Operation>> {
  const { shape, whole, permission, several, write } = parts;
  const { type } = shape;
  const all = `/api/${type}-imports`;
  const one = `${all}/:import`;
  const shared = { output: importSchema, permission };
  const named = { import: importId };
  /** Demands the permission to write single records too, and returns the import. */
  const changing = (ctx: OperationContext, id: string): WorkHandle => {
    ctx.check(write);
    return importOf(ctx, type, id, true);
  };
  return {
    [`${type}/import`]: operation({
      ...shared,
      summary: `Import ${several} from CSV`,
      description:
        'Judges all lines first. Nothing counts until it is applied. A long file is sent in parts, the first one with its header.',
      input: z.strictObject({
        csv,
        isLast: z.boolean().default(true),
        filename: z.string().max(255).optional(),
        ...plan,
      }),
      http: { method: 'POST', path: all },
      run: (ctx, { csv: text, isLast, filename = null, ...given }) => {
        ctx.check(write);
        const start = { ...EMPTY, filename, delimiter: delimiterOf(text) };
        const id = ctx.startWork(importKind(type), { data: stored(start), waits: true });
        const work = ctx.work(id);
        let data = receive(whole, work, start, { text: text.replace(/^\uFEFF/, ''), isLast });
        data = planned(shape, { ...data, mapping: guessMapping(shape, data.header) }, given);
        save(shape, work, data, isLast);
        return present(ctx, shape, id);
      },
    }),
    [`${type}/import-part`]: operation({
      ...shared,
      summary: 'Send a further part of a file that is imported',
      input: z.strictObject({ ...named, part: z.int().min(2), csv, isLast: z.boolean() }),
      http: { method: 'POST', path: `${one}/part` },
      mcp: false,
      run: (ctx, { import: id, part, csv: text, isLast }) => {
        const work = changing(ctx, id);
        const data = dataOf(work);
        // It was sent again because the answer was lost.
        if (part === data.part) return present(ctx, shape, id);
        if (data.phase !== 'receiving' || part !== data.part + 1)
          throw refused('import_part', `Part ${data.part + 1} is due, if any.`);
        save(shape, work, receive(whole, work, data, { text, isLast }), isLast);
        return present(ctx, shape, id);
      },
    }),
    [`${type}/import-show`]: operation({
      ...shared,
      summary: `Show an import of ${several}`,
      input: z.strictObject(named),
      http: { method: 'GET', path: one },
      run: (ctx, { import: id }) => present(ctx, shape, importOf(ctx, type, id, false).id),
    }),
    [`${type}/import-check`]: operation({
      ...shared,
      summary: `Judge the lines of an import of ${several} anew`,
      description:
        'With other columns, another key, or another way with duplicates. What is left out stays as it is.',
      input: z.strictObject({ ...named, ...plan }),
      http: { method: 'POST', path: `${one}/check` },
      run: (ctx, { import: id, ...given }) => {
        const work = changing(ctx, id);
        const data = dataOf(work);
        if (data.phase !== 'mapping' && data.phase !== 'checked')
          throw refused('import_state', 'Its lines cannot be judged anew now.');
        save(shape, work, planned(shape, data, given), true);
        return present(ctx, shape, id);
      },
    }),
    [`${type}/import-apply`]: operation({
      ...shared,
      summary: `Take an import of ${several} over`,
      description: 'All new records are there at once when the last one is made.',
      input: z.strictObject({
        ...named,
        errors: z
          .enum(['refuse', 'leave'])
          .default('refuse')
          .describe('leave: lines with errors are left out'),
      }),
      http: { method: 'POST', path: `${one}/apply` },
      run: (ctx, { import: id, errors }) => {
        const work = changing(ctx, id);
        const data = dataOf(work);
        if (data.phase !== 'checked') throw refused('import_state', 'Its lines are not judged yet.');
        if (data.errors > 0 && errors === 'refuse')
          throw refused(
            'import_errors',
            `${data.errors} of its lines have errors. Correct them and send them again, or leave them out.`,
          );
        const other = [HIDDEN, SHOWN]
          .map((mark) => ctx.markedWork(importKind(type), mark))
          .find((each) => each !== null);
        if (other)
          throw refused('import_running', `Another import is being taken over: ${other}. Wait for its end.`);
        work.save({
          data: stored({ ...data, phase: 'applying', leaves: errors === 'leave', at: 0 }),
          done: 0,
          total: data.ready + data.updates,
          mark: HIDDEN,
          next: 'run',
        });
        return present(ctx, shape, id);
      },
    }),
    [`${type}/import-errors`]: operation({
      summary: `Get the lines of an import of ${several} that have errors, as CSV`,
      description: `In parts of ${ROWS_PER_PART} lines, the first one with the header. The last column says what is wrong; the file can be corrected and imported.`,
      input: z.strictObject({ ...named, cursor: z.string().max(64).optional() }),
      output: csvPart,
      permission,
      http: { method: 'GET', path: `${one}/errors` },
      run: (ctx, { import: id, cursor }) => {
        const work = importOf(ctx, type, id, true);
        const { header = [], mapping = [] } = (work.data ?? {}) as Partial<ImportData>;
        const after = cursor === undefined ? 0 : Number(cursor);
        if (!Number.isSafeInteger(after)) throw refused('import_state', 'This is not its cursor.');
        const rows = work.rows.after(after, ROWS_PER_PART, 'error');
        // The errors of an earlier file are not sent on.
        const columns = header.flatMap((name, at) =>
          name === ERROR_COLUMN && mapping[at] === null ? [] : [at],
        );
        const lines = rows.map(({ value, note }) => {
          const cells = (value ?? []) as Cell[];
          return csvLine([...columns.map((at) => guarded(cells[at] ?? null)), guarded(note)]);
        });
        const first = csvLine([...columns.map((at) => guarded(header[at] as string)), ERROR_COLUMN]);
        return {
          csv: (cursor === undefined ? first : '') + lines.join(''),
          rows: rows.length,
          nextCursor: rows.length < ROWS_PER_PART ? null : String(rows.at(-1)?.number),
        };
      },
    }),
    [undoKind(type)]: operation({
      ...shared,
      summary: `Undo an import of ${several}`,
      description:
        'Archives what it made, and gives what it changed its values back. A record that was changed since stays as it is.',
      input: z.strictObject(named),
      http: { method: 'POST', path: `${one}/undo` },
      run: (ctx, { import: id }) => {
        ctx.check(write);
        const work = importOf(ctx, type, id, false);
        if (work.state !== 'done') throw refused('import_state', 'It has made nothing that could be undone.');
        if (ctx.markedWork(undoKind(type), id) === null) {
          const { made, changed } = dataOf(work);
          const undo = ctx.startWork(undoKind(type), { data: undoStart(id) as never, total: made + changed });
          ctx.work(undo).save({ mark: id });
        }
        return present(ctx, shape, id);
      },
    }),
  };
}

const EMPTY: ImportData = {
  phase: 'receiving',
  filename: null,
  delimiter: ',',
  part: 0,
  rest: '',
  header: [],
  mapping: [],
  key: null,
  duplicates: 'refuse',
  leaves: false,
  at: 0,
  lines: 0,
  ready: 0,
  errors: 0,
  skipped: 0,
  updates: 0,
  made: 0,
  changed: 0,
};

/** Stages the lines of a part. @throws PlatformError `validation_failed`, reason `csv_malformed`; `payload_too_large`. */
function receive(
  whole: RecordShape,
  work: WorkHandle,
  data: ImportData,
  { text, isLast }: { readonly text: string; readonly isLast: boolean },
): ImportData {
  const { records, rest } = readCsv(data.rest + text, data.delimiter, isLast);
  const isFirst = data.header.length === 0;
  const header = isFirst ? headerOf(records[0]) : data.header;
  const lines = isFirst ? records.slice(1) : records;
  const before = data.lines;
  if (lines.length > PART_LINES_MAX)
    throw new PlatformError(
      'payload_too_large',
      `A part of a file has at most ${PART_LINES_MAX} lines. Send it in several parts.`,
      { reason: 'import_part_lines' },
    );
  if (before + lines.length > LINES_MAX)
    throw new PlatformError('payload_too_large', `A file has at most ${LINES_MAX} lines. Divide it.`, {
      reason: 'import_lines',
    });
  const isSealed = sealedColumns(whole, header);
  work.rows.put(
    lines.map((cells, index) => ({
      number: before + index + 1,
      status: 'new',
      value: cells.map((cell, at) => (isSealed[at] ? null : unguarded(cell))),
      note: null,
    })),
  );
  return { ...data, part: data.part + 1, rest, header, lines: before + lines.length };
}

function headerOf(record: readonly Cell[] | undefined): string[] {
  const header = (record ?? []).map((cell) => unguarded(cell)?.trim() ?? '');
  const twice = header.find((name, at) => name !== '' && header.indexOf(name) !== at);
  const detail =
    header.length === 0
      ? 'Its first part must hold the whole first line, with the names of the columns.'
      : header.length > COLUMNS_MAX
        ? `It has more than ${COLUMNS_MAX} columns.`
        : twice === undefined
          ? null
          : `Two columns have the name ${twice}.`;
  if (detail !== null)
    throw new PlatformError('validation_failed', `The file cannot be imported. ${detail}`, {
      reason: 'csv_malformed',
    });
  return header;
}

interface GivenPlan {
  readonly columns?: Readonly<Record<string, string | null>> | undefined;
  readonly key?: string | null | undefined;
  readonly duplicates?: ImportData['duplicates'] | undefined;
}

/** @throws PlatformError `validation_failed` at what does not fit. */
function planned(shape: RecordShape, data: ImportData, given: GivenPlan): ImportData {
  const { columns, key = data.key, duplicates = data.duplicates } = given;
  const mapping = columns === undefined ? data.mapping : readMapping(shape, data.header, columns);
  const keys = keysOf(shape).map(({ name }) => name);
  const fault =
    key !== null && !keys.includes(key)
      ? { path: 'key', message: `must be one of ${keys.join(', ')}` }
      : key === null && duplicates !== 'refuse'
        ? { path: 'key', message: 'is needed to find the records that are there' }
        : null;
  if (fault)
    throw new PlatformError('validation_failed', `The body is not valid. ${fault.path}: ${fault.message}.`, {
      errors: [fault],
    });
  return { ...data, mapping, key, duplicates };
}

/** Writes what came; once all has, its lines are judged, if every field that needs a column has one. */
function save(shape: RecordShape, work: WorkHandle, data: ImportData, isWhole: boolean): void {
  const isMapped = missingOf(shape, data).length === 0;
  const phase = !isWhole ? 'receiving' : isMapped ? afterClearing(work) : 'mapping';
  const fresh = { at: 0, ready: 0, errors: 0, skipped: 0, updates: 0 };
  work.save({
    data: stored({ ...data, ...fresh, phase }),
    done: 0,
    total: data.lines,
    next: isWhole && isMapped ? 'run' : 'wait',
  });
}

/** @throws PlatformError `not_found`: what was staged is its sender's alone. */
function importOf(ctx: OperationContext, type: string, id: string, isOwn: boolean): WorkHandle {
  const work = ctx.work(id);
  if (work.kind === importKind(type) && (!isOwn || work.principal === ctx.principal)) return work;
  throw new PlatformError('not_found', 'There is no such import.', { reason: 'unknown_work' });
}

function dataOf({ data, state }: WorkHandle): ImportData {
  if (data !== null && (state === 'waiting' || state === 'running' || state === 'done'))
    return data as unknown as ImportData;
  throw refused('work_ended', 'It has ended.');
}

function refused(reason: string, message: string): PlatformError {
  return new PlatformError('conflict', message, { reason });
}

function present(ctx: OperationContext, shape: RecordShape, id: string): RecordImport {
  const work = ctx.work(id);
  const data = (work.data ?? EMPTY) as unknown as ImportData;
  const undo = ctx.markedWork(undoKind(shape.type), id);
  const required = requiredFields(shape);
  const { filename, header, mapping, key, duplicates } = data;
  const { lines, ready, errors, skipped, updates, made, changed } = data;
  return {
    id,
    state: undo === null ? stateOf(work, data) : ctx.work(undo).state === 'done' ? 'undone' : 'undoing',
    filename,
    columns: header.map((name, at) => ({ name, field: mapping[at] ?? null })),
    fields: targetsOf(shape).map((name) => ({ name, isRequired: required.includes(name) })),
    missing: missingOf(shape, data),
    key,
    keys: keysOf(shape).map(({ name }) => name),
    duplicates,
    ...{ lines, ready, errors, skipped, updates, made, changed },
    done: work.done,
    total: work.total,
    error: work.error,
    undo,
    left: undo === null ? 0 : ((ctx.work(undo).data as unknown as UndoData | null)?.left ?? 0),
  };
}

function stateOf({ state }: WorkHandle, { phase }: ImportData): RecordImport['state'] {
  if (state !== 'running' && state !== 'waiting') return state;
  if (phase === 'clearing') return 'checking';
  return phase === 'moving' || phase === 'changing' ? 'finishing' : phase;
}

/** A part of a CSV file. */
const csvPart = z
  .object({
    csv: z.string(),
    rows: count,
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'CsvPart' });

export function exportOperations({
  shape,
  several,
  read,
  permission,
}: Pick<ImportParts, 'shape' | 'several' | 'read' | 'permission'>): Readonly<Record<string, Operation>> {
  const { type, table } = shape;
  const { limit: _limit, ...query } = listSchema(shape).shape as z.ZodRawShape;
  const columns = [
    ID_COLUMN,
    ...table.fields.flatMap(({ name, target }) => (target ? [name, idColumnOf(name)] : [name])),
    'createdAt',
    'updatedAt',
    'archivedAt',
  ];
  return {
    [`${type}/export`]: operation({
      summary: `Export ${several} as CSV`,
      description: `In parts of ${ROWS_PER_PART} records, the first one with a header; narrowed, sorted and searched like the list.`,
      input: z.strictObject(query),
      output: csvPart,
      permission,
      http: { method: 'POST', path: `/api/${type}-exports` },
      ...listSubjects(shape, read, ROWS_PER_PART),
      run: (ctx, input) => {
        const given = input as Readonly<Record<string, unknown>>;
        const isFirst = given.cursor === undefined;
        const asked = listQuery(ctx, shape, read, { ...given, limit: ROWS_PER_PART });
        if (isFirst) {
          const { cursor: _cursor, ...filters } = given;
          const payload = { filters: Object.keys(filters).filter((name) => filters[name] !== undefined) };
          ctx.emit({ type: `${type}.exported`, entity: entityOf(shape, ctx.newId('exp')), payload });
        }
        const rows = asked === null ? [] : listRows(ctx.sql, table, asked).rows;
        const { items, nextCursor } = cutPage(
          rows,
          ROWS_PER_PART,
          (row) => (asked === null ? '' : keyOf(asked.sort, row)),
          (row) => row,
        );
        const header = isFirst ? csvLine(columns) : '';
        return { csv: header + exportedLines(ctx, shape, items), rows: items.length, nextCursor };
      },
    }),
  };
}

function exportedLines(ctx: OperationContext, { table }: RecordShape, rows: readonly StoredRow[]): string {
  const forms = new Map(table.fields.map((field) => [field, cellForm(field)]));
  const shown = presentRows(ctx, table, rows);
  const cellsOf = (field: Field, record: Record<string, unknown>): Cell[] => {
    if (!field.target) return [writeCell(forms.get(field) as never, record[field.name] as never)];
    const { id, name } = (record[field.name] ?? { id: null, name: null }) as { id: Cell; name: Cell };
    return [guarded(name), id];
  };
  return rows
    .map((row, at) => {
      const record = shown[at] as Record<string, unknown>;
      const cells = table.fields.flatMap((field) => cellsOf(field, record));
      return csvLine([
        row.id,
        ...cells,
        ...['createdAt', 'updatedAt', 'archivedAt'].map((name) => record[name] as Cell),
      ]);
    })
    .join('');
}

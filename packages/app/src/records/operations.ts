/** The operations of a type of records. */
import { cutPage, PlatformError, parseInput, type SubjectReader } from '@freehold/contracts';
import { type LongWork, type Operation, type OperationContext, operation } from '@freehold/kernel';
import { z } from 'zod';
import { unwrap } from './fields.ts';
import { type ImportParts, importWorks } from './import-steps.ts';
import { keyOf, listRows } from './list.ts';
import { ARCHIVED, LIVE } from './partitions.ts';
import type { RecordPermissions, RecordsOptions } from './records.ts';
import { presentOne, presentOpened, presentRows } from './rows.ts';
import { listSubjects, openedRow, sealedFields, withoutSealed } from './sealed.ts';
import { listQuery, listSchema, outputSchema, type RecordShape } from './shape.ts';
import { isSearched } from './tables.ts';
import { exportOperations, importOperations } from './transfers.ts';
import {
  change,
  changedFields,
  emitCreated,
  entityOf,
  insertRecord,
  movedRow,
  setArchived,
  storedValues,
} from './writes.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A declaration with what its operations share. */
export interface Declared extends Required<Pick<RecordPermissions, 'list' | 'read' | 'write'>> {
  readonly shape: RecordShape;
  /** The fields, without any others. */
  readonly fields: z.ZodObject;
  readonly output: z.ZodType;
  /** The address of all of them, and of one. */
  readonly all: string;
  readonly one: string;
  /** The names of one and of several, for people. */
  readonly singular: string;
  readonly several: string;
}

export function recordOperations<F extends z.ZodRawShape>(
  shape: RecordShape,
  { fields, permissions }: RecordsOptions<F>,
): Readonly<Record<string, Operation>> {
  const all = `/api/${shape.plural}`;
  const declared: Declared = {
    list: permissions.read,
    ...permissions,
    shape,
    fields: fields.strict(),
    output: outputSchema(shape),
    all,
    one: `${all}/:${shape.parameter}`,
    singular: shape.type.replaceAll('-', ' '),
    several: shape.plural.replaceAll('-', ' '),
  };
  const transfer = transferParts(shape, declared, permissions);
  return {
    [`${shape.type}/list`]: listOf(declared),
    [`${shape.type}/get`]: getOf(declared),
    [`${shape.type}/create`]: createOf(declared),
    [`${shape.type}/update`]: updateOf(declared),
    [`${shape.type}/archive`]: archiveOf(declared),
    [`${shape.type}/unarchive`]: unarchiveOf(declared),
    ...(transfer.importing && importOperations(transfer.importing)),
    ...(transfer.exporting && exportOperations(transfer.exporting)),
  };
}

/** Returns the long work that the operations start. */
export function recordWorks<F extends z.ZodRawShape>(
  shape: RecordShape,
  { fields, permissions }: RecordsOptions<F>,
): Readonly<Record<string, LongWork>> {
  const several = shape.plural.replaceAll('-', ' ');
  const { importing } = transferParts(shape, { fields: fields.strict(), several }, permissions);
  return importing ? importWorks(importing) : {};
}

/** The parts of import and export; undefined where there is none. */
function transferParts(
  shape: RecordShape,
  { fields, several }: Pick<Declared, 'fields' | 'several'>,
  { read, write, import: importing, export: exporting }: RecordPermissions,
): { readonly importing: ImportParts | undefined; readonly exporting: ImportParts | undefined } {
  const of = (permission: string | undefined): ImportParts | undefined =>
    permission === undefined ? undefined : { shape, whole: shape, fields, several, read, write, permission };
  const imports = of(importing);
  return {
    importing: imports && { ...imports, shape: withoutSealed(shape), whole: shape },
    exporting: of(exporting),
  };
}

function listOf({ shape, output, list, read, all, several }: Declared): Operation {
  const { table, filters } = shape;
  const takesWords = isSearched(table);
  const narrowing = filters.map((names) => names.join(' with ')).join(', or by ');
  return operation({
    summary: `List ${several}`,
    ...(filters.length > 0 && { description: `Can be narrowed by ${narrowing}.` }),
    input: listSchema(shape),
    output: z.object({
      items: z.array(output),
      nextCursor: z.string().nullable(),
      ...(takesWords && {
        cut: z
          .boolean()
          .describe('Whether the search has more hits than are looked at, so that some are missing'),
      }),
    }),
    permission: list,
    http: { method: 'GET', path: all },
    ...listSubjects(shape, read),
    run: (ctx, input) => {
      const query = listQuery(ctx, shape, read, input as Fields);
      if (query === null) return { items: [], nextCursor: null, ...(takesWords && { cut: false }) };
      const { rows, cut } = listRows(ctx.sql, table, query);
      const { items, nextCursor } = cutPage(
        rows,
        query.limit,
        (row) => keyOf(query.sort, row),
        (row) => row,
      );
      return { items: presentRows(ctx, table, items), nextCursor, ...(takesWords && { cut }) };
    },
  });
}

function getOf(declared: Declared): Operation {
  const { shape, read, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Show one ${singular}`,
    permission: read,
    http: { method: 'GET', path: one },
    run: (ctx, input) => presentOne(ctx, shape, idOf(shape, input)),
  });
}

function createOf({ shape, fields, output, write, all, singular }: Declared): Operation {
  return operation({
    summary: `Add one ${singular}`,
    input: fields,
    output,
    permission: write,
    http: { method: 'POST', path: all },
    ...(sealedFields(shape.table).length > 0 && { newSubjects: () => 1 }),
    created: (made) => entityOf(shape, (made as { id: string }).id),
    run: (ctx, input) => {
      const values = storedValues(shape.table, input as Fields);
      const row = insertRecord(ctx, shape, values, LIVE);
      emitCreated(ctx, shape, row.id, values);
      return presentOpened(ctx, shape.table, [row])[0];
    },
  });
}

function updateOf(declared: Declared): Operation {
  const { shape, fields, write, one, singular } = declared;
  const changes = shape.table.fields.map(({ name, schema }) => [name, changeOf(schema)]);
  return operation({
    ...aboutOne(declared),
    summary: `Change one ${singular}`,
    description: 'Fields that are left out stay as they are; null clears one that may be left out.',
    input: z.strictObject({ [shape.parameter]: shape.id, ...Object.fromEntries(changes) }),
    permission: write,
    http: { method: 'PATCH', path: one },
    run: (ctx, input) => {
      const id = idOf(shape, input);
      const before = openedRow(ctx, shape.table, movedRow(ctx, shape, id));
      if (before.archived === ARCHIVED)
        throw new PlatformError('invalid_transition', `This ${singular} is archived. Take it back first.`, {
          reason: 'archived',
        });
      // A rule can be about several fields, so that the record is judged as it would be.
      const whole = parseInput('The body', fields, changedFields(shape.table, before, input as Fields));
      change(ctx, shape, before, storedValues(shape.table, whole));
      return presentOne(ctx, shape, id);
    },
  });
}

function archiveOf(declared: Declared): Operation {
  const { shape, write, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Archive one ${singular}`,
    description: 'It is no longer in lists, and can be taken back.',
    permission: write,
    http: { method: 'POST', path: `${one}/archive` },
    run: (ctx, input) => archived(ctx, shape, idOf(shape, input), ARCHIVED),
  });
}

function unarchiveOf(declared: Declared): Operation {
  const { shape, write, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Take one ${singular} back out of the archive`,
    permission: write,
    http: { method: 'POST', path: `${one}/unarchive` },
    run: (ctx, input) => archived(ctx, shape, idOf(shape, input), LIVE),
  });
}

/** The members that each operation about one record has. */
function aboutOne({ shape, output }: Declared) {
  return {
    input: z.strictObject({ [shape.parameter]: shape.id }) as z.ZodType,
    output,
    entity: (input: unknown) => entityOf(shape, idOf(shape, input)),
    ...(sealedFields(shape.table).length > 0 && {
      // A record that is not there is no person, and needs no key.
      subjects: (input: unknown, { get }: SubjectReader) => {
        const id = idOf(shape, input);
        return get(`SELECT 1 FROM ${shape.table.name} WHERE id = ?`, id) === undefined ? [] : [id];
      },
    }),
  };
}

function idOf({ parameter }: RecordShape, input: unknown): string {
  return (input as Record<string, string>)[parameter] as string;
}

function archived(
  ctx: OperationContext,
  shape: RecordShape,
  id: string,
  part: typeof LIVE | typeof ARCHIVED,
) {
  setArchived(ctx, shape, movedRow(ctx, shape, id), part);
  return presentOne(ctx, shape, id);
}

/** A change of a field: what the field takes, or null where it may be left out. */
function changeOf(schema: z.ZodType): z.ZodType {
  const { inner, isOptional } = unwrap(schema);
  return isOptional ? inner.nullable().optional() : inner.optional();
}

/**
 * A type of records, declared: from its fields follow the ordinary operations that list, show, make, change and put them
 * away, each with its route, permission, events, version, tool and client method (design: application, "Records").
 */
import type { Page } from '@freehold/contracts';
import type { LongWork, Operation, OperationContext } from '@freehold/kernel';
import type { z } from 'zod';
import type { Field, RelatedId, RelatedRecord } from './fields.ts';
import type { ImportPlan } from './import-plan.ts';
import { recordOperations, recordWorks } from './operations.ts';
import { presentOne } from './rows.ts';
import { type RecordShape, shapeOf } from './shape.ts';
import { type RecordTable, wordTable } from './tables.ts';
import type { RecordImport } from './transfers.ts';

/** A type of records, whatever its fields. */
export interface AnyRecords {
  readonly type: string;
  /** The schema of an id of these records. */
  readonly id: z.ZodString;
  /** The table, for a migration. */
  readonly table: RecordTable;
  /** The shape with the filters and orders of its lists, for pages. */
  readonly shape: RecordShape;
  /** The entry of `entities` in the manifest. Programs read the records as resources, named by their title. */
  readonly entity: { readonly read: string; readonly resource: { readonly titleField: string } };
  /** The long work of its import. `defineApp` adds it where the operation is used. */
  readonly works: Readonly<Record<string, LongWork>>;
  /** For `erasure.personal`: the columns of the fields about a person, by table. */
  readonly personal: Readonly<Record<string, readonly string[]>>;
}

export interface RecordsOptions<F extends z.ZodRawShape> {
  /** The fields: texts, numbers, booleans, one of a list, days and times, `money`, relations. Rules between them by `refine`. */
  readonly fields: z.ZodObject<F>;
  /** The field that stands for a record where another one names it. Default: the first field. */
  readonly title?: keyof F & string;
  /** Several of them: the name of the table and the address. Default: the type with an s. */
  readonly plural?: string;
  /** The names of one and of several for people, such as `{ one: 'Schlüssel', several: 'Schlüssel' }`. Default: in words. */
  readonly names?: { readonly one: string; readonly several: string };
  /** The prefix of ids, 2 to 16 lower-case letters and digits. Default: the first three letters of the type. */
  readonly prefix?: string;
  /**
   * The texts whose words are searched, and relations, by whose records' words a record is found. Default: none, and the list
   * takes no `q`.
   */
  readonly search?: readonly (keyof F & string)[];
  /** The fields, or combinations of fields, that a list can be narrowed by. Default: none. */
  readonly filter?: readonly ((keyof F & string) | readonly (keyof F & string)[])[];
  /** The orders of a list, the first being the usual one; `-name` is the reverse of `name`. Default: `createdAt`. */
  readonly sort?: readonly ((keyof F & string) | 'createdAt')[];
  /** Fields, or combinations, that no two records have in common; archived records do not count. */
  readonly unique?: readonly ((keyof F & string) | readonly (keyof F & string)[])[];
  /** Fields about a person: no event holds their values. For `erasure.personal` there is {@link Records.personal}. */
  readonly personal?: readonly (keyof F & string)[];
  /**
   * Fields about the person that the record stands for, sealed for that person: once they are erased, the values open
   * nowhere, in no copy either. No event holds them, and nothing is searched, sorted, narrowed or imported by them.
   */
  readonly sealed?: readonly (keyof F & string)[];
  readonly permissions: RecordPermissions;
}

export interface RecordPermissions {
  /** To see a record, for the whole scope or for single records. A list shows those that its caller may see. */
  readonly read: string;
  /** To make, change and archive. */
  readonly write: string;
  /** To import them from CSV; `write` is needed too. Without it there is no import. */
  readonly import?: string;
  /** To export them as CSV: those that the caller may read. Without it there is no export. */
  readonly export?: string;
  /** To open the list, for roles that see single records alone. Default: `read`, for the whole scope. */
  readonly list?: string;
}

type Output<V> = V extends RelatedId ? RelatedRecord : undefined extends V ? Exclude<V, undefined> | null : V;
type Fields<F extends z.ZodRawShape> = z.output<z.ZodObject<F>>;
/** A record as its readers see it. A field that was left out is null, and so is a sealed one of an erased person. */
export type RecordOf<F extends z.ZodRawShape, S extends string = never> = {
  readonly id: string;
} & { readonly [P in keyof Fields<F>]-?: Output<Fields<F>[P]> | (P extends S ? null : never) } & {
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly archivedAt: string | null;
};

type Sent<F extends z.ZodRawShape> = z.input<z.ZodObject<F>>;
type ListInput = {
  readonly limit?: number;
  readonly cursor?: string;
  readonly archived?: boolean;
  readonly [name: string]: string | number | boolean | undefined;
};
type CamelCase<T extends string> = T extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : T;
/** The input that names one record: `{ workOrder }` for the type `work-order`. */
type Of<T extends string> = { readonly [P in CamelCase<T>]: string };
type Op<I, O> = Operation<z.ZodType<I, I>, z.ZodType<O, O>>;

/** The operations of a type of records, by name. Any of them can be replaced by one's own under the same name. */
export type RecordOperations<T extends string, F extends z.ZodRawShape, S extends string = never> = {
  readonly [P in `${T}/list`]: Op<ListInput, Page<RecordOf<F, S>> & { readonly cut?: boolean }>;
} & { readonly [P in `${T}/${'get' | 'archive' | 'unarchive'}`]: Op<Of<T>, RecordOf<F, S>> } & {
  readonly [P in `${T}/create`]: Op<Sent<F>, RecordOf<F, S>>;
} & {
  readonly [P in `${T}/update`]: Op<
    Of<T> & { readonly [Q in keyof Sent<F>]?: Sent<F>[Q] | null },
    RecordOf<F, S>
  >;
};

/** The input that names an import. */
interface OfImport {
  readonly import: string;
}
type CsvPart = { readonly csv: string; readonly rows: number; readonly nextCursor: string | null };

/** The operations that import records as CSV: `permissions.import` gives them. */
export type ImportOperations<T extends string> = {
  readonly [P in `${T}/import`]: Op<
    ImportPlan & { readonly csv: string; readonly isLast?: boolean; readonly filename?: string },
    RecordImport
  >;
} & {
  readonly [P in `${T}/import-part`]: Op<
    OfImport & { readonly part: number; readonly csv: string; readonly isLast: boolean },
    RecordImport
  >;
} & { readonly [P in `${T}/${'import-show' | 'import-undo'}`]: Op<OfImport, RecordImport> } & {
  readonly [P in `${T}/import-check`]: Op<OfImport & ImportPlan, RecordImport>;
} & {
  readonly [P in `${T}/import-apply`]: Op<OfImport & { readonly errors?: 'refuse' | 'leave' }, RecordImport>;
} & { readonly [P in `${T}/import-errors`]: Op<OfImport & { readonly cursor?: string }, CsvPart> };

/** The operation that exports records as CSV: `permissions.export` gives it. */
export type ExportOperations<T extends string> = {
  readonly [P in `${T}/export`]: Op<Omit<ListInput, 'limit'>, CsvPart>;
};

type TransferOperations<T extends string, P extends RecordPermissions> = (P extends {
  readonly import: string;
}
  ? ImportOperations<T>
  : unknown) &
  (P extends { readonly export: string } ? ExportOperations<T> : unknown);

export interface Records<
  T extends string,
  F extends z.ZodRawShape,
  P extends RecordPermissions = RecordPermissions,
  S extends string = never,
> extends AnyRecords {
  readonly type: T;
  readonly operations: RecordOperations<T, F, S> & TransferOperations<T, P>;
  /**
   * Returns a record for an operation of one's own. Where it has sealed fields, the operation declares it by `subjects`.
   * @throws PlatformError `not_found`
   */
  load(ctx: Pick<OperationContext, 'sql' | 'reach' | 'markedWork' | 'unseal'>, id: string): RecordOf<F, S>;
}

/** The records of an operation that {@link records} made. */
const madeBy = new WeakMap<object, AnyRecords>();

/** Returns the types of records whose operations an application uses, in the order of their declaration. */
export function recordTypesOf(operations: Readonly<Record<string, object>>): readonly AnyRecords[] {
  return [...new Set(Object.values(operations).flatMap((each) => madeBy.get(each) ?? []))];
}

/** The transfers of a type of records that run its own operations. */
export interface Transfers {
  readonly type: string;
  readonly imports: boolean;
  readonly exports: boolean;
  /** The names of the fields that are numbers. */
  readonly numbers: ReadonlySet<string>;
}

/** Returns the types of records whose files can be sent or downloaded: those whose operations were not replaced. */
export function transfersOf(operations: Readonly<Record<string, object>>): readonly Transfers[] {
  return recordTypesOf(operations).map((records) => {
    const isOwn = (name: string) => {
      const operation = operations[`${records.type}/${name}`];
      return operation !== undefined && madeBy.get(operation) === records;
    };
    return {
      type: records.type,
      imports: ['import', 'import-part', 'import-errors'].every(isOwn),
      exports: isOwn('export'),
      numbers: new Set(records.shape.table.fields.flatMap((field) => (isNumber(field) ? [field.name] : []))),
    };
  });
}

function isNumber({ valueType, isBoolean }: Field): boolean {
  return valueType !== 'TEXT' && !isBoolean;
}

/** The columns about a person, by table: the words that such a field is found by say the same as it does. */
function personalColumns({ table, personal }: RecordShape): AnyRecords['personal'] {
  if (personal.length === 0) return {};
  const isFound = table.search.some((field) => personal.includes(field));
  return {
    [table.name]: personal.map(({ column }) => column),
    ...(isFound && { [wordTable(table)]: ['word'] }),
  };
}

/**
 * Declares a type of records.
 * @throws TypeError that names the field which cannot be stored, searched, sorted or filtered.
 */
export function records<
  const T extends string,
  F extends z.ZodRawShape,
  const P extends RecordPermissions,
  const S extends keyof F & string = never,
>(
  type: T,
  options: RecordsOptions<F> & { readonly permissions: P; readonly sealed?: readonly S[] },
): Records<T, F, P, S> {
  const shape = shapeOf(type, options);
  const { table } = shape;
  const operations = recordOperations(shape, options);
  const made: Records<T, F, P, S> = {
    type,
    id: shape.id,
    operations: operations as never,
    table,
    shape,
    works: recordWorks(shape, options),
    entity: { read: options.permissions.read, resource: { titleField: shape.title } },
    personal: personalColumns(shape),
    load: (ctx, id) => presentOne(ctx, shape, id) as RecordOf<F, S>,
  };
  for (const each of Object.values(operations)) madeBy.set(each, made);
  return made;
}

/**
 * Makes the copy of a scope for a preview, row by row, on its way from the live instance: personal columns are masked, and of
 * the platform's own tables only what an application needs to run comes along. Sealed values stay sealed. The unmasked copy
 * touches no disk. What arrives was written by the bundle of the live instance, so that nothing of it is trusted.
 */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { isText, type Mask } from './masks.ts';

/** Columns by table. */
export type Columns = Readonly<Record<string, readonly string[]>>;

export interface MaskOptions {
  /** The columns to be masked. */
  readonly personal: Columns;
  readonly mask: Mask;
  /** The file for its rows, which is made, and removed once they were read. */
  readonly rowsFile: string;
}

export interface MaskedCopy {
  /** The whole copy, as an application restores it. */
  readonly body: ReadableStream<Uint8Array>;
  /** The columns that were masked, and those with text that were not, as `table.column`. */
  readonly masked: readonly string[];
  readonly unmasked: readonly string[];
}

/**
 * The platform's tables whose rows come along. Left out are members, answers that are kept for a repetition, keys, settings,
 * requests to the platform, and deliveries that wait: the live instance makes them.
 */
const KEPT: ReadonlySet<string> = new Set(
  ['migrations', 'scope', 'invocations', 'events', 'roles', 'assignments', 'grants', 'denials', 'parents']
    .concat(['schedules', 'settings', 'shredded', 'attachments', 'housekeeping', 'pruned'])
    .map((name) => `_spine_${name}`),
);
/** Personal columns of the platform's tables. */
const OWN_PERSONAL: Columns = { _spine_attachments: ['filename'] };

const LINE_BYTES_MAX = 16 * 1_024 * 1_024;
const NEWLINE = 0x0a;

const headerSchema = z.looseObject({
  tables: z.array(z.looseObject({ name: z.string(), columns: z.array(z.string()) })),
});
const rowSchema = z.strictObject({ t: z.int().min(0), r: z.array(z.unknown()) });

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly hash: Hash;
  /** Whether each column is masked. */
  readonly isMasked: readonly boolean[];
  /** Whether each column that is not masked has text. */
  readonly hasText: boolean[];
  rows: number;
}

/** @throws PlatformError `validation_failed`, reason `copy_damaged`; and whatever the source fails with. */
export async function maskCopy(
  source: ReadableStream<Uint8Array>,
  { personal, mask, rowsFile }: MaskOptions,
): Promise<MaskedCopy> {
  const file = createWriteStream(rowsFile, { mode: 0o600 });
  try {
    let header: z.infer<typeof headerSchema> | null = null;
    let tables: Table[] = [];
    let isEnded = false;
    for await (const line of linesOf(source)) {
      if (isEnded) throw damaged('something follows its end');
      if (header === null) {
        header = parse(headerSchema, line);
        tables = header.tables.map((table) => tableOf(table, personal));
        continue;
      }
      if (isTrailer(line)) {
        isEnded = true;
        continue;
      }
      const { t, r } = parse(rowSchema, line);
      const table = tables[t];
      if (!table || r.length !== table.columns.length) throw damaged('a line of it is no row of a table');
      const row = maskedRow(table, r, mask);
      if (row === null) continue;
      const bytes = Buffer.from(`${JSON.stringify({ t, r: row })}\n`);
      table.rows += 1;
      table.hash.update(bytes);
      if (!file.write(bytes)) await once(file, 'drain');
    }
    if (header === null || !isEnded) throw damaged('its end is missing');
    file.end();
    await finished(file);
    return {
      body: await bodyOf(header, tables, rowsFile),
      masked: named(tables, ({ isMasked, rows }, column) => rows > 0 && isMasked[column] === true),
      unmasked: named(tables, ({ hasText }, column) => hasText[column] === true),
    };
  } catch (error) {
    file.destroy();
    await source.cancel().catch(() => undefined);
    throw error;
  }
}

function tableOf({ name, columns }: { name: string; columns: string[] }, personal: Columns): Table {
  const marked = isPlatforms(name) ? OWN_PERSONAL[name] : personal[name];
  return {
    name,
    columns,
    hash: createHash('sha256'),
    isMasked: columns.map((column) => marked?.includes(column) ?? false),
    hasText: columns.map(() => false),
    rows: 0,
  };
}

function isPlatforms(table: string): boolean {
  return table.startsWith('_spine_');
}

/** Null for a row that is left out. */
function maskedRow(table: Table, row: readonly unknown[], mask: Mask): readonly unknown[] | null {
  const { name, columns, isMasked, hasText } = table;
  if (isPlatforms(name)) {
    if (!KEPT.has(name)) return null;
    // Entitlements stay; settings hold what was delivered to the live instance.
    if (name === '_spine_settings' && row[columns.indexOf('kind')] !== 'entitlement') return null;
  }
  return row.map((value, column) => {
    if (isMasked[column] === true) return mask(value);
    if (!isPlatforms(name) && isText(value)) hasText[column] = true;
    return value;
  });
}

function named(tables: readonly Table[], is: (table: Table, column: number) => boolean): string[] {
  return tables.flatMap((table) =>
    table.columns.filter((_, column) => is(table, column)).map((column) => `${table.name}.${column}`),
  );
}

/** The rows are hashed before they are read again: the trailer comes last, and the header names the rows. */
async function bodyOf(
  header: z.infer<typeof headerSchema>,
  tables: readonly Table[],
  rowsFile: string,
): Promise<ReadableStream<Uint8Array>> {
  const described = tables.map(({ name, columns, rows, hash }) => ({
    name,
    columns,
    rows,
    sha256: hash.digest('hex'),
  }));
  const first = Buffer.from(`${JSON.stringify({ ...header, tables: described })}\n`);
  const whole = createHash('sha256').update(first);
  for await (const piece of createReadStream(rowsFile)) whole.update(piece as Buffer);
  const last = Buffer.from(`${JSON.stringify({ end: true, sha256: whole.digest('hex') })}\n`);
  return ReadableStream.from(
    (async function* () {
      try {
        yield first;
        yield* createReadStream(rowsFile) as AsyncIterable<Uint8Array>;
        yield last;
      } finally {
        rmSync(rowsFile, { force: true });
      }
    })(),
  );
}

/** Yields each line without its end. */
async function* linesOf(source: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of source) {
    let from = 0;
    for (let end = part.indexOf(NEWLINE); end !== -1; end = part.indexOf(NEWLINE, from)) {
      pieces.push(part.subarray(from, end));
      yield Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    pieces.push(part.subarray(from));
    bytes += part.length - from;
    if (bytes > LINE_BYTES_MAX) throw damaged('a line of it is too long');
  }
  if (bytes > 0) throw damaged('its end is missing');
}

function isTrailer(line: Buffer): boolean {
  return line.subarray(0, 12).toString('utf8').startsWith('{"end":true');
}

function parse<S extends z.ZodType>(schema: S, line: Buffer): z.output<S> {
  try {
    return schema.parse(JSON.parse(line.toString('utf8')));
  } catch {
    throw damaged('a line of it cannot be read');
  }
}

function damaged(why: string): PlatformError {
  return new PlatformError('validation_failed', `The application gave a copy that cannot be used: ${why}.`, {
    reason: 'copy_damaged',
  });
}

/**
 * Files of records: a CSV file is sent as it is, and exports and lists of errors are downloaded. Each route runs the
 * operations of `records`, part by part, as the caller: no file is ever whole in memory, or kept.
 */
import { PlatformError } from '@freehold/contracts';
import { queryFields, textReader } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { type Transfers, transfersOf } from '../records/records.ts';
import { actingCaller, scopeOf } from '../request/caller.ts';
import { invokeAsCaller } from '../request/records.ts';
import { mountRoutes, type Route } from '../request/routes.ts';
import { csvOfWorkbook, isWorkbook, WORKBOOK_BYTES_MAX } from './xlsx.ts';
import { workbookOf, XLSX_TYPE } from './xlsx-writer.ts';

/** The greatest size of a file that is sent: 50 MiB. */
const FILE_BYTES_MAX = 50 * 1_024 * 1_024;
/** The characters that are sent to an operation at a time: some ten milliseconds of work. */
const PART_LENGTH = 60_000;
const PART_LINES = 4_000;

export function mountRecordFiles(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(
    app,
    transfersOf(services.app.operations).flatMap((type) => routesOf(services, type)),
  );
}

function routesOf(services: Services, { type, imports, exports, numbers }: Transfers): Route[] {
  const importing = `/api/${type}-imports`;
  return [
    ...(imports
      ? [
          {
            method: 'POST' as const,
            path: `${importing}/file`,
            answer: (c: AppContext) => receiveFile(services, c, type),
          },
          {
            method: 'GET' as const,
            path: `${importing}/:import/errors.csv`,
            answer: (c: AppContext) => {
              const input = { import: c.req.param('import') ?? '' };
              return download(services, c, {
                operation: `${type}/import-errors`,
                input,
                name: `${type}-errors`,
              });
            },
          },
        ]
      : []),
    ...(exports
      ? [
          ...[undefined, numbers].map((ofWorkbook) => ({
            method: 'GET' as const,
            path: `/api/${type}-exports/file${ofWorkbook ? '.xlsx' : ''}`,
            answer: async (c: AppContext) => {
              // An anonymous caller learns nothing of the schema.
              await actingCaller(services, c);
              const operation = `${type}/export`;
              const read = textReader('The query', services.app.operations[operation]?.input as z.ZodType);
              const input = read(queryFields(new URL(c.req.url))) as object;
              return download(services, c, { operation, input, name: `${type}-export`, numbers: ofWorkbook });
            },
          })),
        ]
      : []),
  ];
}

const readName = textReader('The query', z.strictObject({ filename: z.string().max(255).optional() }));

/** Takes a file in, and answers the import. What came of a file that breaks off is cancelled. */
async function receiveFile(services: Services, c: AppContext, type: string): Promise<Response> {
  const caller = await actingCaller(services, c);
  const { filename } = readName(queryFields(new URL(c.req.url)));
  if (c.req.header('content-encoding') !== undefined)
    throw new PlatformError('unsupported_media_type', 'The file must not be compressed on the way.');
  let started: { readonly id: string } | null = null;
  let part = 1;
  const send = async (csv: string, isLast: boolean): Promise<void> => {
    const operation = started === null ? `${type}/import` : `${type}/import-part`;
    const named =
      started === null ? (filename === undefined ? {} : { filename }) : { import: started.id, part };
    started = (await invokeAsCaller(services, c, operation, { ...named, csv, isLast })) as { id: string };
    part += 1;
  };
  let text = '';
  /** Sends whole parts while the text is longer than so many characters. */
  const sendParts = async (length: number): Promise<void> => {
    while (text.length > length) {
      const end = endOfPart(text);
      if (end === text.length) return;
      await send(text.slice(0, end), false);
      text = text.slice(end);
    }
  };
  try {
    for await (const more of textOf(c.req.raw.body)) {
      text += more;
      await sendParts(2 * PART_LENGTH);
    }
    await sendParts(0);
    await send(text, true);
  } catch (error) {
    const { id } = (started as { readonly id: string } | null) ?? {};
    if (id !== undefined) await scopeOf(services, c).cancelLongWork({ ...caller, id });
    throw error;
  }
  return c.json(started, 201);
}

/** Returns the end of the part with which a text begins: by its length, and by its lines. */
function endOfPart(text: string): number {
  const lines = /[\r\n]/g;
  for (let marks = 0; marks < PART_LINES; marks++)
    if (!lines.test(text) || lines.lastIndex > PART_LENGTH) return Math.min(text.length, PART_LENGTH);
  return lines.lastIndex;
}

/**
 * Yields the text of a file: of CSV in UTF-8, or in UTF-16 by its mark, and of a workbook its first sheet.
 * @throws PlatformError `validation_failed`, reason `csv_malformed` or `xlsx_malformed`; `payload_too_large`.
 */
async function* textOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  let decoder: TextDecoder | null = null;
  let workbook: Uint8Array[] | null = null;
  let bytes = 0;
  try {
    for await (const chunk of body ?? new Blob().stream()) {
      if (bytes === 0 && isWorkbook(chunk)) workbook = [];
      bytes += chunk.length;
      const bytesMax = workbook === null ? FILE_BYTES_MAX : WORKBOOK_BYTES_MAX;
      if (bytes > bytesMax)
        throw new PlatformError('payload_too_large', `This file may have ${bytesMax} bytes.`);
      if (workbook !== null) {
        workbook.push(chunk);
        continue;
      }
      decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true, ignoreBOM: false });
      yield decoder.decode(chunk, { stream: true });
    }
    if (workbook !== null) yield* csvOfWorkbook(concatenated(workbook, bytes));
    yield decoder?.decode() ?? '';
  } catch (error) {
    if (!(error instanceof TypeError) || error instanceof PlatformError) throw error;
    throw new PlatformError('validation_failed', 'The file is no text in UTF-8. Save it as CSV in UTF-8.', {
      reason: 'csv_malformed',
      cause: error,
    });
  }
}

function concatenated(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

interface CsvPart {
  readonly csv: string;
  readonly nextCursor: string | null;
}

interface Download {
  readonly operation: string;
  readonly input: object;
  /** The name of the file, without its ending. */
  readonly name: string;
  /** The columns of numbers, of a workbook; undefined for CSV. */
  readonly numbers?: ReadonlySet<string> | undefined;
}

/** Answers the parts of an operation as one file. The first part comes before the answer begins, with any refusal. */
async function download(
  services: Services,
  c: AppContext,
  { operation, input, name, numbers }: Download,
): Promise<Response> {
  const partFrom = async (cursor: string | null): Promise<CsvPart> =>
    (await invokeAsCaller(services, c, operation, {
      ...input,
      ...(cursor === null ? {} : { cursor }),
    })) as CsvPart;
  const first = await partFrom(null);
  async function* parts(): AsyncGenerator<string> {
    for (let part: CsvPart | null = first; part !== null; ) {
      yield part.csv;
      part = part.nextCursor === null ? null : await partFrom(part.nextCursor);
    }
  }
  const chunks = numbers ? workbookOf(parts(), numbers) : encoded(parts());
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );
  return new Response(c.req.method === 'HEAD' ? null : body, {
    headers: {
      'content-type': numbers ? XLSX_TYPE : 'text/csv; charset=utf-8; header=present',
      'content-disposition': `attachment; filename="${name}.${numbers ? 'xlsx' : 'csv'}"`,
    },
  });
}

async function* encoded(parts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const part of parts) yield encoder.encode(part);
}

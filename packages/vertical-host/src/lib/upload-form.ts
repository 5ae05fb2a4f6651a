/**
 * An upload as `multipart/form-data` (RFC 7578): the field `meta`, a small JSON object, and after it the field `file`.
 * The file is passed on while it arrives, whatever its size; therefore `meta` comes first, and no field follows.
 */
import { PlatformError } from '@freehold/contracts';
import { readJsonObject } from '@freehold/contracts/http';
import { type ByteReader, makeByteReader } from './byte-reader.ts';
import { mediaTypeOf, requireUncompressed, wrongMediaType } from './bytes.ts';

/** Limits far above any real record or field header. */
const META_BYTES_MAX = 16 * 1_024;
const HEADER_BYTES_MAX = 4 * 1_024;

export interface UploadForm {
  readonly meta: Readonly<Record<string, unknown>>;
  /** Ends only when the form does: a form that was cut short, or has more fields, fails here. */
  readonly file: ReadableStream<Uint8Array>;
}

/**
 * Reads a form up to the beginning of its file.
 * @throws PlatformError `unsupported_media_type`; `payload_too_large` for `meta` beyond 16 KiB; `validation_failed`
 * with the reason `form_malformed`, `form_fields` or `body_incomplete`, or when `meta` is no JSON object.
 */
export async function readUploadForm(
  headers: Headers,
  body: ReadableStream<Uint8Array>,
): Promise<UploadForm> {
  requireUncompressed(headers);
  const mark = encode(`\r\n--${boundaryOf(headers)}`);
  // Every boundary ends a line, so the first one gets an empty line before it.
  const reader = makeByteReader(body, encode('\r\n'));
  const before = await reader.until(mark, 0);
  if (before === null) throw malformed('it does not begin with its boundary');

  await requireField(reader, 'meta');
  const text = await reader.until(mark, META_BYTES_MAX);
  if (text === null) throw await tooLargeOrCut(reader);
  const meta = await readJsonObject({
    headers: new Headers({ 'content-type': 'application/json' }),
    body: new Response(text.slice()).body,
  });
  await requireField(reader, 'file');
  return { meta, file: fileOf(reader, mark) };
}

function fileOf(reader: ByteReader, mark: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const piece = await reader.pieceUntil(mark);
        if (piece === 'ended') throw incomplete();
        if (piece !== null) return controller.enqueue(piece);
        const after = decode(await reader.exactly(2));
        if (after.length < 2) throw incomplete();
        if (after !== '--') throw wrongFields();
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Reads the part between a boundary and the contents of its field, which must be this one. */
async function requireField(reader: ByteReader, name: string): Promise<void> {
  let line = decode(await reader.exactly(2));
  if (line === '--') throw wrongFields();
  // Blanks may stand behind a boundary (RFC 2046, section 5.1.1).
  if (line !== '\r\n') line += decode((await reader.until(encode('\n'), 80)) ?? encode('?'));
  if (line.trim() !== '') throw malformed('a boundary is not alone in its line');
  const block = await reader.until(encode('\r\n\r\n'), HEADER_BYTES_MAX);
  if (block === null) throw malformed('the headers of a field do not end');
  const headers = fieldHeaders(decode(block));
  if (nameOf(headers.get('content-disposition') ?? '') !== name) throw wrongFields();
  const coding = headers.get('content-transfer-encoding') ?? 'binary';
  // RFC 7578, section 4.7: deprecated. Storing the encoded form would store other bytes.
  if (!/^(?:binary|8bit|7bit)$/i.test(coding)) throw malformed('a field is encoded for transfer');
}

function fieldHeaders(block: string): Map<string, string> {
  return new Map(
    block.split('\r\n').map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw malformed('a field has something else than headers');
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

/** The parameter `name` of `form-data; name="…"; filename="…"`; a name inside another's quotes does not count. */
function nameOf(disposition: string): string | undefined {
  const [kind = ''] = disposition.split(';', 1);
  if (kind.trim().toLowerCase() !== 'form-data') return undefined;
  const parameters = disposition
    .slice(kind.length)
    .matchAll(/;\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/gy);
  for (const [, key, quoted, bare] of parameters) {
    if (key?.toLowerCase() === 'name') return quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
  }
  return undefined;
}

function boundaryOf(headers: Headers): string {
  if (mediaTypeOf(headers) !== 'multipart/form-data') throw wrongMediaType('multipart/form-data');
  const type = headers.get('content-type') ?? '';
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = quoted ?? bare ?? '';
  // RFC 2046, section 5.1.1.
  if (!/^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(boundary)) throw malformed('it names no boundary');
  return boundary;
}

async function tooLargeOrCut(reader: ByteReader): Promise<PlatformError> {
  const rest = await reader.exactly(META_BYTES_MAX + 1);
  return rest.byteLength > META_BYTES_MAX
    ? new PlatformError('payload_too_large', `The field meta is larger than ${META_BYTES_MAX} bytes.`)
    : incomplete();
}

function wrongFields(): PlatformError {
  return new PlatformError(
    'validation_failed',
    'The form is not valid. It has the field meta, then the field file, and no other.',
    { reason: 'form_fields' },
  );
}

function malformed(what: string): PlatformError {
  return new PlatformError('validation_failed', `The form is not valid: ${what}.`, {
    reason: 'form_malformed',
  });
}

function incomplete(): PlatformError {
  return new PlatformError('validation_failed', 'The body ended before it was complete.', {
    reason: 'body_incomplete',
  });
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** As Latin-1: structure is ASCII, and other bytes must only stay distinct. */
function decode(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

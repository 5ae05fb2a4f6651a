/** A request's body: one JSON object of a bounded size, or nothing. */
import { PlatformError } from '@freehold/contracts';

/** The largest body that is read, in bytes (design: vertical-host, the same limit). */
export const BODY_BYTES_MAX = 1024 * 1024;

/** Deeper than any declared schema, and shallow enough that nothing that walks the value runs out of stack. */
const DEPTH_MAX = 64;

const JSON_MEDIA_TYPE = /^application\/json *(?:; *charset="?utf-8"? *)?$/i;

/**
 * Reads a body. An empty one reads as `{}`, whatever its media type, and the operation's schema judges that.
 * @throws PlatformError `payload_too_large`, `unsupported_media_type`, or `validation_failed` with a reason:
 * `body_incomplete`, `body_not_utf8`, `body_not_json`, `body_not_object`, `body_too_deep`, `body_not_unicode`.
 */
export async function readBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBytes(request);
  if (bytes.byteLength === 0) return {};
  requireJson(request.headers);
  const value = parseJson(decodeUtf8(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('body_not_object', 'The body is not a JSON object.');
  requireInterchangeable(value);
  return value as Readonly<Record<string, unknown>>;
}

async function readBytes(request: Request): Promise<Uint8Array> {
  // The header is checked first to spare the sender the upload; the stream is counted because a header can lie.
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await readChunk(reader);
    if (done) return joined(chunks, size);
    size += value.byteLength;
    if (size > BODY_BYTES_MAX) {
      // What is still to come is of no use to anybody; a sender that cannot be stopped is no reason to fail.
      await reader.cancel().catch(() => undefined);
      throw tooLarge();
    }
    chunks.push(value);
  }
}

async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (cause) {
    throw invalid('body_incomplete', 'The body ended before it was complete.', cause);
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

function requireJson(headers: Headers): void {
  const mediaType = headers.get('content-type');
  if (mediaType === null || !JSON_MEDIA_TYPE.test(mediaType.trim()))
    throw new PlatformError('unsupported_media_type', 'The body must be application/json in UTF-8.', {
      headers: { accept: 'application/json' },
    });
  const coding = headers.get('content-encoding');
  if (coding !== null && coding.trim().toLowerCase() !== 'identity')
    throw new PlatformError('unsupported_media_type', 'The body must not be compressed.', {
      headers: { 'accept-encoding': 'identity' },
    });
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid('body_not_utf8', 'The body is not UTF-8.', cause);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the text, and with it whatever secret the caller mistyped around.
    throw invalid('body_not_json', 'The body is not JSON.', cause);
  }
}

/** Refuses what JSON can spell and others cannot take over: text that is not Unicode (RFC 7493, 2.1), and towers. */
function requireInterchangeable(value: object): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX)
      throw invalid('body_too_deep', `The body is nested more than ${DEPTH_MAX} levels deep.`);
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each === 'string' ? !each.isWellFormed() : false)
        throw invalid('body_not_unicode', 'The body has text with half a surrogate pair.');
      if (typeof each !== 'object' || each === null) continue;
      for (const [name, member] of Object.entries(each)) next.push(name, member);
    }
    level = next;
  }
}

function invalid(reason: string, detail: string, cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', detail, {
    reason,
    errors: [{ path: '', message: detail }],
    cause,
  });
}

function tooLarge(): PlatformError {
  return new PlatformError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
}

/** A request's body: one JSON object of a bounded size, read with a limit and judged before anybody looks inside. */
import { PlatformError } from '../problems.ts';

/** 1 MiB: the largest body that is read unless a route says otherwise (design: vertical-host, "mountOperations"). */
export const BODY_BYTES_MAX = 1024 * 1024;

/**
 * How many objects and lists a body may nest in one another. Validators, hashes and serialisers walk a value by
 * recursion, and none of them may be brought to the end of the stack by a few kilobytes of brackets.
 */
const DEPTH_MAX = 64;

/** JSON is UTF-8 (RFC 8259, section 8.1). A type such as `merge-patch+json` means something else than its members. */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;[\t ]*(?:charset=(?:utf-8|"utf-8")[\t ]*)?)*$/i;

/**
 * What is read of a request. A `Request` is one. The body is asked for once the headers are accepted: a server need
 * not open a stream that nobody will read.
 */
export interface IncomingBody {
  readonly headers: Headers;
  readonly body: Stream | Promise<Stream>;
  /**
   * The body at once, several times as fast as by a stream. Only for requests that a server received: there a length
   * that was announced is all that is read of a message (RFC 9112, section 6.3). Default: the stream, counted.
   */
  readonly whole?: () => Promise<ArrayBuffer>;
}

type Stream = ReadableStream<Uint8Array> | null;

/**
 * Reads a JSON object. No body is `{}`, so that a call without input needs none; the call's schema judges that.
 * @throws PlatformError `unsupported_media_type`; `payload_too_large`, by `Content-Length` before a byte is read and
 * again by what arrives; `validation_failed` with the reason `body_incomplete`, `body_not_utf8`, `body_not_json`,
 * `body_not_object`, `body_not_unicode` or `body_too_deep`.
 */
export async function readJsonObject(
  request: IncomingBody,
  limitBytes: number = BODY_BYTES_MAX,
): Promise<Readonly<Record<string, unknown>>> {
  const mediaType = request.headers.get('content-type');
  if (mediaType !== null && !JSON_MEDIA_TYPE.test(mediaType.trim())) throw notJson();
  const bytes = await readBodyBytes(request, limitBytes);
  if (bytes.byteLength === 0) return {};
  // A form can be sent across sites without asking, and the type is what tells JSON from a form.
  if (mediaType === null) throw notJson();
  const value = parseJson(decodeUtf8(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('body_not_object', 'The body is not valid. It must be a JSON object.');
  requireInterchangeable(value);
  return value as Readonly<Record<string, unknown>>;
}

/**
 * Reads a body whole, whatever it holds.
 * @throws PlatformError `unsupported_media_type` for a compressed one; `payload_too_large`, by `Content-Length` before a
 * byte is read and again by what arrives; `validation_failed`, reason `body_incomplete`.
 */
export async function readBodyBytes(
  request: IncomingBody,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { headers } = request;
  const coding = headers.get('content-encoding');
  if (coding !== null && coding.trim().toLowerCase() !== 'identity') throw compressed();
  const announced = headers.get('content-length');
  // Spares the sender the upload.
  if (announced !== null && Number(announced) > limitBytes) throw tooLarge(limitBytes);
  // A transfer coding overrules what was announced.
  const isBounded = announced !== null && !headers.has('transfer-encoding');
  if (!isBounded || !request.whole) return readStream(await request.body, limitBytes);
  const bytes = new Uint8Array(await request.whole().catch(incomplete));
  if (bytes.byteLength > limitBytes) throw tooLarge(limitBytes);
  return bytes;
}

async function readStream(body: Stream, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(incomplete);
    if (done) return concatenate(chunks, size);
    size += value.byteLength;
    if (size > limitBytes) {
      // Nobody waits for the rest; whether the sender heard of it does not change the answer.
      reader.cancel().catch(() => undefined);
      throw tooLarge(limitBytes);
    }
    chunks.push(value);
  }
}

function incomplete(cause: unknown): never {
  throw invalid('body_incomplete', 'The body ended before it was complete.', cause);
}

function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw invalid('body_not_utf8', 'The body is not valid UTF-8.', cause);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the text, and with it whatever secret the caller mistyped around.
    throw invalid('body_not_json', 'The body is not valid JSON.', cause);
  }
}

/** Refuses what JSON can spell and others cannot take over: text that is not Unicode (RFC 7493, 2.1), towers, and `__proto__`. */
function requireInterchangeable(root: object): void {
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEPTH_MAX)
      throw invalid('body_too_deep', `The body is not valid. It nests deeper than ${DEPTH_MAX} levels.`);
    const next: object[] = [];
    for (const each of level) {
      for (const [name, member] of Object.entries(each)) {
        // JSON.parse makes it a member like any other; whoever copies the object later would set a prototype instead.
        if (name === '__proto__')
          throw invalid('body_reserved_name', 'The body is not valid. It has a member named __proto__.');
        if (!name.isWellFormed() || (typeof member === 'string' && !member.isWellFormed()))
          throw invalid('body_not_unicode', 'The body is not valid. It has half a surrogate pair.');
        if (typeof member === 'object' && member !== null) next.push(member);
      }
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

function notJson(): PlatformError {
  return new PlatformError('unsupported_media_type', 'The body must be application/json in UTF-8.', {
    headers: { accept: 'application/json' },
  });
}

function compressed(): PlatformError {
  return new PlatformError('unsupported_media_type', 'The body must not be compressed.', {
    headers: { 'accept-encoding': 'identity' },
  });
}

function tooLarge(limitBytes: number): PlatformError {
  return new PlatformError('payload_too_large', `The body is larger than ${limitBytes} bytes.`);
}

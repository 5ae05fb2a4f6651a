/** The body of a request as a JSON object, read with a limit and judged before anybody looks inside. */
import { PlatformError } from '@freehold/contracts';
import type { Context } from 'hono';

/** 1 MiB (design: vertical-host, "mountOperations"). */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * How deep a body may nest. Validators, hashes and serialisers walk a value by recursion, and none of them may be
 * brought to the end of the stack by a few kilobytes of brackets.
 */
const DEPTH_MAX = 64;

const JSON_MEDIA_TYPE = /^application\/(?:[\w!#$&^.+-]+\+)?json$/;

/**
 * Reads a JSON object. An empty body is `{}`, so that an operation without input needs none.
 * @throws PlatformError `unsupported_media_type`, `payload_too_large` (by `Content-Length` before a byte is read,
 * and again by what arrives) or `validation_failed`.
 */
export async function readJsonObject(c: Context, limitBytes: number): Promise<Record<string, unknown>> {
  assertMediaType(c);
  const bytes = await readBytes(c, limitBytes);
  if (bytes.length === 0) return {};
  // A form can be sent across sites without asking, and the type is what tells JSON from a form.
  if (c.req.header('content-type') === undefined) throw notJson('The body has no Content-Type.');
  const value = parseJson(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidBody('must be a JSON object');
  }
  if (isDeeperThan(value, DEPTH_MAX)) throw invalidBody(`must not nest deeper than ${DEPTH_MAX} levels`);
  return value as Record<string, unknown>;
}

function assertMediaType(c: Context): void {
  const encoding = c.req.header('content-encoding');
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw notJson('A compressed body is not accepted.');
  }
  const header = c.req.header('content-type');
  if (header === undefined) return;
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!JSON_MEDIA_TYPE.test(type)) throw notJson('The body must be application/json.');
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=');
    if (name === 'charset' && value.replaceAll('"', '') !== 'utf-8') throw notJson('The body must be UTF-8.');
  }
}

async function readBytes(c: Context, limitBytes: number): Promise<Uint8Array> {
  const declared = c.req.header('content-length');
  if (declared !== undefined && Number(declared) > limitBytes) throw tooLarge(limitBytes);
  // A middleware may have read the body already; hono keeps what it read.
  const body = c.req.raw.bodyUsed ? new Response(await c.req.arrayBuffer()).body : c.req.raw.body;
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new PlatformError('validation_failed', 'The body ended before it was complete.', { cause });
    });
    if (done) break;
    length += value.length;
    if (length > limitBytes) {
      // Nobody waits for the rest; whether the sender heard of it does not change the answer.
      reader.cancel().catch(() => undefined);
      throw tooLarge(limitBytes);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalidBody('must be JSON in UTF-8', cause);
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((each) => isDeeperThan(each, levels - 1));
}

function invalidBody(message: string, cause?: unknown): PlatformError {
  const errors = [{ path: '', message }];
  return new PlatformError('validation_failed', `The body is not valid. It ${message}.`, { errors, cause });
}

function notJson(detail: string): PlatformError {
  return new PlatformError('unsupported_media_type', detail, { headers: { accept: 'application/json' } });
}

function tooLarge(limitBytes: number): PlatformError {
  return new PlatformError('payload_too_large', `The body is larger than ${limitBytes} bytes.`);
}

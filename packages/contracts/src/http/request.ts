/**
 * The parts of an HTTP request that every surface reads alike: its id, its method, the page that made it, its body, and
 * the headers that make it conditional or repeatable.
 */
import { PlatformError } from '../problems.ts';

export const REQUEST_ID_HEADER = 'x-request-id';

/** An id stands in headers, log lines and audit rows: it cannot end a line, need escaping or be a formula. */
const WELL_FORMED = /^[A-Za-z0-9][\w.~:+/=@-]{0,127}$/;

export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && WELL_FORMED.test(value);
}

/**
 * The caller's own `x-request-id`, or null for one that is absent or malformed. It stands beside the id that we give and
 * never in its place: a caller must not choose the names of rows in our logs, nor use one twice.
 */
export function callersRequestId(headers: Headers): string | null {
  const given = headers.get(REQUEST_ID_HEADER);
  return isRequestId(given) ? given : null;
}

/**
 * Answers OPTIONS with 204 (without CORS headers: no other origin is let in) and refuses every other method. Both
 * answers name the methods of the address: HEAD comes with GET, OPTIONS with every method (RFC 9110, 9.3.7, 15.5.6).
 * @throws PlatformError `method_not_allowed`, with `Allow`.
 */
export function answerOtherMethod(method: string, declared: Iterable<string>): Response {
  const methods = new Set(declared).add('OPTIONS');
  if (methods.has('GET')) methods.add('HEAD');
  const allow = [...methods].sort().join(', ');
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
  throw new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}

export interface SameOriginRule {
  /**
   * True also refuses a request that no page made. Default false: a client that sends neither header is not a browser
   * and cannot be tricked.
   */
  readonly pageOnly?: boolean;
}

/**
 * Protects cookies from cross-site request forgery: refuses an unsafe request that a page of another origin made, a
 * sibling host included, which is another tenant (W3C Fetch Metadata; RFC 6454). No page can set either header.
 * `Sec-Fetch-Site` decides when it is present, because it holds behind a proxy that ends TLS; browsers send `Origin`
 * alone on plain HTTP.
 * @param ownOrigin the origin of the application for browsers, or a function that returns it.
 * @throws PlatformError `forbidden`, reason `cross_site`.
 */
export function requireSameOrigin(
  headers: Headers,
  ownOrigin: string | (() => string),
  rule: SameOriginRule = {},
): void {
  if (isSameOrigin(headers, ownOrigin, rule)) return;
  throw new PlatformError('forbidden', 'This can be done only from a page of this site.', {
    reason: 'cross_site',
  });
}

/** Whether {@link requireSameOrigin} lets a request pass. */
export function isSameOrigin(
  headers: Headers,
  ownOrigin: string | (() => string),
  rule: SameOriginRule = {},
): boolean {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  const isOwn = (): boolean => origin === (typeof ownOrigin === 'string' ? ownOrigin : ownOrigin());
  const byOwnPage = site === null ? origin !== null && isOwn() : site === 'same-origin';
  const byNoPage = site === null ? origin === null : site === 'none';
  return byOwnPage || (byNoPage && !rule.pageOnly);
}

/** 1 MiB: the largest body that is read unless a route says otherwise (design: vertical-host, "mountOperations"). */
export const BODY_BYTES_MAX = 1024 * 1024;

/** The greatest depth of a body: validators and serialisers recurse, and must not exhaust the stack. */
const DEPTH_MAX = 64;

/** JSON is UTF-8 (RFC 8259, 8.1). A type such as `merge-patch+json` has another meaning. */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;[\t ]*(?:charset=(?:utf-8|"utf-8")[\t ]*)?)*$/i;

/** The parts of a request from which its body is read; a `Request` is one. The body is read after the headers pass. */
export interface IncomingBody {
  readonly headers: Headers;
  readonly body: Stream | Promise<Stream>;
  /**
   * Reads the body at once, several times as fast as a stream. Only for requests that a server received: there the
   * announced length bounds the message (RFC 9112, 6.3). Default: the stream, counted.
   */
  readonly whole?: () => Promise<ArrayBuffer>;
}

type Stream = ReadableStream<Uint8Array> | null;

/**
 * Reads a JSON object; without a body it is `{}`.
 * @throws PlatformError `unsupported_media_type`; `payload_too_large`, by `Content-Length` before a byte is read and
 * again by what arrives; `validation_failed` with the reason `body_incomplete`, `body_not_utf8`, `body_not_json`,
 * `body_not_object`, `body_not_unicode`, `body_too_deep`, `body_reserved_name` or `body_duplicate_name`.
 */
export async function readJsonObject(
  request: IncomingBody,
  limitBytes: number = BODY_BYTES_MAX,
): Promise<Readonly<Record<string, unknown>>> {
  const mediaType = request.headers.get('content-type');
  if (mediaType !== null && !JSON_MEDIA_TYPE.test(mediaType.trim())) throw notJson();
  const bytes = await readBodyBytes(request, limitBytes);
  if (bytes.byteLength === 0) return {};
  // A page of another site can send a form without a preflight; the media type tells JSON from a form.
  if (mediaType === null) throw notJson();
  const text = decodeUtf8(bytes);
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('body_not_object', 'The body is not valid. It must be a JSON object.');
  // Two readers of the same text would see different values (RFC 8259, 4).
  if (requireInterchangeable(value) !== membersIn(text))
    throw invalid(
      'body_duplicate_name',
      'The body is not valid. An object in it has two members of one name.',
    );
  return value as Readonly<Record<string, unknown>>;
}

/**
 * Reads the bytes of a body.
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
  // A transfer coding overrules the announced length.
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
      // The answer does not depend on whether the sender notices.
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
    // The parser's own message would quote the text, with any secret in it.
    throw invalid('body_not_json', 'The body is not valid JSON.', cause);
  }
}

/** Counts the members of all objects in valid JSON: its texts before a colon. */
function membersIn(text: string): number {
  let count = 0;
  for (let begin = text.indexOf('"'); begin >= 0; ) {
    let end = text.indexOf('"', begin + 1);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    let next = end + 1;
    while (text.charCodeAt(next) <= 0x20) next++;
    if (text[next] === ':') count++;
    begin = text.indexOf('"', next);
  }
  return count;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before--;
  return (at - before) % 2 === 1;
}

/**
 * Refuses text that is not Unicode (RFC 7493, 2.1), deep nesting, and members named `__proto__`.
 * @returns the number of members of all objects.
 */
function requireInterchangeable(root: object): number {
  let count = 0;
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEPTH_MAX)
      throw invalid('body_too_deep', `The body is not valid. It nests deeper than ${DEPTH_MAX} levels.`);
    const next: object[] = [];
    for (const each of level) {
      const members = Object.entries(each);
      if (!Array.isArray(each)) count += members.length;
      for (const [name, member] of members) {
        // A later copy of the object would set a prototype instead of this member.
        if (name === '__proto__')
          throw invalid('body_reserved_name', 'The body is not valid. It has a member named __proto__.');
        if (!name.isWellFormed() || (typeof member === 'string' && !member.isWellFormed()))
          throw invalid('body_not_unicode', 'The body is not valid. It has half a surrogate pair.');
        if (typeof member === 'object' && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return count;
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

type HeaderValue = string | null | undefined;

/** At most 255 visible ASCII characters (design: kernel). */
const KEY = /^[!-~]{1,255}$/;

/** An RFC 8941 string, the form of the Idempotency-Key draft; most clients send the key bare. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * Returns the key in `Idempotency-Key`, bare or as a quoted string: both spellings are the same key.
 * @throws PlatformError `validation_failed` on another text: a dropped key would run an effect twice.
 */
export function parseIdempotencyKey(header: HeaderValue): string | undefined {
  if (header === null || header === undefined) return undefined;
  const quoted = QUOTED.exec(header)?.[1];
  const key = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? header;
  // A bare key that begins with a quote is an unclosed quoted one.
  if (!KEY.test(key) || (quoted === undefined && header.startsWith('"')))
    throw malformedHeader('Idempotency-Key', 'must be 1 to 255 visible ASCII characters, bare or quoted');
  return key;
}

/** The condition of `If-Match`: any version (`*`), or one of these. An empty list is never met. */
export type IfMatch = '*' | readonly string[];

/**
 * Returns the strong tags of `If-Match` without their quotes (RFC 9110, 13.1.1); weak tags match nothing. One tag may be
 * bare, as the `etag` of a body is.
 * @throws PlatformError `validation_failed` when it is malformed: a condition must not be ignored.
 */
export function parseIfMatch(header: HeaderValue): IfMatch | undefined {
  if (header === null || header === undefined) return undefined;
  const text = header.trim();
  if (text === '*') return '*';
  if (BARE_TAG.test(text)) return [text];
  const tags = parseEntityTags(text);
  if (!tags) throw malformedHeader('If-Match', 'must be one entity tag, several in quotes, or *');
  return tags.filter(({ weak }) => !weak).map(({ value }) => value);
}

/**
 * Whether `If-None-Match` covers this version (RFC 9110, 13.1.2): weak comparison, `*` covers any. A malformed header
 * covers nothing, and the caller gets a full answer.
 */
export function isUnchanged(header: HeaderValue, version: string | null | undefined): boolean {
  if (header === null || header === undefined || version === null || version === undefined) return false;
  if (header.trim() === '*') return true;
  return (parseEntityTags(header) ?? []).some(({ value }) => value === version);
}

export function entityTag(version: string): string {
  return `"${version}"`;
}

/**
 * Whether `Accept-Encoding` takes a content coding (RFC 9110, section 12.5.3): named, or by `*`, and not with a weight of
 * zero. Without a header: no.
 */
export function acceptsCoding(header: string | null | undefined, coding: string): boolean {
  if (header === null || header === undefined) return false;
  let byStar = false;
  for (const member of header.split(',')) {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim().toLowerCase());
    if (name !== coding && name !== '*') continue;
    const isTaken = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === coding) return isTaken;
    byStar = isTaken;
  }
  return byStar;
}

/** Returns the error of a malformed header; `message` continues the header's name: "must be …". */
export function malformedHeader(header: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The header ${header} ${message}.`, {
    errors: [{ path: header, message }],
  });
}

interface EntityTag {
  readonly value: string;
  readonly weak: boolean;
}

/** RFC 9110, section 8.8.3. */
const ENTITY_TAG = /^(W\/)?"([!#-~\u0080-\u00ff]*)"$/;

/** The text of a strong tag without its quotes; a comma would begin a list. */
const BARE_TAG = /^(?!W\/)[!#-+\--~]+$/;

/** Returns the members of a list without the empty ones (RFC 9110, 5.6.1.2); undefined when one is no entity tag. */
function parseEntityTags(header: string): EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  // A comma inside quotes belongs to the tag.
  for (const member of header.match(/(?:[^,"]|"[^"]*"?)+/g) ?? []) {
    const text = member.trim();
    if (text === '') continue;
    const match = ENTITY_TAG.exec(text);
    if (!match) return undefined;
    tags.push({ value: match[2] ?? '', weak: match[1] !== undefined });
  }
  return tags.length === 0 ? undefined : tags;
}

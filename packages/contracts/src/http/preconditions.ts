/** The headers that make a call conditional or repeatable: `Idempotency-Key`, `If-Match`, `If-None-Match`. */
import { PlatformError } from '../problems.ts';

/** A header's value as `Headers.get` answers it, or undefined as frameworks do. */
type HeaderValue = string | null | undefined;

/** At most 255 visible ASCII characters (design: kernel). */
const KEY = /^[!-~]{1,255}$/;

/** An RFC 8941 string: what the Idempotency-Key draft puts on the wire, where most clients send the key bare. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * Reads `Idempotency-Key`, bare or as a quoted string. The two spellings of one key are the same key.
 * @throws PlatformError `validation_failed` on anything else: a key that is dropped would run an effect twice.
 */
export function parseIdempotencyKey(header: HeaderValue): string | undefined {
  if (header === null || header === undefined) return undefined;
  const quoted = QUOTED.exec(header)?.[1];
  const key = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? header;
  // A bare key that begins with a quote is a quoted one that was never closed.
  if (!KEY.test(key) || (quoted === undefined && header.startsWith('"')))
    throw malformedHeader('Idempotency-Key', 'must be 1 to 255 visible ASCII characters, bare or quoted');
  return key;
}

/** What `If-Match` asks for: that there is anything, or one of these versions. None of them is never met. */
export type IfMatch = '*' | readonly string[];

/**
 * Reads `If-Match` (RFC 9110, section 13.1.1): the strong tags, without their quotes. Weak ones match nothing here.
 * @throws PlatformError `validation_failed` when it is malformed: a condition must not be passed over.
 */
export function parseIfMatch(header: HeaderValue): IfMatch | undefined {
  if (header === null || header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  const tags = parseEntityTags(header);
  if (!tags) throw malformedHeader('If-Match', 'must be entity tags in quotes, or *');
  return tags.filter(({ weak }) => !weak).map(({ value }) => value);
}

/**
 * Whether `If-None-Match` covers this version (RFC 9110, section 13.1.2): weak comparison, `*` covers any. A
 * malformed header covers nothing, which costs the caller a full answer and no more.
 */
export function isUnchanged(header: HeaderValue, version: string | null | undefined): boolean {
  if (header === null || header === undefined || version === null || version === undefined) return false;
  if (header.trim() === '*') return true;
  return (parseEntityTags(header) ?? []).some(({ value }) => value === version);
}

/** The `ETag` of a version. */
export function entityTag(version: string): string {
  return `"${version}"`;
}

/** The refusal of a header that does not have its form. `message` goes on from the header's name: "must be …". */
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

/** The members of a list, empty ones left out (RFC 9110, section 5.6.1.2); undefined when one is no entity tag. */
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

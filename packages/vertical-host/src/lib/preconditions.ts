/** The headers that make a call conditional or repeatable: `Idempotency-Key`, `If-Match`, `If-None-Match`. */
import { PlatformError } from '@freehold/contracts';

const IDEMPOTENCY_KEY_CHARS_MAX = 255;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * Reads `Idempotency-Key`: a quoted string (RFC 8941, section 3.3.3) or the bare key, at most 255 visible ASCII
 * characters. The two spellings of one key are the same key.
 * @throws PlatformError `validation_failed` on anything else: a key that is dropped would run an effect twice.
 */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = header.startsWith('"') ? unquote(header) : header;
  if (key === undefined || key.length > IDEMPOTENCY_KEY_CHARS_MAX || !VISIBLE_ASCII.test(key)) {
    throw malformed('Idempotency-Key', `must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters`);
  }
  return key;
}

/**
 * Reads `If-Match` (RFC 9110, section 13.1.1): the one version that the caller has seen, or `*`.
 * @throws PlatformError `precondition_failed` when only weak tags were sent, for a weak tag matches nothing here;
 * `validation_failed` when it is malformed, or names several versions where a call can state one.
 */
export function parseIfMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  const tags = parseEntityTags(header);
  if (tags === undefined) throw malformed('If-Match', 'must be an entity tag or *');
  const strong = new Set(tags.filter((tag) => !tag.weak && tag.value !== '').map((tag) => tag.value));
  const [version] = strong;
  if (version === undefined) {
    throw new PlatformError('precondition_failed', 'The entity tag of If-Match is not the present version.');
  }
  if (strong.size > 1) throw malformed('If-Match', 'must name one version');
  return version;
}

/**
 * Whether `If-None-Match` covers this version (RFC 9110, section 13.1.2): weak comparison, `*` covers any. A
 * malformed header covers nothing, which costs the caller a full answer and no more.
 */
export function isUnchanged(header: string | undefined, version: string | null): boolean {
  if (header === undefined || version === null) return false;
  if (header.trim() === '*') return true;
  return (parseEntityTags(header) ?? []).some((tag) => tag.value === version);
}

/** The `ETag` of a version. */
export function entityTag(version: string): string {
  return `"${version}"`;
}

interface EntityTag {
  readonly value: string;
  readonly weak: boolean;
}

/** One member of a list of entity tags. A tag without its quotes is understood: many clients lose them. */
const TAG = /^(W\/)?(?:"([^"]*)"|([^\s",*]+))$/;

function parseEntityTags(header: string): EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  // A comma inside quotes belongs to the tag.
  for (const member of header.match(/(?:[^,"]|"[^"]*"?)+/g) ?? []) {
    const text = member.trim();
    if (text === '') continue;
    const match = TAG.exec(text);
    if (!match) return undefined;
    tags.push({ value: match[2] ?? match[3] ?? '', weak: match[1] !== undefined });
  }
  return tags.length === 0 ? undefined : tags;
}

/** The content of an RFC 8941 string, or undefined when it is not one. */
function unquote(text: string): string | undefined {
  const match = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(text);
  return match?.[1]?.replaceAll(/\\(["\\])/g, '$1');
}

function malformed(header: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The header ${header} ${message}.`, {
    errors: [{ path: header, message }],
  });
}

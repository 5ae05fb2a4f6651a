/** The headers that make a call conditional or repeatable: Idempotency-Key, If-Match, If-None-Match. */
import { PlatformError } from '@freehold/contracts';

/** At most 255 visible ASCII characters (design: control-plane, "Idempotency and concurrency"). */
const KEY = /^[!-~]{1,255}$/;

/** An RFC 8941 string: what the Idempotency-Key draft puts on the wire, where most clients send the key bare. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** One entity tag, and a list of them (RFC 9110, sections 8.8.3 and 5.6.1). */
const ENTITY_TAG = /(W\/)?"([!#-~\u0080-\u00ff]*)"/;
const ENTITY_TAGS = new RegExp(`^${ENTITY_TAG.source}(?:\\s*,\\s*${ENTITY_TAG.source})*$`);

/** The idempotency key of a request, unquoted. @throws PlatformError `validation_failed` on a malformed one. */
export function idempotencyKeyOf(headers: Headers): string | undefined {
  const given = headers.get('idempotency-key');
  if (given === null) return undefined;
  const quoted = QUOTED.exec(given);
  const key = quoted ? (quoted[1] as string).replaceAll(/\\(["\\])/g, '$1') : given;
  // A bare key that begins with a quote is a quoted one that was never closed.
  if (!KEY.test(key) || (!quoted && given.startsWith('"')))
    throw refused('Idempotency-Key', 'must be 1 to 255 visible ASCII characters, bare or quoted');
  return key;
}

/**
 * The version that a call is conditional on: `*`, or one strong tag without its quotes. Anything else that the header
 * may hold (several tags, weak ones, which match nothing) is handed on as it is.
 * @param honoured whether the operation has versions at all; a condition that nobody would check is refused.
 * @throws PlatformError `validation_failed`.
 */
export function ifMatchOf(headers: Headers, honoured: boolean): string | undefined {
  const given = headers.get('if-match');
  if (given === null) return undefined;
  if (!honoured) throw refused('If-Match', 'is not supported by this operation');
  if (given === '*') return '*';
  if (!ENTITY_TAGS.test(given)) throw refused('If-Match', 'must be entity tags in quotes, or *');
  const [whole, weak, tag] = ENTITY_TAG.exec(given) ?? [];
  // The tag "*" keeps its quotes: without them it would match anything.
  return whole === given && weak === undefined && tag !== '*' ? tag : given;
}

/** Whether the reader has this version already, by weak comparison (RFC 9110, section 13.1.2). */
export function isUnchanged(headers: Headers, etag: string | undefined): boolean {
  const given = headers.get('if-none-match');
  if (given === null || etag === undefined) return false;
  if (given === '*') return true;
  return [...given.matchAll(new RegExp(ENTITY_TAG, 'g'))].some(([, , tag]) => tag === etag);
}

function refused(header: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The header ${header} ${message}.`, {
    errors: [{ path: header, message }],
  });
}

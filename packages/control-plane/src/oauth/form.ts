/** The parameters of an OAuth request: each at most once (RFC 6749, section 3.1), from a query or a small form. */
import { OAuthError } from './oauth-error.ts';

/** Far more than any request of ours has. */
const FORM_BYTES_MAX = 16 * 1024;

/** Reads a parameter; one that is empty counts as left out (RFC 6749, section 3.1). */
export type Parameters = (name: string) => string | null;

/** @throws OAuthError `invalid_request` for a parameter that is there twice. */
export function parametersOf(search: URLSearchParams, repeatable: readonly string[] = []): Parameters {
  const names = [...search.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index && !repeatable.includes(name));
  if (twice !== undefined) throw new OAuthError('invalid_request', 'A parameter is given twice.');
  return (name) => search.get(name) || null;
}

/** Reads a form body. @throws OAuthError `invalid_request` for what is none, or is too large. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/x-www-form-urlencoded')
    throw new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded.');
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > FORM_BYTES_MAX) {
      // Nobody waits for the rest; whether the sender heard of it does not change the answer.
      reader.cancel().catch(() => undefined);
      throw new OAuthError('invalid_request', 'The body is too large.');
    }
    chunks.push(value);
  }
  const decoder = new TextDecoder();
  const text = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
  return new URLSearchParams(text);
}

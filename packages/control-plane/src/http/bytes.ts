/** An answer that is a stream of bytes: what is said of them travels in the headers that the declaration names. */
import type { AdminResult } from '@freehold/directory';
import type { BytesAnswer } from '@freehold/directory/declarations';
import type { Fields } from '../declared/input.ts';

/**
 * Renders it. The bytes go out as the caller takes them; a HEAD is told about them, and they are let go.
 * @param value of the declared form.
 * @throws TypeError when there are no bytes, or no media type for them: our bug. The bytes are let go then too.
 */
export async function bytesAnswer(
  { mediaType, headers: declared }: BytesAnswer,
  { status, body }: AdminResult,
  value: Fields,
  { request, headers }: { readonly request: Request; readonly headers: Headers },
): Promise<Response> {
  if (!body) throw new TypeError('an operation that answers bytes answered none');
  const type = mediaType.types[String(value[mediaType.field])];
  if (type === undefined) {
    await body.cancel().catch(() => undefined);
    throw new TypeError('an operation answered bytes of no declared media type');
  }
  headers.set('content-type', type);
  // A browser must not show what a tenant wrote as a page of ours.
  headers.set('content-disposition', 'attachment');
  for (const [name, field] of Object.entries(declared)) {
    const said = value[field];
    if (said !== null && said !== undefined) headers.set(name, String(said));
  }
  if (request.method !== 'HEAD') return new Response(body, { status, headers });
  await body.cancel().catch(() => undefined);
  return new Response(null, { status, headers });
}

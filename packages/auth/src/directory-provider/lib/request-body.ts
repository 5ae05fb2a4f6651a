/** The body of a request: a small form or a small JSON object, with exactly the fields that its reader knows. */
import { PlatformError } from '@freehold/contracts';
import { readJsonObject } from '@freehold/contracts/http';

/** The largest body that is read: a passkey's registration has about 2 KB. */
export const BODY_BYTES_MAX = 16 * 1024;

const FORM_MEDIA_TYPE =
  /^application\/x-www-form-urlencoded[\t ]*(?:;[\t ]*(?:charset=(?:utf-8|"utf-8")[\t ]*)?)*$/i;

/**
 * Reads a form. A field that was not sent is empty.
 * @throws PlatformError `unsupported_media_type`, `payload_too_large`, or `validation_failed` for a field that is
 * unknown or given twice: two readers of one request must not see two different values.
 */
export async function readForm<Name extends string>(
  request: Request,
  names: readonly Name[],
): Promise<Readonly<Record<Name, string>>> {
  if (!FORM_MEDIA_TYPE.test(request.headers.get('content-type')?.trim() ?? ''))
    throw new PlatformError('unsupported_media_type', 'This address takes a form.', {
      headers: { accept: 'application/x-www-form-urlencoded' },
    });
  const sent = new URLSearchParams(await readText(request));
  const fields = new Map<string, string>(names.map((name) => [name, '']));
  const seen = new Set<string>();
  for (const [name, value] of sent) {
    if (!fields.has(name) || seen.has(name))
      throw badForm('The form has a field that does not belong to it.');
    seen.add(name);
    fields.set(name, value);
  }
  return Object.fromEntries(fields) as Record<Name, string>;
}

/** Reads a JSON object. @throws PlatformError as `readJsonObject` does, and for a body without a type. */
export async function readJson(request: Request): Promise<Readonly<Record<string, unknown>>> {
  if (!request.headers.has('content-type'))
    throw new PlatformError('unsupported_media_type', 'The body must be application/json in UTF-8.', {
      headers: { accept: 'application/json' },
    });
  return readJsonObject(request, BODY_BYTES_MAX);
}

async function readText(request: Request): Promise<string> {
  // The header is checked first to spare the sender the upload; the stream is counted because a header can lie.
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  let text = '';
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      // Leaving the loop cancels the stream, so that nothing more is received.
      if (size > BODY_BYTES_MAX) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw badForm('The form is incomplete or not UTF-8.', cause);
  }
}

function tooLarge(): PlatformError {
  return new PlatformError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
}

function badForm(detail: string, cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', detail, {
    reason: 'form_invalid',
    errors: [{ path: '', message: detail }],
    cause,
  });
}

/**
 * The bodies of requests: a form (RFC 7578), read whole within its limit and turned into the JSON body that it stands
 * for; and bytes, checked by their headers and counted as they pass.
 */
import { PlatformError } from '@freehold/contracts';
import { readBodyBytes, readJsonObject } from '@freehold/contracts/http';
import type { AdminCall } from '@freehold/directory';
import type { FormBody, UploadedBytes } from '@freehold/directory/declarations';
import type { Fields } from '../declared/operations.ts';

const FORM = 'multipart/form-data';
const JSON_HEADERS = new Headers({ 'content-type': 'application/json' });

/**
 * Returns the unchecked fields of a body that may be JSON or a form.
 * @throws PlatformError `unsupported_media_type`, `payload_too_large`, `validation_failed` (reason `form_malformed` or
 * `form_fields`, or those of `readJsonObject`).
 */
export async function readFormOrJson(request: Request, { files, bytesMax }: FormBody): Promise<Fields> {
  const type = request.headers.get('content-type');
  const mediaType = type?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== null && mediaType === FORM)
    return bodyOfForm(await parseForm(await readBodyBytes(request, bytesMax), type), files);
  if (mediaType !== undefined && mediaType !== 'application/json')
    throw new PlatformError('unsupported_media_type', `Send application/json or ${FORM}.`, {
      headers: { accept: `application/json, ${FORM}` },
    });
  return readJsonObject(request);
}

async function parseForm(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch (cause) {
    throw invalid('form_malformed', 'The body is not valid. It must be one form, as its media type says.', {
      path: '',
      cause,
    });
  }
}

/**
 * @param files the field of the body that the files stand for.
 * @throws PlatformError `validation_failed`, where the field `meta` is missing, is no JSON object or names the files
 * itself, or where another field is no file.
 */
async function bodyOfForm(form: FormData, files: string): Promise<Fields> {
  const [meta, ...others] = form.getAll('meta');
  if (typeof meta !== 'string' || others.length > 0)
    throw invalid('form_fields', 'A form has one field meta, which is a text.', { path: 'meta' });
  // Checked as JSON here; the fields are checked together with the files.
  const fields = await readJsonObject({ headers: JSON_HEADERS, body: new Response(meta).body });
  if (Object.hasOwn(fields, files))
    throw invalid('form_fields', `The ${files} of a form are its files.`, { path: `meta.${files}` });
  const parts = [...form].filter(([name]) => name !== 'meta');
  const sent: File[] = [];
  for (const [, part] of parts) {
    // A text may be a file whose sender forgot its name, so that it is refused.
    if (typeof part === 'string')
      throw invalid('form_fields', 'A form has the field meta, and files.', { path: '' });
    sent.push(part);
  }
  return { ...fields, [files]: await Promise.all(sent.map(moduleOf)) };
}

async function moduleOf(file: File): Promise<Fields> {
  return {
    name: file.name,
    mediaType: file.type,
    base64: new Uint8Array(await file.arrayBuffer()).toBase64(),
  };
}

function invalid(
  reason: string,
  detail: string,
  { path, cause }: { readonly path: string; readonly cause?: unknown },
): PlatformError {
  return new PlatformError('validation_failed', detail, {
    reason,
    errors: [{ path, message: detail }],
    cause,
  });
}

/**
 * The bytes of a request.
 * @throws PlatformError `unsupported_media_type`; `payload_too_large`, by `Content-Length` before a byte is read. The
 * stream fails with `payload_too_large` at the first byte too many.
 */
export function readUpload(
  request: Request,
  { mediaTypes, bytesMax }: UploadedBytes,
): NonNullable<AdminCall['upload']> {
  const { headers } = request;
  const mediaType = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!mediaTypes.includes(mediaType))
    throw new PlatformError('unsupported_media_type', `Send one of ${mediaTypes.join(', ')}.`);
  const coding = headers.get('content-encoding');
  if (coding !== null && coding.trim().toLowerCase() !== 'identity')
    throw new PlatformError('unsupported_media_type', 'Send the body without a content encoding.');
  const announced = headers.get('content-length');
  if (announced !== null && Number(announced) > bytesMax) throw tooLarge(bytesMax);
  const body = request.body ?? (new Response('').body as ReadableStream<Uint8Array>);
  return { mediaType, body: counted(body, bytesMax) };
}

function counted(source: ReadableStream<Uint8Array>, bytesMax: number): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((cause: unknown) => {
          throw new PlatformError('validation_failed', 'The body broke off before its end.', {
            reason: 'body_incomplete',
            cause,
          });
        });
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes > bytesMax) {
          reader.cancel().catch(() => undefined);
          throw tooLarge(bytesMax);
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function tooLarge(bytesMax: number): PlatformError {
  return new PlatformError('payload_too_large', `The body has more than ${bytesMax} bytes.`);
}

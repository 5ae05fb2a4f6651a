/** A body that comes as a form (RFC 7578), read whole within its limit and turned into the JSON body that it stands for. */
import { PlatformError } from '@freehold/contracts';
import { readBodyBytes, readJsonObject } from '@freehold/contracts/http';
import type { FormBody } from '@freehold/directory/declarations';
import type { Fields } from '../declared/input.ts';

const FORM = 'multipart/form-data';
const JSON_HEADERS = new Headers({ 'content-type': 'application/json' });

/**
 * The fields of a body that may be JSON or a form, not yet judged.
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
  // Judged like the body that it stands for, as far as JSON goes; its fields are judged with the files beside them.
  const fields = await readJsonObject({ headers: JSON_HEADERS, body: new Response(meta).body });
  if (Object.hasOwn(fields, files))
    throw invalid('form_fields', `The ${files} of a form are its files.`, { path: `meta.${files}` });
  const parts = [...form].filter(([name]) => name !== 'meta');
  const sent: File[] = [];
  for (const [, part] of parts) {
    // A text that nobody looks at could be a file whose sender forgot to name it.
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
    base64: base64Of(new Uint8Array(await file.arrayBuffer())),
  };
}

/** In slices: as many arguments as a file has bytes are more than a call can take. */
function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return btoa(text);
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

/** A body with files, as the form that an operation takes for it (RFC 7578). */
import type { RawInput } from './call.ts';

/** One file of a form. Its name may hold directories. */
export interface FormFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Uint8Array<ArrayBuffer> | Blob | string;
}

/** The field `meta` says everything but the files, and each other part is one of those. */
export function formOf({ body = {} }: Pick<RawInput, 'body'>, files: readonly FormFile[]): FormData {
  const form = new FormData();
  form.set('meta', JSON.stringify(body));
  for (const { name, mediaType, content } of files)
    form.append('file', new File([content], name, { type: mediaType }));
  return form;
}

/**
 * A deployment as a form (`multipart/form-data`, RFC 7578): the field `meta` is JSON and says everything but the files,
 * every other part is one file. Its name is the part's file name, so that a form can hold directories.
 */
import { PlatformError, parseInput } from '@freehold/contracts';
import { z } from 'zod';

/** What a form says in words; the fields themselves are judged by the operation that the body is for. */
const meta = z.record(z.string(), z.unknown());

/**
 * The body of `verticals.deploy` that a form stands for.
 * @throws PlatformError `validation_failed`, where the field `meta` is missing, is no JSON object, or names modules.
 */
export async function deployBodyOfForm(form: FormData): Promise<Readonly<Record<string, unknown>>> {
  const said = form.getAll('meta');
  const text = said.length === 1 && typeof said[0] === 'string' ? said[0] : null;
  const fields = parseInput('The field meta', meta, text === null ? undefined : parseJson(text));
  if (Object.hasOwn(fields, 'modules'))
    throw new PlatformError('validation_failed', 'The modules of a form are its files.', {
      errors: [{ path: 'meta.modules', message: 'must be sent as files' }],
    });
  const files = [...form].flatMap(([, part]) => (typeof part === 'string' ? [] : [part]));
  const modules = await Promise.all(
    files.map(async (file) => ({
      name: file.name,
      mediaType: file.type,
      base64: base64Of(new Uint8Array(await file.arrayBuffer())),
    })),
  );
  return { ...fields, modules };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In slices: as many arguments as a file has bytes are more than a call can take. */
function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return btoa(text);
}

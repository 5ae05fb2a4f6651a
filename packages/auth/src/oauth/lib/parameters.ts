/** The parameters of a request, in a query or a form. */
import { readBodyBytes } from '@freehold/contracts/http';
import { OAuthError } from './errors.ts';

/** A token request holds a code, a verifier and a client id, which may be a long one. */
const FORM_BYTES_MAX = 16 * 1_024;
const FORM = /^application\/x-www-form-urlencoded[\t ]*(?:;[\t ]*charset=utf-8[\t ]*)?$/i;

export type Parameters = ReadonlyMap<string, string>;

/**
 * Returns the parameters by name. An empty one is absent, an unknown one is ignored, and none may come twice (RFC 6749,
 * section 3.1): two readers of the request would see different values. Only `resource` may (RFC 8707, section 2): the
 * same value again is one, and another value is a second resource, for which no token is made here.
 * @throws OAuthError `invalid_request`, `invalid_target`.
 */
export function parseParameters(sent: URLSearchParams): Parameters {
  const found = new Map<string, string>();
  for (const [name, value] of sent) {
    const known = found.get(name);
    if (known !== undefined && name === 'resource' && known !== value)
      throw new OAuthError('invalid_target', 'A token is for one resource: name it once.');
    if (known !== undefined && name !== 'resource')
      throw new OAuthError('invalid_request', `The parameter ${name.slice(0, 40)} came twice.`);
    found.set(name, value);
  }
  for (const [name, value] of found) if (value === '') found.delete(name);
  return found;
}

/** Reads the parameters of a form. @throws OAuthError `invalid_request`, `invalid_target`. */
export async function readParameters(request: Request): Promise<Parameters> {
  return parseParameters(await readFormBody(request));
}

/** Reads a form (RFC 6749, section 4.1.3). @throws OAuthError `invalid_request` for anything else. */
export async function readFormBody(request: Request): Promise<URLSearchParams> {
  if (!FORM.test(request.headers.get('content-type')?.trim() ?? ''))
    throw new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.');
  try {
    const bytes = await readBodyBytes(request, FORM_BYTES_MAX);
    return new URLSearchParams(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch (cause) {
    const description = `The form is not UTF-8, or larger than ${FORM_BYTES_MAX} bytes.`;
    throw new OAuthError('invalid_request', description, { cause });
  }
}

/** Returns a parameter. @throws OAuthError `invalid_request` without it. */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`);
  return value;
}

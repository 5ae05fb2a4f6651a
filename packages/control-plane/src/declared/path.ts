/** Path templates of declarations (`/tenants/:tenant/scopes`): taken apart, ordered, filled in. */

/** The names of the parameters, in order. */
export function pathParams(path: string): string[] {
  return segments(path).flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
}

/** The template with its parameters' names taken out: two templates of one shape match the same requests. */
export function pathShape(path: string): string {
  return segments(path)
    .map((segment) => (segment.startsWith(':') ? '/:' : `/${segment}`))
    .join('');
}

/** The template as OpenAPI writes it: `/tenants/{tenant}`. */
export function openApiPath(path: string): string {
  return path.replaceAll(/:([A-Za-z0-9]+)/g, '{$1}');
}

/** Orders templates so that a literal segment is tried before a parameter, as OpenAPI 3.1 (Paths Object) matches. */
export function bySpecificity(left: string, right: string): number {
  const a = sortKey(left);
  const b = sortKey(right);
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The template with its parameters filled in and escaped.
 * @throws TypeError on a missing value, and on one that a URL would read as a step up or as nothing.
 */
export function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return segments(path)
    .map((segment) => `/${segment.startsWith(':') ? pathValue(segment.slice(1), params) : segment}`)
    .join('');
}

function pathValue(name: string, params: Readonly<Record<string, unknown>>): string {
  const value = params[name];
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new TypeError(`the parameter ${name} is missing`);
  const text = String(value);
  // WHATWG URL removes dot segments, escaped ones too: `/tenants/..` would be another operation's address.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`the parameter ${name} cannot stand in a path`);
  return encodeURIComponent(text);
}

function segments(path: string): string[] {
  return path.split('/').slice(1);
}

function sortKey(path: string): string {
  return segments(path)
    .map((segment) => (segment.startsWith(':') ? '1' : `0${segment}`))
    .join('/');
}

/**
 * Paths of declared operations (`/tenants/:tenant/scopes`): taken apart, filled in, and brought into the order in which
 * they are tried. A client imports this without anything else.
 */

/** A part of a path: literal text, or the name of the field that takes its place. */
export type Segment = { readonly text: string } | { readonly field: string };

/** A literal segment is of unreserved characters (RFC 3986), so that it has one spelling in a URL. */
const LITERAL = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:([A-Za-z][A-Za-z0-9_]*)$/;

/** Takes a path apart. @throws Error on wildcards, patterns, optional parameters, empty and dot segments. */
export function parsePath(path: string): Segment[] {
  if (!path.startsWith('/')) throw new Error(`its path must begin with a slash: ${path}`);
  return path
    .slice(1)
    .split('/')
    .map((part) => {
      const field = PARAMETER.exec(part)?.[1];
      if (field !== undefined) return { field };
      if (!LITERAL.test(part) || part === '.' || part === '..') {
        throw new Error(`its path must be made of plain words and :parameters: ${path}`);
      }
      return { text: part };
    });
}

/** The names of the parameters, in order. */
export function pathParams(path: string): string[] {
  return parsePath(path).flatMap((each) => ('field' in each ? [each.field] : []));
}

/** The path as OpenAPI writes it: `/tenants/{tenant}`. */
export function openApiPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

/** The path as a router takes it. Parameters are named by position: two paths of one shape are then one text. */
export function routerPath(path: string): string {
  return parsePath(path)
    .map((each, index) => ('text' in each ? `/${each.text}` : `/:p${index}`))
    .join('');
}

/** Whether a path of a request fits. Compared from its end: an app may be mounted under a prefix of another. */
function fitsPath(path: string, requested: string): boolean {
  const segments = parsePath(path);
  const given = requested.split('/').slice(-segments.length);
  return segments.every((each, index) => 'field' in each || each.text === given[index]);
}

/** Every method that a requested path has, over all the routes that fit it: `/orders/export` is also `/orders/:id`. */
export function methodsAt<R extends Addressed>(requested: string, routes: readonly R[]): R['method'][] {
  return routes.filter(({ path }) => fitsPath(path, requested)).map(({ method }) => method);
}

/** Orders paths so that a literal segment is tried before a parameter, as OpenAPI 3.1 (Paths Object) matches. */
export function bySpecificity(left: string, right: string): number {
  const [a, b] = [left, right].map((path) =>
    parsePath(path)
      .map((each) => ('text' in each ? `0${each.text}` : '1'))
      .join('/'),
  ) as [string, string];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Something that is reached by a method at a path. */
export interface Addressed {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** The routes of one address, by their methods. */
export type Address<R extends Addressed> = ReadonlyMap<R['method'], R>;

/**
 * Groups routes by address, in the order in which the addresses must be tried: `/orders/export` is never taken for
 * `/orders/:id`, whatever the order of declaration.
 * @throws TypeError naming both where two would dispatch identically: the same method on paths that differ in nothing but
 * the names of their parameters (spec 4.5.1).
 */
export function addressesOf<R extends Addressed>(routes: readonly R[]): Address<R>[] {
  const addresses = new Map<string, Map<R['method'], R>>();
  for (const route of routes) {
    const shape = routerPath(route.path);
    const address = addresses.get(shape) ?? new Map<R['method'], R>();
    const rival = address.get(route.method);
    if (rival)
      throw new TypeError(
        `${rival.name} and ${route.name} would dispatch identically: both are ${route.method} ${shape}`,
      );
    addresses.set(shape, address.set(route.method, route));
  }
  return [...addresses].sort(([left], [right]) => bySpecificity(left, right)).map(([, address]) => address);
}

/**
 * Puts the fields that a path names into it; `rest` are the others.
 * @throws TypeError for a field that no address can carry: missing, empty, `.` and `..`, which a URL reads as steps of the
 * path, escaped or not (WHATWG URL, "double-dot").
 */
export function fillPath(
  path: string,
  fields: Readonly<Record<string, unknown>>,
): { readonly address: string; readonly rest: Readonly<Record<string, unknown>> } {
  const rest = { ...fields };
  const address = path.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = rest[name];
    delete rest[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    if (text === '' || text === '.' || text === '..')
      throw new TypeError(`The field ${name} cannot be part of an address: "${text}".`);
    return encodeURIComponent(text);
  });
  return { address, rest };
}

/** Fields as a query with its question mark, or nothing. A list is a repeated key; what is undefined is left out. */
export function queryOf(fields: Readonly<Record<string, unknown>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of [value].flat()) if (each !== undefined) query.append(name, String(each));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

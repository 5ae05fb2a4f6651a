/** The table of an operation mount: where each declared operation is reached, judged once, when it is mounted. */
import {
  type HttpMethod,
  httpBinding,
  isReadOnly,
  type OperationDeclaration,
  type OperationTable,
} from '@freehold/contracts';
import { assertTextual, type InputShape, inputShape } from '@freehold/contracts/http';

/** A part of a path: literal text, or the name of the input field that takes its place. */
export type Segment = { readonly text: string } | { readonly field: string };

export interface OperationRoute {
  readonly name: string;
  readonly operation: OperationDeclaration;
  readonly method: HttpMethod;
  /** As it was declared: `/orders/:id`. */
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly input: InputShape;
}

/**
 * Reads a table of declarations. The most literal path comes first, so that `/orders/export` is never taken for
 * `/orders/:id`, whatever the order of declaration.
 * @throws Error, naming the operation, for a declaration that cannot be served as it is written.
 */
export function operationRoutes(operations: OperationTable): OperationRoute[] {
  return Object.entries(operations)
    .map(([name, operation]) => {
      try {
        return operationRoute(name, operation);
      } catch (cause) {
        throw new Error(`The operation ${name} cannot be mounted: ${messageOf(cause)}`, { cause });
      }
    })
    .sort(mostLiteralFirst);
}

/** One addressed thing of a mount, for {@link assertDistinct}. */
export interface Addressed {
  readonly name: string;
  readonly method: string;
  readonly segments: readonly Segment[];
}

/**
 * Holds that no two of these dispatch identically: the same method on paths that differ in nothing but the names
 * of their parameters (spec 4.5.1). @throws Error naming both.
 */
export function assertDistinct(routes: readonly Addressed[]): void {
  const taken = new Map<string, string>();
  for (const { name, method, segments } of routes) {
    const address = `${method} ${routerPath(segments)}`;
    const other = taken.get(address);
    if (other !== undefined) {
      throw new Error(`${other} and ${name} would dispatch identically: both are ${address}`);
    }
    taken.set(address, name);
  }
}

/**
 * Every method that a path has, over all the routes that fit it: `/orders/export` is also `/orders/:id`. Paths are
 * compared from their end, so that an app that is mounted under a prefix of another reads them alike.
 */
export function methodsAt<R extends Addressed>(path: string, routes: readonly R[]): R['method'][] {
  const parts = path.split('/');
  return routes.filter(({ segments }) => fits(segments, parts)).map(({ method }) => method);
}

function fits(segments: readonly Segment[], parts: readonly string[]): boolean {
  const given = parts.slice(-segments.length);
  return segments.every((each, index) => 'field' in each || each.text === given[index]);
}

/** Orders routes: the first place where one has a word and the other a parameter decides, then the shorter one. */
export function mostLiteralFirst(left: Addressed, right: Addressed): number {
  const ranks = ({ segments }: Addressed) => segments.map((each) => ('text' in each ? 0 : 1));
  const [a, b] = [ranks(left), ranks(right)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  }
  return a.length - b.length;
}

/** The path as the router takes it. Parameters are named by position: two routes of one shape are then one text. */
export function routerPath(segments: readonly Segment[]): string {
  return segments.map((each, index) => ('text' in each ? `/${each.text}` : `/:p${index}`)).join('');
}

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

function operationRoute(name: string, operation: OperationDeclaration): OperationRoute {
  const { method, path } = httpBinding(name, operation);
  const segments = parsePath(path);
  const [first] = segments;
  if (first && 'text' in first && first.text === 'internal') {
    throw new Error('its path is under /internal, which belongs to the platform');
  }
  // The session of a GET is not protected against other sites, because a GET is taken to change nothing.
  if (method === 'GET' && !isReadOnly(operation))
    throw new Error('it is reached by GET but is not read-only');
  const input = inputShape(operation.input);
  assertFieldsFit(method, segments, input);
  return { name, operation, method, path, segments, input };
}

/** Holds that every field that travels in the address exists, and can be said there. */
function assertFieldsFit(method: HttpMethod, segments: readonly Segment[], input: InputShape): void {
  const parameters = segments.flatMap((each) => ('field' in each ? [each.field] : []));
  if (new Set(parameters).size < parameters.length) throw new Error('its path names a parameter twice');
  for (const parameter of parameters) {
    if (!input.fields.has(parameter))
      throw new Error(`its input has no field ${parameter}, which its path names`);
  }
  assertTextual(method === 'GET' ? input.fields.keys() : parameters, input);
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The table of an operation mount: the address of each declared operation, checked once. */
import type { HttpMethod } from '@freehold/contracts';
import { assertTextual, type InputShape, inputShape } from '@freehold/contracts/http';
import {
  httpBinding,
  isReadOnly,
  type OperationDeclaration,
  type OperationTable,
  pathParams,
} from '@freehold/operations';
import { type DeclarationFault, faultsIn, type ReportFault } from '@freehold/operations/faults';
import { checkPrompt } from './prompt-sentence.ts';

export interface OperationRoute {
  readonly name: string;
  readonly operation: OperationDeclaration;
  readonly method: HttpMethod;
  /** As it was declared: `/orders/:id`. */
  readonly path: string;
  /** The input fields that its path names. */
  readonly inPath: readonly string[];
  readonly input: InputShape;
  /** The paths of records, by type: `/orders/:id` is that of `order/get`. */
  readonly recordPaths: ReadonlyMap<string, string>;
}

/** The codes of mistakes in a route. A code keeps its meaning; new ones are added. */
export const ROUTE_FAULT_CODES = [
  'operation_input',
  'operation_path',
  'address_field',
  'reserved_path',
  'get_writes',
  'operation_tool',
  'operation_prompt',
  'created_by_reading',
] as const;
export type RouteFaultCode = (typeof ROUTE_FAULT_CODES)[number];
type Report = ReportFault<RouteFaultCode>;

/**
 * Reads a table of declarations.
 * @throws Error, naming the operation, for a declaration that cannot be mounted.
 */
export function operationRoutes(operations: OperationTable): OperationRoute[] {
  const recordPaths = recordPathsOf(operations);
  return Object.entries(operations).map(([name, operation]) => {
    let route: Omit<OperationRoute, 'recordPaths'> | null = null;
    const [fault] = faultsIn<RouteFaultCode>((report) => {
      route = operationRoute(name, operation, report);
    });
    if (route === null || fault !== undefined)
      throw new Error(
        `The operation ${name} cannot be mounted: its ${fault?.path.join('.')} ${fault?.message}`,
      );
    return { ...(route as Omit<OperationRoute, 'recordPaths'>), recordPaths };
  });
}

/** The route of an operation; null, after a report, where its path or its input cannot be read. */
export function operationRoute(
  name: string,
  operation: OperationDeclaration,
  report: Report,
): Omit<OperationRoute, 'recordPaths'> | null {
  const { method, path } = httpBinding(name, operation);
  const atPath = { path: ['http', 'path'], code: 'operation_path' } as const;
  const inPath = attempt(report, atPath, () => pathParams(path));
  const atInput = { path: ['input'], code: 'operation_input' } as const;
  const input = attempt(report, atInput, () => inputShape(operation.input));
  if (path === '/internal' || path.startsWith('/internal/')) {
    const message = 'is under /internal, which belongs to the platform';
    report({ path: atPath.path, code: 'reserved_path', message });
  }
  // GETs are not protected against other sites, because a GET is assumed to change nothing.
  if (method === 'GET' && !isReadOnly(operation))
    report({
      path: ['readOnly'],
      code: 'get_writes',
      message: 'is not read-only; what a GET reaches must change nothing',
    });
  if (operation.created && isReadOnly(operation))
    report({ path: ['created'], code: 'created_by_reading', message: 'makes a record but is read-only' });
  if (inPath === null || input === null) return null;
  checkFields(method, inPath, input, report);
  checkPrompt(operation, input, report);
  return { name, operation, method, path, inPath, input };
}

/** The types whose `get` has an address with one parameter: the id. */
function recordPathsOf(operations: OperationTable): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(operations).flatMap(([name, { http }]): [string, string][] => {
      const type = /^(.+)\/get$/.exec(name)?.[1];
      if (type === undefined || http?.method !== 'GET') return [];
      return http.path.split('/:').length === 2 ? [[type, http.path]] : [];
    }),
  );
}

/** Checks that every field of the address exists, and can be written as text. */
function checkFields(
  method: HttpMethod,
  parameters: readonly string[],
  input: InputShape,
  report: Report,
): void {
  const path = ['http', 'path'];
  if (new Set(parameters).size < parameters.length)
    report({ path, code: 'operation_path', message: 'names a parameter twice' });
  for (const name of parameters) {
    if (input.fields.has(name)) continue;
    const unknown = { name, known: [...input.fields.keys()] };
    const message = `names the parameter ${name}, and the input has no field ${name}`;
    report({ path, code: 'address_field', message, unknown });
  }
  const known = parameters.filter((name) => input.fields.has(name));
  attempt(report, { path: ['input'], code: 'address_field' }, () =>
    assertTextual(method === 'GET' ? input.fields.keys() : known, input),
  );
}

/** Returns what a check returns; null, after a report in its words, where it throws. */
export function attempt<T>(
  report: Report,
  at: Pick<DeclarationFault<RouteFaultCode>, 'path' | 'code'>,
  check: () => T,
): T | null {
  try {
    return check();
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    report({ ...at, message: words.replace(/^its (?:path|input) /, '') });
    return null;
  }
}

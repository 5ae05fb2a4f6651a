/** The table of an operation mount: the address of each declared operation, checked once, at the mount. */
import type { HttpMethod } from '@freehold/contracts';
import { assertTextual, type InputShape, inputShape } from '@freehold/contracts/http';
import {
  httpBinding,
  isReadOnly,
  type OperationDeclaration,
  type OperationTable,
  pathParams,
} from '@freehold/operations';

export interface OperationRoute {
  readonly name: string;
  readonly operation: OperationDeclaration;
  readonly method: HttpMethod;
  /** As it was declared: `/orders/:id`. */
  readonly path: string;
  /** The input fields that its path names. */
  readonly inPath: readonly string[];
  readonly input: InputShape;
  /** The path of the record that it makes, by the record's type: `/orders/:id`. Null where it makes none that has one. */
  readonly recordPath: (type: string) => string | null;
}

/**
 * Reads a table of declarations.
 * @throws Error, naming the operation, for a declaration that cannot be mounted.
 */
export function operationRoutes(operations: OperationTable): OperationRoute[] {
  const recordPath = (type: string): string | null => {
    const { http } = operations[`${type}/get`] ?? {};
    return http?.method === 'GET' && pathParams(http.path).length === 1 ? http.path : null;
  };
  return Object.entries(operations).map(([name, operation]) => {
    try {
      return { ...operationRoute(name, operation), recordPath };
    } catch (cause) {
      throw new Error(`The operation ${name} cannot be mounted: ${messageOf(cause)}`, { cause });
    }
  });
}

function operationRoute(name: string, operation: OperationDeclaration): Omit<OperationRoute, 'recordPath'> {
  const { method, path } = httpBinding(name, operation);
  const inPath = pathParams(path);
  if (path === '/internal' || path.startsWith('/internal/')) {
    throw new Error('its path is under /internal, which belongs to the platform');
  }
  // GETs are not protected against other sites, because a GET is assumed to change nothing.
  if (method === 'GET' && !isReadOnly(operation))
    throw new Error('it is reached by GET but is not read-only');
  if (operation.created && isReadOnly(operation)) throw new Error('it makes a record but is read-only');
  const input = inputShape(operation.input);
  assertFieldsFit(method, inPath, input);
  return { name, operation, method, path, inPath, input };
}

/** Asserts that every field of the address exists, and can be written as text. */
function assertFieldsFit(method: HttpMethod, parameters: readonly string[], input: InputShape): void {
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

/** The checks of operations that concern their addresses, and what is served beside them. */
import type { EntityRef } from '@freehold/contracts';
import { httpBinding, type OperationTable, pathParams, routerPath } from '@freehold/operations';
import type { FaultPath, ReportFault } from '@freehold/operations/faults';
import { findRouteFaults } from '@freehold/vertical-host';
import type { AppDeclaration } from './app.ts';
import type { DeclarationCode, Fault } from './mistakes.ts';
import { recordsOf } from './records.ts';
import { covers, suppliedPaths } from './supplied-paths.ts';

type Report = ReportFault<DeclarationCode>;

/** Checks each operation by itself, then all of them together. */
export function checkOperations(declaration: AppDeclaration, report: Report): void {
  const addressed = Object.entries(declaration.operations).filter(([name, operation]) => {
    const faults: readonly Fault[] = findRouteFaults(name, operation);
    for (const fault of faults) report({ ...fault, path: ['operations', name, ...fault.path] });
    checkEntity(declaration, name, report);
    return !faults.some(({ code }) => code === 'operation_path');
  });
  const operations = Object.fromEntries(addressed);
  checkAddresses([...addressed.map(routeOf), ...describedRoutes(declaration, report)], report);
  const supplied = suppliedPaths(declaration, recordsOf({ ...declaration, operations }));
  for (const { name, path } of addressed.map(routeOf)) checkPath(name, path, supplied, report);
}

/** A route, and its place in the declaration. */
interface Placed {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly at: FaultPath;
}

function routeOf([name, operation]: readonly [string, OperationTable[string]]): Placed {
  return { name, ...httpBinding(name, operation), at: ['operations', name, 'http'] };
}

/** The described routes whose path can be read. */
function describedRoutes({ openapi }: AppDeclaration, report: Report): Placed[] {
  return (openapi?.describedRoutes ?? []).flatMap(({ name, method, path }, index) => {
    const at = ['openapi', 'describedRoutes', index];
    try {
      pathParams(path);
      return [{ name, method, path, at }];
    } catch (error) {
      const message = (error as Error).message.replace(/^its path /, '');
      report({ path: [...at, 'path'], code: 'operation_path', message });
      return [];
    }
  });
}

/** Two routes of one method and one path would dispatch alike (spec 4.5.1). */
function checkAddresses(routes: readonly Placed[], report: Report): void {
  const taken = new Map<string, string>();
  for (const { name, method, path, at } of routes) {
    const address = `${method} ${routerPath(path)}`;
    const other = taken.get(address);
    taken.set(address, other ?? name);
    if (other === undefined) continue;
    const message = `would dispatch like ${other}: both are ${method} ${path}`;
    report({ path: at, code: 'same_address', message });
  }
}

function checkPath(name: string, path: string, supplied: readonly string[], report: Report): void {
  const at = ['operations', name, 'http', 'path'];
  if (path.startsWith('/internal')) return;
  // The gate of sign-in is before `/api`, and all other addresses are pages.
  if (!path.startsWith('/api/')) {
    const message = `must be below /api, because other addresses are pages: ${path}`;
    report({ path: at, code: 'reserved_path', message });
    return;
  }
  const route = supplied.find((each) => covers(each, path));
  if (route === undefined) return;
  const message = `is an address that every instance serves already: ${route}`;
  report({ path: at, code: 'supplied_route', message });
}

/** Stands for any text in an input: no type of records has it in its name. */
const ANY_TEXT = '\u0000';

/** Calls `entity` and `created` with a text in each field. Values of other types can make them fail, which says nothing. */
function checkEntity({ manifest, operations }: AppDeclaration, name: string, report: Report): void {
  const entities = manifest.entities ?? {};
  for (const field of ['entity', 'created'] as const) {
    const type = typeNamedBy(operations[name]?.[field]);
    if (type === null || type.includes(ANY_TEXT) || Object.hasOwn(entities, type)) continue;
    const unknown = { name: type, known: Object.keys(entities) };
    const message = `names a type of records that the manifest does not declare: ${type}`;
    report({ path: ['operations', name, field], code: 'unknown_entity', message, unknown });
  }
}

function typeNamedBy(refer: ((fields: unknown) => EntityRef) | undefined): string | null {
  try {
    const { type } = refer?.(new Proxy({}, { get: () => ANY_TEXT })) ?? {};
    return typeof type === 'string' ? type : null;
  } catch {
    return null;
  }
}

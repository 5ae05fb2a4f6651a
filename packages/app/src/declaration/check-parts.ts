/** The checks of what a declaration has beside its manifest and its operations. */
import type { VerticalManifest } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import type { FaultPath, ReportFault } from '@freehold/operations/faults';
import { checkScript, StatementRefused } from '@freehold/store';
import { publicRoutes } from '@freehold/vertical-host';
import { z } from 'zod';
import { recordTypesOf } from '../records/records.ts';
import type { AppDeclaration, PublicSurface } from './app.ts';
import type { AppEnv } from './env.ts';
import type { DeclarationCode } from './mistakes.ts';
import { ownPagesOf } from './own-pages.ts';
import { recordsOf } from './records.ts';
import { MODEL_PERMISSION, MODEL_SERVICE } from './supplied.ts';
import { PUBLIC_PATH } from './supplied-paths.ts';

type Report = ReportFault<DeclarationCode>;

/** The names of a declaration, with what is supplied. */
interface Names {
  readonly manifest: VerticalManifest;
  readonly operations: OperationTable;
  readonly report: Report;
}

/** The tables of the platform in a scope's database begin with this. */
const PROTECTED = { protectedPrefix: '_spine_', readOnly: false };

export function checkMigrations({ migrations }: AppDeclaration, report: Report): void {
  let last = 0;
  for (const [index, { version, sql, fill }] of migrations.entries()) {
    const path = ['migrations', index];
    const at = [...path, 'version'];
    if (!Number.isSafeInteger(version) || version < 1)
      report({
        path: at,
        code: 'migration_version',
        message: `must be a whole number from 1, and is ${version}`,
      });
    else if (version <= last) {
      const message = `must be greater than ${last}, the version before it, and is ${version}`;
      report({ path: at, code: 'migration_version', message });
    } else last = version;
    checkSql([...path, 'sql'], sql, fill !== undefined, report);
  }
}

function checkSql(path: FaultPath, sql: string, mayBeEmpty: boolean, report: Report): void {
  const isEmpty =
    sql
      .replaceAll(/--.*$/gm, '')
      .replaceAll(/\/\*[\s\S]*?\*\//g, '')
      .trim() === '';
  if (isEmpty && !mayBeEmpty) report({ path, code: 'migration_sql', message: 'has no statement' });
  try {
    checkScript(sql, PROTECTED);
  } catch (error) {
    if (!(error instanceof StatementRefused)) throw error;
    report({ path, code: 'migration_sql', message: `cannot be applied: ${error.message}` });
  }
}

/** An application that asks models keeps their accounts in two tables. */
export function checkModels(
  { migrations, operations }: AppDeclaration,
  supplied: OperationTable,
  names: Names,
): void {
  const { manifest, report } = names;
  for (const name of Object.keys(supplied)) {
    if (!Object.hasOwn(operations, name)) continue;
    const message = 'is the name of a supplied operation; choose another one';
    report({ path: ['operations', name], code: 'supplied_operation', message });
  }
  const isMade = (table: string) =>
    migrations.some(({ sql }) =>
      new RegExp(`CREATE\\s+TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?["'\`[]?${table}\\b`, 'i').test(sql),
    );
  if (!['model_months', 'model_calls'].every(isMade)) {
    const message = 'models is true, and no migration makes its tables; put MODEL_TABLES into one';
    report({ path: ['migrations'], code: 'model_tables', message });
  }
  if (manifest.services?.[MODEL_SERVICE]?.permissions.includes(MODEL_PERMISSION) === false) {
    const message = `must hold ${MODEL_PERMISSION}, because models are asked through it`;
    report({
      path: ['manifest', 'services', MODEL_SERVICE, 'permissions'],
      code: 'service_permission',
      message,
    });
  }
}

/** Checks that each page of one's own takes the place of one that there is. */
export function checkOwnPages({ web, operations }: AppDeclaration, report: Report): void {
  if (typeof web !== 'object') return;
  const types = recordTypesOf(operations).map(({ type }) => type);
  const known = [
    '/',
    ...types.flatMap((type) => ['', '/new', '/:id', '/:id/edit'].map((step) => type + step)),
  ];
  const taking = new Set(ownPagesOf(web).map(({ key }) => key));
  for (const key of Object.keys(web)) {
    if (taking.has(key) && known.includes(key)) continue;
    const message =
      'is no page of records: a key is a page such as item, item/new, item/:id or item/:id/edit';
    report({ path: ['web', key], code: 'unknown_page', message, unknown: { name: key, known } });
  }
}

/** The types of records that need an address of their own: those with attachments, and persons who can be erased. */
export function checkRecords(declaration: AppDeclaration, names: Names): void {
  const { manifest, report } = names;
  const addressed = new Set(recordsOf({ ...declaration, ...names }).map(({ type }) => type));
  const requireAddress = (path: FaultPath, type: string): void => {
    if (addressed.has(type)) return;
    const message = `needs an operation ${type}/get at a GET with one parameter, because its routes are below that address`;
    report({ path, code: 'record_address', message });
  };
  const attaching = Object.entries(manifest.entities).filter(([, each]) => each.attachments !== undefined);
  for (const [type] of attaching) requireAddress(['manifest', 'entities', type, 'attachments'], type);
  for (const [type, { resource }] of Object.entries(manifest.entities)) {
    if (resource === undefined) continue;
    requireAddress(['manifest', 'entities', type, 'resource'], type);
    checkResource(type, resource.titleField, names);
  }
  if (declaration.attachments !== undefined && attaching.length === 0) {
    const message = 'has rules, and no entity of the manifest has attachments';
    report({ path: ['attachments'], code: 'attachments_unused', message });
  }
  for (const [type, { permission, afterwards }] of Object.entries(declaration.erasure?.persons ?? {})) {
    const path = ['erasure', 'persons', type];
    if (Object.hasOwn(manifest.entities, type)) requireAddress(path, type);
    else {
      const unknown = { name: type, known: Object.keys(manifest.entities) };
      const message = 'is a type of records that the manifest does not declare';
      report({ path, code: 'unknown_entity', message, unknown });
    }
    checkPermission(names, [...path, 'permission'], permission);
    if (afterwards !== undefined && checkOperation(names, [...path, 'afterwards'], afterwards))
      checkInput(names, [...path, 'afterwards'], afterwards, {});
  }
}

/** The operations of a resource must be for programs, and answer the field that names it. */
function checkResource(type: string, titleField: string, { operations, report }: Names): void {
  const at = ['manifest', 'entities', type, 'resource'];
  const get = operations[`${type}/get`];
  if (get?.mcp === false) {
    const message = `is read by ${type}/get, which mcp: false keeps from programs`;
    report({ path: at, code: 'resource_withheld', message });
  }
  const list = operations[`${type}/list`]?.output;
  const answers = [get?.output, list instanceof z.ZodObject ? itemOf(list) : undefined];
  for (const [index, output] of answers.entries()) {
    if (!(output instanceof z.ZodObject)) continue;
    const known = Object.keys(output.shape);
    const operation = `${type}/${index === 0 ? 'get' : 'list'}`;
    for (const name of index === 0 ? [titleField] : ['id', titleField]) {
      if (known.includes(name)) continue;
      const path = name === titleField ? [...at, 'titleField'] : at;
      const message = `${operation} answers no field ${name}`;
      report({ path, code: 'resource_field', message, unknown: { name, known } });
    }
  }
}

/** The items of a page. */
function itemOf({ shape }: z.ZodObject): unknown {
  const { items } = shape;
  return items instanceof z.ZodArray ? items.element : undefined;
}

/** The input of a schedule is known now: it need not fail in the night. */
export function checkScheduleInputs({ schedules = {} }: AppDeclaration, names: Names): void {
  for (const [name, { operation, input = {} }] of Object.entries(schedules))
    if (Object.hasOwn(names.operations, operation))
      checkInput(names, ['schedules', name, 'input'], operation, input);
}

export function checkSurface(surface: PublicSurface, hasWeb: boolean, names: Names): void {
  const { manifest, report } = names;
  const { service: key, sites, script } = surface;
  const { services = {} } = manifest;
  if (!Object.hasOwn(services, key)) {
    const unknown = { name: key, known: Object.keys(services) };
    const message = `names a service that the manifest does not declare: ${key}`;
    report({ path: ['publicSurface', 'service'], code: 'unknown_service', message, unknown });
  }
  const at = ['publicSurface', 'sites'];
  if ('setting' in sites && !Object.hasOwn(manifest.env, sites.setting)) {
    const unknown = { name: sites.setting, known: Object.keys(manifest.env) };
    const message = `names a setting that the manifest does not declare: ${sites.setting}`;
    report({ path: [...at, 'setting'], code: 'unknown_setting', message, unknown });
  }
  if ('operation' in sites && checkOperation(names, [...at, 'operation'], sites.operation)) {
    checkInput(names, [...at, 'operation'], sites.operation, {});
    const permission = names.operations[sites.operation]?.permission ?? '';
    // An undeclared permission is the mistake of the operation.
    const isDeclared = Object.hasOwn(manifest.permissions, permission);
    if (isDeclared && services[key]?.permissions.includes(permission) === false) {
      const message = `the service ${key} may not run ${sites.operation}, which takes ${permission}`;
      report({ path: [...at, 'operation'], code: 'service_permission', message });
    }
  }
  checkPublicRoutes(surface, report);
  if (script === undefined) return;
  if (/^\/(?:api|internal|public|problems)(?:\/|$)/.test(script.path)) {
    const message = `must not be below /api, /internal, /problems or /public: ${script.path}`;
    report({ path: ['publicSurface', 'script', 'path'], code: 'reserved_path', message });
  }
  if (script.source === undefined && !hasWeb) {
    const message = 'has no source, and the application has no built pages (web) to take it from';
    report({ path: ['publicSurface', 'script'], code: 'script_source', message });
  }
}

/** Registers the handlers as a mount does; none is called. */
function checkPublicRoutes(surface: PublicSurface, report: Report): void {
  const tooEarly = () => {
    throw new Error('the tools are for requests, and work in handlers alone');
  };
  try {
    publicRoutes<AppEnv>({
      basePath: PUBLIC_PATH,
      routes: (route) => surface.routes(route, { limit: tooEarly, businessName: tooEarly }),
    });
  } catch (error) {
    const message = `cannot be mounted: ${error instanceof Error ? error.message : String(error)}`;
    report({ path: ['publicSurface', 'routes'], code: 'public_route', message });
  }
}

function checkPermission({ manifest, report }: Names, path: FaultPath, permission: string): void {
  if (Object.hasOwn(manifest.permissions, permission)) return;
  const unknown = { name: permission, known: Object.keys(manifest.permissions) };
  const message = `names an undeclared permission: ${permission}`;
  report({ path, code: 'unknown_permission', message, unknown });
}

/** Returns whether there is such an operation. */
function checkOperation({ operations, report }: Names, path: FaultPath, operation: string): boolean {
  if (Object.hasOwn(operations, operation)) return true;
  const unknown = { name: operation, known: Object.keys(operations) };
  report({ path, code: 'unknown_operation', message: `names no operation: ${operation}`, unknown });
  return false;
}

function checkInput({ operations, report }: Names, path: FaultPath, operation: string, input: unknown): void {
  const [first] = faultOf(operations[operation]?.input, input);
  if (first === undefined) return;
  const place = first.path.length === 0 ? '' : `, at ${first.path.join('.')}`;
  const message = `${operation} does not take the input ${JSON.stringify(input)}${place}`;
  report({ path, code: 'input_refused', message });
}

/** A schema that checks asynchronously says nothing here. */
function faultOf(schema: OperationTable[string]['input'], input: unknown) {
  try {
    return schema.safeParse(input).error?.issues ?? [];
  } catch {
    return [];
  }
}

/**
 * The table of declarations for the transport: the rules that a table must keep, and the facts that follow from a
 * declaration.
 */
import { type HttpMethod, PROBLEMS, type ProblemCode, problemSchema } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { type Address, addressesOf, pathParams } from '@freehold/operations';
import { z } from 'zod';

/** Declarations by name: `tenants.create`. */
export type AdminOperationTable = Readonly<Record<string, AdminOperation>>;

/** `family.verb`, each in kebab case. */
const OPERATION_NAME = /^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*$/;

/** Methods that may change something (RFC 9110, section 9.2.1), and that take a body. */
export function isUnsafe(method: HttpMethod): boolean {
  return method !== 'GET';
}

/**
 * Whether an operation takes an idempotency key. A read that is a POST because of the size of its question takes none.
 */
export function takesIdempotencyKey({ method, audit }: AdminOperation): boolean {
  return isUnsafe(method) && audit === 'audit';
}

/** Whether an operation checks `If-Match`. */
export function takesIfMatch({ method, etag }: AdminOperation): boolean {
  return isUnsafe(method) && etag === true;
}

/** Whether an answer of this status is always a plan, which is made anew each time and not stored. */
export function isPlanStatus({ plan, success }: AdminOperation, status: number): boolean {
  return plan !== undefined && status === 200 && success !== 200;
}

/** Whether an answer of this status carries the ETag: one that shows the thing, not a plan or the record of work. */
export function carriesEtag(operation: AdminOperation, status: number): boolean {
  return operation.etag === true && [200, 201, 304].includes(status) && !isPlanStatus(operation, status);
}

/** Whether a read answers 304 to its ETag (RFC 9110, section 13.1.2). */
export function isValidated({ method, etag, volatile }: AdminOperation): boolean {
  return method === 'GET' && etag === true && volatile === undefined;
}

/** The form of one answer. A plan is told by its field `dryRun`. */
export function answerForm(
  { plan, output }: Pick<AdminOperation, 'plan' | 'output'>,
  status: number,
  value: unknown,
): z.ZodType {
  const isPlan = status === 200 && (value as { readonly dryRun?: unknown } | null)?.dryRun === true;
  return plan !== undefined && isPlan ? plan : output;
}

/** Whether an operation can answer events: long work, and an operation declared so. */
export function answersEvents({ success, events }: AdminOperation): boolean {
  return success === 202 || events !== undefined;
}

/** The status of an answer of events. A call that reports its steps answers before its own status is known. */
export function eventsStatus({ success, events }: AdminOperation): number {
  return typeof events === 'object' ? 200 : success;
}

/** The form of each event of an operation, by its name. */
export function eventForms({ events, output }: AdminOperation): Readonly<Record<string, z.ZodType>> {
  return typeof events === 'object'
    ? { progress: events.progress, done: output, failed: problemSchema }
    : { progress: output, done: output, failed: output, cancelled: output };
}

/**
 * The same operation at its second address, or null without one: without the tenant, which is then that of the scope.
 * The name stays.
 */
export function atShortPath(operation: AdminOperation): AdminOperation | null {
  const { shortPath, input, ...rest } = operation;
  if (shortPath === undefined) return null;
  const params = input.params?.omit({ tenant: true });
  return { ...rest, path: shortPath, input: { ...input, ...(params ? { params } : {}) } };
}

/**
 * The routes of a table by address, in the order in which addresses must be tried.
 * @throws TypeError naming the declarations at fault: a name that is not its key or not `family.verb`, two that
 * would dispatch identically, path parameters that differ from the schema's, a body on a GET, bytes from anything else or
 * described by fields that its output does not have.
 */
export function routesOf(table: AdminOperationTable): Address<AdminOperation>[] {
  const all = Object.entries(table).flatMap(([key, operation]) => {
    assertDeclared(key, operation);
    const short = atShortPath(operation);
    return short ? [operation, short] : [operation];
  });
  const addresses = addressesOf(all);
  for (const address of addresses) {
    const [first, ...others] = address.values();
    const other = others.find(({ path }) => path !== first?.path);
    if (other)
      throw new TypeError(`${other.name} and ${first?.name} name the parameters of one path differently`);
  }
  return addresses;
}

function assertDeclared(key: string, operation: AdminOperation): void {
  const { name, path, method, input, output, bytes, upload, form } = operation;
  if (key !== name) throw new TypeError(`${name} is in the table under ${key}`);
  if (!OPERATION_NAME.test(name)) throw new TypeError(`not a name of the form family.verb: ${name}`);
  const inPath = pathParams(path).sort().join(', ');
  const inSchema = Object.keys(input.params?.shape ?? {})
    .sort()
    .join(', ');
  if (inPath !== inSchema)
    throw new TypeError(`${name}: the path has the parameters [${inPath}], the schema has [${inSchema}]`);
  if (method === 'GET' && (input.body || upload)) throw new TypeError(`${name}: a GET has no body`);
  if (form && !Object.hasOwn(input.body?.shape ?? {}, form.files))
    throw new TypeError(`${name}: its body has no field ${form.files}`);
  if (upload && input.body) throw new TypeError(`${name}: a body is bytes or an object, not both`);
  if (operation.plan && !('dryRun' in (input.query?.shape ?? {})))
    throw new TypeError(`${name}: it has a plan and nothing that asks for it`);
  if (!bytes) return;
  // A stream cannot be kept for a replay.
  if (method !== 'GET') throw new TypeError(`${name}: only a GET answers bytes`);
  const said = output instanceof z.ZodObject ? output.shape : {};
  for (const field of [bytes.mediaType.field, ...Object.values(bytes.headers)])
    if (!Object.hasOwn(said, field)) throw new TypeError(`${name}: its output has no field ${field}`);
}

/** Whether an operation answers pages: it takes a cursor and answers `{ items, nextCursor }`. */
export function isPaged(operation: AdminOperation): boolean {
  const { output, input } = operation;
  return (
    output instanceof z.ZodObject &&
    'items' in output.shape &&
    'nextCursor' in output.shape &&
    'cursor' in (input.query?.shape ?? {})
  );
}

/** The three schemas of a call, each refusing fields that it does not name. */
export interface StrictInput {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodObject;
}

/** Parsed fields of an input. */
export type Fields = Readonly<Record<string, unknown>>;

/** The declared schemas. An undeclared part admits no field. */
export function strictInput(operation: AdminOperation): StrictInput {
  return {
    params: strict(operation.input.params),
    query: strict(operation.input.query),
    body: strict(operation.input.body),
  };
}

const NO_FIELDS = z.strictObject({});

function strict(schema: z.ZodObject | undefined): z.ZodObject {
  if (schema === undefined) return NO_FIELDS;
  // A strict schema keeps its identity, and with it its name in the OpenAPI document.
  return schema.def.catchall instanceof z.ZodNever ? schema : schema.strict();
}

/** The statuses without a problem: success, an idempotent create of an existing thing, a plan, an unchanged read. */
export function successStatuses(operation: AdminOperation): number[] {
  return [
    ...(operation.success !== 200 && (operation.success === 201 || operation.plan) ? [200] : []),
    operation.success,
    ...(isValidated(operation) ? [304] : []),
  ];
}

/** The codes of all problems of an operation: the declared ones, and those of the transport. */
export function problemCodes(operation: AdminOperation): ProblemCode[] {
  const unsafe = isUnsafe(operation.method);
  const codes = new Set<ProblemCode>([
    'validation_failed',
    'unauthenticated',
    'rate_limited',
    // A builder at an operation for staff, a vertical without a grant, a staff session from another site.
    'forbidden',
    // A missing thing in the path, or a builder that names another tenant.
    ...(pathParams(operation.path).length > 0 || namesTenant(operation) ? (['not_found'] as const) : []),
    // An idempotency key that was used for another request.
    ...(takesIdempotencyKey(operation) ? (['conflict'] as const) : []),
    ...(unsafe ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(takesIfMatch(operation) ? (['precondition_failed'] as const) : []),
    'internal',
    // The directory is closing, or a commit could not be stored.
    'unavailable',
    ...(operation.problems ?? []),
  ]);
  return [...codes].sort((left, right) => PROBLEMS[left].status - PROBLEMS[right].status);
}

/** Whether a builder could name a tenant that is not its own. */
function namesTenant({ builder, input }: AdminOperation): boolean {
  const schemas = [input.params, input.query, input.body];
  return builder === 'own-tenant' && schemas.some((schema) => schema && 'tenant' in schema.shape);
}

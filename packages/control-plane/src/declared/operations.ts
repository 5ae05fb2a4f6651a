/** The table of declarations as the transport sees it, and the rules that a table must keep to be served at all. */
import { type HttpMethod, problemSchema } from '@freehold/contracts';
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
 * Whether an operation takes an idempotency key: what changes something. A read that is a POST for the size of its
 * question is repeated as it is.
 */
export function takesIdempotencyKey({ method, audit }: AdminOperation): boolean {
  return isUnsafe(method) && audit === 'audit';
}

/** Whether an operation takes `If-Match`, and can be refused by it. */
export function takesIfMatch({ method, etag }: AdminOperation): boolean {
  return isUnsafe(method) && etag === true;
}

/** Whether an answer of this status can be nothing but a plan, which is made anew each time and written down nowhere. */
export function isPlanStatus({ plan, success }: AdminOperation, status: number): boolean {
  return plan !== undefined && status === 200 && success !== 200;
}

/** Whether an answer of this status carries the ETag: one that shows the thing itself, not a plan or the record of work. */
export function carriesEtag(operation: AdminOperation, status: number): boolean {
  return operation.etag === true && [200, 201, 304].includes(status) && !isPlanStatus(operation, status);
}

/** Whether the answer of a read is known again by its ETag (RFC 9110, section 13.1.2). */
export function isValidated({ method, etag, volatile }: AdminOperation): boolean {
  return method === 'GET' && etag === true && volatile === undefined;
}

/** The form of one answer: a plan says of itself that it is one. */
export function answerForm(
  { plan, output }: Pick<AdminOperation, 'plan' | 'output'>,
  status: number,
  value: unknown,
): z.ZodType {
  const isPlan = status === 200 && (value as { readonly dryRun?: unknown } | null)?.dryRun === true;
  return plan !== undefined && isPlan ? plan : output;
}

/** Whether an operation can be followed by events: long work, and what is declared so. */
export function answersEvents({ success, events }: AdminOperation): boolean {
  return success === 202 || events !== undefined;
}

/** The status of an answer of events: a call that tells its steps has not come to its own yet. */
export function eventsStatus({ success, events }: AdminOperation): number {
  return typeof events === 'object' ? 200 : success;
}

/** What each event of an operation says, by its name. */
export function eventForms({ events, output }: AdminOperation): Readonly<Record<string, z.ZodType>> {
  return typeof events === 'object'
    ? { progress: events.progress, done: output, failed: problemSchema }
    : { progress: output, done: output, failed: output, cancelled: output };
}

/**
 * The same operation at its second address, where it has one: without the tenant, which is that of the scope then. Its
 * name stays, so that it is performed as what it is.
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

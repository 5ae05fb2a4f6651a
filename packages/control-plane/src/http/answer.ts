/** What the host administration answered, as a response. */
import { entityTag, isUnchanged } from '@freehold/contracts/http';
import type { AdminResult, OperationEvent } from '@freehold/directory';
import type { AdminOperation } from '@freehold/directory/declarations';
import { z } from 'zod';
import type { Fields } from '../declared/input.ts';
import { type AdminOperationTable, answerForm, eventForms, isValidated } from '../declared/operations.ts';
import { bytesAnswer } from './bytes.ts';
import { eventsAnswer, headText } from './events.ts';

/** The headers that every response of the control plane carries. */
export const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/**
 * Renders a result. The value passes through the declared output schema, so that a field nobody declared never
 * leaves, whatever the code behind it put there.
 * @throws TypeError when the value does not have its declared form: our bug.
 */
export async function answer(
  operation: AdminOperation,
  result: AdminResult,
  request: Request,
  location: string | null,
): Promise<Response> {
  const headers = new Headers(COMMON_HEADERS);
  if (result.etag !== undefined) headers.set('etag', entityTag(result.etag));
  if (result.replayed) headers.set('idempotency-replayed', 'true');
  if (result.head) headers.set('x-admin-log-head', headText(result.head));
  if (location !== null) headers.set('location', location);
  if (result.status === 204) return new Response(null, { status: 204, headers });
  const seen = request.headers.get('if-none-match');
  if (seen !== null && isValidated(operation) && isUnchanged(seen, result.etag))
    return new Response(null, { status: 304, headers });
  if (operation.bytes) {
    const value = declaredValue(operation, result.value) as Fields;
    return bytesAnswer(operation.bytes, result, value, { request, headers });
  }
  const { events } = result;
  if (events) {
    const forms = eventForms(operation);
    const declared = ({ event, record }: OperationEvent<unknown>): unknown =>
      declaredValue({ ...operation, output: forms[event] ?? operation.output }, record);
    return eventsAnswer({ ...result, events }, declared, headers);
  }
  headers.set('content-type', 'application/json');
  const output = operation.plan ? answerForm(operation, result.status, result.value) : operation.output;
  const form = { ...operation, output };
  return new Response(JSON.stringify(declaredValue(form, result.value)), {
    status: result.status,
    headers,
  });
}

function declaredValue(operation: AdminOperation, value: unknown): unknown {
  const parsed = operation.output.safeParse(value);
  if (parsed.success) return parsed.data;
  // Paths only: the values may be anybody's data, and this sentence goes to a log.
  const paths = parsed.error.issues.map((issue) => issue.path.join('.') || '(the whole)').join(', ');
  throw new TypeError(`${operation.name} answered a value that is not of its declared form: ${paths}`);
}

/** How the address of a created thing follows from its collection's: `/tenants` and `/tenants/:tenant`. */
export interface ItemAddress {
  readonly param: string;
  /** Whether a value can stand for the parameter. */
  accepts(value: unknown): boolean;
}

/** The address of what an operation creates: that of the GET one parameter below it, or null where there is none. */
export function itemAddressOf(operation: AdminOperation, table: AdminOperationTable): ItemAddress | null {
  if (operation.method !== 'POST' || operation.success !== 201) return null;
  for (const { method, path, input } of Object.values(table)) {
    const param = path.slice(operation.path.length + 2);
    const schema = input.params?.shape[param];
    if (method === 'GET' && path === `${operation.path}/:${param}` && schema)
      return { param, accepts: (value) => z.safeParse(schema, value).success };
  }
  return null;
}

/**
 * The `Location` of an answer: of what a create made (201), or of the record by which long work is followed (202). Null
 * where there is none.
 */
export function locationOf(
  request: Request,
  {
    operation,
    item,
    path,
  }: { readonly operation: AdminOperation; readonly item: ItemAddress | null; readonly path: string },
  { status, value }: AdminResult,
): string | null {
  if (status === 201) return createdAt(request, item, value);
  if (status !== 202 || operation.success !== 202) return null;
  const { pathname } = new URL(request.url);
  // Whatever stands before the operation's own path is where this API is mounted.
  const prefix = pathname
    .split('/')
    .slice(0, -(path.split('/').length - 1))
    .join('/');
  return `${prefix}/operations/${encodeURIComponent(String((value as Fields).id))}`;
}

/**
 * The address of what a create made, relative to the request's own, so that it holds under any prefix. Null where
 * the answer does not name the thing in a way that its address takes.
 */
function createdAt(request: Request, item: ItemAddress | null, value: unknown): string | null {
  if (!item || typeof value !== 'object' || value === null) return null;
  const fields = value as Fields;
  const name = [fields.id, fields[item.param], fields.slug].find((each) => item.accepts(each));
  if (name === undefined) return null;
  return `${new URL(request.url).pathname}/${encodeURIComponent(String(name))}`;
}

/** Builds a client from a table: the object with the type of `types.ts`. */
import type { AdminOperation } from '@freehold/directory/declarations';
import { type AdminOperationTable, isPaged } from '../declared/operations.ts';
import { type Caller, type ClientOptions, type FollowOptions, makeCaller, type RawInput } from './call.ts';
import type { BuilderTable, ClientOf } from './types.ts';

/** Makes a client for any table of operations. Its methods reject as those of {@link makeCaller} do. */
export function makeClient<const Table extends AdminOperationTable>(
  operations: Table,
  options: ClientOptions,
): ClientOf<Table> {
  return methodsOf(operations, makeCaller(options)) as ClientOf<Table>;
}

/** A method whose types are not known here. */
interface RawMethod {
  (input?: RawInput, options?: FollowOptions): Promise<unknown>;
  response: (input?: RawInput, options?: FollowOptions) => Promise<unknown>;
  iterate?: (input?: RawInput, options?: FollowOptions) => AsyncGenerator<unknown, void, undefined>;
}

/** The methods of a table by family, each name in camel case. The objects are frozen. */
export function methodsOf(
  operations: AdminOperationTable,
  call: Caller,
): Readonly<Record<string, Readonly<Record<string, RawMethod>>>> {
  const families: Record<string, Record<string, RawMethod>> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [family, verb] = name.split('.').map(camelCase) as [string, string];
    families[family] ??= {};
    (families[family] as Record<string, RawMethod>)[verb] = Object.freeze(methodOf(operation, call));
  }
  for (const family of Object.values(families)) Object.freeze(family);
  return Object.freeze(families);
}

function methodOf(operation: AdminOperation, call: Caller): RawMethod {
  const response: RawMethod['response'] = (input = {}, options) => call(operation, input, options);
  const method = async (input: RawInput = {}, options?: FollowOptions): Promise<unknown> =>
    (await call(operation, input, options)).value;
  if (!isPaged(operation)) return Object.assign(method, { response });
  return Object.assign(method, {
    response,
    iterate: (input: RawInput = {}, options?: FollowOptions) => itemsOf(operation, call, input, options),
  });
}

async function* itemsOf(
  operation: AdminOperation,
  call: Caller,
  input: RawInput,
  options: FollowOptions | undefined,
): AsyncGenerator<unknown, void, undefined> {
  let query = input.query;
  for (;;) {
    const { value } = await call(operation, { ...input, query }, options);
    const { items, nextCursor } = value as { items: unknown[]; nextCursor: string | null };
    yield* items;
    if (nextCursor === null) return;
    query = { ...query, cursor: nextCursor };
  }
}

function camelCase(name: string): string {
  return name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The field of a path, a query or a body that names the tenant. */
const TENANT = 'tenant';

/**
 * Makes a client of one tenant. The tenant is filled in wherever an operation takes one, whatever the caller passes.
 * An operation without a tenant is kept within one by the push token of the client.
 */
export function makeTenantClientOf<const Table extends AdminOperationTable>(
  operations: Table,
  options: ClientOptions,
  tenant: string,
): ClientOf<BuilderTable<Table>, typeof TENANT> {
  const open = Object.entries(operations).filter(([, operation]) => operation.builder === 'own-tenant');
  const call = makeCaller(options);
  const narrowed: Caller = (operation, input, callOptions) =>
    call(operation, withTenant(operation, input, tenant), callOptions);
  return methodsOf(Object.fromEntries(open), narrowed) as ClientOf<BuilderTable<Table>, typeof TENANT>;
}

function withTenant({ input: declared }: AdminOperation, input: RawInput, tenant: string): RawInput {
  const fill = (part: 'params' | 'query' | 'body'): RawInput =>
    TENANT in (declared[part]?.shape ?? {}) ? { [part]: { ...input[part], [TENANT]: tenant } } : {};
  return { ...input, ...fill('params'), ...fill('query'), ...fill('body') };
}

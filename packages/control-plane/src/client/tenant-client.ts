/** The narrowed client (spec 1.C): one tenant, and only what its builder may do. For an app that provisions itself. */
import type { AdminOperation } from '@freehold/directory/declarations';
import type { AdminOperationTable } from '../declared/operations.ts';
import { type Caller, type ClientOptions, makeCaller, type RawInput } from './call.ts';
import { methodsOf } from './client.ts';
import type { BuilderTable, ClientOf } from './types.ts';

/** The name of the field, in a path, a query or a body, that says whose thing a call is about. */
const TENANT = 'tenant';

/**
 * A client of one tenant. Wherever an operation takes a tenant it is filled in, whatever the caller passes; an
 * operation that names no tenant is kept within one by the push token that it is called with.
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

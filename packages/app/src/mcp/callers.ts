/** A caller as the MCP endpoint and the routes of operations meet it: operations, what of them is listed, and histories. */
import { isAllowedByGrant } from '@freehold/kernel';
import { isReadOnly, type OperationDeclaration } from '@freehold/operations';
import type { ListingStub, McpRecord } from '@freehold/vertical-host';
import type { AppContext, Services } from '../declaration/env.ts';
import { recordHistory } from '../logs/log-routes.ts';
import { actingCaller, type MemberCaller, requireNode, scopeOf } from '../request/caller.ts';

/**
 * Returns the operations of a request's scope as its caller, with the list of those that the caller may perform now, for
 * one record or for all.
 */
export function callersOf(services: Services): (c: AppContext) => Promise<ListingStub> {
  const { host, app, reads, directory, deps } = services;
  return async (c) => {
    const caller = await actingCaller(services, c);
    const { scope, tenant } = requireNode(c);
    const stub = host.operations(scope, caller, tenant);
    return {
      ...stub,
      get questions() {
        const of = { scopeId: scope, caller: caller.program?.id ?? caller.principal };
        return { rows: directory(tenant), of, until: deps.stopping };
      },
      invoke: async (request) => {
        const result = await stub.invoke(request);
        const operation = app.operations[request.operation];
        if (caller.program && operation && isReadOnly(operation))
          await reads.note({ tenant, scope }, { grant: caller.program.id, operation: request.operation });
        return result;
      },
      listable: async (names) => {
        const held = await holdingsOf(services, c, caller);
        return names.filter((name) => {
          const operation = app.operations[name];
          return operation !== undefined && mayPerform(operation, held, caller);
        });
      },
      history: ({ type, id }, query) => {
        const record = app.records.find((each) => each.type === type);
        if (!record) throw new TypeError(`${type} has no address`);
        return recordHistory(services, c, { record, id, query });
      },
    };
  };
}

/** The permissions of a caller. */
export interface Holdings {
  readonly everywhere: ReadonlySet<string>;
  /** For single records. */
  readonly somewhere: ReadonlySet<string>;
}

export async function holdingsOf(services: Services, c: AppContext, caller: MemberCaller): Promise<Holdings> {
  const { permissions, recordPermissions = [] } = await scopeOf(services, c).holdings({
    ...caller,
    records: true,
  });
  return { everywhere: new Set(permissions), somewhere: new Set(recordPermissions) };
}

/** Only an operation that is about a record can be performed by a grant for one. */
export function mayPerform(
  operation: OperationDeclaration,
  { everywhere, somewhere }: Holdings,
  { program }: MemberCaller,
): boolean {
  const { permission, entity } = operation;
  const isHeld = everywhere.has(permission) || (entity !== undefined && somewhere.has(permission));
  return isHeld && isAllowedByGrant({ program, permission, writes: !isReadOnly(operation) });
}

/** The types of records that the manifest declares as resources. */
export function resourceRecords({ app, manifest }: Pick<Services, 'app' | 'manifest'>): McpRecord[] {
  return app.records.flatMap(({ type, parameter, readId }) => {
    const { resource } = manifest.entities[type] ?? {};
    return resource === undefined ? [] : [{ type, parameter, readId, titleField: resource.titleField }];
  });
}

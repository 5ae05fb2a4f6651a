/** The calls that are measured on directories of every size. */
import type { AdminCall, AdminResult, DirectoryHostAdmin } from '@freehold/directory';
import type { Fleet } from './directory-fleet.ts';

/** The number of records that are read in turn, spread over the whole directory. */
const RECORDS = 50;

export const ACTOR = { kind: 'service', id: 'svc_bench', name: 'bench' } as const;

let requests = 0;

/** Makes one call, as the transport does. */
export function perform(
  hostAdmin: DirectoryHostAdmin,
  operation: string,
  parts: Partial<Pick<AdminCall, 'params' | 'query' | 'body'>>,
): Promise<AdminResult> {
  const requestId = `req_${++requests}`;
  return hostAdmin.perform({ operation, params: {}, query: {}, body: {}, ...parts, actor: ACTOR, requestId });
}

export function asksOf(fleet: Fleet) {
  const { hostAdmin, scopes } = fleet;
  let turn = 0;
  const nth = (): number => Math.floor(((turn++ % RECORDS) / RECORDS) * scopes);
  const page = async (cursor?: string): Promise<string> => {
    const { value } = await perform(hostAdmin, 'scopes.fleet', { query: { limit: 50, cursor } });
    const { items, nextCursor } = value as { items: readonly unknown[]; nextCursor: string | null };
    if (items.length !== 50 || nextCursor === null) throw new Error(`a page has ${items.length} scopes`);
    return nextCursor;
  };
  const middle = Buffer.from(fleet.scope(Math.floor(scopes / 2))).toString('base64url');
  return {
    'resolving a host name': async () => {
      const hostname = fleet.hostname(nth());
      if ((await hostAdmin.route(hostname))?.hostname !== hostname)
        throw new Error('a host name leads nowhere');
    },
    'getting a scope': () => {
      const at = nth();
      return perform(hostAdmin, 'scopes.get', {
        params: { tenant: fleet.tenantOf(at), scope: fleet.scope(at) },
      });
    },
    'the first page of the fleet': () => page(),
    'a middle page of the fleet': () => page(middle),
    'a change with its audit row': () => {
      const params = { tenant: fleet.tenantOf(0) };
      return perform(hostAdmin, 'tenants.update', { params, body: { name: `Tenant, change ${requests}` } });
    },
  };
}

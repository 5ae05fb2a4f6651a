/**
 * The typed clients of the control plane (spec 1.C and 4.3), derived from the admin operations: a staff or service
 * client with all of them, and a narrowed one for one tenant. Runs wherever there is `fetch`.
 */
import type { TenantId } from '@freehold/contracts';
import { adminOperations } from '@freehold/directory/declarations';
import type { ClientOptions } from './call.ts';
import { makeClient, makeTenantClientOf } from './client.ts';
import type { BuilderTable, ClientOf } from './types.ts';

export { ConnectionBroken } from '@freehold/operations/client';
export type { FormFile } from './call.ts';
export {
  type Caller,
  type CallOptions,
  type ClientOptions,
  type ClientResponse,
  ControlPlaneError,
  type FollowOptions,
  makeCaller,
  type RawInput,
  type Upload,
} from './call.ts';
export { makeClient } from './client.ts';
export { waitForOperation } from './follow.ts';
export type { CallInput, ClientOf } from './types.ts';

/** `client.tenants.create({ body: { slug, name } })`, and so on for every admin operation. */
export type ControlPlaneClient = ClientOf<typeof adminOperations>;

/** The operations that are open to a builder, with the tenant filled in. */
export type TenantClient = ClientOf<BuilderTable<typeof adminOperations>, 'tenant'>;

/** The client of staff, services and the command line. */
export function makeControlPlaneClient(options: ClientOptions): ControlPlaneClient {
  return makeClient(adminOperations, options);
}

/** The client of one tenant's builder (see {@link makeTenantClientOf}). */
export function makeTenantClient(options: ClientOptions, tenant: TenantId): TenantClient {
  return makeTenantClientOf(adminOperations, options, tenant);
}

/** The types of a request's surroundings and of the application's parts. */
import type { AuthRuntime, IdentityDirectory, InstanceAuthCache } from '@freehold/auth';
import { PlatformError, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import type { ScopeHost } from '@freehold/kernel';
import type { Engine, IncidentSink } from '@freehold/store';
import type { PlatformSecret } from '@freehold/vertical-host';
import type { Context } from 'hono';

/**
 * The instance of a request, as the router found it. Code passes it beside the request; a header could be forged, and
 * its sender could choose a tenant.
 */
export interface Node {
  readonly tenant: string;
  readonly scope: string;
  /** The origin that browsers see: `https://acme.example`. */
  readonly origin: string;
}

/** The second argument of `app.fetch`. */
export interface Bindings {
  /** Null for a request that reached no instance: then only `/internal/*` answers. */
  readonly node: Node | null;
  /** The network address of the sender, from the connection; absent or null where it is not known. */
  readonly clientAddress?: string | null;
}

export interface AppEnv {
  Bindings: Bindings;
  Variables: { readonly principal: PrincipalId };
}

export type AppContext = Context<AppEnv>;

export interface AppDeps {
  readonly engine: Engine;
  /** The secret of `/internal/*`, or a list while one is replaced. Undefined closes it. */
  readonly platformSecret: PlatformSecret;
  /** The settings of the process, shared by all instances; the manifest says which ones are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns that many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches from issuers. Pass one that refuses private addresses where tenants choose their issuer. */
  readonly fetch: NonNullable<AuthRuntime['fetch']>;
  /** Receives unexpected errors. */
  readonly onIncident: IncidentSink;
  /** Called with a scope that has work waiting: wake a `DeliveryRunner`, or no subscription runs. */
  readonly onWork: (scopeId: string) => void;
}

/** The parts that the routes share. */
export interface Services {
  readonly host: ScopeHost;
  /** Returns a tenant's identity directory. Only provisioning passes `create`. */
  readonly directory: (tenant: TenantId, options?: { readonly create: boolean }) => IdentityDirectory;
  /** `instanceAuthFor` of `@freehold/auth`, cached for as long as its answers hold. */
  readonly instanceAuthFor: InstanceAuthCache;
}

/** The instance that a request is for. */
export interface Instance {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly origin: string;
}

/** Returns the instance that the router named. @throws PlatformError `not_found` for a request that reached none. */
export function instanceOf(c: AppContext): Instance {
  const { node } = c.env;
  if (!node) throw noInstance();
  return { ...node, tenant: node.tenant as TenantId, scope: node.scope as ScopeId };
}

/**
 * Returns the instance after checking that the scope belongs to the tenant: a wrong router must not lead one tenant's
 * people into another's data.
 * @throws PlatformError `not_found`
 */
export async function requireInstance({ host }: Services, c: AppContext): Promise<Instance> {
  const instance = instanceOf(c);
  const { tenantId } = await host.scope(instance.scope).identify({});
  if (tenantId !== instance.tenant) throw noInstance();
  return instance;
}

function noInstance(): PlatformError {
  return new PlatformError('not_found', 'There is no application at this address.', {
    reason: 'no_instance',
  });
}

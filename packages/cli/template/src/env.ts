/** What a request brings along, and what the application is built from. */
import type { ApiDocs } from '@freehold/api-docs';
import type { AuthRuntime, IdentityDirectory, InstanceAuthCache } from '@freehold/auth';
import { PlatformError, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import type { ScopeHost } from '@freehold/kernel';
import type { Engine, IncidentSink } from '@freehold/store';
import type { PlatformSecret } from '@freehold/vertical-host';
import type { Context } from 'hono';

/**
 * Whose request this is, as the router found out. It comes in beside the request, from code, and never from a header:
 * whoever could write it could choose a tenant.
 */
export interface Node {
  readonly tenant: string;
  readonly scope: string;
  /** The origin that browsers see: `https://acme.example`. */
  readonly origin: string;
}

/** The second argument of `app.fetch`. */
export interface Bindings {
  /** Null for a request that reached no instance: only `/internal/*` is answered then. */
  readonly node: Node | null;
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
  /** The settings of the process, shared by every instance; the manifest says which ones are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches from issuers. Pass one that refuses private addresses where tenants choose their issuer. */
  readonly fetch: NonNullable<AuthRuntime['fetch']>;
  /** Receives errors that nobody expected. */
  readonly onIncident: IncidentSink;
  /** Told of a scope in which something waits to be done: wake a `DeliveryRunner` with it, or no subscription runs. */
  readonly onWork: (scopeId: string) => void;
  /** Shows the operations to people, at `/api/docs`. Default: not shown. */
  readonly docs?: ApiDocs;
}

/** The parts that the routes share. */
export interface Services {
  readonly host: ScopeHost;
  /** A tenant's identity directory. `create` is for provisioning alone. */
  readonly directory: (tenant: TenantId, options?: { readonly create: boolean }) => IdentityDirectory;
  /** `instanceAuthFor` of `@freehold/auth`, which keeps its answers for as long as they stand. */
  readonly instanceAuthFor: InstanceAuthCache;
}

/** The instance that a request is for. */
export interface Instance {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly origin: string;
}

/** The instance as the router named it. @throws PlatformError `not_found` for a request that reached none. */
export function instanceOf(c: AppContext): Instance {
  const { node } = c.env;
  if (!node) throw noInstance();
  return { ...node, tenant: node.tenant as TenantId, scope: node.scope as ScopeId };
}

/**
 * The instance, once it is certain that the scope is this tenant's: if the router were wrong, one tenant's people would
 * walk into another's.
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

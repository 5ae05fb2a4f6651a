/**
 * The host administration: one method behind every admin operation. It decides access, does the work, and writes
 * the audit row in the same transaction (spec 1.C and 4.3; design: control-plane).
 */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { Actor, AdminCall, AdminResult } from './actors.ts';

export interface HostAdmin {
  /** The actor that a bearer token stands for, or null for one that is unknown, expired or revoked. */
  authenticate(token: string): Promise<Actor | null>;
  /** Performs one call. Rejects with a `PlatformError`. */
  perform(call: AdminCall): Promise<AdminResult>;
  /** Which scope every active host name leads to. Its cost grows with the fleet; a request asks `route`. */
  routes(): Promise<readonly HostRoute[]>;
  /** Which scope one host name leads to; null for a name that is not active. */
  route(hostname: string): Promise<HostRoute | null>;
  /** Registers what to do when the host names or what they lead to have changed; the listener is told what it is about. */
  onRoutesChanged(listener: (change: RoutesChange) => void): void;
}

/**
 * What a change of routes is about, each part narrowing the one before: a scope, all scopes of a tenant, all scopes of a
 * vertical. With no part at all it is about everything, as after a restore of the directory.
 */
export interface RoutesChange {
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly vertical: string | null;
}

/** Where one host name leads. */
export interface HostRoute {
  readonly hostname: string;
  readonly surface: string;
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly version: string;
  /** False when tenant or scope is suspended or archived: the router answers for it. */
  readonly serving: boolean;
}

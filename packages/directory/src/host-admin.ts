/**
 * The host administration: one method behind every admin operation. It decides access, does the work, and writes
 * the audit row in the same transaction (spec 1.C and 4.3; design: control-plane).
 */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { Actor, AdminCall, AdminResult } from './actors.ts';
import type { IntentMaintenance } from './audit/open-intents.ts';
import type { ImportMaintenance } from './backups/imports.ts';
import type { BackupMaintenance } from './backups/maintenance.ts';
import type { Connections } from './connections/make-connections.ts';
import type { ExpiryMaintenance } from './expiries/clear.ts';
import type { HostnameMaintenance } from './hostnames/maintenance.ts';
import type { IncidentIntake } from './issues/incident-intake.ts';
import type { Entitlements, RoleProjection } from './make-projections.ts';
import type { OperationsLog } from './operations-log/recorder.ts';
import type { PlatformGrants } from './platform-grants/operations.ts';
import type { ScopeReads } from './scope-data/reads.ts';
import type { StaffSignIns } from './staff/host-admin-staff.ts';
import type { ServiceTokens } from './tokens/host-admin-service-tokens.ts';
import type { UsageIntake } from './usage/make-usage.ts';
import type { RegistryIntake } from './vertical-registry/make-registry.ts';

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

/** The host administration with what only the platform's own wiring may use: no route leads to these. */
export interface DirectoryHostAdmin
  extends HostAdmin,
    IncidentIntake,
    OperationsLog,
    UsageIntake,
    RegistryIntake,
    PlatformGrants,
    ScopeReads,
    ServiceTokens {
  /**
   * Takes up the long work that a process before this one left unfinished, and answers how much that is. To be called once
   * everything is up; on an engine with many processes, again from time to time.
   */
  resumeLongWork(): Promise<number>;
  /**
   * Begins no more long work, and resolves when none runs here: what is unfinished is taken up by the next process. What
   * goes on behind an answer of events is waited for too.
   */
  stopLongWork(): Promise<void>;
  /** Consent rounds, credentials for connectors, and the sweep. */
  readonly connections: Connections;
  /** Sends scopes the platform's roles. */
  readonly roles: RoleProjection;
  /** The documents that prove host names, for the router, and the look at names in use, for the sweep. */
  readonly hostnames: HostnameMaintenance;
  /** Sends scopes what their tenants are entitled to. */
  readonly entitlements: Entitlements;
  /** The backups that the platform makes by itself, for the sweep. */
  readonly backups: BackupMaintenance;
  /** What uploads left behind that never became a backup, for the sweep. */
  readonly imports: ImportMaintenance;
  /** The report of intents that nobody settled, for the sweep. */
  readonly intents: IntentMaintenance;
  /** What has lapsed and is cleared away, for the sweep. */
  readonly expiries: ExpiryMaintenance;
  /** How staff come in: sessions, and the tokens of their programs. */
  readonly staff: StaffSignIns;
}

/**
 * The host administration: one method behind every admin operation. It decides access, performs the work, and writes the
 * audit row in the same transaction (spec 1.C and 4.3; design: control-plane).
 */
import type { WaitingQuestions } from '@freehold/operations/mcp';
import type { Actor, AdminCall, AdminResult } from './access/actors.ts';
import type { IntentMaintenance } from './audit/open-intents.ts';
import type { ImportMaintenance } from './backups/imports.ts';
import type { BackupMaintenance } from './backups/maintenance.ts';
import type { Connections } from './connections/make-connections.ts';
import type { ExpiryMaintenance } from './expiries/clear.ts';
import type { HostnameMaintenance } from './hostnames/maintenance.ts';
import type { HostDestination, HostRoute } from './hostnames/store.ts';
import type { IncidentIntake } from './issues/incident-intake.ts';
import type { RoutesChange } from './lib/handlers.ts';
import type { OperationsLog } from './operations-log/recorder.ts';
import type { PlatformGrants } from './platform-grants/operations.ts';
import type { PreviewMaintenance } from './previews/make-previews.ts';
import type { Entitlements, RoleProjection } from './projections.ts';
import type { ScopeReads } from './scope-data/reads.ts';
import type { StaffSignIns } from './staff/sign-in.ts';
import type { ServiceTokens } from './tokens/service-tokens.ts';
import type { UsageIntake } from './usage/make-usage.ts';
import type { RegistryIntake } from './vertical-registry/make-registry.ts';
import type { VerticalSecrets } from './vertical-secrets/make-secrets.ts';

export interface HostAdmin {
  /**
   * The actor that a bearer token stands for, or null for one that is unknown, expired or revoked.
   * @param from the network address, which the members of the roster see of their programs. Default: unknown.
   */
  authenticate(token: string, from?: string | null): Promise<Actor | null>;
  /** Performs one call. Rejects with a `PlatformError`. */
  perform(call: AdminCall): Promise<AdminResult>;
  /** The questions of tool calls that wait for the person behind a caller, by the id of its grant or token. */
  questions(caller: string): WaitingQuestions;
  /** The scope of every active host name. Its cost grows with the fleet; a request asks `route`. */
  routes(): Promise<readonly HostRoute[]>;
  /** The scope of one host name; null for a name that is not active. */
  route(hostname: string): Promise<HostDestination | null>;
  /** Registers a listener for changes of host names and of the scopes that they lead to. */
  onRoutesChanged(listener: (change: RoutesChange) => void): void;
}

/** The host administration with the methods for the platform's own wiring, which no route reaches. */
export interface DirectoryHostAdmin
  extends HostAdmin,
    IncidentIntake,
    OperationsLog,
    UsageIntake,
    RegistryIntake,
    VerticalSecrets,
    PlatformGrants,
    ScopeReads,
    ServiceTokens {
  /**
   * Resumes the unfinished long work of earlier processes, and returns how much that is. To be called once everything is up;
   * on an engine with many processes, again from time to time.
   */
  resumeLongWork(): Promise<number>;
  /**
   * Begins no more long work, and resolves when none runs here, nor any behind an answer of events. The next process resumes
   * unfinished work.
   */
  stopLongWork(): Promise<void>;
  /** Consent rounds, credentials for connectors, and the sweep. */
  readonly connections: Connections;
  /** Sends scopes the platform's roles. */
  readonly roles: RoleProjection;
  /** The documents that prove host names, for the router, and the recheck of names in use, for the sweep. */
  readonly hostnames: HostnameMaintenance;
  /** Sends scopes the entitlements of their tenants. */
  readonly entitlements: Entitlements;
  /** The scheduled backups, for the sweep. */
  readonly backups: BackupMaintenance;
  /** The clearing of uploads that never became a backup, for the sweep. */
  readonly imports: ImportMaintenance;
  /** The report of unsettled intents, for the sweep. */
  readonly intents: IntentMaintenance;
  /** The clearing of lapsed rows, for the sweep. */
  readonly expiries: ExpiryMaintenance;
  readonly previews: PreviewMaintenance;
  /** The sign-in of staff: sessions, and the tokens of their programs. */
  readonly staff: StaffSignIns;
}

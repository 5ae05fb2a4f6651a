/** The options of a host administration, from the platform's wiring. */
import type { Engine, EngineTools, IncidentSink, Keyring } from '@freehold/store';
import type { AlertsTest } from './alerts/operations.ts';
import type { LogAnchor } from './audit/anchor.ts';
import type { BackupStore } from './backups/backup-store.ts';
import type { Sleep } from './changes/effect-events.ts';
import type { ConnectionsOptions } from './connections/make-connections.ts';
import type { HostnameProbes } from './hostnames/look-up.ts';
import type { Telemetry } from './observability/observability.ts';
import type { VerticalRuntime } from './vertical-registry/deploy.ts';
import type { EgressObserver } from './vertical-registry/egress.ts';
import type { Deadline } from './verticals/client.ts';
import type { VerticalGateway } from './verticals/gateway.ts';

export interface HostAdminOptions {
  /**
   * Over an embedded engine make one host administration: before its first effect it ends the leases of all intents, because
   * the process that held them died. The intents stay open, and long work is resumed.
   */
  readonly engine: Engine & Partial<EngineTools>;
  readonly gateway: VerticalGateway;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Aborted when this process stops: tool calls that wait for a person end then. Default: they wait on. */
  readonly stopping?: AbortSignal;
  /** Receives unexpected errors. It must not throw. */
  readonly onIncident: IncidentSink;
  /** The address of a host name. Default: `https://` and the name. */
  readonly originOf?: (hostname: string) => string;
  /** The version of a vertical that the registry does not know, for the router's map. Default: `unversioned`. */
  readonly versionOf?: (vertical: string) => string;
  /** Names below these are active as soon as they are bound. Default: none but `localhost`. */
  readonly baseDomains?: readonly string[];
  /**
   * Names of the platform itself, which no tenant may bind, nor any name below one, unless it is `localhost` or a base domain.
   * Default: none.
   */
  readonly reservedHostnames?: readonly string[];
  /**
   * Settings for a new instance of a vertical, beside those of its provisioning, such as its sign-in. A provisioning that names
   * one of these keys replaces them all. The vertical has to take settings. Default: none.
   */
  readonly newScopeSettings?: (vertical: string) => Readonly<Record<string, string>>;
  /** The witness of the head of the admin log. Default: none, and verification answers `unanchored`. */
  readonly anchor?: LogAnchor;
  /** Makes the time limits of verticals and providers. Default: `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
  /**
   * The issuer at which the members of the roster sign in. The programs of a member who signed in at another one are refused.
   * Default: none, and the programs of all members are refused.
   */
  readonly staffIssuer?: string | null;
  /** The time without a request that ends a session of the roster, in milliseconds. Default: none does. */
  readonly staffIdleMs?: number;
  /** The place for backups. Default: none, and operations that need it answer `unsupported`. */
  readonly backups?: BackupStore;
  /** Waits between reports of long work. Default: a timer. */
  readonly sleep?: Sleep;
  /** The margin on the list price of model calls, in basis points: 2000 is a fifth. Default: 0. */
  readonly modelMarginBasisPoints?: number;
  /**
   * The permissions of a vertical that is not in the registry: its scopes get that part of the platform's roles. Null where
   * they are unknown: then a scope gets all roles, and may refuse. Default: unknown.
   */
  readonly permissionsOf?: (vertical: string) => readonly string[] | null;
  /** The look-ups that verify host names. Default: none, and verifying is 501. */
  readonly hostnames?: HostnameProbes;
  /**
   * Destroys the keys of an erased tenant, and its other data in the wiring (its identity directory). Called once all its
   * scopes are gone; it may be called again. Default: nothing.
   */
  readonly destroyTenantKeys?: (tenant: string) => Promise<void>;
  /** Runs deployed versions. Default: none, and deploying is 501. */
  readonly runtime?: VerticalRuntime;
  /** Seals the secrets of builders. Default: none, and setting one is 503. */
  readonly sealing?: Keyring;
  /** Observes the outgoing calls of verticals. Default: none, and egress is 501. */
  readonly egress?: EgressObserver;
  /** The store of measurements. Default: none, and the reads of observability are 501. */
  readonly telemetry?: Telemetry;
  /** Sends a test of alerts. Default: none, and it is 501. */
  readonly alertsTest?: AlertsTest;
  /** The providers that tenants can be connected to. Default: none. */
  readonly connections?: ConnectionsOptions;
}

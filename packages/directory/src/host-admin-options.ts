/** What the platform's wiring brings for a host administration. Without what is optional there is less that it can do. */
import type { Engine, EngineTools, IncidentSink } from '@freehold/store';
import type { LogAnchor } from './audit/anchor.ts';
import type { BackupStore } from './backups/backup-store.ts';
import type { ConnectionsOptions } from './connections/make-connections.ts';
import type { VerticalGateway } from './gateway.ts';
import type { HostnameProbes } from './hostnames/look-up.ts';
import type { Sleep } from './long-work/follow.ts';
import type { Telemetry } from './observability/observability.ts';
import type { VerticalRuntime } from './vertical-registry/deploy.ts';
import type { EgressObserver } from './vertical-registry/egress.ts';
import type { Deadline } from './verticals/client.ts';

export interface HostAdminOptions {
  /**
   * Over an embedded engine make one host administration: before its first effect it takes whatever the directory
   * shows as running for the leftovers of a process that died.
   */
  readonly engine: Engine & Partial<EngineTools>;
  readonly gateway: VerticalGateway;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Receives errors that nobody expected. It must not throw. */
  readonly onIncident: IncidentSink;
  /** Where a host name is reached. Default: `https://` and the name. */
  readonly originOf?: (hostname: string) => string;
  /** The version of a vertical that the registry does not know, for the router's map. Default: `unversioned`. */
  readonly versionOf?: (vertical: string) => string;
  /** Names below these are active as soon as they are bound. Default: none but `localhost`. */
  readonly baseDomains?: readonly string[];
  /**
   * Names that nobody may bind, because the platform itself is reached there, nor any name below one, unless it is
   * `localhost` or a base domain. Default: none.
   */
  readonly reservedHostnames?: readonly string[];
  /**
   * What a new instance of a vertical is delivered beside the settings that its provisioning names, such as how people sign
   * in; nothing of it where one of its keys is named. The vertical has to take settings. Default: nothing.
   */
  readonly newScopeSettings?: (vertical: string) => Readonly<Record<string, string>>;
  /** Where the head of the admin log is kept outside. Default: nowhere, and verification answers `unanchored`. */
  readonly anchor?: LogAnchor;
  /** Bounds how long a vertical or a provider may take. Default: `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
  /** Where backups are kept. Default: nowhere, and what needs them answers `unsupported`. */
  readonly backups?: BackupStore;
  /** Waits while nobody has anything to say about long work. Default: a timer. */
  readonly sleep?: Sleep;
  /** What model calls cost on top of the list price, in basis points: 2000 is a fifth. Default: 0. */
  readonly modelMarginBasisPoints?: number;
  /**
   * The permissions that a vertical declares which the registry does not know: of the platform's roles a scope is told
   * that part. Null where that is not known: then it is told all of them, and may refuse. Default: not known.
   */
  readonly permissionsOf?: (vertical: string) => readonly string[] | null;
  /** How host names are looked up to be verified. Default: not at all, and verifying is 501. */
  readonly hostnames?: HostnameProbes;
  /**
   * Destroys the keys of a tenant that is erased, and whatever else the wiring keeps of it (its identity directory).
   * Called once all its scopes are gone; it may be called again. Default: there is nothing.
   */
  readonly destroyTenantKeys?: (tenant: string) => Promise<void>;
  /** What runs versions that are deployed. Default: nothing, and deploying is 501. */
  readonly runtime?: VerticalRuntime;
  /** What watches the outgoing calls of verticals. Default: nothing, and egress is 501. */
  readonly egress?: EgressObserver;
  /** What keeps measurements. Default: nothing, and the reads of observability are 501. */
  readonly telemetry?: Telemetry;
  /** The providers that tenants can be connected to. Default: none. */
  readonly connections?: ConnectionsOptions;
}

/**
 * Builds the host administration over an engine and the verticals: access, then the directory's own transaction,
 * then whatever happens elsewhere, then the evidence (spec 1.C and 4.3; design: control-plane).
 */
import { ID_PREFIXES, makeIdFactory, PlatformError, type ScopeExport } from '@freehold/contracts';
import type { Engine, EngineTools, IncidentSink } from '@freehold/store';
import { admitCall } from './access.ts';
import type { AdminCall, AdminResult } from './actors.ts';
import { type LogAnchor, makeAnchoring } from './audit/host-admin-anchor.ts';
import { verifyAdminLog } from './audit/host-admin-verify.ts';
import { type IntentUpkeep, makeIntentUpkeep } from './audit/reconcile.ts';
import type { BackupStore } from './backups/backup-store.ts';
import {
  directoryBackupEffect,
  makeDeleteBackupEffect,
  receiveImport,
  scopeBackupEffect,
} from './backups/host-admin-backups.ts';
import { restoreDirectoryEffect } from './backups/host-admin-restore.ts';
import { type ImportUpkeep, makeImportUpkeep } from './backups/incoming.ts';
import { type BackupUpkeep, makeBackupUpkeep } from './backups/upkeep.ts';
import { watchStore } from './backups/upkeep-store.ts';
import {
  type Connections,
  type ConnectionsOptions,
  makeConnections,
} from './connections/make-connections.ts';
import { type AdminOperation, findAdminOperation } from './declarations/index.ts';
import { TOKEN_DAYS_MAX } from './declarations/push-tokens.ts';
import { type Entitlements, makeEntitlements } from './entitlements/deliver.ts';
import { shredEffect } from './erasure/host-admin-erasure.ts';
import { type ExpiryUpkeep, makeExpiryUpkeep } from './expiries/clear.ts';
import { migrateFleetEffect, readFleetMigrations } from './fleet/host-admin-fleet.ts';
import type { VerticalGateway } from './gateway.ts';
import type { HostAdmin, RoutesChange } from './host-admin.ts';
import { makeVerifyEffect } from './hostnames/host-admin-verify.ts';
import type { HostnameProbes } from './hostnames/probes.ts';
import { type HostnameUpkeep, makeHostnameUpkeep } from './hostnames/upkeep.ts';
import { type IncidentIntake, makeIncidentIntake } from './issues/incident-intake.ts';
import type { ChangeOutcome } from './lib/changes.ts';
import type { Effect, EffectDeps } from './lib/effects.ts';
import { makeWorkBehind } from './lib/effects-behind.ts';
import type { WiringFacts } from './lib/handlers.ts';
import { makeEffectRunner } from './lib/host-admin-effects.ts';
import { type Sleep, sleepFor } from './long-work/follow.ts';
import type { LongEffect } from './long-work/handlers.ts';
import { makeLongWork } from './long-work/runner.ts';
import { isObservability, readObservability } from './observability/host-admin-observability.ts';
import type { Telemetry } from './observability/telemetry.ts';
import { makeOperationsLog, type OperationsLog } from './operations-log/recorder.ts';
import { ownerClaimEffect, ownerRecoveryEffect, readOwnerSeat } from './owner-seat/host-admin-owner-seat.ts';
import { makePlatformGrants, type PlatformGrants } from './platform-grants/make-platform-grants.ts';
import { makeRoleProjection, type RoleProjection } from './roles/deliver.ts';
import { exportScope } from './scope-data/host-admin-export.ts';
import { isScopeRead, readScopeData } from './scope-data/host-admin-scope-data.ts';
import { retryDeadLetterEffect } from './scope-data/retry.ts';
import {
  deleteSnapshotEffect,
  restoreEffect,
  rewindEffect,
  snapshotEffect,
} from './scopes/host-admin-copies.ts';
import { makeReapScopeEffect } from './scopes/host-admin-reap.ts';
import { configureEffect, provisionEffect } from './scopes/host-admin-scopes.ts';
import { sessionSecretEffect } from './session-secret/host-admin-session-secret.ts';
import { makeStaffAuthenticate, makeStaffDoor, type StaffDoor } from './staff/host-admin-staff.ts';
import { makeReapEffect } from './tenants/host-admin-reap.ts';
import { makeAuthenticate } from './tokens/host-admin-authenticate.ts';
import type { ServiceToken } from './tokens/service-tokens.ts';
import { type AccessInput, DIRECTORY_KEY, directoryUnit } from './unit.ts';
import { makeUsage, type UsageIntake } from './usage/make-usage.ts';
import { makeDeployEffects } from './vertical-registry/host-admin-deploy.ts';
import { makeRegistry, type RegistryIntake } from './vertical-registry/make-registry.ts';
import type { EgressObserver, VerticalRuntime } from './vertical-registry/runtime.ts';
import type { Deadline } from './verticals/client.ts';
import { isKnownVertical } from './verticals/reach.ts';

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

/** What the operator's own wiring asks for when it makes a service token. */
export interface ServiceTokenRequest {
  readonly name: string;
  /** Default and most: 365. */
  readonly expiresInDays?: number;
}

/** The host administration with what only the platform's own wiring may use: no route leads to these. */
export interface DirectoryHostAdmin
  extends HostAdmin,
    IncidentIntake,
    OperationsLog,
    UsageIntake,
    RegistryIntake,
    PlatformGrants {
  /**
   * Writes the access-log row of a read whose bytes a vertical supplied (spec 4.3.1). Both branches of the read
   * ladder write it through this, so that the row is the same on either.
   */
  recordDelegatedRead(read: AccessInput): Promise<void>;
  /**
   * Opens a copy of a scope, after the access-log row that says so was written: every export goes through here, and a
   * vertical supplies only the bytes (spec 4.3.2). `call` is one of `scopes.export`.
   */
  exportScope(call: AdminCall): Promise<ScopeExport>;
  /** Makes a service token. One of the same name goes on working: a rotation with an overlap. */
  mintServiceToken(request: ServiceTokenRequest): Promise<ServiceToken & { readonly secret: string }>;
  /** Makes a service token unless one of this name works; `secret` is null when there was one. */
  ensureServiceToken(request: ServiceTokenRequest): Promise<ServiceToken>;
  /** Revokes a service token. It stops working at once. */
  revokeServiceToken(id: string): Promise<void>;
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
  /** Tells scopes the platform's roles. */
  readonly roles: RoleProjection;
  /** The documents that prove host names, for the router, and the look at names in use, for the sweep. */
  readonly hostnames: HostnameUpkeep;
  /** Tells scopes what their tenants are entitled to. */
  readonly entitlements: Entitlements;
  /** The backups that the platform makes by itself, for the sweep. */
  readonly backups: BackupUpkeep;
  /** What uploads left behind that never became a backup, for the sweep. */
  readonly imports: ImportUpkeep;
  /** The report of intents that nobody settled, for the sweep. */
  readonly intents: IntentUpkeep;
  /** What has lapsed and is cleared away, for the sweep. */
  readonly expiries: ExpiryUpkeep;
  /** How staff come in: sessions, and the tokens of their programs. */
  readonly staff: StaffDoor;
}

/** Operations whose effect lies in a vertical. */
const EFFECTS: Readonly<Record<string, Effect>> = {
  'scopes.provision': provisionEffect as Effect,
  'scopes.configure': configureEffect as Effect,
  'scopes.rewind': rewindEffect as Effect,
  'snapshots.take': snapshotEffect as Effect,
  'snapshots.delete': deleteSnapshotEffect as Effect,
  'owner-claim.mint': ownerClaimEffect as Effect,
  'owner-recovery.mint': ownerRecoveryEffect as Effect,
  'session-secret.rotate': sessionSecretEffect as Effect,
  'subjects.shred': shredEffect as Effect,
  'dead-letters.retry': retryDeadLetterEffect as Effect,
};

/** What long work does elsewhere. */
const LONG_EFFECTS: Readonly<Record<string, LongEffect>> = {
  'scope-backups.create': scopeBackupEffect as LongEffect,
  'directory-backups.create': directoryBackupEffect as LongEffect,
  'directory.restore': restoreDirectoryEffect as LongEffect,
  'fleet-migrations.run': migrateFleetEffect as LongEffect,
};

export function makeHostAdmin(options: HostAdminOptions): DirectoryHostAdmin {
  const { engine, gateway, onIncident, anchor } = options;
  const watched = options.backups ? watchStore(options.backups) : null;
  const backups = watched?.store ?? null;
  const copyDirectory = engine.tools
    ? async () => engine.tools?.(directoryUnit, DIRECTORY_KEY).export('ndjson') as Promise<ScopeExport>
    : null;
  const directory = engine.unit(directoryUnit, DIRECTORY_KEY, { create: true });
  const newId = makeIdFactory(options);
  const listeners: ((change: RoutesChange) => void)[] = [];
  const incident = (method: string) => (error: unknown) =>
    onIncident(error, { kind: directoryUnit.kind, key: DIRECTORY_KEY, method });

  const publish = makeAnchoring({
    anchor,
    hashAt: (sequence) => directory.logHashAt(sequence),
    onIncident: incident('anchor'),
    now: options.now,
  });

  const deps: EffectDeps = {
    gateway,
    deadline: options.deadline ?? ((timeoutMs) => AbortSignal.timeout(timeoutMs)),
    originOf: options.originOf ?? ((hostname) => `https://${hostname}`),
    target: ({ actor, params }) =>
      directory.scopeTarget({ actor, tenant: String(params.tenant), scope: String(params.scope) }),
  };

  const {
    connections,
    calls,
    effects: connectionEffects,
  } = makeConnections(
    { ...deps, directory, now: options.now, random: options.random, newId, publish, incident },
    options.connections,
  );
  const effects: Readonly<Record<string, Effect>> = {
    ...EFFECTS,
    ...connectionEffects,
    ...makeDeployEffects({ directory, runtime: options.runtime, incident }),
    'scope-backups.delete': makeDeleteBackupEffect(backups) as Effect,
    'directory-backups.delete': makeDeleteBackupEffect(backups) as Effect,
    'hostnames.verify': makeVerifyEffect(options.hostnames) as Effect,
  };

  const reapEffect = makeReapEffect({
    disconnect: connectionEffects['connections.disconnect'],
    newId,
    destroyTenantKeys: options.destroyTenantKeys ?? (async () => undefined),
  });
  const {
    entitlements,
    follow: followEntitlements,
    tellingAnew,
  } = makeEntitlements({ ...deps, directory, incident });
  const operationsLog = makeOperationsLog({ directory, newId });
  const { roles, followRoles } = makeRoleProjection({
    ...deps,
    directory,
    permissionsOf: options.permissionsOf ?? (() => null),
    recordSweep: operationsLog.recordSweep,
    incident,
  });
  const follow = <T>(call: AdminCall, performing: Promise<T>): Promise<T> =>
    followRoles(call, followEntitlements(call, performing));

  const issues = makeIncidentIntake({ directory, now: options.now });
  const marginBasisPoints = options.modelMarginBasisPoints ?? 0;
  const unregistered = options.versionOf ?? (() => 'unversioned');
  const usage = makeUsage({
    ...deps,
    directory,
    unregistered,
    now: options.now,
    marginBasisPoints,
  });

  const factsOf = ({ body }: AdminCall): WiringFacts => ({
    baseDomains: options.baseDomains ?? [],
    reservedHostnames: options.reservedHostnames ?? [],
    verticalKnown: typeof body.vertical === 'string' && isKnownVertical(gateway, body.vertical),
  });

  const reroute = (change: RoutesChange): void => {
    for (const listener of listeners) attempt(() => listener(change), incident('onRoutesChanged'));
  };

  /** The change is durable. What follows is evidence and news, and cannot undo it. */
  const conclude = async ({ result, rerouted }: ChangeOutcome): Promise<AdminResult> => {
    if (rerouted) reroute(rerouted);
    if (result.head) await publish(result.head);
    return result;
  };

  const behind = makeWorkBehind(options.sleep ?? sleepFor);
  const performEffect = makeEffectRunner({
    directory,
    effectDeps: deps,
    // The embedded engine locks its data directory; on workerd any number of isolates share one directory.
    isOnlyProcess: engine.capabilities.name === 'node',
    factsOf,
    conclude,
    publish,
    sleep: options.sleep ?? sleepFor,
    behind,
    incident,
  });

  const servingVersion = (vertical: string): Promise<string> => registry.servingVersion(vertical);
  const long = makeLongWork({
    deps: { ...deps, directory, backups, copyDirectory, servingVersion },
    effects: {
      ...LONG_EFFECTS,
      'scopes.restore': tellingAnew(restoreEffect) as LongEffect,
      'scopes.reap': makeReapScopeEffect(connectionEffects['connections.disconnect']) as LongEffect,
      'tenants.reap': reapEffect as LongEffect,
    },
    now: options.now,
    sleep: options.sleep ?? sleepFor,
    isOnlyProcess: engine.capabilities.name === 'node',
    factsOf,
    publish,
    onRerouted: (change) => reroute(change),
    incident,
  });

  const registry = makeRegistry({
    directory,
    gateway,
    egress: options.egress,
    unregistered,
    now: options.now,
    factsOf,
    conclude,
    publish,
    takeSnapshot: (call) => performEffect(snapshotEffect as Effect, call),
    rerouted: reroute,
    incident,
  });
  const observability = { directory, telemetry: options.telemetry, now: options.now, incident };

  const performScopeRead = async (call: AdminCall, logged: boolean): Promise<AdminResult> => {
    const { value, target, items } = await readScopeData(deps, call);
    // Nobody is shown what could not be logged.
    if (logged) await recordDelegatedRead({ call, target, items });
    return found(value);
  };

  const recordDelegatedRead = async (read: AccessInput): Promise<void> => {
    await directory.recordAccess(read);
  };

  /** At a short address the tenant is that of the scope; a builder's was forced before. */
  const withTenant = async (operation: AdminOperation, call: AdminCall): Promise<AdminCall> => {
    if (operation.shortPath === undefined || call.params.tenant !== undefined) return call;
    const tenant = await directory.tenantOfScope({ scope: String(call.params.scope) });
    return { ...call, params: { ...call.params, tenant } };
  };

  const performImport = async (received: AdminCall): Promise<AdminResult> => {
    const { call, drop } = await receiveImport({ ...deps, directory, backups, newId }, received);
    const keep = async (): Promise<ChangeOutcome> => {
      const outcome = await directory.change({ call, facts: factsOf(call) });
      // A replay names the copy that came first.
      if (outcome.result.replayed) await drop();
      return outcome;
    };
    return conclude(
      await keep().catch(async (error: unknown) => {
        await drop().catch(incident('import'));
        throw error;
      }),
    );
  };

  const performExport = async (call: AdminCall): Promise<AdminResult> => {
    const { body, ...head } = await exportScope(deps, call, recordDelegatedRead);
    return { ...found(head), body };
  };

  /** Nothing is kept of a plan, but that somebody read a tenant's data for it. */
  const performPlan = async (call: AdminCall, effect: Effect | undefined): Promise<AdminResult> => {
    await effect?.check(deps, call);
    const known = await directory.planChange({ call });
    const { value, read } = (await effect?.plan?.(deps, call, known)) ?? { value: known };
    if (read) await directory.recordAccess({ call, ...read });
    return found(value);
  };

  const order = async (
    { name, expiresInDays = TOKEN_DAYS_MAX }: ServiceTokenRequest,
    another: boolean,
  ): Promise<ServiceToken> => {
    if (!Number.isInteger(expiresInDays) || expiresInDays < 1 || expiresInDays > TOKEN_DAYS_MAX)
      throw new RangeError(`a service token works for 1 to ${TOKEN_DAYS_MAX} days`);
    const requestId = newId(ID_PREFIXES.request);
    const token = await directory.orderServiceToken({ name, days: expiresInDays, requestId, another });
    if (token.head) await publish(token.head);
    return token;
  };

  return {
    ...issues.intake,
    ...operationsLog,
    ...usage.intake,
    ...registry.intake,
    ...makePlatformGrants(directory),

    authenticate: makeStaffAuthenticate({
      directory,
      now: options.now,
      onIncident: incident('touchToken'),
      others: makeAuthenticate({ directory, now: options.now, onIncident: incident('touchToken') }),
    }),

    staff: makeStaffDoor({ directory, publish }),

    perform: async (received) => {
      const operation = findAdminOperation(received.operation);
      if (!operation)
        throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
      const call = await withTenant(operation, admitCall(operation, received));
      const { name, audit } = operation;
      const effect = Object.hasOwn(effects, name) ? effects[name] : undefined;
      if (operation.plan && call.query.dryRun === true && !long.performs(name))
        return performPlan(call, effect);
      if (effect) return follow(call, performEffect(effect, call));
      if (long.performs(name)) return long.perform(call);
      if (name === 'operations.get') return long.follow(call);
      if (calls.performs(name)) return conclude(await calls.perform(call, factsOf(call)));
      if (registry.performs(name)) return registry.perform(call);
      if (isObservability(name)) return readObservability(observability, call);
      if (name === 'fleet-migrations.get')
        return found(await readFleetMigrations({ directory, servingVersion }, call));
      if (name === 'imports.create') return performImport(call);
      if (name === 'scopes.export') return performExport(call);
      if (isScopeRead(name)) return performScopeRead(call, audit === 'access');
      if (usage.performs(name)) return found(await usage.read(call));
      // Staff see what there is, and a verdict is about what was seen before it.
      if (name.startsWith('issues.')) await issues.flush();
      if (name === 'owner-seat.get') return found(await readOwnerSeat(deps, call));
      if (name === 'admin-log.verify')
        return found(
          await verifyAdminLog({
            anchor,
            head: () => directory.logHead(),
            unsettled: () => directory.unsettledIntents(),
            slice: (range) => directory.logSlice(range),
          }),
        );
      if (audit === 'audit')
        return follow(call, directory.change({ call, facts: factsOf(call) }).then(conclude)).then(
          (result) => {
            if (name === 'operations.cancel') long.cancelled(String(call.params.operation));
            return result;
          },
        );
      return audit === 'access' ? directory.readLogged({ call }) : directory.read({ call });
    },

    routes: () => registry.routes(),

    route: (hostname) => registry.route(hostname),

    onRoutesChanged: (listener) => void listeners.push(listener),

    recordDelegatedRead,

    exportScope: (call) => exportScope(deps, call, recordDelegatedRead),

    mintServiceToken: async (request) => {
      const token = await order(request, true);
      if (token.secret === null) throw new TypeError('a new service token came without its secret');
      return { ...token, secret: token.secret };
    },

    ensureServiceToken: (request) => order(request, false),

    resumeLongWork: () => long.resume(),

    stopLongWork: async () => {
      await Promise.all([long.stop(), behind.idle()]);
    },

    connections,

    roles,

    hostnames: makeHostnameUpkeep({
      directory,
      probes: options.hostnames,
      deadline: deps.deadline,
      newRequestId: () => newId(ID_PREFIXES.request),
      publish,
    }),

    entitlements,

    imports: makeImportUpkeep(directory, backups),

    intents: makeIntentUpkeep(directory, newId),

    expiries: makeExpiryUpkeep(directory),

    backups: makeBackupUpkeep({
      directory,
      backups,
      now: options.now,
      newRequestId: () => newId(ID_PREFIXES.request),
      begin: (call) => long.perform(call),
      follow: (call) => long.follow(call),
      publish,
      storeFaults: () => watched?.faults() ?? 0,
      incident: incident('backups'),
    }),

    revokeServiceToken: async (id) => {
      const { head } = await directory.revokeServiceToken({ id, requestId: newId(ID_PREFIXES.request) });
      if (head) await publish(head);
    },
  };
}

function found(value: unknown): AdminResult {
  return { status: 200, value, replayed: false };
}

function attempt(task: () => void, onError: (error: unknown) => void): void {
  try {
    task();
  } catch (error) {
    onError(error);
  }
}

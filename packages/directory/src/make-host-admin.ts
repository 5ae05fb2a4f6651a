/**
 * Builds the host administration over an engine and the verticals: access, then the directory's own transaction,
 * then whatever happens elsewhere, then the evidence (spec 1.C and 4.3; design: control-plane).
 *
 * In order: what the parts work with, and what follows a change; the parts; which of them performs which operation; the
 * answer.
 */
import { ID_PREFIXES, makeIdFactory, PlatformError, type ScopeExport } from '@freehold/contracts';
import { admitCall } from './access.ts';
import type { AdminCall, AdminResult } from './actors.ts';
import { makeAnchoring } from './audit/anchor.ts';
import { makeIntentMaintenance } from './audit/open-intents.ts';
import { verifyAdminLog } from './audit/verify.ts';
import { watchStore } from './backups/backup-store.ts';
import { makeImportMaintenance, makeImports } from './backups/imports.ts';
import { makeBackupMaintenance } from './backups/maintenance.ts';
import { makeConnections } from './connections/make-connections.ts';
import { type AdminOperation, adminOperations } from './declarations/index.ts';
import { makeEffects, makeLongEffects } from './effects.ts';
import { makeExpiryMaintenance } from './expiries/clear.ts';
import { readFleetMigrations } from './fleet/operations.ts';
import type { DirectoryHostAdmin, RoutesChange } from './host-admin.ts';
import type { HostAdminOptions } from './host-admin-options.ts';
import { makeHostnameMaintenance } from './hostnames/maintenance.ts';
import { makeIncidentIntake } from './issues/incident-intake.ts';
import type { ChangeOutcome } from './lib/changes.ts';
import type { EffectDeps } from './lib/effects.ts';
import { makeWorkBehind } from './lib/effects-behind.ts';
import type { WiringFacts } from './lib/handlers.ts';
import { makeEffectRunner } from './lib/host-admin-effects.ts';
import { found, makePerformers, performersOf } from './lib/host-admin-performers.ts';
import { makePlanner } from './lib/host-admin-plans.ts';
import { sleepFor } from './long-work/follow.ts';
import { LongWork } from './long-work/runner.ts';
import { makeProjections } from './make-projections.ts';
import { makeObservability } from './observability/observability.ts';
import { makeOperationsLog } from './operations-log/recorder.ts';
import { readOwnerSeat } from './owner-seat/host-admin-owner-seat.ts';
import { makePlatformGrants } from './platform-grants/operations.ts';
import { makeScopeReads } from './scope-data/reads.ts';
import { snapshotEffect } from './scopes/host-admin-copies.ts';
import { makeStaffAuthenticate, makeStaffSignIns } from './staff/host-admin-staff.ts';
import { makeAuthenticate } from './tokens/host-admin-authenticate.ts';
import { makeServiceTokens } from './tokens/host-admin-service-tokens.ts';
import { DIRECTORY_KEY, directoryUnit } from './unit.ts';
import { makeUsage } from './usage/make-usage.ts';
import { makeRegistry } from './vertical-registry/make-registry.ts';
import { isKnownVertical } from './verticals/reach.ts';

export function makeHostAdmin(options: HostAdminOptions): DirectoryHostAdmin {
  const { engine, gateway, anchor, now, random, sleep = sleepFor } = options;
  const directory = engine.unit(directoryUnit, DIRECTORY_KEY, { create: true });
  const watched = options.backups ? watchStore(options.backups) : null;
  const newId = makeIdFactory(options);
  const incident = (method: string) => (error: unknown) =>
    options.onIncident(error, { kind: directoryUnit.kind, key: DIRECTORY_KEY, method });
  const deps: EffectDeps = {
    gateway,
    deadline: options.deadline ?? ((timeoutMs) => AbortSignal.timeout(timeoutMs)),
    originOf: options.originOf ?? ((hostname) => `https://${hostname}`),
    target: ({ actor, params }) =>
      directory.scopeTarget({ actor, tenant: String(params.tenant), scope: String(params.scope) }),
  };
  const factsOf = ({ body }: AdminCall): WiringFacts => ({
    baseDomains: options.baseDomains ?? [],
    reservedHostnames: options.reservedHostnames ?? [],
    verticalKnown: typeof body.vertical === 'string' && isKnownVertical(gateway, body.vertical),
    newScopeSettings: options.newScopeSettings?.(String(body.vertical)) ?? {},
  });

  const publish = makeAnchoring({
    anchor,
    hashAt: (sequence) => directory.logHashAt(sequence),
    onIncident: incident('anchor'),
    now,
  });
  const listeners: ((change: RoutesChange) => void)[] = [];
  const reroute = (change: RoutesChange): void => {
    for (const listener of listeners) attempt(() => listener(change), incident('onRoutesChanged'));
  };
  /** The change is durable. What follows is evidence and news, and cannot undo it. */
  const finalize = async ({ result, rerouted }: ChangeOutcome): Promise<AdminResult> => {
    if (rerouted) reroute(rerouted);
    if (result.head) await publish(result.head);
    return result;
  };

  /** Each part takes of it what it names. */
  const world = {
    ...deps,
    directory,
    backups: watched?.store ?? null,
    // The embedded engine locks its data directory; on workerd any number of isolates share one directory.
    isOnlyProcess: engine.capabilities.name === 'node',
    unregistered: options.versionOf ?? (() => 'unversioned'),
    ...{ now, random, sleep, newId, newRequestId: () => newId(ID_PREFIXES.request) },
    ...{ factsOf, finalize, publish, incident },
  };

  const operationsLog = makeOperationsLog(world);
  const { follow, reprojectAfter, ...projectors } = makeProjections({
    ...world,
    permissionsOf: options.permissionsOf ?? (() => null),
    recordSweep: operationsLog.recordSweep,
  });

  const connections = makeConnections(world, options.connections);
  const connectionEffects = connections.effects;
  const effects = makeEffects({
    ...world,
    connectionEffects,
    runtime: options.runtime,
    probes: options.hostnames,
  });
  const behind = makeWorkBehind(sleep);
  const runEffect = makeEffectRunner({ ...world, effectDeps: deps, behind });
  const registry = makeRegistry({
    ...world,
    egress: options.egress,
    takeSnapshot: (call) => runEffect(snapshotEffect, call),
    rerouted: reroute,
  });
  const { servingVersion } = registry;
  const long = new LongWork({
    ...world,
    deps: { ...world, servingVersion, copyDirectory: copyOf(engine) },
    effects: makeLongEffects({
      ...world,
      connectionEffects,
      reprojectAfter,
      destroyTenantKeys: options.destroyTenantKeys ?? (async () => undefined),
    }),
    onRerouted: reroute,
  });

  const scopes = makeScopeReads(world);
  const issues = makeIncidentIntake(world);
  const usage = makeUsage({ ...world, marginBasisPoints: options.modelMarginBasisPoints ?? 0 });

  const read = (call: AdminCall) => directory.read({ call });
  const change = (call: AdminCall) =>
    follow(call, directory.change({ call, facts: factsOf(call) }).then(finalize));
  const performers = makePerformers(
    adminOperations,
    [
      performersOf(effects, (effect) => (call) => follow(call, runEffect(effect, call))),
      performersOf(
        connections.calls.changes,
        (make) => async (call) => finalize(await make(call, factsOf(call))),
      ),
      makeImports(world),
      scopes.performers,
      registry.performers,
      usage.performers,
      makeObservability({ ...world, telemetry: options.telemetry }),
      {
        'admin-log.verify': async () => found(await verifyAdminLog({ anchor, directory })),
        'fleet-migrations.get': async (call) =>
          found(await readFleetMigrations({ directory, servingVersion }, call)),
        'owner-seat.get': async (call) => found(await readOwnerSeat(deps, call)),
        // Staff see what there is, and a verdict is about what was seen before it.
        'issues.list': (call) => issues.flush().then(() => read(call)),
        'issues.set-status': (call) => issues.flush().then(() => change(call)),
        'operations.get': (call) => long.follow(call),
        'operations.cancel': async (call) => {
          const result = await change(call);
          long.cancelled(String(call.params.operation));
          return result;
        },
      },
    ],
    {
      longWork: { performs: (name) => long.performs(name), perform: (call) => long.perform(call) },
      plan: makePlanner({ directory, effectDeps: deps, effects }),
      own: { audit: change, access: (call) => directory.readLogged({ call }), none: read },
    },
  );

  /** At a short address the tenant is that of the scope; a builder's was forced before. */
  const withTenant = async (operation: AdminOperation, call: AdminCall): Promise<AdminCall> => {
    if (operation.shortPath === undefined || call.params.tenant !== undefined) return call;
    const tenant = await directory.tenantOfScope({ scope: String(call.params.scope) });
    return { ...call, params: { ...call.params, tenant } };
  };

  const onIncident = incident('touchToken');
  return {
    authenticate: makeStaffAuthenticate({
      directory,
      now,
      onIncident,
      others: makeAuthenticate({ directory, now, onIncident }),
    }),
    perform: async (received) => {
      const performed = performers.get(received.operation);
      if (!performed)
        throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
      const { operation, perform } = performed;
      return perform(await withTenant(operation, admitCall(operation, received)), operation);
    },
    routes: () => registry.routes(),
    route: (hostname) => registry.route(hostname),
    onRoutesChanged: (listener) => void listeners.push(listener),

    ...issues.intake,
    ...operationsLog,
    ...usage.intake,
    ...registry.intake,
    ...makePlatformGrants(directory),
    ...scopes.reads,
    ...makeServiceTokens(world),
    staff: makeStaffSignIns(world),
    connections: connections.connections,
    ...projectors,
    hostnames: makeHostnameMaintenance({ ...world, probes: options.hostnames }),
    backups: makeBackupMaintenance({
      ...world,
      begin: (call) => long.perform(call),
      follow: (call) => long.follow(call),
      storeFaults: () => watched?.faults() ?? 0,
      incident: incident('backups'),
    }),
    imports: makeImportMaintenance(directory, world.backups),
    intents: makeIntentMaintenance(directory, newId),
    expiries: makeExpiryMaintenance(directory),
    resumeLongWork: () => long.resume(),
    stopLongWork: async () => {
      await Promise.all([long.stop(), behind.idle()]);
    },
  };
}

/** How the directory itself is copied, where the engine can do that. */
function copyOf(engine: HostAdminOptions['engine']): (() => Promise<ScopeExport>) | null {
  if (!engine.tools) return null;
  return async () => engine.tools?.(directoryUnit, DIRECTORY_KEY).export('ndjson') as Promise<ScopeExport>;
}

function attempt(task: () => void, onError: (error: unknown) => void): void {
  try {
    task();
  } catch (error) {
    onError(error);
  }
}

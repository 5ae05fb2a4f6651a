/**
 * Builds the host administration over an engine and the verticals (spec 1.C and 4.3; design: control-plane). A call passes
 * access, the directory's own transaction, the effect outside it, and the evidence.
 */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall, AdminResult } from './access/actors.ts';
import { admitCall } from './access/admission.ts';
import { makeAuthenticate } from './access/callers.ts';
import { adminOperations } from './admin-operations.ts';
import { alertPerformers } from './alerts/operations.ts';
import { makeIntentMaintenance } from './audit/open-intents.ts';
import { verifyAdminLog } from './audit/verify.ts';
import {
  directoryBackupEffect,
  makeDeleteBackupEffect,
  scopeBackupEffect,
} from './backups/host-admin-backups.ts';
import { makeImportMaintenance, makeImports } from './backups/imports.ts';
import { makeBackupMaintenance } from './backups/maintenance.ts';
import { makeEffectRunner, makePlanner, makeWorkBehind } from './changes/effect-runner.ts';
import { makeConnections } from './connections/make-connections.ts';
import { copyEffects, restoreEffect, snapshotEffect } from './copies/host-admin-copies.ts';
import { restoreDirectoryEffect } from './directory-restore/host-admin-restore.ts';
import { shredEffect } from './erasure/host-admin-erasure.ts';
import { makeExpiryMaintenance } from './expiries/clear.ts';
import { migrateFleetEffect, readFleetMigrations } from './fleet/operations.ts';
import type { DirectoryHostAdmin } from './host-admin.ts';
import type { HostAdminOptions } from './host-admin-options.ts';
import { makeHostnameMaintenance } from './hostnames/maintenance.ts';
import { makeVerifyEffect } from './hostnames/verify.ts';
import { makeIncidentIntake } from './issues/incident-intake.ts';
import type { Effect } from './lib/effects.ts';
import { mergeDisjoint } from './lib/feature.ts';
import { found, makePerformers, performersOf } from './lib/performers.ts';
import { LongWork } from './long-work/runner.ts';
import { makeObservability } from './observability/observability.ts';
import { makeOperationsLog } from './operations-log/recorder.ts';
import { ownerSeatEffects, readOwnerSeat } from './owner-seat/operations.ts';
import { makePlatformGrants } from './platform-grants/operations.ts';
import { makePreviews } from './previews/make-previews.ts';
import { makeProjections, PROJECTED } from './projections.ts';
import { makeReapScopeEffect } from './reap/host-admin-scopes.ts';
import { makeReapEffect } from './reap/host-admin-tenants.ts';
import { makeScopeReads } from './scope-data/reads.ts';
import { retryDeadLetterEffect } from './scope-data/retry.ts';
import { scopeEffects } from './scopes/host-admin-scopes.ts';
import { sessionSecretEffect } from './session-secret/operations.ts';
import { CONTROL_PLANE } from './staff/program-store.ts';
import { makeStaffSignIns } from './staff/sign-in.ts';
import { makeServiceTokens } from './tokens/service-tokens.ts';
import { makeUsage } from './usage/make-usage.ts';
import { makeDeployEffects } from './vertical-registry/deploy.ts';
import { makeDiscardEffect } from './vertical-registry/discard.ts';
import { makeRegistry } from './vertical-registry/make-registry.ts';
import { makeVerticalSecrets } from './vertical-secrets/make-secrets.ts';
import { makeWorld, type World } from './world.ts';

export function makeHostAdmin(options: HostAdminOptions): DirectoryHostAdmin {
  const world = makeWorld(options);
  const parts = makeParts(world, options);
  const performers = performersFor(world, parts, options);
  const { directory } = world;
  const { issues, long, registry } = parts;
  const { staffIssuer = null } = options;
  return {
    authenticate: makeAuthenticate({ ...world, staffIssuer, onIncident: world.incident('touchToken') }),

    perform: async (received) => {
      const performed = performers.get(received.operation);
      if (!performed)
        throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
      const { operation, perform } = performed;
      let call = admitCall(operation, received);
      // A short address has no tenant: it is that of the scope. A builder's was put in before.
      if (operation.shortPath !== undefined && call.params.tenant === undefined) {
        const tenant = await directory.tenantOfScope({ scope: String(call.params.scope) });
        call = { ...call, params: { ...call.params, tenant } };
      }
      return perform(call, operation);
    },

    questions: (caller) => ({
      rows: directory,
      of: { scopeId: CONTROL_PLANE, caller },
      until: options.stopping,
    }),
    routes: () => registry.routes(),
    route: (hostname) => registry.route(hostname),
    onRoutesChanged: world.onRoutesChanged,

    ...issues.intake,
    ...parts.operationsLog,
    ...parts.usage.intake,
    ...registry.intake,
    ...parts.secrets.intake,
    ...makePlatformGrants(directory),
    ...parts.scopes.reads,
    ...makeServiceTokens(world),
    staff: makeStaffSignIns({
      ...world,
      staffIssuer,
      idleMs: options.staffIdleMs ?? null,
      onIncident: world.incident('staffSeen'),
    }),
    connections: parts.connections.connections,
    roles: parts.projections.roles,
    entitlements: parts.projections.entitlements,
    hostnames: makeHostnameMaintenance({ ...world, probes: options.hostnames }),
    backups: makeBackupMaintenance({
      ...world,
      begin: (call) => long.perform(call),
      waitFor: (call) => long.waitFor(call),
      incident: world.incident('backups'),
    }),
    imports: makeImportMaintenance(directory, world.backups),
    intents: makeIntentMaintenance(directory, world.newId),
    expiries: makeExpiryMaintenance(directory),
    previews: parts.previews.maintenance,
    resumeLongWork: () => long.resume(),
    stopLongWork: async () => {
      await Promise.all([long.stop(), parts.behind.idle()]);
    },
  };
}

type Parts = ReturnType<typeof makeParts>;

/** The parts that performers and the host administration share. */
function makeParts(world: World, options: HostAdminOptions) {
  const operationsLog = makeOperationsLog(world);
  const projections = makeProjections({
    ...world,
    permissionsOf: options.permissionsOf ?? (() => null),
    recordSweep: operationsLog.recordSweep,
  });
  const connections = makeConnections(world, options.connections);
  const disconnect = connections.effects['connections.disconnect'];
  const behind = makeWorkBehind(world.sleep);
  const runEffect = makeEffectRunner({ ...world, behind });
  const registry = makeRegistry({
    ...world,
    egress: options.egress,
    runtime: options.runtime,
    takeSnapshot: (call) => runEffect(snapshotEffect, call),
    rerouted: world.reroute,
  });
  const { servingVersion } = registry;
  const previews = makePreviews({ ...world, runtime: options.runtime, runEffect });
  const { erasePreviews } = previews;
  const long = new LongWork({
    ...world,
    deps: { ...world, servingVersion, runtime: options.runtime },
    effects: {
      'scopes.restore': projections.reprojectAfter(restoreEffect),
      'scopes.reap': makeReapScopeEffect({ disconnect, erasePreviews }),
      'tenants.reap': makeReapEffect({
        ...{ disconnect, erasePreviews },
        runtime: options.runtime,
        incident: world.incident,
        newId: world.newId,
        destroyTenantKeys: options.destroyTenantKeys ?? (async () => undefined),
      }),
      'scope-backups.create': scopeBackupEffect,
      'directory-backups.create': directoryBackupEffect,
      'directory.restore': restoreDirectoryEffect,
      'fleet-migrations.run': migrateFleetEffect,
      'verticals.move': migrateFleetEffect,
    },
    onRerouted: world.reroute,
  });
  return {
    ...{
      operationsLog,
      projections,
      connections,
      behind,
      runEffect,
      registry,
      servingVersion,
      long,
      previews,
    },
    scopes: makeScopeReads(world),
    secrets: makeVerticalSecrets({ ...world, runtime: options.runtime, keyring: options.sealing }),
    issues: makeIncidentIntake(world),
    usage: makeUsage({ ...world, marginBasisPoints: options.modelMarginBasisPoints ?? 0 }),
  };
}

/** The performer of every operation. @throws TypeError for an operation with two. */
function performersFor(world: World, parts: Parts, options: HostAdminOptions) {
  const { directory, factsOf, finalize, effectDeps } = world;
  const { connections, issues, long, projections, registry } = parts;
  const deleteBackup = makeDeleteBackupEffect(world.backups);
  const effects = mergeDisjoint<Effect>([
    scopeEffects,
    copyEffects,
    ownerSeatEffects,
    connections.effects,
    makeDeployEffects({ ...world, runtime: options.runtime }),
    parts.previews.effects,
    {
      'scope-backups.delete': deleteBackup,
      'directory-backups.delete': deleteBackup,
      'vertical-versions.discard': makeDiscardEffect({ ...world, runtime: options.runtime }),
      'session-secret.rotate': sessionSecretEffect,
      'subjects.shred': shredEffect,
      'dead-letters.retry': retryDeadLetterEffect,
      'hostnames.verify': makeVerifyEffect(options.hostnames),
    },
  ]);

  const read = (call: AdminCall) => directory.read({ call });
  const change = async (call: AdminCall): Promise<AdminResult> => {
    const result = await finalize(await directory.change({ call, facts: factsOf(call) }));
    if (PROJECTED.has(call.operation)) await projections.afterCommit(call, result);
    return result;
  };
  const performEffect = (effect: Effect) => async (call: AdminCall) => {
    const result = await parts.runEffect(effect, call);
    if (PROJECTED.has(call.operation)) await projections.afterCommit(call, result);
    return result;
  };

  return makePerformers(
    adminOperations,
    [
      performersOf(effects, performEffect),
      performersOf(
        connections.calls.changes,
        (make) => async (call) => finalize(await make(call, factsOf(call))),
      ),
      makeImports(world),
      parts.scopes.performers,
      registry.performers,
      parts.secrets.performers,
      parts.usage.performers,
      alertPerformers(options.alertsTest),
      makeObservability({ ...world, telemetry: options.telemetry }),
      {
        'admin-log.verify': async () => found(await verifyAdminLog({ anchor: options.anchor, directory })),
        'fleet-migrations.get': async (call) =>
          found(await readFleetMigrations({ directory, servingVersion: parts.servingVersion }, call)),
        'owner-seat.get': async (call) => found(await readOwnerSeat(effectDeps, call)),
        // Incidents that wait in memory belong to the answer, and to the verdict that follows it.
        'issues.list': (call) => issues.flush().then(() => read(call)),
        'issues.set-status': (call) => issues.flush().then(() => change(call)),
        'operations.get': (call) => long.waitFor(call),
        'operations.cancel': async (call) => {
          const result = await change(call);
          long.cancelled(String(call.params.operation));
          return result;
        },
      },
    ],
    {
      longWork: { performs: (name) => long.performs(name), perform: (call) => long.perform(call) },
      plan: makePlanner({ directory, effectDeps, effects }),
      own: { audit: change, access: (call) => directory.readLogged({ call }), none: read },
    },
  );
}

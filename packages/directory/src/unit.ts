/**
 * The directory: the unit that holds what the platform knows, with the logs of who changed and who read what
 * (design: architecture, "The one idea"). There is one, under the key {@link DIRECTORY_KEY}.
 */
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import { defineUnit, type UnitContext } from '@freehold/store';
import { requireActing } from './acting.ts';
import type { Actor, AdminCall, AdminResult } from './actors.ts';
import { appendAccessLog } from './audit/access-log.ts';
import {
  adminLogMigration,
  adminLogSlice,
  auditedCall,
  loadAdminLogRow,
  logHead,
} from './audit/admin-log.ts';
import { endLeases, openIntentsMigration } from './audit/open-intents.ts';
import { readAccessLog, readAdminLog } from './audit/operations.ts';
import { RECONCILE_QUERIES, reconcileMethods, reconcileMigrations } from './audit/reconcile.ts';
import { incomingMethods, incomingMigrations } from './backups/incoming.ts';
import {
  BACKUP_QUERIES,
  backUpDirectory,
  backUpScope,
  backupMethods,
  deleteBackup,
  deleteDirectoryBackup,
  importCopy,
  readDirectoryBackups,
  readScopeBackups,
} from './backups/operations.ts';
import { RESTORE_QUERIES, restoreDirectory, restoreMethods } from './backups/restore-directory.ts';
import { backupMigrations } from './backups/schema.ts';
import { EXPIRY_OF_BACKUPS_QUERIES, expiryOfBackupsMethods } from './backups/upkeep-expiry.ts';
import { disconnect, putGrant } from './connections/delegated-operations.ts';
import {
  readActivity,
  readConnection,
  readConnections,
  readCredential,
  readGrants,
  shutOut,
} from './connections/operations.ts';
import { connectionMigrations } from './connections/schema.ts';
import { CONNECTION_QUERIES, connectionMethods } from './connections/unit-methods.ts';
import type { LogTarget } from './declarations/records.ts';
import { putEntitlement, readEntitlements, removeEntitlement } from './entitlements/operations.ts';
import { outboxMethods, oweRenewed, renewing } from './entitlements/outbox.ts';
import { entitlementMigrations } from './entitlements/schema.ts';
import { shredSubject } from './erasure/operations.ts';
import { erasureMigrations } from './erasure/schema.ts';
import { expiryMethods, expiryMigrations } from './expiries/clear.ts';
import { FLEET_QUERIES, fleetMethods, migrateFleet } from './fleet/operations.ts';
import { fleetMigrationSet } from './fleet/schema.ts';
import { bindHostname, readHostnames, setHostnameStatus, unbindHostname } from './hostnames/operations.ts';
import { hostnameMethods } from './hostnames/recheck.ts';
import { hostnameMigrations } from './hostnames/schema.ts';
import { hostnamesMigration, loadChallengeBody } from './hostnames/store.ts';
import { verifyHostname } from './hostnames/verify.ts';
import { addIdentity, readIdentities, removeIdentity } from './identities/operations.ts';
import { identityMigrations } from './identities/schema.ts';
import { issueMethods, readIssues, setIssueStatus } from './issues/operations.ts';
import { issueMigrations } from './issues/schema.ts';
import {
  beginEffect,
  type ChangeInput,
  type EffectEnd,
  failEffect,
  leaveOpen,
  makeChange,
  settleEffect,
} from './lib/changes.ts';
import type { ChangeHandler, DelegatedHandler, ReadHandler } from './lib/handlers.ts';
import { idempotencyMigration, keyedFingerprintsMigration } from './lib/idempotency.ts';
import type { LongHandler } from './long-work/handlers.ts';
import {
  cancelOperation,
  LONG_WORK_QUERIES,
  longWorkMethods,
  readOperation,
  readOperations,
} from './long-work/operations.ts';
import { longWorkMigrations } from './long-work/schema.ts';
import { OBSERVABILITY_QUERIES, observabilityMethods } from './observability/unit-methods.ts';
import { operationsLogMethods, readOpsFailures, readSweepRuns } from './operations-log/operations.ts';
import { operationsLogMigrations } from './operations-log/schema.ts';
import { mintOwnerClaim, mintOwnerRecovery } from './owner-seat/operations.ts';
import { PLAN_QUERIES, planMethods } from './plans.ts';
import {
  deleteEmailSender,
  deleteTenantProvisioner,
  putEmailSender,
  putTenantProvisioner,
  readEmailSender,
  readTenantProvisioner,
} from './platform-grants/operations.ts';
import { platformGrantMigrations } from './platform-grants/store.ts';
import { GRANT_QUERIES, platformGrantMethods } from './platform-grants/unit-methods.ts';
import { putRole, readRoles, removeRole } from './roles/operations.ts';
import { oweRolesOfRenewed, roleMethods } from './roles/outbox.ts';
import { roleMigrations } from './roles/schema.ts';
import { rolesMigration } from './roles/store.ts';
import { retryDeadLetter } from './scope-data/retry.ts';
import { deleteSnapshot, readSnapshots, restoreScope, rewindScope, takeSnapshot } from './scopes/copies.ts';
import { configureScope, provisionScope, readFleet, readScope, readScopes } from './scopes/operations.ts';
import { snapshotMigrations } from './scopes/snapshot-store.ts';
import { REAP_SCOPE_QUERIES, reapScope, reapScopeMethods, setScopeStatus } from './scopes/status.ts';
import { scopesMigration } from './scopes/store.ts';
import { loadScopeTarget, tenantOfScope } from './scopes/target.ts';
import { readServiceRefs } from './service-refs/operations.ts';
import { rotateSessionSecret } from './session-secret/operations.ts';
import { deviceMigrations } from './staff/devices-schema.ts';
import {
  putMember,
  readMember,
  readStaff,
  readStaffTokens,
  removeMember,
  revokeStaffToken,
} from './staff/operations.ts';
import { staffMigrations } from './staff/schema.ts';
import { STAFF_QUERIES, staffMethods } from './staff/unit-methods.ts';
import { afterRestore } from './tenants/after-restore.ts';
import {
  createTenant,
  readTenant,
  readTenants,
  setTenantStatus,
  updateTenant,
} from './tenants/operations.ts';
import { REAP_QUERIES, reapMethods, reapTenant } from './tenants/reap.ts';
import { tenantsMigration } from './tenants/store.ts';
import {
  createPushToken,
  findTokenActor,
  readPushTokens,
  revokePushToken,
  rotatePushToken,
} from './tokens/operations.ts';
import { tokenMigrations } from './tokens/schema.ts';
import {
  createServiceToken,
  dropServiceToken,
  readServiceTokens,
  rotateServiceToken,
} from './tokens/service-operations.ts';
import { orderServiceToken, revokeServiceToken, type ServiceTokenOrder } from './tokens/service-tokens.ts';
import { tokensMigration, touchTokenRow } from './tokens/store.ts';
import { readMeters, USAGE_QUERIES, usageMethods } from './usage/operations.ts';
import { usageMigrations } from './usage/schema.ts';
import { promoteVersion, readChannels } from './vertical-registry/channels.ts';
import { deployVersion } from './vertical-registry/deploy.ts';
import {
  admittedByRegistry,
  deleteInstallBlock,
  putInstallBlock,
  readInstallBlock,
} from './vertical-registry/install-blocks.ts';
import { readInstances } from './vertical-registry/instances.ts';
import { putListing, readListing, requestPublish } from './vertical-registry/listing.ts';
import {
  createVertical,
  readVertical,
  readVerticals,
  updateVerticalName,
} from './vertical-registry/operations.ts';
import { registryMigrations } from './vertical-registry/schema.ts';
import { readScopeVersion } from './vertical-registry/scope-version.ts';
import { REGISTRY_QUERIES, registryMethods } from './vertical-registry/unit-methods.ts';
import {
  admitVersion,
  readVersion,
  readVersions,
  registerVersion,
  rejectVersion,
} from './vertical-registry/versions.ts';

/** The key of the one directory there is. */
export const DIRECTORY_KEY = 'main';

const READS: Readonly<Record<string, ReadHandler>> = {
  'tenants.list': readTenants,
  'tenants.get': readTenant,
  'identities.list': readIdentities,
  'entitlements.list': readEntitlements,
  'scopes.fleet': readFleet,
  'scopes.list': readScopes,
  'scopes.get': readScope,
  'snapshots.list': readSnapshots,
  'hostnames.list': readHostnames,
  'roles.list': readRoles,
  'admin-log.list': readAdminLog,
  'access-log.list': readAccessLog,
  'push-tokens.list': readPushTokens,
  'service-tokens.list': readServiceTokens,
  'connections.list': readConnections,
  'connections.get': readConnection,
  'connections.credential': readCredential,
  'connections.activity': readActivity,
  'connection-grants.list': readGrants,
  'ops-failures.list': readOpsFailures,
  'sweep-runs.list': readSweepRuns,
  'issues.list': readIssues,
  'scope-backups.list': readScopeBackups,
  'directory-backups.list': readDirectoryBackups,
  'operations.list': readOperations,
  'operations.get': readOperation,
  'meters.list': readMeters,
  'scope-version.get': readScopeVersion,
  'verticals.list': readVerticals,
  'verticals.get': readVertical,
  'verticals.instances': readInstances,
  'vertical-versions.list': readVersions,
  'vertical-versions.get': readVersion,
  'channels.list': readChannels,
  'listings.get': readListing,
  'install-blocks.get': readInstallBlock,
  'email-sender.get': readEmailSender,
  'tenant-provisioner.get': readTenantProvisioner,
  'service-refs.list': readServiceRefs,
  'staff.list': readStaff,
  'staff.get': readMember,
  'staff-tokens.list': readStaffTokens,
};

const CHANGES: Readonly<Record<string, ChangeHandler>> = {
  'tenants.create': createTenant,
  'tenants.update': updateTenant,
  'tenants.set-status': setTenantStatus,
  'identities.add': addIdentity,
  'identities.remove': removeIdentity,
  'entitlements.put': putEntitlement,
  'entitlements.delete': removeEntitlement,
  'hostnames.bind': bindHostname,
  'hostnames.set-status': setHostnameStatus,
  'hostnames.delete': unbindHostname,
  'roles.put': putRole,
  'roles.delete': removeRole,
  'push-tokens.create': createPushToken,
  'push-tokens.rotate': rotatePushToken,
  'push-tokens.revoke': revokePushToken,
  'service-tokens.create': createServiceToken,
  'service-tokens.rotate': rotateServiceToken,
  'service-tokens.revoke': dropServiceToken,
  'connection-grants.delete': shutOut,
  'issues.set-status': setIssueStatus,
  'verticals.create': createVertical,
  'verticals.update': updateVerticalName,
  'vertical-versions.register': registerVersion,
  'vertical-versions.admit': admitVersion,
  'vertical-versions.reject': rejectVersion,
  'listings.put': putListing,
  'listings.request-publish': requestPublish,
  'install-blocks.put': putInstallBlock,
  'install-blocks.delete': deleteInstallBlock,
  'email-sender.put': putEmailSender,
  'email-sender.delete': deleteEmailSender,
  'tenant-provisioner.put': putTenantProvisioner,
  'tenant-provisioner.delete': deleteTenantProvisioner,
  'staff.put': putMember,
  'staff.remove': removeMember,
  'staff-tokens.revoke': revokeStaffToken,
  'operations.cancel': cancelOperation,
  'scopes.set-status': setScopeStatus,
  'imports.create': importCopy,
};

const DELEGATED: Readonly<Record<string, DelegatedHandler>> = {
  'scopes.provision': admittedByRegistry(provisionScope),
  'scopes.configure': configureScope,
  'scopes.rewind': rewindScope,
  'snapshots.take': takeSnapshot,
  'snapshots.delete': deleteSnapshot,
  'scope-backups.delete': deleteBackup,
  'directory-backups.delete': deleteDirectoryBackup,
  'owner-claim.mint': mintOwnerClaim,
  'owner-recovery.mint': mintOwnerRecovery,
  'session-secret.rotate': rotateSessionSecret,
  'channels.promote': promoteVersion,
  'verticals.deploy': deployVersion,
  'hostnames.verify': verifyHostname,
  'subjects.shred': shredSubject,
  'dead-letters.retry': retryDeadLetter,
  'connections.disconnect': disconnect,
  'connection-grants.put': putGrant,
};

/** Long work: it goes on in the background when its call has been answered. Its effects: `make-host-admin.ts`. */
const LONG: Readonly<Record<string, LongHandler>> = {
  'tenants.reap': reapTenant,
  'scopes.reap': reapScope,
  'scopes.restore': renewing(restoreScope),
  'scope-backups.create': backUpScope,
  'directory-backups.create': backUpDirectory,
  'directory.restore': afterRestore(restoreDirectory),
  'fleet-migrations.run': migrateFleet,
};

/** One row of the access log, before it is written. */
export interface AccessInput {
  readonly call: AdminCall;
  readonly target: LogTarget;
  /** How many items the reader was shown. */
  readonly items: number;
}

const makeMethods = (context: UnitContext) => ({
  /** A read of the directory's own data. */
  read: ({ call }: { readonly call: AdminCall }): AdminResult => {
    requireActing(context.db, call.actor, call.operation);
    return { status: 200, replayed: false, ...find(READS, call)(context, call) };
  },

  /** A read that is itself logged: what was shown, then the row that says so. */
  readLogged: ({ call }: { readonly call: AdminCall }): AdminResult => {
    requireActing(context.db, call.actor, call.operation);
    const answer = find(READS, call)(context, call);
    const { items } = answer.value as { readonly items: readonly unknown[] };
    const target = { tenant: null, scope: null, vertical: null, other: null };
    appendAccessLog(context, auditedCall(call), { target, items: items.length });
    return { status: 200, replayed: false, ...answer };
  },

  change: (input: ChangeInput) => makeChange(context, find(CHANGES, input.call), input),

  begin: (input: ChangeInput) => {
    const beginning = beginEffect(context, find(DELEGATED, input.call), input);
    if ('intent' in beginning) {
      oweRenewed(context, { intent: beginning.intent.sequence, ended: false });
      oweRolesOfRenewed(context, { intent: beginning.intent.sequence, ended: false });
    }
    return beginning;
  },

  settle: (input: EffectEnd & { readonly answer: unknown }) => {
    const outcome = settleEffect(context, find(DELEGATED, input.call), input);
    oweRenewed(context, { intent: input.intent, ended: true });
    oweRolesOfRenewed(context, { intent: input.intent, ended: true });
    return outcome;
  },

  fail: (input: EffectEnd & { readonly prepared: unknown; readonly code: ProblemCode }) =>
    failEffect(context, find(DELEGATED, input.call), input),

  leaveOpen: (input: { readonly intent: number }) => leaveOpen(context, input),

  endLeases: (): null => {
    endLeases(context.db);
    return null;
  },

  /** The scope behind a call to its vertical. */
  scopeTarget: ({
    actor,
    ...ref
  }: {
    readonly actor: Actor;
    readonly tenant: string;
    readonly scope: string;
  }) => {
    requireActing(context.db, actor);
    return loadScopeTarget(context.db, ref);
  },

  /** Whose scope it is. @throws PlatformError `not_found`. */
  tenantOfScope: ({ scope }: { readonly scope: string }): string => tenantOfScope(context.db, scope),

  recordAccess: ({ call, target, items }: AccessInput): null => {
    appendAccessLog(context, auditedCall(call), { target, items });
    return null;
  },

  hostnameChallenge: (claim: { readonly hostname: string; readonly token: string }) =>
    loadChallengeBody(context.db, claim),

  tokenActor: (hash: string) => findTokenActor(context.db, { hash, nowMs: context.now() }),

  touchToken: (id: string): null => {
    touchTokenRow(context.db, id, context.now());
    return null;
  },

  orderServiceToken: (order: ServiceTokenOrder) => orderServiceToken(context, order),

  revokeServiceToken: (input: { readonly id: string; readonly requestId: string }) =>
    revokeServiceToken(context, input),

  logHead: () => logHead(context.db),

  logHashAt: (sequence: number): string | null => loadAdminLogRow(context.db, sequence)?.hash ?? null,

  logSlice: (range: { readonly from: number; readonly limit: number }) => adminLogSlice(context.db, range),

  ...connectionMethods(context),
  ...hostnameMethods(context),
  ...roleMethods(context),
  ...outboxMethods(context),
  ...reapMethods(context),
  ...reapScopeMethods(context),
  ...issueMethods(context),
  ...longWorkMethods(context, LONG),
  ...planMethods(context),
  ...reconcileMethods(context),
  ...expiryMethods(context),
  ...backupMethods(context),
  ...expiryOfBackupsMethods(context),
  ...restoreMethods(context),
  ...incomingMethods(context),
  ...fleetMethods(context),
  ...operationsLogMethods(context),
  ...usageMethods(context),
  ...registryMethods(context),
  ...platformGrantMethods(context),
  ...observabilityMethods(context),
  ...staffMethods(context),
});

export type DirectoryMethods = ReturnType<typeof makeMethods>;

export const directoryUnit = defineUnit<DirectoryMethods>({
  kind: 'directory',
  migrations: [
    {
      name: 'directory',
      migrations: [
        tenantsMigration,
        scopesMigration,
        hostnamesMigration,
        rolesMigration,
        tokensMigration,
        adminLogMigration,
        idempotencyMigration,
        openIntentsMigration,
        keyedFingerprintsMigration,
      ],
    },
    hostnameMigrations,
    roleMigrations,
    erasureMigrations,
    connectionMigrations,
    entitlementMigrations,
    identityMigrations,
    snapshotMigrations,
    issueMigrations,
    operationsLogMigrations,
    usageMigrations,
    registryMigrations,
    platformGrantMigrations,
    staffMigrations,
    deviceMigrations,
    tokenMigrations,
    longWorkMigrations,
    backupMigrations,
    incomingMigrations,
    fleetMigrationSet,
    reconcileMigrations,
    expiryMigrations,
  ],
  queries: [
    'read',
    'scopeTarget',
    'tenantOfScope',
    'hostnameChallenge',
    'hostnamesForRecheck',
    'tokenActor',
    'logHead',
    'logHashAt',
    'logSlice',
    ...CONNECTION_QUERIES,
    ...REAP_QUERIES,
    ...REAP_SCOPE_QUERIES,
    ...RESTORE_QUERIES,
    ...USAGE_QUERIES,
    ...REGISTRY_QUERIES,
    ...GRANT_QUERIES,
    ...OBSERVABILITY_QUERIES,
    ...STAFF_QUERIES,
    ...LONG_WORK_QUERIES,
    ...PLAN_QUERIES,
    ...RECONCILE_QUERIES,
    ...BACKUP_QUERIES,
    ...EXPIRY_OF_BACKUPS_QUERIES,
    ...FLEET_QUERIES,
  ],
  open: makeMethods,
});

function find<H>(handlers: Readonly<Record<string, H>>, { operation }: AdminCall): H {
  const handler = Object.hasOwn(handlers, operation) ? handlers[operation] : undefined;
  if (handler) return handler;
  throw new PlatformError('unsupported', `The directory does not answer ${operation}.`, {
    reason: 'unknown_operation',
  });
}

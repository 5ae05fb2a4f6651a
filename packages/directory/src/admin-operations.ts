/** Every admin operation by name. Data only: a client imports it without the directory behind it. */

import { alertsTest } from './alerts/operations.ts';
import { accessLogList, adminLogList } from './audit/operations.ts';
import { adminLogVerify } from './audit/verify.ts';
import {
  directoryBackupsCreate,
  directoryBackupsDelete,
  directoryBackupsList,
  importsCreate,
  scopeBackupsCreate,
  scopeBackupsDelete,
  scopeBackupsList,
} from './backups/operations.ts';
import { connectionsDisconnect } from './connections/disconnect.ts';
import { connectionGrantsDelete, connectionGrantsList, connectionGrantsPut } from './connections/grants.ts';
import {
  connectionsActivity,
  connectionsCreate,
  connectionsCredential,
  connectionsGet,
  connectionsList,
  connectionsRotate,
  connectionsVerify,
} from './connections/operations.ts';
import {
  scopesRestore,
  scopesRewind,
  snapshotsDelete,
  snapshotsList,
  snapshotsTake,
} from './copies/operations.ts';
import type { AdminOperation } from './declarations/admin-operation.ts';
import { directoryRestore } from './directory-restore/operations.ts';
import { entitlementsDelete, entitlementsList, entitlementsPut } from './entitlements/operations.ts';
import { subjectsShred } from './erasure/operations.ts';
import { fleetMigrate, fleetMigrations, verticalsMove } from './fleet/operations.ts';
import { hostnamesBind, hostnamesDelete, hostnamesList, hostnamesSetStatus } from './hostnames/operations.ts';
import { hostnamesVerify } from './hostnames/verify.ts';
import { identitiesAdd, identitiesList, identitiesRemove } from './identities/operations.ts';
import { issuesList, issuesSetStatus } from './issues/operations.ts';
import { operationsCancel, operationsGet, operationsList } from './long-work/operations.ts';
import {
  observabilityLogs,
  observabilityMetrics,
  observabilityMetricsSeries,
  observabilityTenantLines,
  observabilityTenantLogs,
  observabilityTenantMetrics,
  observabilityTenantMetricsSeries,
} from './observability/observability.ts';
import { opsFailuresList, sweepRunsList } from './operations-log/operations.ts';
import {
  ownerClaimMint,
  ownerRecoveryEnd,
  ownerRecoveryMint,
  ownerReplacementMint,
  ownerSeatGet,
} from './owner-seat/operations.ts';
import {
  emailSenderDelete,
  emailSenderGet,
  emailSenderPut,
  tenantProvisionerDelete,
  tenantProvisionerGet,
  tenantProvisionerPut,
} from './platform-grants/operations.ts';
import { previewsCreate, previewsEnd, previewsList, previewsOpen } from './previews/operations.ts';
import { scopesReap } from './reap/scopes.ts';
import { tenantsReap } from './reap/tenants.ts';
import { rolesDelete, rolesList, rolesPut } from './roles/operations.ts';
import {
  bookmarksList,
  causeGet,
  deadLettersList,
  denialsList,
  denialsSummary,
  effectsGet,
  facetsGet,
  historyGet,
  invocationGet,
  migrationsGet,
  queryRun,
  tablesList,
  tablesRead,
} from './scope-data/operations.ts';
import { healthGet, scopesExport } from './scope-data/reads.ts';
import { deadLettersRetry } from './scope-data/retry.ts';
import { scopesConfigure, scopesFleet, scopesGet, scopesList, scopesProvision } from './scopes/operations.ts';
import { scopesSetStatus } from './scopes/status.ts';
import { serviceRefsList } from './service-refs/operations.ts';
import { sessionSecretRotate } from './session-secret/operations.ts';
import {
  staffGet,
  staffList,
  staffPut,
  staffRemove,
  staffTokensList,
  staffTokensRevoke,
} from './staff/operations.ts';
import { programPolicyGet, programPolicyPut } from './staff/policy-operations.ts';
import { staffProgramsEnd, staffProgramsList } from './staff/program-operations.ts';
import {
  tenantsCreate,
  tenantsGet,
  tenantsList,
  tenantsSetStatus,
  tenantsUpdate,
} from './tenants/operations.ts';
import { pushTokensCreate, pushTokensList, pushTokensRevoke, pushTokensRotate } from './tokens/operations.ts';
import {
  serviceTokensCreate,
  serviceTokensList,
  serviceTokensRevoke,
  serviceTokensRotate,
} from './tokens/service-operations.ts';
import { modelUsageList } from './usage/make-usage.ts';
import { metersList } from './usage/operations.ts';
import { channelsList, channelsPromote } from './vertical-registry/channels.ts';
import { verticalsDeploy, verticalsModules } from './vertical-registry/deploy.ts';
import { versionsDiscard } from './vertical-registry/discard.ts';
import { verticalsEgress } from './vertical-registry/egress.ts';
import { installBlockDelete, installBlockGet, installBlockPut } from './vertical-registry/install-blocks.ts';
import { listingsGet, listingsPut, publishRequest } from './vertical-registry/listing.ts';
import {
  verticalsCreate,
  verticalsGet,
  verticalsInstances,
  verticalsList,
  verticalsUpdate,
} from './vertical-registry/operations.ts';
import { scopeVersionGet, scopeVersionSet } from './vertical-registry/scope-version.ts';
import {
  versionsAdmit,
  versionsGet,
  versionsList,
  versionsRegister,
  versionsReject,
} from './vertical-registry/versions.ts';
import { secretsList, secretsRemove, secretsRotate, secretsSet } from './vertical-secrets/operations.ts';

export * from './declarations/admin-operation.ts';
export type { BackupRecord, DirectoryRestored } from './declarations/backups.ts';
export type { ConnectionCredentialRecord, ConnectionRecord } from './declarations/connections.ts';
export type { IssueRecord } from './declarations/issues.ts';
export { OPERATION_WAIT_MAX_S, type OperationRecord } from './declarations/long-work.ts';
export type {
  MetricsPoint,
  ScriptLogLine,
  ScriptMetrics,
  TenantLogLine,
  TenantMetrics,
} from './declarations/observability.ts';
export type { OpsFailureRecord, SweepRunRecord } from './declarations/operations-log.ts';
export type { PlatformGrant, PlatformGrantRecord } from './declarations/platform-grants.ts';
export type { PreviewLink, PreviewMade, PreviewRecord, PreviewStep } from './declarations/previews.ts';
export * from './declarations/records.ts';
export type { ErasureReceipt, HealthCheck, ScopeHealth, ScopeVersionRecord } from './declarations/scopes.ts';
export {
  type ProgramPolicyRecord,
  type RosterRole,
  rosterRole,
  STAFF_PREFIX,
  type StaffProgramRecord,
  type StaffRecord,
  type StaffRole,
  type StaffTokenRecord,
  staffRole,
} from './declarations/staff.ts';
export type {
  EntitlementRecord,
  IdentityRecord,
  TenantErasure,
  TenantReaped,
  TenantReapPlan,
} from './declarations/tenants.ts';
export { PUSH_TOKEN_DAYS_DEFAULT, type ServiceTokenRecord, TOKEN_DAYS_MAX } from './declarations/tokens.ts';
export type { MeterRecord } from './declarations/usage.ts';
export type {
  ChannelRecord,
  DeclaredMigration,
  Deployment,
  EgressReport,
  InstallBlockRecord,
  InstanceRecord,
  ListingRecord,
  VersionChanges,
  VersionDetail,
  VersionRecord,
  VersionSource,
  VersionStatus,
  VersionVerdict,
  VerticalRecord,
} from './declarations/vertical-records.ts';
export type { VerticalSecretRecord } from './declarations/vertical-secrets.ts';
export type { DeployStep } from './declarations/verticals.ts';
export type { ServiceRef } from './service-refs/operations.ts';
export type { ModelUsageRecord } from './usage/make-usage.ts';
export { MODULES_MAX } from './vertical-registry/deploy.ts';

/** The whole table, keyed by operation name, in the order in which the documentation shows it. */
export const adminOperations = {
  'tenants.list': tenantsList,
  'tenants.create': tenantsCreate,
  'tenants.get': tenantsGet,
  'tenants.update': tenantsUpdate,
  'tenants.set-status': tenantsSetStatus,
  'tenants.reap': tenantsReap,
  'identities.list': identitiesList,
  'identities.add': identitiesAdd,
  'identities.remove': identitiesRemove,
  'entitlements.list': entitlementsList,
  'entitlements.put': entitlementsPut,
  'entitlements.delete': entitlementsDelete,
  'scopes.fleet': scopesFleet,
  'scopes.list': scopesList,
  'scopes.provision': scopesProvision,
  'scopes.get': scopesGet,
  'scopes.set-status': scopesSetStatus,
  'scopes.configure': scopesConfigure,
  'scopes.reap': scopesReap,
  'scopes.restore': scopesRestore,
  'scopes.rewind': scopesRewind,
  'migrations.get': migrationsGet,
  'bookmarks.list': bookmarksList,
  'snapshots.list': snapshotsList,
  'snapshots.take': snapshotsTake,
  'snapshots.delete': snapshotsDelete,
  'scope-backups.list': scopeBackupsList,
  'scope-backups.create': scopeBackupsCreate,
  'scope-backups.delete': scopeBackupsDelete,
  'imports.create': importsCreate,
  'owner-seat.get': ownerSeatGet,
  'owner-claim.mint': ownerClaimMint,
  'owner-recovery.mint': ownerRecoveryMint,
  'owner-recovery.end': ownerRecoveryEnd,
  'owner-replacement.mint': ownerReplacementMint,
  'session-secret.rotate': sessionSecretRotate,
  'tables.list': tablesList,
  'tables.read': tablesRead,
  'query.run': queryRun,
  'scopes.export': scopesExport,
  'health.get': healthGet,
  'history.get': historyGet,
  'facets.get': facetsGet,
  'cause.get': causeGet,
  'effects.get': effectsGet,
  'invocation.get': invocationGet,
  'dead-letters.list': deadLettersList,
  'dead-letters.retry': deadLettersRetry,
  'denials.list': denialsList,
  'denials.summary': denialsSummary,
  'scope-version.get': scopeVersionGet,
  'scope-version.set': scopeVersionSet,
  'verticals.list': verticalsList,
  'verticals.create': verticalsCreate,
  'verticals.get': verticalsGet,
  'verticals.update': verticalsUpdate,
  'vertical-versions.list': versionsList,
  'vertical-versions.register': versionsRegister,
  'vertical-versions.get': versionsGet,
  'vertical-versions.admit': versionsAdmit,
  'vertical-versions.reject': versionsReject,
  'vertical-versions.discard': versionsDiscard,
  'channels.list': channelsList,
  'channels.promote': channelsPromote,
  'verticals.deploy': verticalsDeploy,
  'verticals.modules': verticalsModules,
  'verticals.move': verticalsMove,
  'verticals.instances': verticalsInstances,
  'secrets.list': secretsList,
  'secrets.set': secretsSet,
  'secrets.rotate': secretsRotate,
  'secrets.remove': secretsRemove,
  'previews.create': previewsCreate,
  'previews.list': previewsList,
  'previews.open': previewsOpen,
  'previews.end': previewsEnd,
  'listings.get': listingsGet,
  'listings.put': listingsPut,
  'listings.request-publish': publishRequest,
  'install-blocks.get': installBlockGet,
  'install-blocks.put': installBlockPut,
  'install-blocks.delete': installBlockDelete,
  'verticals.egress': verticalsEgress,
  'email-sender.get': emailSenderGet,
  'email-sender.put': emailSenderPut,
  'email-sender.delete': emailSenderDelete,
  'tenant-provisioner.get': tenantProvisionerGet,
  'tenant-provisioner.put': tenantProvisionerPut,
  'tenant-provisioner.delete': tenantProvisionerDelete,
  'subjects.shred': subjectsShred,
  'hostnames.list': hostnamesList,
  'hostnames.bind': hostnamesBind,
  'hostnames.set-status': hostnamesSetStatus,
  'hostnames.verify': hostnamesVerify,
  'hostnames.delete': hostnamesDelete,
  'connections.list': connectionsList,
  'connections.create': connectionsCreate,
  'connections.get': connectionsGet,
  'connections.disconnect': connectionsDisconnect,
  'connections.verify': connectionsVerify,
  'connections.credential': connectionsCredential,
  'connections.rotate': connectionsRotate,
  'connections.activity': connectionsActivity,
  'connection-grants.list': connectionGrantsList,
  'connection-grants.put': connectionGrantsPut,
  'connection-grants.delete': connectionGrantsDelete,
  'roles.list': rolesList,
  'roles.put': rolesPut,
  'roles.delete': rolesDelete,
  'directory-backups.list': directoryBackupsList,
  'directory-backups.create': directoryBackupsCreate,
  'directory-backups.delete': directoryBackupsDelete,
  'directory.restore': directoryRestore,
  'fleet-migrations.get': fleetMigrations,
  'fleet-migrations.run': fleetMigrate,
  'operations.list': operationsList,
  'operations.get': operationsGet,
  'operations.cancel': operationsCancel,
  'admin-log.list': adminLogList,
  'admin-log.verify': adminLogVerify,
  'access-log.list': accessLogList,
  'ops-failures.list': opsFailuresList,
  'sweep-runs.list': sweepRunsList,
  'issues.list': issuesList,
  'issues.set-status': issuesSetStatus,
  'alerts.test': alertsTest,
  'model-usage.list': modelUsageList,
  'meters.list': metersList,
  'staff.list': staffList,
  'staff.get': staffGet,
  'staff.put': staffPut,
  'staff.remove': staffRemove,
  'staff-tokens.list': staffTokensList,
  'staff-tokens.revoke': staffTokensRevoke,
  'staff-programs.list': staffProgramsList,
  'staff-programs.end': staffProgramsEnd,
  'program-policy.get': programPolicyGet,
  'program-policy.put': programPolicyPut,
  'observability.logs': observabilityLogs,
  'observability.metrics': observabilityMetrics,
  'observability.metrics-series': observabilityMetricsSeries,
  'observability.tenant-lines': observabilityTenantLines,
  'observability.tenant-logs': observabilityTenantLogs,
  'observability.tenant-metrics': observabilityTenantMetrics,
  'observability.tenant-metrics-series': observabilityTenantMetricsSeries,
  'service-refs.list': serviceRefsList,
  'push-tokens.list': pushTokensList,
  'push-tokens.create': pushTokensCreate,
  'push-tokens.rotate': pushTokensRotate,
  'push-tokens.revoke': pushTokensRevoke,
  'service-tokens.list': serviceTokensList,
  'service-tokens.create': serviceTokensCreate,
  'service-tokens.rotate': serviceTokensRotate,
  'service-tokens.revoke': serviceTokensRevoke,
} as const satisfies Readonly<Record<string, AdminOperation>>;

export type AdminOperationName = keyof typeof adminOperations;
